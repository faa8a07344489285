# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Whether a state is sane: finite, and inside the bounds of the robot's specification."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .spec import RobotSpec

QUAT_SLACK = 0.01
"""How far the length of a quaternion may be from one."""


class StateGuard(nn.Module):
    """Checks states against :class:`~nerd_core.robot.spec.Guard`. Has no parameters."""

    lower: Tensor
    """Smallest value of each number of a state, shape (S,)."""
    upper: Tensor
    """Largest value of each number of a state, shape (S,)."""
    neutral: Tensor
    """A state that is always sane: at the origin, at rest, joints at zero or at the nearest limit, shape (S,)."""
    lengths: dict[str, tuple[float, float]]
    """Shortest and longest length of those parts of a state that are vectors or quaternions; empty for a fixed base."""

    def __init__(self, spec: RobotSpec):
        """Lays out the bounds.

        Args:
            spec: The robot.
        """
        super().__init__()
        self.spec = spec
        at, guard = spec.state, spec.guard
        revolute = [joint.kind == "revolute" for joint in spec.joints]
        reach = torch.full((at.dim,), math.inf, dtype=torch.float64)
        reach[at.root_pos] = guard.max_root_distance
        reach[at.root_quat] = 1.0 + QUAT_SLACK
        reach[at.root_lin_vel] = guard.max_lin_vel
        reach[at.root_ang_vel] = guard.max_ang_vel
        reach[at.joint_vel] = torch.tensor(
            [guard.max_ang_vel if turns else guard.max_lin_vel for turns in revolute], dtype=torch.float64
        )
        lower, upper, neutral = -reach, reach.clone(), torch.zeros(at.dim)
        # An angle that wraps may stand for any number of turns, whatever its limits say.
        limits = [(-math.inf, math.inf) if joint.wraps else (joint.lower, joint.upper) for joint in spec.joints]
        lower[at.joint_pos] = torch.tensor([low - guard.joint_margin for low, _ in limits], dtype=torch.float64)
        upper[at.joint_pos] = torch.tensor([high + guard.joint_margin for _, high in limits], dtype=torch.float64)
        neutral[at.joint_pos] = torch.tensor([min(max(0.0, low), high) for low, high in limits])
        if spec.floating_base:
            neutral[at.root_quat] = torch.tensor([0.0, 0.0, 0.0, 1.0])
        self.lengths = {}
        if spec.floating_base:
            self.lengths["root_lin_vel"] = (0.0, guard.max_lin_vel)
            self.lengths["root_ang_vel"] = (0.0, guard.max_ang_vel)
            self.lengths["root_quat"] = (1.0 - QUAT_SLACK, 1.0 + QUAT_SLACK)
        # With finite bounds one comparison refuses infinities too; NaN compares false with everything.
        largest = torch.finfo(torch.float32).max
        self.register_buffer("lower", lower.clamp(min=-largest).float(), persistent=False)
        self.register_buffer("upper", upper.clamp(max=largest).float(), persistent=False)
        self.register_buffer("neutral", neutral, persistent=False)

    def forward(self, state: Tensor) -> Tensor:
        """Which states are sane.

        Args:
            state: States, shape (..., S).

        Returns:
            Shape (...), bool.
        """
        sane = ((state >= self.lower) & (state <= self.upper)).all(-1)
        for part, (shortest, longest) in self.lengths.items():
            length = torch.linalg.vector_norm(state[..., getattr(self.spec.state, part)], dim=-1)
            sane &= (length >= shortest) & (length <= longest)
        return sane


__all__ = ["StateGuard"]
