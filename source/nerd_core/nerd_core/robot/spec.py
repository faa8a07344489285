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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..files.messages import shortened
from ..files.safe_files import MAX_JSON_BYTES, UnsafeFile, parse_json, read_bytes
from ..files.serialization import StructureError, from_plain, to_plain
from .parts import (
    IDENTITY_QUAT,
    Actuator,
    ActuatorLaw,
    Body,
    ContactSlot,
    Control,
    ControlKind,
    DriveKind,
    Guard,
    Inertia,
    Joint,
    Material,
    Mimic,
    Parameter,
    Quaternion,
    SlotShape,
    SpecError,
    Vector,
)
from .spec_checks import check_sizes, check_spec

SCHEMA = "nerd.robot_spec/1"
"""Name and version of the JSON form."""

AXES: dict[str, Vector] = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}

SET_ASIDE = (
    "guard",
    "tendons",
    "other_forces",
    "position_iterations",
    "velocity_iterations",
    "ground",
    "touching_bodies",
)
"""Fields of a robot that are not part of the content hash."""

NOT_OF_THE_MEANING = {
    "bodies": (
        "inertia",
        "has_gravity",
        "linear_damping",
        "angular_damping",
        "max_linear_velocity",
        "max_angular_velocity",
    ),
    "joints": ("drive", "target", "dynamic_friction", "viscous_friction", "mimic"),
    "slots": ("material",),
}
"""Fields of its parts that say how a robot moves, and not what a number means: specifications that differ in them go
together, and those from before there were such fields still do."""


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
    tendons: tuple[str, ...] = ()
    """Names of tendons that couple joints. Not part of the content hash."""
    other_forces: tuple[str, ...] = ()
    """What else acts in the simulator and has no place in a specification, each in words. Not part of the content
    hash."""
    position_iterations: int | None = None
    """Position iterations of the simulator's solver in a physics step; None in specifications that do not say it. Not
    part of the content hash, nor is what follows."""
    velocity_iterations: int = 0
    """Velocity iterations behind them."""
    ground: Material | None = None
    """What the ground is made of; None in specifications that do not say it."""
    touching_bodies: tuple[tuple[str, str], ...] = ()
    """Pairs of bodies of the robot that may touch each other: those that the simulator does not filter."""
    guard: Guard = field(default_factory=Guard)
    """Bounds of a sane state. Not part of the content hash: they do not change what a tensor means."""

    def __post_init__(self):
        check_spec(self)

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
        """The plain form of what fixes the meaning of a tensor: all but :data:`SET_ASIDE` and
        :data:`NOT_OF_THE_MEANING`. Each number has the type that its field declares (1 becomes 1.0).
        """
        plain = to_plain(from_plain(RobotSpec, to_plain(self)))
        for name in SET_ASIDE:
            plain.pop(name)
        for name, left_out in NOT_OF_THE_MEANING.items():
            for each in plain[name]:
                for field_name in left_out:
                    each.pop(field_name)
        for joint in plain["joints"]:
            if joint["actuator"] is None:  # what nobody said has no meaning: specifications of before keep their hash
                del joint["actuator"], joint["velocity_limit"]
            else:
                del joint["actuator"]["law"]
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
            plain = parse_json(text.encode(errors="surrogatepass"), "robot specification")
        except UnsafeFile as error:
            raise SpecError(str(error)) from None
        if not isinstance(plain, dict):
            raise SpecError(f"the robot specification: got a JSON {type(plain).__name__}, expected an object")
        schema = plain.pop("schema", None)
        if schema != SCHEMA:
            raise SpecError(
                f"the robot specification has schema {shortened(schema)}, this version reads {SCHEMA!r}: "
                "use the version of nerd_core that wrote it, or make the file again"
            )
        try:
            spec = from_plain(cls, plain)
        except StructureError as error:
            raise SpecError(f"the robot specification: {error}") from None
        check_sizes(spec)
        return spec

    def save(self, path: str | Path) -> None:
        """Writes the JSON form to a file."""
        Path(path).write_text(self.to_json() + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> RobotSpec:
        """Reads the JSON form from a file."""
        try:
            text = read_bytes(Path(path), MAX_JSON_BYTES).decode()
        except (UnsafeFile, UnicodeDecodeError) as error:
            raise SpecError(f"cannot read the robot specification '{path}': {error}") from None
        return cls.from_json(text)


__all__ = [
    "AXES",
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
    "Material",
    "Mimic",
    "Parameter",
    "Quaternion",
    "RobotSpec",
    "SlotShape",
    "SpecError",
    "StateLayout",
    "Vector",
]
