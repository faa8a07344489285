# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a robot specification is made of: joints, bodies, controls, contact slots, bounds of sane states.

All quantities are SI. Quaternions are ordered ``xyzw`` with ``w`` last, as in Isaac Lab 3.

Example::

    joint = Joint("hip", "revolute", axis=(0.0, 0.0, 1.0), lower=-0.7, upper=0.7, stiffness=80.0, damping=2.0)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from .materials import Material

JointKind = Literal["revolute", "prismatic"]
ControlKind = Literal["effort", "position", "velocity"]
DriveKind = Literal["force", "acceleration"]
SlotShape = Literal["sphere", "capsule", "box", "mesh"]
Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]


IDENTITY_QUAT: Quaternion = (0.0, 0.0, 0.0, 1.0)

CONTACT_GATE_RADII = 4.0
"""A contact slot is active nearer than this many of its radii (NeRD, constant of the published code)."""

CONTACT_GATE_FLOOR = 0.12
"""... or nearer than this distance [m], whichever is larger."""


class SpecError(ValueError):
    """A specification that contradicts itself or cannot be read."""


@dataclass(frozen=True)
class Mimic:
    """How a joint follows another: its position is ``ratio`` times the other's and ``offset`` more."""

    joint: str
    """Name of the joint that it follows."""
    ratio: float = 1.0
    """Position per position of the other."""
    offset: float = 0.0
    """More of it [rad or m]."""
    frequency: float = 0.0
    """Natural frequency of the spring by which it follows [rad/s]; zero where it follows firmly."""
    damping_ratio: float = 0.0
    """Damping ratio of that spring."""


@dataclass(frozen=True)
class Parameter:
    """A number with the name that it has where it is set, SI."""

    name: str
    """Its name."""
    value: float
    """The number."""


@dataclass(frozen=True)
class ActuatorLaw:
    """The numbers of an actuator outside of the engine. Bounds of its effort are the limit, the line of a motor's
    effort over its speed, and a table over the joint's position.
    """

    stiffness: float = 0.0
    """Effort per missing position [N m/rad or N/m]."""
    damping: float = 0.0
    """Effort per missing velocity [N m s/rad or N s/m]."""
    effort_limit: float = math.inf
    """Largest effort [N m or N]."""
    saturation_effort: float = math.inf
    """Effort of a motor at rest [N m or N]; infinite for one whose effort does not fall with its speed."""
    velocity_limit: float = math.inf
    """Speed at which that effort has fallen to zero [rad/s or m/s]."""
    effort_table: tuple[tuple[float, float], ...] = ()
    """Positions of the joint in rising order [rad or m], and the largest effort there [N m or N]."""
    max_delay: int = 0
    """Largest number of physics steps by which targets are late."""


@dataclass(frozen=True)
class Actuator:
    """The law that turns targets into the effort on a joint."""

    kind: str
    """Name of the law; ``none`` for a joint that nothing drives."""
    parameters: tuple[Parameter, ...] = ()
    """Its numbers for this joint: gains, limits, delays [physics steps]. Those of the engine's own drive stand in the
    joint instead."""
    detail: str = ""
    """SHA-256 of what else sets it, a table or a network."""
    law: ActuatorLaw | None = None
    """The same as numbers of a law; None for one that is not known, and in specifications that do not say it. Not part
    of the content hash, which has kind, parameters and detail."""


@dataclass(frozen=True)
class Joint:
    """One degree of freedom."""

    name: str
    """Name of the joint."""
    kind: JointKind
    """Whether the coordinate is an angle [rad] or a length [m]."""
    axis: Vector
    """Unit axis in the joint's own frame."""
    lower: float = -math.inf
    """Lower limit [rad or m]."""
    upper: float = math.inf
    """Upper limit [rad or m]."""
    wraps: bool | None = None
    """Whether the coordinate lives on a circle; by default a revolute joint whose range exceeds a full turn."""
    stiffness: float = 0.0
    """Stiffness of the drive that turns targets into effort [N m/rad or N/m]."""
    damping: float = 0.0
    """Damping of that drive [N m s/rad or N s/m]."""
    armature: float = 0.0
    """Inertia added to the joint, as of a rotor [kg m^2 or kg]."""
    friction: float = 0.0
    """Largest effort by which friction holds the joint at rest: static friction [N m or N]."""
    effort_limit: float = math.inf
    """Largest effort of the drive [N m or N]. Efforts that are applied are not limited by it."""
    drive: DriveKind = "force"
    """Whether stiffness and damping make efforts, or accelerations: those of a joint alone, without what hangs from it.
    This and what follows, where it does not say otherwise, is not part of the content hash: it does not change what a
    tensor means."""
    target: float = 0.0
    """Position to which the drive leads the joint where no control says one [rad or m]."""
    dynamic_friction: float = 0.0
    """Effort by which friction brakes a joint that moves [N m or N]."""
    viscous_friction: float = 0.0
    """More of it by the joint's speed [N m s/rad or N s/m]."""
    velocity_limit: float = math.inf
    """Largest speed of the joint [rad/s or m/s]. Part of the content hash where :attr:`actuator` is."""
    actuator: Actuator | None = None
    """The law that drives the joint, part of the content hash; None in specifications that do not say it."""
    mimic: Mimic | None = None
    """Which joint it follows; None for one that moves by itself."""

    def __post_init__(self):
        if self.wraps is None:
            turn = 2.0 * math.pi
            object.__setattr__(self, "wraps", self.kind == "revolute" and self.upper - self.lower > turn * (1 + 1e-6))
        if self.kind not in get_args(JointKind):
            raise SpecError(f"joint '{self.name}': got kind '{self.kind}', expected one of {get_args(JointKind)}")
        if not self.lower <= self.upper:
            raise SpecError(
                f"joint '{self.name}': got the limits [{self.lower}, {self.upper}], expected lower <= upper"
            )
        if self.wraps and self.kind != "revolute":
            raise SpecError(f"joint '{self.name}': only a revolute joint can wrap, this one is {self.kind}")


@dataclass(frozen=True)
class Inertia:
    """Mass of a rigid body and how it is spread."""

    mass: float
    """Mass [kg]."""
    centre: Vector = (0.0, 0.0, 0.0)
    """Centre of mass in the frame of the body [m]."""
    moments: Vector = (0.0, 0.0, 0.0)
    """Moments of inertia about the centre of mass, axes of the body: xx, yy, zz [kg m^2]."""
    products: Vector = (0.0, 0.0, 0.0)
    """The other entries of that matrix: xy, xz, yz [kg m^2]."""


@dataclass(frozen=True)
class Body:
    """One rigid body and how it hangs from its parent.

    With ``T`` for a homogeneous transform, the pose of a body is
    ``T_body = T_parent @ T(parent_pos, parent_quat) @ T_joint(coordinate) @ inverse(T(child_pos, child_quat))``.
    """

    name: str
    """Name of the body."""
    parent: str | None = None
    """Name of the parent; None for the root."""
    joint: str | None = None
    """Name of the joint to the parent; None for the root and for bodies that are fixed to their parent."""
    parent_pos: Vector = (0.0, 0.0, 0.0)
    """Position of the joint's frame in the parent [m]."""
    parent_quat: Quaternion = IDENTITY_QUAT
    """Orientation of the joint's frame in the parent."""
    child_pos: Vector = (0.0, 0.0, 0.0)
    """Position of the joint's frame in this body [m]."""
    child_quat: Quaternion = IDENTITY_QUAT
    """Orientation of the joint's frame in this body."""
    inertia: Inertia | None = None
    """Mass and moments of inertia; None where they are not known. Not part of the content hash: it does not change
    what a tensor means. Nor is what follows."""
    has_gravity: bool = True
    """Whether gravity acts on it."""
    linear_damping: float = 0.0
    """Share of its velocity that it loses, as of drag in air [1/s]."""
    angular_damping: float = 0.0
    """Share of its angular velocity that it loses [1/s]."""
    max_linear_velocity: float = math.inf
    """Speed of its centre of mass to which a faster one is slowed [m/s]."""
    max_angular_velocity: float = math.inf
    """Angular speed to which a faster one is slowed [rad/s]."""


@dataclass(frozen=True)
class Control:
    """One number that the actuators hold constant over a control step."""

    joint: str
    """Name of the joint it acts on."""
    kind: ControlKind
    """Effort [N m or N], position target [rad or m] or velocity target [rad/s or m/s]."""


@dataclass(frozen=True)
class ContactSlot:
    """A point of the robot that may touch the ground, with a radius around it."""

    body: str
    """Name of the body that carries the point."""
    point: Vector
    """Position in the frame of the body [m]: a sphere's centre, a capsule's end of axis, a corner, a hull point."""
    radius: float
    """Distance from the point to the surface [m]; zero for corners and hull points."""
    shape: SlotShape
    """Kind of the collision shape that the slot stands for."""
    material: Material | None = None
    """What the shape is made of; None in specifications that do not say it. Not part of the content hash."""

    @property
    def gate(self) -> float:
        """Distance to the ground [m] above which the slot is masked out."""
        return max(CONTACT_GATE_RADII * self.radius, CONTACT_GATE_FLOOR)


@dataclass(frozen=True)
class Guard:
    """Bounds outside which a predicted state is refused. Generous: they catch divergence, not bad style."""

    max_root_distance: float = 1.0e4
    """Largest coordinate of the root position, relative to the origin of its environment [m]."""
    max_lin_vel: float = 100.0
    """Largest speed of the root and of prismatic joints [m/s]."""
    max_ang_vel: float = 200.0
    """Largest rate of the root and of revolute joints [rad/s]."""
    joint_margin: float = 1.0
    """How far a joint may pass its limits [rad or m]."""


__all__ = [
    "IDENTITY_QUAT",
    "Actuator",
    "ActuatorLaw",
    "Body",
    "ContactSlot",
    "Control",
    "ControlKind",
    "DriveKind",
    "Guard",
    "Inertia",
    "Joint",
    "JointKind",
    "Material",
    "Mimic",
    "Quaternion",
    "SlotShape",
    "SpecError",
    "Vector",
]
