# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""One cached step against computing the window of 10 tokens anew, as the reference does at every step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from timing import in_turns
from torch import Tensor
from torch.nn import functional

from nerd_core.network.architectures.base import SequenceModel
from nerd_core.network.architectures.transformer import transformer_cfg

MODELS = {"small": (6, (4,)), "paper-192": (6, (4,)), "paper-384": (215, (29,))}
"""Presets and their dimensions: tokens and outputs of the published Cartpole and Ant models."""

REFERENCE_MS = {"paper-192": 165.0, "paper-384": 601.0}
"""What the reference's code needs for 512 environments on 2 CPU cores, for scale [ms]."""


def measure_stepping(envs: Sequence[int], turns: int, compile: bool) -> dict[str, Any]:
    """Measures all models and sizes.

    Args:
        envs: Numbers of environments.
        turns: How often each side runs.
        compile: Whether both sides are compiled.

    Returns:
        Speed-ups and times by name.
    """
    numbers: dict[str, Any] = {}
    print(f"stepping{' (compiled)' if compile else ''}: window of 10 anew / cached step / products of the step alone")
    for preset, dims in MODELS.items():
        torch.manual_seed(0)
        cfg = transformer_cfg(preset)
        model = cfg.build(*dims)
        for count in envs:
            x, window = torch.randn(count, dims[0]), torch.randn(count, cfg.window, dims[0])
            cache = model.init_cache(count)
            for _ in range(cfg.window):
                model.step(x, cache)
            # In every environment the window is full, and its last output is all that is asked for.
            functions: dict[str, Callable[[], Any]] = {
                "cached": _compiled(partial(model.step, x, cache), compile),
                "window": _compiled(partial(last_of_window, model, window), compile),
                "products": products(model, count),
            }
            with torch.no_grad():
                times = in_turns(functions, turns if count <= 512 else max(5, turns // 3))
            speedup = times.ratio("window", "cached")
            row = f"  {preset:10} {count:5} envs: {times.milliseconds('window'):8.2f} ms / "
            row += f"{times.milliseconds('cached'):7.2f} ms / {times.milliseconds('products'):7.2f} ms"
            row += f"   cached is {speedup:5.2f} times as fast"
            if count == 512 and preset in REFERENCE_MS:
                row += f" (reference code: {REFERENCE_MS[preset]:.0f} ms)"
            print(row, flush=True)
            name = f"d{cfg.width}_n{count}"
            numbers[f"cached_speedup_{name}"] = speedup
            numbers[f"cached_ms_{name}"] = times.milliseconds("cached")
            numbers[f"window_ms_{name}"] = times.milliseconds("window")
    print()
    return numbers | {"compiled": compile}


def last_of_window(model: SequenceModel, window: Tensor) -> Tensor:
    """The output for the last token of each window, the head evaluated for that token only."""
    features, _, _ = model._sequence(window.unsqueeze(0))  # type: ignore[operator]
    return model._output(features[:, :, -1])  # type: ignore[operator]


def products(model: SequenceModel, rows: int) -> Callable[[], None]:
    """The matrix products of a step and nothing else: what the step cannot be faster than."""
    weights = [parameter.detach() for parameter in model.parameters() if parameter.dim() == 2]
    inputs = {weight.shape[1]: torch.randn(rows, weight.shape[1]) for weight in weights}

    def run() -> None:
        for weight in weights:
            functional.linear(inputs[weight.shape[1]], weight)

    return run


def _compiled(function: Callable[[], Any], compile: bool) -> Callable[[], Any]:
    return torch.compile(function, dynamic=False) if compile else function
