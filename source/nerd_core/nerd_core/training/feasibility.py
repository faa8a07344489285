# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Whether a machine can do what a training asks of it, found out before anything is done: its device and its memory.

Example::

    device = choose_device("auto")
    require_memory(predictor, cfg)
"""

from __future__ import annotations

import os

import torch

from ..predictor.predictor import Predictor
from .config import TrainCfg, TrainingError

BATCHES = 4
"""Batches in memory at a time: one in use, two that wait, one that is being read."""


LEAST_WINDOWS = 64
"""Windows of an update below which it is their length that is too large, not their number."""


def choose_device(name: str) -> torch.device:
    """The device to train on; under torchrun each process takes the GPU of its own number.

    Args:
        name: A device, or ``auto``.

    Raises:
        TrainingError: There is no such device.
    """
    if name == "auto":
        return torch.device(f"cuda:{os.environ.get('LOCAL_RANK', '0')}" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError):
        device = torch.device("meta")
    if device.type == "meta":  # which holds no numbers
        there = ["auto", "cpu", *(f"cuda:{index}" for index in range(torch.cuda.device_count()))]
        raise TrainingError(f"got --device {name}, expected one that is there: {', '.join(there)}")
    return device


def require_memory(predictor: Predictor, cfg: TrainCfg) -> None:
    """Raises if the batches cannot fit into the memory of this machine, whatever else is in there.

    Args:
        predictor: The model.
        cfg: How to train.
    """
    spec, memory = predictor.spec, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    each = BATCHES * 4 * (3 * spec.state.dim + spec.control_dim)  # two states, a change and a control
    sizes = [("batch_size", cfg.batch_size, cfg.window_length)]
    sizes += [("rollout.batch_size", cfg.rollout.batch_size, cfg.rollout.steps)] if cfg.rollout.weight else []
    for name, count, length in sizes:
        if count * length * each > memory:
            if length > 1 and length * each > memory // LEAST_WINDOWS:
                of = "window_length" if name == "batch_size" else "rollout.steps"
                raise TrainingError(
                    f"got {of}={length:,}, of which this machine's {memory / 2**30:,.0f} GiB of memory hold only "
                    f"{memory // (length * each):,} in an update, expected far fewer steps"
                )
            raise TrainingError(
                f"got {name}={count:,} of {length:,} steps each, for which this machine's {memory / 2**30:,.0f} GiB of "
                f"memory are too few, expected far fewer than {memory // (length * each):,}"
            )


__all__ = ["choose_device", "require_memory"]
