# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How large a model may be that settings from a file describe, found out before memory or time is spent on it.

Nothing here goes by the names of settings, which other packages choose for their networks: every number is bounded, the
model is sketched without memory (torch's ``meta`` device), and the sketch may not have too many parts or bytes.

Example::

    require_buildable(spec, cfg)
    predictor = Predictor(spec, cfg)
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn.modules.module import (
    register_module_buffer_registration_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)

from .files.safe_files import UnsafeFile
from .files.safe_tensors import TensorInfo
from .files.serialization import to_plain
from .predictor.config import PredictorCfg
from .predictor.predictor import Predictor
from .robot.spec import RobotSpec

MAX_INTEGER = 2**20
"""Largest whole number in the settings of a model that is built at all, whatever its field is called."""

MAX_PARTS = 8192
"""Most modules and tensors of a model. Building is stopped there, so that a number of layers cannot make it last."""

MAX_MODEL_BYTES = 2**36
"""Largest size of the tensors of a model that is built from settings alone [bytes]. That of one which comes with its
tensors is bounded by the size of their file."""

MAX_UNSAVED_BYTES = 2**28
"""Largest size of what a model makes for itself beside the tensors that stand in the file [bytes]."""

MAX_ITEMS = 1024
"""Longest list in the settings of a model."""


def expected_tensors(spec: RobotSpec, cfg: PredictorCfg) -> dict[str, TensorInfo]:
    """Names, shapes and element types of the tensors of a model, without taking memory for them."""
    require_bounded(to_plain(cfg), "predictor")
    try:
        with torch.random.fork_rng(devices=[]), torch.device("meta"), _few_parts():
            skeleton = Predictor(spec, cfg)
    except (ValueError, RuntimeError, OverflowError, ZeroDivisionError) as error:
        raise UnsafeFile(f"the settings describe a model that cannot be built: {str(error)[:400]}") from None
    saved = skeleton.state_dict()
    unsaved = sum(item.nbytes for name, item in skeleton.named_buffers() if name not in saved)
    if unsaved > MAX_UNSAVED_BYTES:
        raise UnsafeFile(f"got a model that takes {unsaved} bytes beside its weights, at most {MAX_UNSAVED_BYTES} fit")
    return {name: TensorInfo(tuple(item.shape), item.dtype) for name, item in saved.items()}


def require_buildable(spec: RobotSpec, cfg: PredictorCfg) -> None:
    """Raises ``UnsafeFile`` if building a model from settings would take too long or too much memory.

    Args:
        spec: The robot.
        cfg: What the predictor is made of.
    """
    size = size_of(expected_tensors(spec, cfg))
    if size > MAX_MODEL_BYTES:
        raise UnsafeFile(f"got settings of a model of {size} bytes, expected at most {MAX_MODEL_BYTES}")


def size_of(tensors: Mapping[str, TensorInfo]) -> int:
    """Size of tensors [bytes]."""
    return sum(math.prod(info.shape) * info.dtype.itemsize for info in tensors.values())


@contextmanager
def _few_parts() -> Iterator[None]:
    """Within it, this thread cannot make models of more than :data:`MAX_PARTS` modules and tensors."""
    count, thread = 0, threading.get_ident()

    def counted(*_: Any) -> None:
        nonlocal count
        count += threading.get_ident() == thread
        if count > MAX_PARTS:
            raise ValueError(f"got too many modules and tensors, expected at most {MAX_PARTS}")

    hooks = [
        register_module_parameter_registration_hook(counted),
        register_module_buffer_registration_hook(counted),
        register_module_module_registration_hook(counted),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def require_bounded(plain: Any, where: str, largest: int = MAX_INTEGER, items: int = MAX_ITEMS) -> None:
    """Refuses numbers and lists so large that building what they describe could exhaust the machine."""
    if isinstance(plain, dict):
        for key, item in plain.items():
            require_bounded(item, f"{where}.{key[:40]}", largest, items)
    elif isinstance(plain, list):
        if len(plain) > items:
            raise UnsafeFile(f"{where}: got {len(plain)} items, at most {items} are expected")
        for i, item in enumerate(plain):
            require_bounded(item, f"{where}[{i}]", largest, items)
    elif isinstance(plain, int) and abs(plain) > largest:
        raise UnsafeFile(f"{where}: got a number of {plain.bit_length()} bits, at most {largest} is expected")


__all__ = ["expected_tensors", "require_bounded", "require_buildable", "size_of"]
