# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Physical parameters of one environment, for one thread: they take the places of the specification's in its own copy
of the robot's tables, so that all else reads them there.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
import warp as wp
from torch import Tensor

from ...robot.physical_parameters import OWN_SHAPES, PhysicalParameters
from ..constants import LEARNED, UNLIMITED, VERY_FAR
from .multibody import generalised_force
from .tables import copy_numbers


@wp.struct
class ParameterRows:
    """Parameters by environment, see :class:`~nerd_core.robot.physical_parameters.PhysicalParameters`; without rows
    where they are the specification's, with one where they are the same for all environments.
    """

    mass: wp.array2d[float]
    centre_of_mass: wp.array2d[wp.vec3]
    inertia: wp.array2d[wp.mat33]
    parent_pos: wp.array2d[wp.vec3]
    armature: wp.array2d[float]
    stiffness: wp.array2d[float]
    damping: wp.array2d[float]
    effort_limit: wp.array2d[float]
    velocity_limit: wp.array2d[float]
    joint_friction: wp.array2d[float]
    joint_dynamic_friction: wp.array2d[float]
    joint_viscous_friction: wp.array2d[float]
    lower_limit: wp.array2d[float]
    upper_limit: wp.array2d[float]
    static_friction: wp.array2d[float]
    dynamic_friction: wp.array2d[float]
    restitution: wp.array2d[float]
    bounce_threshold: wp.array2d[float]
    gravity: wp.array2d[wp.vec3]
    external_force: wp.array2d[wp.vec3]
    external_torque: wp.array2d[wp.vec3]


@wp.func
def row_of(values: Any, env: int):
    """Row of an environment among the rows of a parameter; -1 where there are none."""
    return wp.min(env, values.shape[0] - 1)


@wp.func
def own_number(values: wp.array2d[float], env: int, column: int, otherwise: float):
    """A number of an environment, or that of the specification."""
    row = row_of(values, env)
    if row < 0:
        return otherwise
    return values[row, column]


@wp.func
def copy_bodies(parameters: ParameterRows, env: int, nominal: Any, own: Any):
    """Copies the bodies of the specification with the masses and places of an environment."""
    for i in range(nominal.shape[0]):
        own[i] = nominal[i]
        own[i].mass = own_number(parameters.mass, env, i, nominal[i].mass)
        if row_of(parameters.centre_of_mass, env) >= 0:
            own[i].centre_of_mass = parameters.centre_of_mass[row_of(parameters.centre_of_mass, env), i]
        if row_of(parameters.inertia, env) >= 0:
            own[i].inertia = parameters.inertia[row_of(parameters.inertia, env), i]
        if nominal[i].parent >= 0 and row_of(parameters.parent_pos, env) >= 0:
            moved = parameters.parent_pos[row_of(parameters.parent_pos, env), i] - nominal[i].parent_pos
            own[i].position = nominal[i].position + moved
        if nominal[i].joint >= 0:
            own[i].armature = own_number(parameters.armature, env, nominal[i].joint, nominal[i].armature)


@wp.func
def copy_joints(parameters: ParameterRows, env: int, nominal: Any, own: Any):
    """Copies the joints of the specification with the stops and the damping of an environment."""
    for i in range(nominal.shape[0]):
        own[i] = nominal[i]
        place = nominal[i].place
        own[i].damping = own_number(parameters.damping, env, place, nominal[i].damping)
        if nominal[i].turns_freely == 0:
            own[i].lower = wp.max(own_number(parameters.lower_limit, env, place, nominal[i].lower), -VERY_FAR)
            own[i].upper = wp.min(own_number(parameters.upper_limit, env, place, nominal[i].upper), VERY_FAR)
            if parameters.lower_limit.shape[0] + parameters.upper_limit.shape[0] > 0:
                own[i].has_stop = 1


@wp.func
def copy_drives(robot: Any, parameters: ParameterRows, env: int, nominal: Any, own: Any):
    """Copies what acts in the joints with the gains, limits and friction of an environment."""
    dt = robot.solver.dt
    substep_dt = dt / float(robot.solver.substeps)
    for i in range(nominal.shape[0]):
        own[i] = nominal[i]
        place = robot.joints[i].place
        own[i].stiffness = own_number(parameters.stiffness, env, place, nominal[i].stiffness)
        own[i].damping = own_number(parameters.damping, env, place, nominal[i].damping)
        if row_of(parameters.effort_limit, env) >= 0:
            own[i].max_impulse = wp.min(dt * own_number(parameters.effort_limit, env, place, 0.0), UNLIMITED)
        if row_of(parameters.velocity_limit, env) >= 0:
            own[i].max_speed = wp.min(own_number(parameters.velocity_limit, env, place, 0.0), UNLIMITED)
            body = int(nominal[i].body)
            own[i].slows_others = 1 - robot.tree[body].is_prismatic
        if row_of(parameters.joint_friction, env) >= 0:
            own[i].has_friction = 1
            own[i].static_friction = substep_dt * own_number(parameters.joint_friction, env, place, 0.0)
        if row_of(parameters.joint_dynamic_friction, env) >= 0:
            own[i].has_friction = 1
            own[i].dynamic_friction = substep_dt * own_number(parameters.joint_dynamic_friction, env, place, 0.0)
        if row_of(parameters.joint_viscous_friction, env) >= 0:
            own[i].has_friction = 1
            own[i].viscous_friction = substep_dt * own_number(parameters.joint_viscous_friction, env, place, 0.0)


@wp.func
def copy_slots(parameters: ParameterRows, env: int, nominal: Any, own: Any):
    """Copies the slots of the specification with the friction and restitution of an environment."""
    for i in range(nominal.shape[0]):
        own[i] = nominal[i]
        place = nominal[i].place
        own[i].static_friction = own_number(parameters.static_friction, env, place, LEARNED)
        own[i].dynamic_friction = own_number(parameters.dynamic_friction, env, place, LEARNED)
        own[i].restitution = own_number(parameters.restitution, env, place, 0.0)
        own[i].bounce_threshold = own_number(parameters.bounce_threshold, env, 0, 0.0)


@wp.func
def pulled_mass(tree: Any, damping: Any):
    """Mass on which gravity acts, where some bodies are damped or not pulled."""
    mass = float(0.0)
    for i in range(damping.shape[0]):
        mass = mass + tree[i].mass * damping[i].gravity_share
    return mass


@wp.func
def robot_of(nominal: Any, parameters: ParameterRows, env: int, tree: Any, joints: Any, drives: Any, slots: Any):
    """The robot of an environment.

    Args:
        nominal: Tables of the specification.
        parameters: What differs from it.
        env: Number of the environment.
        tree: Memory for the tables of its own, as long as those of the specification; so ``joints`` and the following.
    """
    robot = copy_numbers(nominal)
    robot.tree = tree
    robot.joints = joints
    robot.drives = drives
    robot.slots = slots
    copy_bodies(parameters, env, nominal.tree, tree)
    copy_joints(parameters, env, nominal.joints, joints)
    copy_drives(nominal, parameters, env, nominal.drives, drives)
    copy_slots(parameters, env, nominal.slots, slots)
    if parameters.mass.shape[0] > 0:
        robot.gravity_mass = pulled_mass(tree, robot.damping)
    if parameters.gravity.shape[0] > 0:
        robot.gravity = parameters.gravity[row_of(parameters.gravity, env), 0]
    return robot


@wp.func
def body_wrench(robot: Any, parameters: ParameterRows, work: Any, env: int, body: int, root_rotation: wp.mat33):
    """External force on a body, and its torque about the origin, in the axes of the root."""
    force, torque = wp.vec3(), wp.vec3()
    if row_of(parameters.external_force, env) >= 0:
        force = wp.transpose(root_rotation) * parameters.external_force[row_of(parameters.external_force, env), body]
    if row_of(parameters.external_torque, env) >= 0:
        torque = wp.transpose(root_rotation) * parameters.external_torque[row_of(parameters.external_torque, env), body]
    return force, torque + wp.cross(work.bodies[body].centre_of_mass, force)


@wp.func
def external_force(robot: Any, parameters: ParameterRows, work: Any, env: int, root_rotation: wp.mat33, zeros: Any):
    """Generalised forces of external wrenches, their force, and their torque about the origin."""
    generalised = zeros
    total, turning = wp.vec3(), wp.vec3()
    if parameters.external_force.shape[0] + parameters.external_torque.shape[0] > 0:
        for i in range(robot.tree.shape[0]):
            force, torque = body_wrench(robot, parameters, work, env, i, root_rotation)
            if wp.dot(force, force) + wp.dot(torque, torque) > 0.0:
                total = total + force
                turning = turning + torque
                generalised = generalised + generalised_force(
                    robot.tree, robot.floating, work.bodies, i, force, torque, zeros
                )
    return generalised, total, turning


def parameter_rows(rows: PhysicalParameters | None, device: Any) -> Any:
    """Parameters as the kernel reads them.

    Args:
        rows: What :meth:`PhysicalParameters.rows` gave; None where nothing differs from the specification.
        device: Warp's device of the states.
    """
    found = ParameterRows()
    for name, own in OWN_SHAPES.items():
        dtype = {1: wp.vec3, 2: wp.mat33}.get(sum(isinstance(each, int) for each in own), wp.float32)
        value = None if rows is None else getattr(rows, name)
        if value is None:
            setattr(found, name, _nothing(dtype, device.alias))
            continue
        setattr(found, name, wp.from_torch(_two_dimensions(value.detach(), dtype).contiguous(), dtype=dtype))
    return found


class ReadRows:
    """Parameters as the kernel reads them, kept for as long as the same memory comes again, as it does from step to
    step: to make so many arrays takes a tenth of a step.
    """

    def __init__(self, device: Any):
        """Has read nothing yet.

        Args:
            device: Warp's device of the states.
        """
        self._device = device
        self._last: tuple[Any, Any] = (None, None)

    def __call__(self, rows: PhysicalParameters) -> Any:
        """What :func:`parameter_rows` gives."""
        values = [(name, getattr(rows, name)) for name in rows.given]
        if not all(value.is_contiguous() and value.dtype == torch.float32 for _, value in values):
            return parameter_rows(rows, self._device)  # of copies, which would not follow what they were made from
        key = [(name, value.data_ptr(), value.shape) for name, value in values]
        before, found = self._last
        if key != before:
            found = parameter_rows(rows, self._device)
            self._last = key, found
        return found


@cache
def _nothing(dtype: Any, device: str) -> wp.array:
    """Rows of a parameter that is the specification's."""
    return wp.empty((0, 0), dtype=dtype, device=device)


def _two_dimensions(value: Tensor, dtype: Any) -> Tensor:
    """Rows of numbers, vectors or matrices, with a column also where there is one of each."""
    wanted = {wp.vec3: 3, wp.mat33: 4}.get(dtype, 2)
    return value.to(torch.float32).unsqueeze(1) if value.dim() < wanted else value.to(torch.float32)


__all__ = [
    "ParameterRows",
    "ReadRows",
    "body_wrench",
    "external_force",
    "parameter_rows",
    "robot_of",
]
