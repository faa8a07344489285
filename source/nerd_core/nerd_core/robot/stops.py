# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The stops of joints: how near they are, and how far beyond them a joint is."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .spec import Joint, RobotSpec

STOP_BAND = 1.0 / 32.0
"""Distance before a stop from which on a joint says how far it still has to go, as a share of its range. A solver with
hard stops lets joints beyond them by micrometres only: a number that is zero before the stop would be blown up by a
normaliser, and a prediction that is a millimetre off would be far outside of all training data."""

LEANING = 0.01
"""Share of the band in which a joint leans on its stop. Within a control step only what free motion takes there can
meet the stop at all."""


def stop_band(joint: Joint) -> float:
    """Distance before a joint's stops from which on it is near them [rad or m]; a joint with one stop has no range, and
    a band as for one from -1 to 1.
    """
    reach = joint.upper - joint.lower
    return STOP_BAND * (reach if math.isfinite(reach) else 2.0)


class Stops(nn.Module):
    """The stops of a robot's joints. Has no parameters."""

    joints: tuple[int, ...]
    """Joints that have stops; one that turns freely has none, whatever its limits are."""
    lower: Tensor
    """Lower stops [rad or m], minus infinity where there is none, shape (J,)."""
    upper: Tensor
    """Upper stops [rad or m], infinity where there is none, shape (J,)."""
    band: Tensor
    """Distances before the stops from which on a joint is near them [rad or m], shape (J,)."""
    _which: Tensor

    def __init__(self, spec: RobotSpec):
        """Looks for stops.

        Args:
            spec: The robot.
        """
        super().__init__()
        ends = [(-math.inf, math.inf) if joint.wraps else (joint.lower, joint.upper) for joint in spec.joints]
        self.joints = tuple(i for i, pair in enumerate(ends) if any(map(math.isfinite, pair)))
        self.register_buffer("lower", torch.tensor([low for low, _ in ends]), persistent=False)
        self.register_buffer("upper", torch.tensor([high for _, high in ends]), persistent=False)
        self.register_buffer("band", torch.tensor([stop_band(joint) for joint in spec.joints]), persistent=False)
        self.register_buffer("_which", torch.tensor(self.joints, dtype=torch.long), persistent=False)

    def near(self, joint_pos: Tensor, share: float = 1.0) -> Tensor:
        """Whether any joint is beyond a share of the band before one of its stops, shape (..., J) to (...)."""
        margin = share * self.band
        return ((joint_pos < self.lower + margin) | (joint_pos > self.upper - margin)).any(-1)

    def beyond(self, joint_pos: Tensor) -> tuple[Tensor, Tensor]:
        """How far joints are above their upper and below their lower stops [rad or m], negative before them, but not
        below the band. Shape (..., J) to twice (..., number of :attr:`joints`).

        Two numbers and not one with a sign, because the two stops of a joint have little to do with each other.
        """
        above = (joint_pos - self.upper).maximum(-self.band)
        below = (self.lower - joint_pos).maximum(-self.band)
        return above.index_select(-1, self._which), below.index_select(-1, self._which)


__all__ = ["LEANING", "STOP_BAND", "Stops", "stop_band"]
