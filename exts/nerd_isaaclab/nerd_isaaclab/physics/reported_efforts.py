# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What actuators say of a control step that a model has taken: the efforts of its last physics step.

Isaac Lab asks its actuators before each step of the engine. A model takes all physics steps of a control step at once,
so they would be asked before the first one alone, when a target has just jumped and the joint has not begun to follow:
rewards that read ``applied_torque`` saw squares of efforts up to three times those of PhysX. So they are asked once
more, at the state with which the last physics step begins, on the line between the two states of the control step.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from nerd_core.mechanics.actuators import Actuators, is_explicit
from nerd_core.mechanics.joint_drives import has_drive
from nerd_core.robot.spec import RobotSpec

if TYPE_CHECKING:
    from isaaclab.assets import Articulation


class ReportedEfforts:
    """Lets the actuators of an articulation report what they did at the end of a control step."""

    def __init__(self, robot: Articulation, spec: RobotSpec):
        """Looks up whether there is anything to ask: not without gains, since efforts are targets then, and not where
        an actuator has a memory, which every question changes.

        Args:
            robot: The articulation.
            spec: Its specification.
        """
        self._robot, self._physics_dt = robot, spec.physics_dt
        self._share = (spec.decimation - 1) / spec.decimation
        has_gains = any(has_drive(joint) or is_explicit(joint) for joint in spec.joints)
        self.is_needed = has_gains and spec.decimation > 1 and not Actuators(spec).remembering
        """Whether what actuators said before the control step differs from what they would say at its end."""

    def joints(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Copies of positions and velocities of the joints [rad or m, rad/s or m/s], each of shape (N, J)."""
        data = self._robot.data
        return data.joint_pos.torch.clone(), data.joint_vel.torch.clone()

    def publish(self, before: tuple[torch.Tensor, torch.Tensor]) -> None:
        """Makes ``computed_torque`` and ``applied_torque`` read as at the beginning of the last physics step. Call when
        the articulation holds the state after the control step.

        Args:
            before: What :meth:`joints` gave before the control step.
        """
        ends = self.joints()
        gone = [end - start for start, end in zip(before, ends, strict=True)]
        gone[0] = torch.where(gone[0].abs() > math.pi, 0.0, gone[0])  # counted anew after two turns, or moved
        rest = 1.0 - self._share
        ask_at(self._robot, ends[0] - rest * gone[0], ends[1] - rest * gone[1], self._physics_dt)


def ask_at(robot: Articulation, joint_pos: torch.Tensor, joint_vel: torch.Tensor, physics_dt: float) -> None:
    """Asks the actuators of an articulation for the efforts of a state. They look at the articulation's buffers, which
    hold it for the moment.

    Args:
        robot: The articulation.
        joint_pos: Positions of the joints [rad or m], shape (N, J).
        joint_vel: Their velocities [rad/s or m/s], shape (N, J).
        physics_dt: Length of a physics step [s].
    """
    buffers = robot.data.joint_pos.torch, robot.data.joint_vel.torch
    held = [buffer.clone() for buffer in buffers]
    try:
        for buffer, value in zip(buffers, (joint_pos, joint_vel), strict=True):
            buffer.copy_(value)
        robot.actuators.compute(physics_dt)
    finally:
        for buffer, value in zip(buffers, held, strict=True):
            buffer.copy_(value)


__all__ = ["ReportedEfforts", "ask_at"]
