# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Derivatives by the physical parameters of one environment, for one thread: the adjoint of
:mod:`nerd_core.mechanics.kernel.physical_parameters`.

What a step reads of a joint or a slot gets its derivatives where it is read; these structures hold their sums. What it
reads of a body is in derivatives by what that body is and does, from which :func:`pull_body_parameters` takes it.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from ..multibody import BodyParameters, BodyState
from ..physical_parameters import ParameterRows, body_wrench
from .multibody import BodyAdjoint, pull_generalised_force


@wp.struct
class BodyParameterAdjoint:
    """Derivatives by the parameters of a body, in its own axes where they have some; by wrenches in those of the
    environment.
    """

    mass: float
    centre_of_mass: wp.vec3
    inertia: wp.mat33
    parent_pos: wp.vec3
    armature: float
    """By the armature of its joint."""
    force: wp.vec3
    torque: wp.vec3


@wp.struct
class JointParameterAdjoint:
    """Derivatives by the parameters of a joint, as :class:`~nerd_core.mechanics.kernel.joint_drives.DriveParameters`
    and :class:`~nerd_core.mechanics.kernel.joint_stops.JointParameters` have them.
    """

    stiffness: float
    damping: float
    max_impulse: float
    max_speed: float
    dynamic_friction: float
    viscous_friction: float
    lower: float
    upper: float


@wp.struct
class SlotParameterAdjoint:
    """Derivatives by the parameters of a slot."""

    static_friction: float
    dynamic_friction: float
    restitution: float


@wp.func
def pull_body_parameters(
    tree: wp.array[BodyParameters],
    bodies: wp.array[BodyState],
    adjoints: wp.array[BodyAdjoint],
    own: wp.array[BodyParameterAdjoint],
):
    """Takes derivatives by parameters of bodies from those by what the bodies are, once these have been pulled back to
    places.
    """
    for i in range(tree.shape[0]):
        above = tree[i].parent
        back = wp.transpose(bodies[i].rotation)
        by_centre = adjoints[i].centre_of_mass
        own[i].mass = own[i].mass + adjoints[i].mass
        own[i].centre_of_mass = own[i].centre_of_mass + back * by_centre
        own[i].inertia = own[i].inertia + back * adjoints[i].inertia * bodies[i].rotation
        if above >= 0:
            moved = adjoints[i].force + by_centre
            own[i].parent_pos = own[i].parent_pos + wp.transpose(bodies[above].rotation) * moved


@wp.func
def pull_armatures(tree: wp.array[BodyParameters], by_mass_matrix: wp.array[Any], own: wp.array[BodyParameterAdjoint]):
    """Takes derivatives by armatures from those by the mass matrix."""
    for i in range(tree.shape[0]):
        if tree[i].joint >= 0:
            row = by_mass_matrix[tree[i].velocity]
            own[i].armature = own[i].armature + row[tree[i].velocity]


@wp.func
def pull_outer_momentum(
    bodies: wp.array[BodyState],
    adjoints: wp.array[BodyAdjoint],
    dt: float,
    force: wp.vec3,
    by_momentum: wp.vec3,
    by_angular_momentum: wp.vec3,
):
    """The adjoint of what external wrenches add to the momenta of a robot: derivatives by their force, and by their
    torque about the origin.
    """
    mass = bodies[0].composite_mass
    centre = bodies[0].first_moment / mass
    by_centre = dt * wp.cross(by_angular_momentum, force)
    adjoints[0].first_moment = adjoints[0].first_moment + by_centre / mass
    adjoints[0].composite_mass = adjoints[0].composite_mass - wp.dot(by_centre, centre) / mass
    return dt * (by_momentum + wp.cross(centre, by_angular_momentum)), dt * by_angular_momentum


@wp.func
def pull_external_force(
    robot: Any,
    parameters: ParameterRows,
    work: Any,
    adjoint: Any,
    env: int,
    root_rotation: wp.mat33,
    by_generalised: Any,
    by_total: wp.vec3,
    by_turning: wp.vec3,
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.physical_parameters.external_force`.

    Returns:
        Derivative by a turn of the root.
    """
    by_turn = wp.vec3()
    by_bodies = adjoint.bodies
    own = adjoint.of_bodies
    if parameters.external_force.shape[0] + parameters.external_torque.shape[0] > 0:
        for i in range(robot.tree.shape[0]):
            force, torque = body_wrench(robot, parameters, work, env, i, root_rotation)
            centre = work.bodies[i].centre_of_mass
            by_force, by_torque = pull_generalised_force(
                robot.tree, robot.floating, work.bodies, by_bodies, i, force, torque, by_generalised
            )
            by_force = by_force + by_total
            by_torque = by_torque + by_turning
            by_bodies[i].centre_of_mass = by_bodies[i].centre_of_mass + wp.cross(force, by_torque)
            by_force = by_force + wp.cross(by_torque, centre)
            about_centre = torque - wp.cross(centre, force)
            by_turn = by_turn + wp.cross(by_force, force) + wp.cross(by_torque, about_centre)
            own[i].force = own[i].force + root_rotation * by_force
            own[i].torque = own[i].torque + root_rotation * by_torque
    return by_turn


@wp.func
def put(values: wp.array2d[float], env: int, column: int, value: float):
    """Writes a derivative where it is wanted."""
    if values.shape[0] > 0:
        values[env, column] = value


@wp.func
def put_vector(values: wp.array2d[wp.vec3], env: int, column: int, value: wp.vec3):
    """The same of a vector."""
    if values.shape[0] > 0:
        values[env, column] = value


@wp.func
def write_parameter_gradients(robot: Any, by: ParameterRows, adjoint: Any, env: int, by_gravity: wp.vec3):
    """Writes derivatives by the parameters of an environment that are wanted, in the units of
    :class:`~nerd_core.robot.physical_parameters.PhysicalParameters`.
    """
    bodies = adjoint.of_bodies
    joints = adjoint.of_joints
    slots = adjoint.of_slots
    dt = robot.solver.dt
    substep_dt = dt / float(robot.solver.substeps)
    for i in range(robot.tree.shape[0]):
        put(by.mass, env, i, bodies[i].mass)
        put_vector(by.centre_of_mass, env, i, bodies[i].centre_of_mass)
        put_vector(by.parent_pos, env, i, bodies[i].parent_pos)
        put_vector(by.external_force, env, i, bodies[i].force)
        put_vector(by.external_torque, env, i, bodies[i].torque)
        if by.inertia.shape[0] > 0:
            inertia = bodies[i].inertia
            by.inertia[env, i] = 0.5 * (inertia + wp.transpose(inertia))
        if robot.tree[i].joint >= 0:
            put(by.armature, env, robot.tree[i].joint, bodies[i].armature)
    for i in range(robot.joints.shape[0]):
        place = robot.joints[i].place
        put(by.stiffness, env, place, joints[i].stiffness)
        put(by.damping, env, place, joints[i].damping)
        put(by.effort_limit, env, place, dt * joints[i].max_impulse)
        put(by.velocity_limit, env, place, joints[i].max_speed)
        put(by.joint_dynamic_friction, env, place, substep_dt * joints[i].dynamic_friction)
        put(by.joint_viscous_friction, env, place, substep_dt * joints[i].viscous_friction)
        put(by.lower_limit, env, place, joints[i].lower)
        put(by.upper_limit, env, place, joints[i].upper)
    for i in range(robot.slots.shape[0]):
        place = robot.slots[i].place
        put(by.static_friction, env, place, slots[i].static_friction)
        put(by.dynamic_friction, env, place, slots[i].dynamic_friction)
        put(by.restitution, env, place, slots[i].restitution)
    if by.gravity.shape[0] > 0:
        by.gravity[env, 0] = by_gravity


__all__ = [
    "BodyParameterAdjoint",
    "JointParameterAdjoint",
    "SlotParameterAdjoint",
    "pull_armatures",
    "pull_body_parameters",
    "pull_external_force",
    "pull_outer_momentum",
    "write_parameter_gradients",
]
