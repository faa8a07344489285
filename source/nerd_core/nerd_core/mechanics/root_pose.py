# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Where the root of a floating robot is within a control step.

Example::

    root, step = RootPose.at_origin(quat).moved(motion)
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ..robot.frames import quat_from_rotvec, quat_mul, quat_normalize
from ..robot.kinematics import rotation_columns
from .vectors import rotate


class RootPose(NamedTuple):
    """Where the root of a floating robot is, from where it began."""

    quat: Tensor
    """Orientation, xyzw, shape (M, 4)."""
    rotation: Tensor
    """The same as rotation matrices, shape (3, 3, M)."""
    displacement: Tensor
    """How far it has come, environment axes [m], shape (3, M)."""

    @classmethod
    def at_origin(cls, quat: Tensor) -> RootPose:
        """The root at the beginning."""
        rotation = rotation_columns(quat.t()).contiguous()
        return cls(quat, rotation, torch.zeros_like(rotation[0]))

    def moved(self, motion: Tensor) -> tuple[RootPose, Tensor]:
        """The root after it has gone and turned by what is given in its own axes [m, rad], shape (6, M), and its new
        axes in the old ones, shape (3, 3, M).
        """
        quat_step = quat_from_rotvec(motion[3:6].t())
        quat = quat_normalize(quat_mul(self.quat, quat_step))
        step = rotation_columns(quat_step.t()).contiguous()
        rotation = (self.rotation.unsqueeze(2) * step).sum(1)
        return RootPose(quat, rotation, self.displacement + rotate(self.rotation, motion[:3])), step


__all__ = ["RootPose"]
