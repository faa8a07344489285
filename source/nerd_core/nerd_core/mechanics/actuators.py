# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Actuators that make efforts outside of the engine: in every physics step, from targets and the state of the joint.

With ``q`` and ``v`` for position and velocity of a joint, ``q*``, ``v*`` and ``f`` for its targets, a law gives::

    effort = clip(k (q* - q) + d (v* - v) + f, least, largest)

Bounds are the effort limit (``IdealPDActuator``), that and the line of torque over speed of a motor
(``DCMotor``), or a table over the joint's position (``RemotizedPDActuator``): Isaac Lab's laws.

Laws with a memory, delays of targets and networks, are not computed here. Where a simulation runs their efforts come
from the task's own actuators: a *source* that is asked once in every physics step.

Example::

    actuators = Actuators(spec)
    if actuators.joints:
        effort = actuators(control, joint_pos, joint_vel)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import get_args

import torch
from torch import Tensor, nn

from ..robot.parts import ActuatorLaw, Control, ControlKind, Joint
from ..robot.spec import RobotSpec

EffortSource = Callable[[int, Tensor, Tensor], Tensor]
"""Gives efforts of all joints [N m or N], shape (M, J), from the number of the physics step and positions and
velocities of the joints, each (M, J)."""

IDLE = ("none", "ImplicitActuator")
"""Kinds of actuators that make no efforts outside of the engine."""

WITHOUT_MEMORY = ("IdealPDActuator", "DCMotor", "RemotizedPDActuator", "DelayedPDActuator")
"""Kinds whose law is known here, as long as they do not delay targets."""


class Actuators(nn.Module):
    """The actuators of one robot that make efforts outside of the engine. Has no parameters."""

    joints: list[int]
    """Numbers of the joints that they drive, in the order of the specification."""
    remembering: list[str]
    """Names of those among them whose law has a memory, or is not known."""
    source: EffortSource | None
    """Gives the efforts instead of the laws; None for the laws."""
    has_motors: bool
    """Whether the effort of any of them falls with its speed."""
    _stiffness: Tensor
    _damping: Tensor
    _limit: Tensor
    _stall: Tensor
    _no_load_speed: Tensor
    _fixed_target: Tensor
    _joints: Tensor

    def __init__(self, spec: RobotSpec):
        """Looks up the laws.

        Args:
            spec: The robot.
        """
        super().__init__()
        self.spec, self.source = spec, None
        self.joints = [i for i, joint in enumerate(spec.joints) if is_explicit(joint)]
        joints = [spec.joints[i] for i in self.joints]
        self.remembering = [joint.name for joint in joints if has_memory(joint)]
        laws = self.laws = [law_of(joint) for joint in joints]
        self.has_motors = any(law.saturation_effort < math.inf for law in laws)
        moved = {each.joint for each in spec.controls if each.kind == "position"}
        motors = [(law.saturation_effort, law.velocity_limit) for law in laws]
        # a motor without a line over its speed has one that is never met
        motors = [each if each[0] < math.inf and each[1] < math.inf else (NEVER_MET, 1.0e15) for each in motors]
        columns = {
            "_stiffness": [law.stiffness for law in laws],
            "_damping": [law.damping for law in laws],
            "_limit": [law.effort_limit for law in laws],
            "_stall": [stall for stall, _ in motors],
            "_no_load_speed": [speed for _, speed in motors],
            "_fixed_target": [0.0 if joint.name in moved else joint.target for joint in joints],
        }
        for name, values in columns.items():
            self.register_buffer(name, torch.tensor(values, dtype=torch.float32).unsqueeze(-1), persistent=False)
        for kind in get_args(ControlKind):
            columns_of = [[float(each == Control(joint.name, kind)) for each in spec.controls] for joint in joints]
            matrix = torch.tensor(columns_of).reshape(len(joints), len(spec.controls))
            self.register_buffer(f"_{kind}_of", matrix, persistent=False)
        self.register_buffer("_joints", torch.tensor(self.joints, dtype=torch.long), persistent=False)
        for row, law in enumerate(laws):
            if law.effort_table:
                self.register_buffer(f"_table_{row}", torch.tensor(law.effort_table).t().contiguous(), persistent=False)

    def forward(self, control: Tensor, joint_pos: Tensor, joint_vel: Tensor, physics_step: int = 0) -> Tensor:
        """Efforts of :attr:`joints` over a physics step [N m or N], shape (number of them, M).

        Args:
            control: Controls, shape (M, C).
            joint_pos: Positions of all joints when it begins [rad or m], shape (M, J).
            joint_vel: Their velocities [rad/s or m/s], shape (J, M).
            physics_step: Number of the physics step in the control step.

        Raises:
            ValueError: A law has a memory, and nobody gives its efforts.
        """
        if self.source is not None:
            return self.source(physics_step, joint_pos, joint_vel.t()).to(joint_pos).t().index_select(0, self._joints)
        self.require_laws()
        pos, vel = joint_pos.t().index_select(0, self._joints), joint_vel.index_select(0, self._joints)
        controls = control.t()
        position = self.get_buffer("_position_of") @ controls + self._fixed_target
        velocity, effort = (self.get_buffer(f"_{kind}_of") @ controls for kind in ("velocity", "effort"))
        effort = self._stiffness * (position - pos) + self._damping * (velocity - vel) + effort
        largest = self._limit
        if self.has_motors:
            fastest = self._no_load_speed * (1.0 + self._limit / self._stall)
            share = vel.maximum(-fastest).minimum(fastest) / self._no_load_speed
            upper = (self._stall * (1.0 - share)).minimum(largest)
            lower = (self._stall * (-1.0 - share)).maximum(-largest)
            effort = effort.maximum(lower).minimum(upper)
        else:
            effort = effort.maximum(-largest).minimum(largest)
        return self._within_tables(effort, pos)

    def require_laws(self) -> None:
        """Raises ValueError for actuators with a memory, of which no source tells the efforts."""
        if self.remembering:
            law = self.spec.joints[self.spec.joint_names.index(self.remembering[0])].actuator
            kind = "actuator" if law is None else law.kind
            raise ValueError(
                f"got {len(self.remembering)} actuators of '{self.spec.name}' whose efforts depend on the past or on a "
                f"law that is not known ('{self.remembering[0]}': {kind[:60]}), expected what gives their efforts: "
                "mechanics can step this robot in an environment, with the task's own actuators (nerd score, nerd "
                "evaluate --policy), and not train or be evaluated on data. Use actuators without delay, or learn the "
                "motion by another preset (nerd train --preset bounded)"
            )

    def _within_tables(self, effort: Tensor, pos: Tensor) -> Tensor:
        """Efforts within what tables over the joints' positions allow."""
        if not any(law.effort_table for law in self.laws):
            return effort
        rows = list(effort.unbind())
        for row, law in enumerate(self.laws):
            if law.effort_table:
                largest = interpolated(self.get_buffer(f"_table_{row}"), pos[row])
                rows[row] = rows[row].maximum(-largest).minimum(largest)
        return torch.stack(rows)


NEVER_MET = 1.0e15
"""An effort that nothing reaches, and whose product with a speed still is a number."""


def interpolated(table: Tensor, at: Tensor) -> Tensor:
    """A piecewise linear function, constant beyond its ends.

    Args:
        table: Places in rising order, and values there, shape (2, K).
        at: Where to look, shape (M,).
    """
    places, values = table
    upper = torch.searchsorted(places, at.detach().contiguous()).clamp(1, max(1, len(places) - 1))
    if len(places) == 1:
        return values.expand_as(at)
    low, high = places[upper - 1], places[upper]
    share = ((at - low) / (high - low)).clamp(0.0, 1.0)
    return values[upper - 1] + share * (values[upper] - values[upper - 1])


def is_explicit(joint: Joint) -> bool:
    """Whether an actuator outside of the engine makes efforts on a joint."""
    return joint.actuator is not None and joint.actuator.kind not in IDLE and "Implicit" not in joint.actuator.kind


def has_memory(joint: Joint) -> bool:
    """Whether the law of a joint's explicit actuator has a memory, or is not known."""
    assert joint.actuator is not None  # the caller has looked
    if joint.actuator.kind not in WITHOUT_MEMORY:
        return True
    law = law_of(joint)
    return law.max_delay > 0 or (joint.actuator.kind == "RemotizedPDActuator" and not law.effort_table)


def law_of(joint: Joint) -> ActuatorLaw:
    """The law of a joint's explicit actuator: as the specification says it, or from its parameters, which is all that
    specifications of before have.
    """
    actuator = joint.actuator
    assert actuator is not None  # the caller has looked
    if actuator.law is not None:
        return actuator.law
    given = {each.name: each.value for each in actuator.parameters}
    limit = given.get("actuator_effort_limit", given.get("effort_limit", joint.effort_limit))
    speed = given.get("actuator_velocity_limit", given.get("velocity_limit", joint.velocity_limit))
    return ActuatorLaw(
        stiffness=given.get("stiffness", 0.0),
        damping=given.get("damping", 0.0),
        effort_limit=math.inf if actuator.kind == "RemotizedPDActuator" else limit,
        saturation_effort=given.get("saturation_effort", math.inf) if actuator.kind == "DCMotor" else math.inf,
        velocity_limit=speed,
        max_delay=int(given.get("max_delay", 0)),
    )


__all__ = ["Actuators", "EffortSource", "has_memory", "interpolated", "is_explicit", "law_of"]
