# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What acts in the joints of one robot beside efforts and stops: drives, friction, and the limit of the speed.

A drive is a spring and a damper between a joint and its targets. In a substep ``h`` it is integrated implicitly: with
``k`` for the stiffness, ``d`` for the damping, ``A`` for the joint's entry on the diagonal of the Delassus matrix,
``q`` and ``v`` for position and velocity, and ``q*`` and ``v*`` for the targets, its impulse is::

    m (u - v)          m = g / (1 + g A)        g = h (d + h k)
    u = (d v* + k (q* - r v* - q)) / (d + h k)

where ``r`` is the time that remains behind the substep: a position target moves along with a velocity target so that it
is reached when the physics step ends. The impulses of a physics step together stay below the effort limit times its
length. For a drive of accelerations ``m`` is ``g / (1 + g) / (A + c B)``, with ``c`` for the compliance and ``B`` for
how much the softer one of the joint's two bodies answers.

Friction would bring the joint to rest in each substep; where that takes more than static friction, it brakes the joint
by dynamic friction, and by more the faster it is. What a joint is faster than its limit is taken back. Both give way as
constraints do: an impulse per velocity is ``1 / (A + c B)``.

All this is PhysX's way, measured on it (``docs/lab-notebook.md``).

Example::

    drives = JointDrives(spec, order, MechanicsCfg(substeps=4))
    targets, terms = drives.targets(control), drives.terms(diagonal)
    if targets is not None:
        drive_velocity = drives.velocities(joint_pos, targets, substep=0)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..robot.physical_parameters import PhysicalParameters
from ..robot.spec import Joint, RobotSpec
from .altered import altered
from .config import MechanicsCfg
from .constants import EPSILON, FASTEST_JOINT
from .engine_settings import substeps_of


class Targets(NamedTuple):
    """What drives lead joints to in a control step, in the order of the solver, each of shape (J, M)."""

    position: Tensor
    """Positions [rad or m]."""
    velocity: Tensor
    """Velocities [rad/s or m/s]."""


class JointFriction(NamedTuple):
    """Friction of a joint in a substep, each a number or of shape (M,)."""

    static: float | Tensor
    """Largest impulse that keeps it at rest [N m s or N s]."""
    dynamic: float | Tensor
    """Impulse that brakes it [N m s or N s]."""
    viscous: float | Tensor
    """More of it per speed [kg m^2 or kg]."""


class JointTerms(NamedTuple):
    """How drive, friction and limit of the speed of a joint answer in a physics step; None for what it has not."""

    delassus: Tensor
    """Change of its velocity per impulse, shape (M,)."""
    drive_mass: Tensor | None
    """Impulse of the drive per velocity that is missing [kg or kg m^2], shape (M,)."""
    max_drive_impulse: float | Tensor | None
    """Largest impulse of the drive [N m s or N s]."""
    friction: JointFriction | None
    """Friction."""
    max_speed: float | Tensor | None
    """Largest speed [rad/s or m/s]."""
    constraint_mass: Tensor | None
    """Impulse of friction, and of the limit of the speed, per velocity that is too much [kg or kg m^2], shape (M,);
    None where no joint of the robot has either."""


class JointDrives(nn.Module):
    """Drives, friction and speed limits of one robot's joints. Has no parameters."""

    has_target: list[bool]
    """Whether the drive of each joint leads it anywhere but to rest."""
    is_limited: list[bool]
    """Whether the effort limit of each joint's drive may be reached."""
    is_driven: list[bool]
    """Whether there is more in each joint than a drive that brakes it."""
    has_drive: list[bool]
    """Whether a drive acts in each joint."""
    has_friction: list[bool]
    """Whether there is friction in each joint."""
    has_speed_limit: list[bool]
    """Whether the speed of each joint is limited."""
    needs_responses: bool
    """Whether any joint has friction, a limit of its speed, or a drive of accelerations."""
    _damping: Tensor
    _stiffness: Tensor
    _fixed_target: Tensor
    _of_acceleration: Tensor
    _position_of: Tensor
    _velocity_of: Tensor
    _child: Tensor
    _parent: Tensor
    _order: Tensor
    _fast: Tensor
    _max_speed: Tensor

    def __init__(self, spec: RobotSpec, order: list[int], cfg: MechanicsCfg):
        """Looks up what joints have.

        Args:
            spec: The robot.
            order: Numbers of its joints in the order in which they are solved.
            cfg: Settings of mechanics.
        """
        super().__init__()
        self.spec, self.cfg, self.substeps = spec, cfg, substeps_of(cfg, spec)
        self._joints = joints = [spec.joints[i] for i in order]
        moved = {kind: {each.joint for each in spec.controls if each.kind == kind} for kind in ("position", "velocity")}
        self.has_target = [
            has_drive(joint) and bool(joint.stiffness or joint.name in moved["velocity"]) for joint in joints
        ]
        self.is_limited = [
            joint.effort_limit < math.inf and (target or joint.damping * FASTEST_JOINT > joint.effort_limit)
            for joint, target in zip(joints, self.has_target, strict=True)
        ]
        self.is_driven = [
            target or limited or gives_way(joint)
            for joint, target, limited in zip(joints, self.has_target, self.is_limited, strict=True)
        ]
        self.needs_responses = any(map(gives_way, joints))
        self.has_drive, self.has_friction = ([has(joint) for joint in joints] for has in (has_drive, has_friction))
        self.has_speed_limit = [joint.velocity_limit < math.inf for joint in joints]
        self._may_be_limited = [joint.effort_limit < math.inf for joint in joints]
        self._effort_limits: Sequence[float | Tensor] = [joint.effort_limit for joint in joints]
        self._speed_limits: Sequence[float | Tensor] = [joint.velocity_limit for joint in joints]
        self._frictions: Sequence[Sequence[float | Tensor]] = [
            (joint.friction, joint.dynamic_friction, joint.viscous_friction) for joint in joints
        ]
        child = [next(i for i, body in enumerate(spec.bodies) if body.joint == joint.name) for joint in joints]
        fast = [i for i, joint in enumerate(spec.joints) if slows_others(joint)]
        fixed = [0.0 if joint.name in moved["position"] else joint.target for joint in joints]
        buffers = {
            "_damping": torch.tensor([joint.damping for joint in joints]).unsqueeze(-1),
            "_stiffness": torch.tensor([joint.stiffness for joint in joints]).unsqueeze(-1),
            "_fixed_target": torch.tensor(fixed).unsqueeze(-1),
            "_of_acceleration": torch.tensor([joint.drive == "acceleration" for joint in joints]).unsqueeze(-1),
            "_position_of": _columns(spec, joints, "position"),
            "_velocity_of": _columns(spec, joints, "velocity"),
            "_child": torch.tensor(child, dtype=torch.long),
            "_parent": torch.tensor([spec.body_names.index(str(spec.bodies[i].parent)) for i in child]).long(),
            "_order": torch.tensor(order, dtype=torch.long),
            "_fast": torch.tensor(fast, dtype=torch.long),
            "_max_speed": torch.tensor([spec.joints[i].velocity_limit for i in fast]).unsqueeze(-1),
        }
        for name, value in buffers.items():
            self.register_buffer(name, value, persistent=False)

    def with_parameters(self, rows: PhysicalParameters) -> JointDrives:
        """The same joints with other gains, limits and friction. Where one of them is given, every joint counts as one
        that has it, be it zero.

        Args:
            rows: What :meth:`PhysicalParameters.rows` gave.
        """
        tables: dict[str, Tensor] = {}
        attributes: dict[str, Any] = {}
        every = [True] * len(self._joints)
        gains = {"_stiffness": rows.stiffness, "_damping": rows.damping}
        tables |= {name: self._solved(value) for name, value in gains.items() if value is not None}
        if tables:
            attributes |= {"has_drive": every, "has_target": every, "is_limited": self._may_be_limited}
        if rows.effort_limit is not None:
            attributes |= {"_effort_limits": self._solved(rows.effort_limit).unbind(), "is_limited": every}
        if rows.velocity_limit is not None:
            fast = torch.tensor([i for i, joint in enumerate(self.spec.joints) if joint.kind == "revolute"])
            fast = fast.to(rows.velocity_limit.device, torch.long)
            tables |= {"_fast": fast, "_max_speed": rows.velocity_limit.t().index_select(0, fast)}
            attributes |= {"_speed_limits": self._solved(rows.velocity_limit).unbind(), "has_speed_limit": every}
        frictions = rows.joint_friction, rows.joint_dynamic_friction, rows.joint_viscous_friction
        if any(each is not None for each in frictions):
            own = zip(*self._frictions, strict=True)
            columns = [
                mine if each is None else self._solved(each).unbind() for mine, each in zip(own, frictions, strict=True)
            ]
            attributes |= {"_frictions": list(zip(*columns, strict=True)), "has_friction": every}
        if not tables and not attributes:
            return self
        found = altered(self, tables, **attributes)
        found.needs_responses = found.needs_responses or "has_friction" in attributes or "has_speed_limit" in attributes
        found.is_driven = every
        return found

    def targets(self, control: Tensor) -> Targets | None:
        """Where controls lead the joints; None where no drive leads anywhere but to rest.

        Args:
            control: Controls, shape (M, C).
        """
        if not any(self.has_target):
            return None
        return Targets(self._position_of @ control.t() + self._fixed_target, self._velocity_of @ control.t())

    def slowed(self, velocity: Tensor) -> Tensor:
        """Generalised velocities with which a physics step begins: where a hinge is faster than its limit, all joints
        are slowed by the same share.

        Args:
            velocity: Generalised velocities, shape (dim, M).
        """
        if not len(self._fast):
            return velocity
        joints = velocity[len(velocity) - len(self._joints) :]
        excess = (joints.index_select(0, self._fast).abs() / self._max_speed).amax(0).clamp(min=1.0)
        return torch.cat((velocity[: len(velocity) - len(joints)], joints / excess))

    def velocities(self, pos: Tensor, targets: Targets, substep: int) -> Tensor:
        """Velocities to which drives lead the joints in a substep, shape (J, M).

        Args:
            pos: Where they are [rad or m], shape (J, M).
            targets: Where drives lead them.
            substep: Number of the substep.
        """
        substep_dt = self.spec.physics_dt / self.substeps
        remaining = (self.substeps - 1 - substep) * substep_dt
        missing = torch.sub(targets.position, targets.velocity, alpha=remaining) - pos
        slope = self._damping + substep_dt * self._stiffness
        return (self._damping * targets.velocity + self._stiffness * missing) / slope.clamp(min=EPSILON)

    def terms(self, diagonal: Tensor, body_responses: Tensor | None) -> list[JointTerms | None]:
        """How drive, friction and limit of the speed of each joint answer in a physics step; None for a joint that has
        none of them.

        Args:
            diagonal: Delassus diagonal of the joints, shape (J, M).
            body_responses: What :meth:`Multibody.largest_responses` gave; None for a robot that does not need it.
        """
        if not any(self.is_driven) and not any(self.has_drive):
            return [None] * len(self._joints)
        constraint_masses: Sequence[Tensor | None] = [None] * len(self._joints)
        if body_responses is not None:
            constraint_masses = (1.0 / (diagonal + self.cfg.compliance * self.softer(body_responses))).unbind()
        drive_masses = self._drive_masses(diagonal, constraint_masses)
        rows = zip(diagonal.unbind(), drive_masses, constraint_masses, strict=True)
        return [self._terms_of(joint, *of_joint) for joint, of_joint in enumerate(rows)]

    def softer(self, body_responses: Tensor) -> Tensor:
        """Responses of the softer one of the two bodies of each joint, shape (J, M).

        Args:
            body_responses: What :meth:`Multibody.largest_responses` gave.
        """
        return body_responses[self._child].maximum(body_responses[self._parent])

    def _drive_masses(self, diagonal: Tensor, constraint_masses: Sequence[Tensor | None]) -> Sequence[Tensor]:
        """Impulses of drives per velocity that is missing, each of shape (M,)."""
        substep_dt = self.spec.physics_dt / self.substeps
        gain = (self._damping + substep_dt * self._stiffness) * substep_dt
        masses = list((gain / (1.0 + gain * diagonal)).unbind())
        for i, joint in enumerate(self._joints):
            constraint_mass = constraint_masses[i]
            if joint.drive == "acceleration" and constraint_mass is not None:
                masses[i] = gain[i] / (1.0 + gain[i]) * constraint_mass
        return masses

    def _terms_of(
        self, joint: int, delassus: Tensor, drive_mass: Tensor, constraint_mass: Tensor | None
    ) -> JointTerms | None:
        """How one joint answers."""
        if not (self.has_drive[joint] or self.has_friction[joint] or self.has_speed_limit[joint]):
            return None
        friction, physics_dt = None, self.spec.physics_dt
        if self.has_friction[joint]:
            efforts = self._frictions[joint]
            friction = JointFriction(*(effort * physics_dt / self.substeps for effort in efforts))
        return JointTerms(
            delassus=delassus,
            drive_mass=drive_mass if self.has_drive[joint] else None,
            max_drive_impulse=self._effort_limits[joint] * physics_dt if self.is_limited[joint] else None,
            friction=friction,
            max_speed=self._speed_limits[joint] if self.has_speed_limit[joint] else None,
            constraint_mass=constraint_mass,
        )

    def _solved(self, rows: Tensor) -> Tensor:
        """Numbers of joints in the order of the solver, shape (M, J) to (J, M)."""
        return rows.t().index_select(0, self._order)


def has_drive(joint: Joint) -> bool:
    """Whether a drive acts in a joint."""
    return bool(joint.stiffness or joint.damping)


def has_friction(joint: Joint) -> bool:
    """Whether there is friction in a joint. PhysX takes no notice of dynamic friction alone."""
    return bool(joint.friction or joint.viscous_friction)


def gives_way(joint: Joint) -> bool:
    """Whether friction, a limit of the speed or a drive of accelerations act in a joint: their impulses give way as
    those of constraints do.
    """
    of_acceleration = joint.drive == "acceleration" and has_drive(joint)
    return has_friction(joint) or joint.velocity_limit < math.inf or of_acceleration


def slows_others(joint: Joint) -> bool:
    """Whether all joints are slowed where this one begins a physics step faster than its limit. PhysX does not look at
    slides there.
    """
    return joint.kind == "revolute" and joint.velocity_limit < math.inf


def _columns(spec: RobotSpec, joints: list[Joint], kind: str) -> Tensor:
    """Which control is the target of which joint, zeros and ones of shape (J, C)."""
    return torch.tensor(
        [[float(each.kind == kind and each.joint == joint.name) for each in spec.controls] for joint in joints]
    ).reshape(len(joints), len(spec.controls))


__all__ = [
    "JointDrives",
    "JointFriction",
    "JointTerms",
    "Targets",
    "gives_way",
    "has_drive",
    "has_friction",
    "slows_others",
]
