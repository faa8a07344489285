# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What an identification found, for an engine: physical parameters of bodies and joints by name, as a JSON file.

A task of Isaac Lab writes them to PhysX before its first step (``env.nerd.calibration=FILE``), so that the analytic
simulator is calibrated as the model is. Parameters that are not in the file stay those of the asset.

Example::

    write_calibration(Path("calibration.json"), calibration_of(spec, parameterisation(free)))
    calibration = read_calibration(Path("calibration.json"))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..files.atomic import write_json
from ..files.safe_files import MAX_JSON_BYTES, parse_json, read_bytes
from ..robot.physical_parameters import JOINT_FIELDS, PhysicalParameters, own_shape
from ..robot.spec import RobotSpec
from .parameterisation import IdentificationError

OF_BODIES = {"mass": 1, "centre_of_mass": 3, "inertia": 9}
"""Parameters of bodies that an engine takes, and how many numbers they are; an inertia row by row."""

OF_JOINTS = tuple(name for name in JOINT_FIELDS if name not in ("lower_limit", "upper_limit"))
"""Parameters of joints that an engine takes."""

POSITIVE = ("mass",)
"""Parameters that are more than zero; those of joints are at least zero."""

LARGEST = 1.0e9
"""Largest number of a calibration."""

KIND = "nerd calibration"
"""What a file says of itself."""


@dataclass(frozen=True)
class EngineCalibration:
    """Parameters by name of the body or joint, then by name of the parameter, SI; see :data:`OF_BODIES` and
    :data:`OF_JOINTS`. Inertias are about the centres of mass, in the axes of the bodies.
    """

    robot: str
    """The robot, for messages."""
    bodies: Mapping[str, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)
    """Parameters of bodies."""
    joints: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Parameters of joints."""

    def require_parts(self, bodies: list[str], joints: list[str]) -> None:
        """Raises :class:`IdentificationError` for parameters of what a robot has not.

        Args:
            bodies: Names of its bodies.
            joints: Names of its joints.
        """
        for kind, named, known in (("bodies", self.bodies, bodies), ("joints", self.joints, joints)):
            unknown = [name for name in named if name not in known]
            if unknown:
                raise IdentificationError(
                    f"got a calibration of '{self.robot}' with the {kind} {', '.join(unknown[:4])}, expected some of "
                    f"{', '.join(known[:12])}: a calibration of this robot"
                )


def calibration_of(spec: RobotSpec, parameters: PhysicalParameters) -> EngineCalibration:
    """The calibration with some parameters of a robot. Those of the root of a fixed base, which does not move, and
    gravity, which belongs to the scene, are left out.

    Args:
        spec: The robot.
        parameters: Parameters without leading dimensions.
    """
    bodies: dict[str, dict[str, tuple[float, ...]]] = {}
    joints: dict[str, dict[str, float]] = {}
    for name in parameters.given:
        value = getattr(parameters, name).detach().double().cpu()
        if tuple(value.shape) != own_shape(spec, name):
            raise IdentificationError(
                f"got the parameter '{name}' of shape {tuple(value.shape)}, expected {own_shape(spec, name)}: that of "
                "one robot"
            )
        if name in OF_BODIES:
            for body, row in zip(spec.bodies, value, strict=True):
                if spec.floating_base or body.parent is not None:
                    bodies.setdefault(body.name, {})[name] = tuple(row.flatten().tolist())
        elif name in OF_JOINTS:
            for joint, number in zip(spec.joint_names, value.tolist(), strict=True):
                joints.setdefault(joint, {})[name] = number
    return EngineCalibration(spec.name, bodies, joints)


def write_calibration(path: Path, calibration: EngineCalibration) -> None:
    """Writes a calibration.

    Args:
        path: File to write.
        calibration: What to write.
    """
    bodies = {name: {key: list(value) for key, value in of.items()} for name, of in calibration.bodies.items()}
    joints = {name: dict(of) for name, of in calibration.joints.items()}
    write_json(path, {"kind": KIND, "version": 1, "robot": calibration.robot, "bodies": bodies, "joints": joints})


def read_calibration(path: Path) -> EngineCalibration:
    """Reads a calibration of anybody. Raises :class:`IdentificationError` for what is none.

    Args:
        path: The file.
    """
    told = parse_json(read_bytes(path, MAX_JSON_BYTES), path.name)
    if not isinstance(told, dict) or told.get("kind") != KIND or told.get("version") != 1:
        raise IdentificationError(
            f"'{path.name}' is no calibration of version 1, expected what 'nerd identify' writes as calibration.json"
        )
    robot = told.get("robot")
    return EngineCalibration(
        robot[:100] if isinstance(robot, str) else "",
        _parts(told.get("bodies"), path.name, _body_value),
        _parts(told.get("joints"), path.name, _joint_value),
    )


def _parts[T](told: Any, file: str, value_of: Callable[[str, Any], T | None]) -> dict[str, dict[str, T]]:
    """Parameters by name of the part and of the parameter."""
    if not isinstance(told, dict) or not all(isinstance(of, dict) for of in told.values()):
        raise IdentificationError(f"'{file}' has no table of bodies and joints, expected parameters by name")
    found: dict[str, dict[str, T]] = {}
    for part, of in told.items():
        for name, value in of.items():
            sound = value_of(name, value)
            if sound is None:
                got = f"{part[:40]}: {str(name)[:40]} = {str(value)[:60]}"
                raise IdentificationError(
                    f"'{file}' has {got}, expected finite numbers (of a mass above zero; three of a centre, nine of an "
                    f"inertia) of {', '.join((*OF_BODIES, *OF_JOINTS))}"
                )
            found.setdefault(part, {})[name] = sound
    return found


def _body_value(name: str, value: Any) -> tuple[float, ...] | None:
    rows = value if isinstance(value, list) else [value]
    sound = name in OF_BODIES and len(rows) == OF_BODIES[name] and all(map(_is_number, rows))
    return tuple(map(float, rows)) if sound and (name not in POSITIVE or rows[0] > 0.0) else None


def _joint_value(name: str, value: Any) -> float | None:
    return float(value) if name in OF_JOINTS and _is_number(value) and value >= 0.0 else None


def _is_number(value: Any) -> bool:
    sound = isinstance(value, (int, float)) and not isinstance(value, bool)
    return sound and math.isfinite(value) and abs(value) <= LARGEST


__all__ = ["EngineCalibration", "calibration_of", "read_calibration", "write_calibration"]
