# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The robot specification: everything that fixes the meaning of a tensor.

A :class:`RobotSpec` travels with every dataset and every checkpoint. Two parties that hold specs with the same
:attr:`RobotSpec.content_hash` agree on the order, the units and the frames of every number they exchange; when the
hashes differ, :func:`nerd_core.robot.comparison.diff_specs` says in words where.

All quantities are SI. Quaternions are ordered ``xyzw`` with ``w`` last, as in Isaac Lab 3.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from ..files.serialization import StructureError, from_plain, to_plain

SCHEMA = "nerd.robot_spec/1"
"""Name and version of the JSON form."""

JointKind = Literal["revolute", "prismatic"]
ControlKind = Literal["effort", "position", "velocity"]
SlotShape = Literal["sphere", "capsule", "box", "mesh"]
Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]

IDENTITY_QUAT: Quaternion = (0.0, 0.0, 0.0, 1.0)
AXES: dict[str, Vector] = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}

CONTACT_GATE_RADII = 4.0
"""A contact slot is active nearer than this many of its radii (NeRD, constant of the published code)."""

CONTACT_GATE_FLOOR = 0.12
"""... or nearer than this distance [m], whichever is larger."""


class SpecError(ValueError):
    """A specification that contradicts itself or cannot be read."""


@dataclass(frozen=True)
class Parameter:
    """A number with the name that it has where it is set, SI."""

    name: str
    value: float


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
    """Friction coefficient of the joint, in the unit of the teacher."""
    effort_limit: float = math.inf
    """Largest effort of the drive [N m or N]. Efforts that are applied are not limited by it."""
    velocity_limit: float = math.inf
    """Speed that the engine does not let the joint exceed [rad/s or m/s]."""
    actuator: Actuator | None = None
    """The law that drives the joint; None in specifications that say neither this nor the limit of the speed."""

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
    what a tensor means."""


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


@dataclass(frozen=True)
class StateLayout:
    """Named slices of the last dimension of a state tensor."""

    root_pos: slice
    """Position of the root link's origin, relative to the origin of its environment [m]; empty for a fixed base."""
    root_quat: slice
    """Orientation of the root link, xyzw; empty for a fixed base."""
    joint_pos: slice
    """Joint positions [rad or m]."""
    root_lin_vel: slice
    """Velocity of the root link's *origin* (not of its centre of mass), world axes [m/s]; empty for a fixed base."""
    root_ang_vel: slice
    """Angular velocity of the root link, world axes [rad/s]; empty for a fixed base."""
    joint_vel: slice
    """Joint velocities [rad/s or m/s]."""
    dim: int
    """Length of the state."""


@dataclass(frozen=True)
class RobotSpec:
    """Everything that fixes the meaning of the tensors of one robot."""

    name: str
    """Name of the robot."""
    floating_base: bool
    """Whether the root moves freely. The root of a fixed base stands at the origin of its environment plus
    :attr:`root_pos`."""
    joints: tuple[Joint, ...]
    """Degrees of freedom, in the order of the simulator's articulation."""
    bodies: tuple[Body, ...]
    """Bodies, in the order of the simulator's articulation; the first is the root, parents precede children."""
    controls: tuple[Control, ...]
    """Control channels, in the order of the control tensor."""
    physics_dt: float
    """Length of one step of the teacher's physics [s]."""
    decimation: int
    """Physics steps in one control step, which is one step of the model."""
    slots: tuple[ContactSlot, ...] = ()
    """Contact slots, in the order of the contact tensors."""
    gravity: Vector = (0.0, 0.0, -9.81)
    """Acceleration of gravity, world axes [m/s^2]."""
    root_pos: Vector = (0.0, 0.0, 0.0)
    """Where the root of a fixed base stands, relative to the origin of its environment [m]. Unused when floating."""
    root_quat: Quaternion = IDENTITY_QUAT
    """How the root of a fixed base is turned. Unused when floating."""
    asset_hash: str = ""
    """SHA-256 of the robot's description (USD layers) that the teacher was built from."""
    guard: Guard = field(default_factory=Guard)
    """Bounds of a sane state. Not part of the content hash: they do not change what a tensor means."""

    def __post_init__(self):
        _check(self)

    # -- what follows from the fields --------------------------------------------------------------------------

    @property
    def control_dt(self) -> float:
        """Length of one control step, which is one step of the model [s]."""
        return self.physics_dt * self.decimation

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, in order."""
        return tuple(joint.name for joint in self.joints)

    @property
    def body_names(self) -> tuple[str, ...]:
        """Names of the bodies, in order."""
        return tuple(body.name for body in self.bodies)

    @functools.cached_property
    def state(self) -> StateLayout:
        """Where each quantity stands in a state tensor."""
        root = 1 if self.floating_base else 0
        lengths = (3 * root, 4 * root, len(self.joints), 3 * root, 3 * root, len(self.joints))
        ends = [sum(lengths[: i + 1]) for i in range(len(lengths))]
        return StateLayout(*(slice(end - n, end) for n, end in zip(lengths, ends, strict=True)), dim=ends[-1])

    @property
    def control_dim(self) -> int:
        """Length of the control tensor."""
        return len(self.controls)

    def control_slice(self, kind: ControlKind) -> tuple[list[int], list[int]]:
        """Columns of the control tensor that carry one kind, and the joints (by index) that they act on."""
        columns = [i for i, control in enumerate(self.controls) if control.kind == kind]
        return columns, [self.joint_names.index(self.controls[i].joint) for i in columns]

    def meaning(self) -> dict[str, Any]:
        """The plain form of what fixes the meaning of a tensor: all but guard and inertias. Each number has the type
        that its field declares (1 becomes 1.0).
        """
        plain = to_plain(from_plain(RobotSpec, to_plain(self)))
        plain.pop("guard")
        for body in plain["bodies"]:
            body.pop("inertia")
        for joint in plain["joints"]:
            if joint["actuator"] is None:  # what nobody said has no meaning: specifications of before keep their hash
                del joint["actuator"], joint["velocity_limit"]
        return plain

    @functools.cached_property
    def content_hash(self) -> str:
        """SHA-256 over everything that fixes the meaning of a tensor."""
        plain = self.meaning()
        return hashlib.sha256(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    # -- JSON --------------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """The specification as a JSON document that :meth:`from_json` reads back without loss."""
        return json.dumps({"schema": SCHEMA, **to_plain(self)}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> RobotSpec:
        """Reads the JSON form. Raises :class:`SpecError` with what was got and what was expected."""
        try:
            plain = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            raise SpecError(f"the robot specification is not JSON: {error}") from None
        if not isinstance(plain, dict):
            raise SpecError(f"the robot specification: got a JSON {type(plain).__name__}, expected an object")
        schema = plain.pop("schema", None)
        if schema != SCHEMA:
            raise SpecError(
                f"the robot specification has schema {schema!r}, this version reads {SCHEMA!r}: "
                "use the version of nerd_core that wrote it, or make the file again"
            )
        try:
            return from_plain(cls, plain)
        except StructureError as error:
            raise SpecError(f"the robot specification: {error}") from None

    def save(self, path: str | Path) -> None:
        """Writes the JSON form to a file."""
        Path(path).write_text(self.to_json() + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> RobotSpec:
        """Reads the JSON form from a file."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SpecError(f"cannot read the robot specification '{path}': {error}") from None
        return cls.from_json(text)


def _check(spec: RobotSpec) -> None:
    """Raises :class:`SpecError` where a specification contradicts itself."""
    joint_names = set(spec.joint_names)
    for label, names in (("joint", spec.joint_names), ("body", spec.body_names)):
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        if twice:
            raise SpecError(f"robot '{spec.name}': {label} names must be unique, got {twice} more than once")
    if not spec.bodies:
        raise SpecError(f"robot '{spec.name}': got no bodies, expected at least the root")
    if spec.bodies[0].parent is not None:
        raise SpecError(f"robot '{spec.name}': the first body '{spec.bodies[0].name}' must be the root (no parent)")
    if spec.bodies[0].joint is not None:
        raise SpecError(f"robot '{spec.name}': got the joint '{spec.bodies[0].joint}' at the root, expected none there")
    seen: set[str] = set()
    used: list[str] = []
    for body in spec.bodies:
        if body.parent is None and seen:
            raise SpecError(
                f"robot '{spec.name}': body '{body.name}' has no parent, but only the first may be the root"
            )
        if body.parent is not None and body.parent not in seen:
            raise SpecError(f"robot '{spec.name}': the parent '{body.parent}' of body '{body.name}' must precede it")
        if body.joint is not None:
            if body.joint not in joint_names:
                raise SpecError(f"robot '{spec.name}': body '{body.name}' hangs from the unknown joint '{body.joint}'")
            used.append(body.joint)
        seen.add(body.name)
    carried = Counter(used)
    wrong = [f"{carried[name]} on '{name}'" for name in spec.joint_names if carried[name] != 1]
    if wrong:
        shown = ", ".join(wrong[:8]) + (f" and {len(wrong) - 8} more" if len(wrong) > 8 else "")
        raise SpecError(f"robot '{spec.name}': each joint must carry exactly one body, got {shown}")
    for control in spec.controls:
        if control.joint not in joint_names:
            raise SpecError(f"robot '{spec.name}': a control channel acts on the unknown joint '{control.joint}'")
        if control.kind not in get_args(ControlKind):
            raise SpecError(
                f"robot '{spec.name}': the control of '{control.joint}' has kind '{control.kind}', "
                f"expected one of {get_args(ControlKind)}"
            )
    if len(set(spec.controls)) != len(spec.controls):
        raise SpecError(f"robot '{spec.name}': a control channel is listed twice")
    for slot in spec.slots:
        if slot.body not in seen:
            raise SpecError(f"robot '{spec.name}': a contact slot sits on the unknown body '{slot.body}'")
        if slot.shape not in get_args(SlotShape):
            raise SpecError(f"robot '{spec.name}': got slot shape '{slot.shape}', expected {get_args(SlotShape)}")
        if not (math.isfinite(slot.radius) and slot.radius >= 0.0):
            raise SpecError(f"robot '{spec.name}': got slot radius {slot.radius}, expected a finite number >= 0")
        _check_vector(spec, f"point of a slot on '{slot.body}'", slot.point)
    for joint in spec.joints:
        _check_vector(spec, f"axis of joint '{joint.name}'", joint.axis, unit=True)
    for body in spec.bodies:
        _check_vector(spec, f"parent_pos of body '{body.name}'", body.parent_pos)
        _check_vector(spec, f"child_pos of body '{body.name}'", body.child_pos)
        _check_vector(spec, f"parent_quat of body '{body.name}'", body.parent_quat, unit=True)
        _check_vector(spec, f"child_quat of body '{body.name}'", body.child_quat, unit=True)
        if body.inertia is not None:
            _check_inertia(spec, body.name, body.inertia)
    _check_vector(spec, "root_pos", spec.root_pos)
    _check_vector(spec, "root_quat", spec.root_quat, unit=True)
    _check_vector(spec, "gravity", spec.gravity)
    if not (math.isfinite(spec.physics_dt) and spec.physics_dt > 0.0):
        raise SpecError(f"robot '{spec.name}': got physics_dt {spec.physics_dt}, expected a positive number of seconds")
    if spec.decimation < 1:
        raise SpecError(f"robot '{spec.name}': got decimation {spec.decimation}, expected at least 1")


def _check_inertia(spec: RobotSpec, body: str, inertia: Inertia) -> None:
    """Raises :class:`SpecError` for numbers that no rigid body has."""
    _check_vector(spec, f"centre of mass of body '{body}'", inertia.centre)
    _check_vector(spec, f"products of inertia of body '{body}'", inertia.products)
    if not all(math.isfinite(value) and value >= 0.0 for value in (inertia.mass, *inertia.moments)):
        raise SpecError(
            f"robot '{spec.name}': got mass {inertia.mass} and moments {inertia.moments} of body '{body}', expected "
            "finite numbers >= 0"
        )


def _check_vector(spec: RobotSpec, what: str, values: tuple[float, ...], unit: bool = False) -> None:
    """Raises :class:`SpecError` unless all numbers are finite and, where asked for, of length one."""
    if not all(math.isfinite(value) for value in values):
        raise SpecError(f"robot '{spec.name}': got {values} as {what}, expected finite numbers")
    if unit and not abs(math.hypot(*values) - 1.0) < 1e-3:
        raise SpecError(
            f"robot '{spec.name}': got {values} of length {math.hypot(*values):.6g} as {what}, expected length 1"
        )


__all__ = [
    "Actuator",
    "Body",
    "ContactSlot",
    "Control",
    "Guard",
    "Inertia",
    "Joint",
    "Parameter",
    "RobotSpec",
    "SpecError",
    "StateLayout",
]
