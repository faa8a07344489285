# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The adjoint of drives, friction and speed limits of the joints of one environment, for one thread: of
:mod:`nerd_core.mechanics.kernel.joint_drives`.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from ..joint_drives import DriveParameters, response_of, root_axis, whitened_pushes
from ..multibody import weighted_sum
from .multibody import pull_generalised_force


@wp.struct
class DriveAdjoint:
    """Derivatives by what a drive has done, and by where it leads."""

    target: float
    """By the position to which it leads."""
    target_velocity: float
    """By the velocity to which it leads."""
    impulse: float
    """By its accumulated impulse."""
    effective_mass: float
    """By the impulse per velocity of a constraint with compliance."""


@wp.func
def pull_drive_impulse(robot: Any, work: Any, adjoint: Any, i: int, substep: int, velocity: float, by_impulse: float):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.joint_drives.drive_impulse`.

    Args:
        robot: Tables of the robot.
        work: What the physics step has kept.
        adjoint: Memory of the adjoint.
        i: Row of the joint.
        substep: Number of the substep.
        velocity: Velocity of the joint's row.
        by_impulse: Derivative by the further impulse.

    Returns:
        Derivative by the velocity.
    """
    drive = robot.drives[i]
    by_drives = adjoint.drives
    by_rows = adjoint.rows
    by_joint_pos = adjoint.joint_pos
    place = robot.joints[i].place
    sign = work.kept_rows[substep, i].sign
    delassus = work.kept_rows[substep, i].delassus
    state = work.kept_drives[substep, i]
    substep_dt = robot.solver.dt / float(robot.solver.substeps)
    remaining = float(robot.solver.substeps - 1 - substep) * substep_dt
    slope = drive.damping + substep_dt * drive.stiffness
    gain = slope * substep_dt
    mass = gain / (1.0 + gain * delassus)
    if drive.of_acceleration == 1:
        mass = gain / (1.0 + gain) * work.kept_drives[int(robot.solver.substeps), i].effective_mass
    missing = state.target - remaining * state.target_velocity - work.kept_joint_pos[substep, place]
    target = (drive.damping * state.target_velocity + drive.stiffness * missing) / slope
    lacking = target - sign * velocity
    wanted = state.impulse + mass * lacking
    by_after = by_drives[i].impulse + sign * by_impulse
    by_before = -sign * by_impulse
    by_velocity = float(0.0)
    by_parameters = adjoint.of_joints
    if wp.abs(wanted) >= drive.max_impulse:
        by_parameters[i].max_impulse = by_parameters[i].max_impulse + wp.sign(wanted) * by_after
    else:
        by_before = by_before + by_after
        by_mass = lacking * by_after
        by_gain = by_mass * mass / (gain * (1.0 + gain * delassus))
        if drive.of_acceleration == 1:
            by_gain = by_mass * mass / (gain * (1.0 + gain))
            by_drives[i].effective_mass = by_drives[i].effective_mass + gain / (1.0 + gain) * by_mass
        else:
            by_rows[i].delassus = by_rows[i].delassus - mass * mass * by_mass
        by_target = mass * by_after
        by_missing = drive.stiffness / slope * by_target
        by_drives[i].target = by_drives[i].target + by_missing
        by_drives[i].target_velocity = (
            by_drives[i].target_velocity + drive.damping / slope * by_target - remaining * by_missing
        )
        by_joint_pos[place] = by_joint_pos[place] - by_missing
        by_velocity = -sign * by_target
        by_slope = substep_dt * by_gain - target / slope * by_target
        by_parameters[i].stiffness = by_parameters[i].stiffness + missing / slope * by_target + substep_dt * by_slope
        by_parameters[i].damping = by_parameters[i].damping + state.target_velocity / slope * by_target + by_slope
    by_drives[i].impulse = by_before
    return by_velocity


@wp.func
def pull_gains_of_nothing(robot: Any, adjoint: Any, i: int, velocity: float, by_impulse: float):
    """Adds what is differentiated by the gains of a drive that has none, and so does nothing yet: the first of it
    brakes the joint.
    """
    by_parameters = adjoint.of_joints
    substep_dt = robot.solver.dt / float(robot.solver.substeps)
    by_damping = -substep_dt * velocity * by_impulse
    by_parameters[i].damping = by_parameters[i].damping + by_damping
    by_parameters[i].stiffness = by_parameters[i].stiffness + substep_dt * by_damping


@wp.func
def pull_friction_impulse(
    drive: DriveParameters, adjoint: Any, i: int, velocity: float, mass: float, by_impulse: float
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.joint_drives.friction_impulse`: derivative by the velocity."""
    by_drives = adjoint.drives
    by_parameters = adjoint.of_joints
    impulse = -mass * velocity
    largest = drive.dynamic_friction + drive.viscous_friction * wp.abs(velocity)
    if wp.abs(impulse) > drive.static_friction and wp.abs(impulse) > largest:
        by_largest = -wp.sign(velocity) * by_impulse
        by_parameters[i].dynamic_friction = by_parameters[i].dynamic_friction + by_largest
        by_parameters[i].viscous_friction = by_parameters[i].viscous_friction + wp.abs(velocity) * by_largest
        return -drive.viscous_friction * by_impulse
    by_drives[i].effective_mass = by_drives[i].effective_mass - velocity * by_impulse
    return -mass * by_impulse


@wp.func
def pull_speed_limit_impulse(
    drive: DriveParameters, adjoint: Any, i: int, velocity: float, mass: float, by_impulse: float
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.joint_drives.speed_limit_impulse`: derivative by the
    velocity.
    """
    by_drives = adjoint.drives
    largest = drive.max_speed
    if wp.abs(velocity) <= largest:
        return float(0.0)
    excess = wp.clamp(velocity, -largest, largest) - velocity
    by_parameters = adjoint.of_joints
    by_parameters[i].max_speed = by_parameters[i].max_speed + wp.sign(velocity) * mass * by_impulse
    by_drives[i].effective_mass = by_drives[i].effective_mass + excess * by_impulse
    return -mass * by_impulse


@wp.func
def pull_largest_response(robot: Any, work: Any, adjoint: Any, body: int, by_response: float, zeros: Any):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.joint_drives.largest_response`.

    Returns:
        Derivative by a turn of the root.
    """
    factor = adjoint.factor
    centre = work.bodies[body].centre_of_mass
    x, y, z = whitened_pushes(robot, work, body, zeros)
    of_x, of_y, of_z = wp.dot(x, x), wp.dot(y, y), wp.dot(z, z)
    axis = int(0)
    whitened = x
    if of_y > of_x and of_y >= of_z:
        axis = 1
        whitened = y
    elif of_z > of_x:
        axis = 2
        whitened = z
    direction = root_axis(work, axis)
    torque = wp.cross(centre, direction)
    by_whitened = 2.0 * by_response * whitened
    for k in range(factor.shape[0]):
        factor[k] = factor[k] + whitened[k] * by_whitened
    by_generalised = weighted_sum(work.inverse_factor_columns, by_whitened, zeros)
    by_force, by_torque = pull_generalised_force(
        robot.tree, robot.floating, work.bodies, adjoint.bodies, body, direction, torque, by_generalised
    )
    by_direction = by_force + wp.cross(by_torque, centre)
    by_bodies = adjoint.bodies
    by_bodies[body].centre_of_mass = by_bodies[body].centre_of_mass + wp.cross(direction, by_torque)
    return wp.cross(by_direction, direction)


@wp.func
def pull_constraint_masses(robot: Any, work: Any, adjoint: Any, zeros: Any):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.joint_drives.constraint_mass` of all joints."""
    by_drives = adjoint.drives
    by_rows = adjoint.rows
    by_responses = adjoint.responses
    for i in range(robot.drives.shape[0]):
        by_mass = by_drives[i].effective_mass
        if by_mass != 0.0:
            mass = work.kept_drives[int(robot.solver.substeps), i].effective_mass
            by_response = -mass * mass * by_mass
            by_rows[i].delassus = by_rows[i].delassus + by_response
            body = int(robot.drives[i].body)
            above = int(robot.tree[body].parent)
            softer = body
            if response_of(robot, work, above, zeros) > response_of(robot, work, body, zeros):
                softer = above
            by_responses[softer] = by_responses[softer] + robot.solver.compliance * by_response


@wp.func
def pull_responses(robot: Any, work: Any, adjoint: Any, zeros: Any):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.joint_drives.response_of` of all bodies.

    Returns:
        Derivative by a turn of the root.
    """
    by_responses = adjoint.responses
    by_turn = wp.vec3()
    for body in range(by_responses.shape[0]):
        if by_responses[body] != 0.0:
            by_turn = by_turn + pull_largest_response(robot, work, adjoint, body, by_responses[body], zeros)
    return by_turn


@wp.func
def pull_slowing(robot: Any, adjoint: Any, velocity: Any, by_slowed: Any):
    """The adjoint of the slowing in :func:`~nerd_core.mechanics.kernel.joint_drives.begin_drives`.

    Args:
        robot: Tables of the robot.
        adjoint: Memory of the adjoint.
        velocity: Generalised velocities before.
        by_slowed: Derivatives by those after it.

    Returns:
        Derivatives by those before it.
    """
    joints = robot.joints
    drives = robot.drives
    share, fastest = float(1.0), int(-1)
    for i in range(drives.shape[0]):
        speed = wp.abs(velocity[joints[i].velocity])
        if drives[i].slows_others == 1 and speed > drives[i].max_speed and drives[i].max_speed / speed < share:
            share = drives[i].max_speed / speed
            fastest = i
    by_velocity = by_slowed
    if fastest >= 0:
        by_share = float(0.0)
        for i in range(drives.shape[0]):
            own = joints[i].velocity
            by_share = by_share + velocity[own] * by_slowed[own]
            by_velocity[own] = share * by_slowed[own]
        own = joints[fastest].velocity
        by_parameters = adjoint.of_joints
        by_parameters[fastest].max_speed = by_parameters[fastest].max_speed + by_share / wp.abs(velocity[own])
        by_velocity[own] = by_velocity[own] - by_share * share / velocity[own]
    return by_velocity
