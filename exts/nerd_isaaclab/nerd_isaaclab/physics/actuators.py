# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What drives the joints of a robot: the laws that a task's configuration gives them, as a specification holds them.

The engine's own drives stand in the joints (stiffness, damping, limits). Gains of a law outside the engine are taken
from the configuration, where an event that randomises them has not changed them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nerd_core.mechanics.actuators import WITHOUT_MEMORY
from nerd_core.robot.spec import Actuator, ActuatorLaw, Parameter

from .engine_numbers import NO_LIMIT

if TYPE_CHECKING:
    import torch
    from isaaclab.assets import Articulation

NOT_OF_THE_LAW = (
    "class_type",
    "joint_names_expr",
    "armature",
    "friction",
    "dynamic_friction",
    "viscous_friction",
    "joint_effort_limit",
    "joint_velocity_limit",
    "effort_limit_sim",
    "velocity_limit_sim",
)
"""Settings that name the law and its joints, and those that the engine holds, which stand in the joints."""


def read_actuators(robot: Articulation) -> dict[str, Actuator]:
    """The law of each joint, by the joint's name; ``none`` where no actuator of the task has it."""
    found = dict.fromkeys(robot.joint_names, Actuator("none"))
    for group, cfg in robot.cfg.actuators.items():
        for joint in robot.joint_names:
            if _drives(cfg, joint):
                actuator = _law(cfg, joint)
                law = _numbers_of_law(actuator.kind, cfg, getattr(robot, "actuators", {}).get(group), joint)
                found[joint] = dataclasses.replace(actuator, law=law)
    return found


def nominal_values(robot: Articulation, setting: str, values: torch.Tensor) -> list[float]:
    """A property of the joints: as all environments have it, or where events made it differ, as the task sets it.

    Args:
        robot: The articulation.
        setting: Name of the property in the configuration of an actuator.
        values: What the engine holds, shape (N, J).
    """
    nominal = values[0].tolist()
    for index in (values != values[0]).any(dim=0).nonzero().flatten().tolist():
        joint = robot.joint_names[index]
        for cfg in robot.cfg.actuators.values():
            value = _of_joint(getattr(cfg, setting, None), joint) if _drives(cfg, joint) else None
            nominal[index] = nominal[index] if value is None else float(value)
    return nominal


def _drives(cfg: Any, joint: str) -> bool:
    """Whether an actuator has a joint."""
    names = [cfg.joint_names_expr] if isinstance(cfg.joint_names_expr, str) else cfg.joint_names_expr
    return any(re.fullmatch(pattern, joint) for pattern in names)


def _law(cfg: Any, joint: str) -> Actuator:
    """The law that a configuration gives one of its joints."""
    kind = str(cfg.class_type if isinstance(cfg.class_type, str) else cfg.class_type.__name__).rpartition(":")[2]
    if "Implicit" in kind:
        return Actuator(kind)
    numbers, rest = [], []
    for name, value in sorted(vars(cfg).items()):
        value = _of_joint(value, joint)
        if name in NOT_OF_THE_LAW or value is None:
            continue
        if isinstance(value, (int, float)) and not math.isnan(value):
            numbers.append(Parameter(name, float(f"{value:.6g}")))
        else:
            rest.append(f"{name}={_content(value)}")
    return Actuator(kind, tuple(numbers), hashlib.sha256("\n".join(rest).encode()).hexdigest() if rest else "")


def _numbers_of_law(kind: str, cfg: Any, actuator: Any, joint: str) -> ActuatorLaw | None:
    """The law of a joint as numbers: as the configuration says, or where it leaves them open, as the running actuator
    has them in the middle of the environments; None for the engine's own drives, and for laws that are not known.

    Args:
        kind: Name of the law.
        cfg: Configuration of the actuator.
        actuator: The running actuator.
        joint: Name of the joint.
    """
    if kind not in WITHOUT_MEMORY or actuator is None:
        return None

    def number(name: str, otherwise: float) -> float:
        value = _of_joint(getattr(cfg, name, None), joint)
        if value is None and hasattr(actuator, name):
            column = list(actuator.joint_names).index(joint)
            value = getattr(actuator, name)[:, column].median().item()
        return otherwise if value is None else float(f"{float(value):.6g}")

    is_motor, has_table = kind == "DCMotor", kind == "RemotizedPDActuator"
    rows = getattr(cfg, "joint_parameter_lookup", None) if has_table else None
    return ActuatorLaw(
        stiffness=number("stiffness", 0.0),
        damping=number("damping", 0.0),
        effort_limit=math.inf if has_table else _limit(number("actuator_effort_limit", math.inf)),
        saturation_effort=_limit(number("saturation_effort", math.inf)) if is_motor else math.inf,
        velocity_limit=_limit(number("actuator_velocity_limit", math.inf)) if is_motor else math.inf,
        effort_table=tuple((float(row[0]), float(row[2])) for row in rows) if rows is not None else (),
        max_delay=int(getattr(cfg, "max_delay", 0) or 0),
    )


def _limit(value: float) -> float:
    """A limit, infinite where it is written as a huge number."""
    return math.inf if value > NO_LIMIT else value


def _of_joint(value: Any, joint: str) -> Any:
    """The part of a setting that is a joint's, where it is given by patterns of names."""
    if not isinstance(value, dict):
        return value
    return next((each for pattern, each in value.items() if re.fullmatch(str(pattern), joint)), None)


def _content(value: Any) -> str:
    """What a setting says; of a file its content, so that it may stand anywhere."""
    if isinstance(value, str) and Path(value).is_file():
        return hashlib.sha256(Path(value).read_bytes()).hexdigest()
    return repr(value)
