# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Settings of a judgement of a model against recordings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..files.bounds import bounded, check_bounds

Protocol = Literal["windows", "flights"]
"""``windows``: all stretches of equal length. ``flights``: whole runs, each from its first frame."""

DEFAULT_WINDOW = {"rate": 80, "frames": 500}
"""Steps of a window where nobody says: tosses as in NeRD; half a thousand frames of a passive pendulum."""

DEFAULT_SECONDS = 0.5
"""Length of a window of runs with stamps, where nobody says [s]."""

STRIDES = 5
"""Windows of runs that are not tosses begin this many times in the length of one."""

HORIZON_RAD = 0.2
"""Error of an angle that ends a horizon [rad]."""


@dataclass(frozen=True)
class JudgeCfg:
    """Which stretches of recordings a model has to predict."""

    window: int | None = bounded(None, at_least=1, at_most=1_000_000)
    """Steps that are predicted in a window of recordings; by default 80 for tosses, 500 for a passive pendulum."""
    seconds: float | None = bounded(None, above=0.0, at_most=1.0e4)
    """Length of a window of recordings [s], instead of its steps; by default 0.5 for runs with stamps."""
    stride: int | None = bounded(None, at_least=1)
    """Steps between the beginnings of two windows; by default 1 for tosses (all windows), else a fifth of a window."""
    split: str = ""
    """Split of the recordings; ``all`` for all. By default all that are not for training; all where there are no
    others."""
    effort: str = ""
    """Signal of the recordings that drives the joints, ``measured`` or ``commanded``; by default as the file says."""
    delay: float = bounded(0.0, at_least=0.0, at_most=1.0)
    """How much later efforts of recordings act than they were recorded [s]."""

    def __post_init__(self):
        check_bounds(self)
        if self.window is not None and self.seconds is not None:
            raise ValueError(f"got window={self.window} and seconds={self.seconds}, expected one of them")


__all__ = ["JudgeCfg", "Protocol"]
