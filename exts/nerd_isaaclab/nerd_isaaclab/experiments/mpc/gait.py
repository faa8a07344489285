# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Which feet stand when: a periodic gait."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from . import Array

TROT = (0.0, 0.5, 0.5, 0.0)
"""Shares of a period by which legs are ahead when diagonal pairs move together."""


@dataclass(frozen=True)
class Gait:
    """A periodic gait. A leg stands during the first part of its own phase, and swings during the rest."""

    period: float = 0.4
    """Time of a full cycle [s]."""
    duty: float = 0.5
    """Share of a cycle in which a leg stands; 1 for standing still."""
    offsets: tuple[float, ...] = TROT
    """By which share of a cycle each leg is ahead, shape (4,)."""

    @property
    def stance_time(self) -> float:
        """Time that a foot stays on the ground [s]."""
        return self.duty * self.period

    @property
    def swing_time(self) -> float:
        """Time that a foot is in the air [s]."""
        return self.period - self.stance_time

    def leg_phase(self, time: Array | float) -> Array:
        """Phases of the legs, between 0 and 1, shape (..., 4).

        Args:
            time: Time since the beginning of the gait [s], shape (...).
        """
        return self.cycles(time) % 1.0

    def cycles(self, time: Array | float) -> Array:
        """Cycles that each leg has begun and the phase in the last one, as one number, shape (..., 4).

        Args:
            time: Time since the beginning of the gait [s], shape (...).
        """
        return np.asarray(time)[..., None] / self.period + self._offsets

    @cached_property
    def _offsets(self) -> Array:
        return np.array(self.offsets)

    def stands(self, time: Array | float) -> NDArray[np.bool_]:
        """Which feet stand, shape (..., 4)."""
        return self.leg_phase(time) < self.duty

    def progress(self, time: Array | float) -> Array:
        """How far each leg is in its stance or in its swing, between 0 and 1, shape (..., 4)."""
        phase = self.leg_phase(time)
        swing = (phase - self.duty) / max(1.0 - self.duty, 1.0e-9)
        return np.where(phase < self.duty, phase / self.duty, swing)
