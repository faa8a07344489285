# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a task is judged by, apart from its reward: quantities a person can picture.

A task names its scores in its registration (``score_entry_point``); ``nerd rl score`` measures them over episodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch


@dataclass(frozen=True)
class Score:
    """One quantity of an episode."""

    name: str
    """Name in the result."""

    unit: str
    """Its unit; ``share`` for something that an episode reaches or not."""

    measure: Callable[[Any], torch.Tensor]
    """Value at one state of an environment, shape (N,); a condition (bool) for ``hold``."""

    reduce: Literal["mean", "hold"]
    """``mean``: the mean over the episode. ``hold``: whether the episode lasts its full time and the condition is true
    throughout its last :attr:`hold_s`."""

    hold_s: float = 0.5
    """For ``hold``: how long before the end the condition has to be true [s]."""
