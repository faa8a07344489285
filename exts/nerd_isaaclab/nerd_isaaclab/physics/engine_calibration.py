# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Writes a calibration to the engine: the parameters that ``nerd identify`` found, in all environments.

Example::

    apply_calibration(env.robot, read_calibration(Path("calibration.json")))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from nerd_core.files.messages import printable
from nerd_core.identification.engine_calibration import EngineCalibration
from nerd_core.identification.parameterisation import IdentificationError

if TYPE_CHECKING:
    from isaaclab.assets import Articulation

JOINT_WRITERS = {
    "stiffness": ("write_joint_stiffness_to_sim_index", "stiffness"),
    "damping": ("write_joint_damping_to_sim_index", "damping"),
    "armature": ("write_joint_armature_to_sim_index", "armature"),
    "effort_limit": ("write_joint_effort_limit_to_sim_index", "limits"),
    "velocity_limit": ("write_joint_velocity_limit_to_sim_index", "limits"),
}
"""Methods of an articulation that write parameters of joints, and the names of their arguments."""

FRICTION = {
    "joint_friction": "joint_friction_coeff",
    "joint_dynamic_friction": "joint_dynamic_friction_coeff",
    "joint_viscous_friction": "joint_viscous_friction_coeff",
}
"""Friction of joints, and what Isaac Lab calls it. It is written at once: the engine refuses a dynamic friction above
the static one, also between two writes."""

GAINS = ("stiffness", "damping")
"""Parameters that an explicit actuator keeps for itself: written to the engine they would act a second time."""


def apply_calibration(robot: Articulation, calibration: EngineCalibration) -> None:
    """Writes the parameters of a calibration to all environments. Raises :class:`IdentificationError` for those of
    bodies and joints that the robot has not, and for gains of actuators outside of the engine.

    Args:
        robot: The articulation, in a simulation that plays.
        calibration: What to write.
    """
    calibration.require_parts(list(robot.body_names), list(robot.joint_names))
    _require_implicit(robot, calibration)
    count = robot.num_instances
    for name in sorted({name for of in calibration.bodies.values() for name in of}):
        rows = [row for row, body in enumerate(robot.body_names) if name in calibration.bodies.get(body, {})]
        values = torch.tensor([calibration.bodies[robot.body_names[row]][name] for row in rows])
        _write_bodies(robot, name, rows, values.to(robot.device).expand(count, -1, -1))
    _write_friction(robot, calibration)
    for name in sorted({name for of in calibration.joints.values() for name in of if name not in FRICTION}):
        rows = [row for row, joint in enumerate(robot.joint_names) if name in calibration.joints.get(joint, {})]
        values = torch.tensor([calibration.joints[robot.joint_names[row]][name] for row in rows])
        method, argument = JOINT_WRITERS[name]
        value = values.to(robot.device).expand(count, -1).contiguous()
        getattr(robot, method)(**{argument: value, "joint_ids": rows})


def _write_bodies(robot: Any, name: str, rows: list[int], values: torch.Tensor) -> None:
    """Writes a parameter of some bodies, values of shape (N, rows, numbers)."""
    if name == "mass":
        robot.set_masses_index(masses=values[..., 0].contiguous(), body_ids=rows)
    elif name == "inertia":
        robot.set_inertias_index(inertias=values.contiguous(), body_ids=rows)
    else:
        pose = robot.data.body_com_pose_b.torch[:, rows].clone()
        pose[..., :3] = values
        # Inertias stand in the axes of the bodies, wherever the engine has turned its own axes.
        robot.set_coms_index(coms=pose, body_ids=rows)


def _write_friction(robot: Any, calibration: EngineCalibration) -> None:
    """Writes the friction of all joints, where there is any in the calibration."""
    if not any(name in of for of in calibration.joints.values() for name in FRICTION):
        return
    values = {name: getattr(robot.data, argument).torch.clone() for name, argument in FRICTION.items()}
    for row, joint in enumerate(robot.joint_names):
        for name, value in values.items():
            if name in calibration.joints.get(joint, {}):
                value[:, row] = calibration.joints[joint][name]
    # No joint that moves is braked by more than what held it at rest.
    values["joint_dynamic_friction"] = torch.minimum(values["joint_dynamic_friction"], values["joint_friction"])
    robot.write_joint_friction_coefficient_to_sim_index(**{FRICTION[name]: value for name, value in values.items()})


def _require_implicit(robot: Any, calibration: EngineCalibration) -> None:
    """Refuses gains of joints whose actuators compute efforts outside of the engine."""
    gained = {joint for joint, of in calibration.joints.items() if any(name in of for name in GAINS)}
    for name, actuator in robot.actuators.items():
        explicit = [] if actuator.is_implicit_model else [each for each in actuator.joint_names if each in gained]
        if explicit:
            raise IdentificationError(
                f"got a calibration of gains of {', '.join(map(printable, explicit[:4]))}, whose actuator '{name}' is "
                "computed by the task: expected one of implicit actuators; set the gains of this one in the task's "
                "configuration"
            )


__all__ = ["apply_calibration"]
