# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Settings of mechanics: into how many substeps its solver divides a physics step, what it looks at, and how far a
constraint gives way.

Example::

    cfg = MechanicsCfg(substeps=4, slots=5)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .constants import UNREACHABLE


@dataclass(frozen=True)
class MechanicsCfg:
    """Settings of mechanics with a learned solver of contacts and stops."""

    substeps: int = 4
    """Substeps in a physics step, in each of which forces and impulses act. PhysX has as many as it makes position
    iterations."""
    hidden: int = 16
    """Features of the rules' network; 0 for constants alone."""
    slots: int = 8
    """Most contact slots that are looked at, those that come nearest to the ground."""
    reach: float = 0.02
    """Gap below which the solver looks at a slot at all [m], and ..."""
    reach_by_radius: float = 0.04
    """... more, as a share of its radius. The contact offsets that PhysX chooses for a plane and for a shape."""
    compliance: float = 0.025
    """How much more a constraint gives way than the masses say, as a share of that (constraint force mixing): each
    correction of its velocity falls short by so much. What PhysX mixes into the constraints of articulations where
    nothing is authored."""
    feature_scales: tuple[float, ...] = (0.02, 0.5, 5.0)
    """Velocities [m/s or rad/s] at which the features of the rules begin to saturate: rules tell apart what is of the
    size of one of them."""

    def __post_init__(self):
        if min(self.substeps, self.slots) < 1 or self.hidden < 0 or not 0.0 <= self.reach < UNREACHABLE:
            raise ValueError(f"got {self}, expected substeps and slots >= 1, hidden and reach >= 0")
        if not all(0.0 <= share < math.inf for share in (self.reach_by_radius, self.compliance)):
            raise ValueError(
                f"got reach_by_radius={self.reach_by_radius} and compliance={self.compliance}, "
                "expected finite shares >= 0"
            )
        if not self.feature_scales or not all(0.0 < scale < math.inf for scale in self.feature_scales):
            raise ValueError(f"got feature_scales={self.feature_scales}, expected some positive finite velocities")


__all__ = ["MechanicsCfg"]
