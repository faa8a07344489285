# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Drives, friction and speed limits of the joints of one environment, for one thread:
:mod:`nerd_core.mechanics.joint_drives`.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from .multibody import motion_subspace


@wp.struct
class DriveParameters:
    """What stays the same of what acts in a joint, in the order of the solver."""

    body: int
    """Number of the body that the joint moves."""
    stiffness: float
    """Stiffness of the drive [N m/rad or N/m]."""
    damping: float
    """Damping of the drive [N m s/rad or N s/m]."""
    of_acceleration: int
    """Whether the drive makes accelerations."""
    max_impulse: float
    """Largest impulse of the drive in a physics step [N m s or N s]."""
    has_friction: int
    """Whether there is friction."""
    static_friction: float
    """Largest impulse of friction in a substep that keeps the joint at rest [N m s or N s]."""
    dynamic_friction: float
    """Impulse of friction in a substep [N m s or N s]."""
    viscous_friction: float
    """More of it per speed [kg m^2 or kg]."""
    max_speed: float
    """Largest speed [rad/s or m/s], very large where there is no limit."""
    slows_others: int
    """Whether all joints are slowed where this one begins a physics step faster than that."""
    fixed_target: float
    """Position to which the drive leads where no control says one [rad or m]."""
    position_control: int
    """Number of the control that is the position target; -1 for none."""
    velocity_control: int
    """Number of the control that is the velocity target; -1 for none."""


@wp.struct
class DriveState:
    """What a drive has done in a physics step, and where it leads."""

    target: float
    """Position to which it leads [rad or m]."""
    target_velocity: float
    """Velocity to which it leads [rad/s or m/s]."""
    impulse: float
    """Accumulated impulse, along the joint [N m s or N s]."""
    effective_mass: float
    """Impulse per velocity of a constraint with compliance [kg or kg m^2]; zero where it was not asked for yet."""


@wp.func
def read_targets(robot: Any, inputs: Any, work: Any, env: int):
    """Reads where drives lead the joints of an environment."""
    drives = robot.drives
    states = work.drives
    for i in range(drives.shape[0]):
        states[i].target = drives[i].fixed_target
        if drives[i].position_control >= 0:
            states[i].target = inputs.control[env, drives[i].position_control]
        states[i].target_velocity = float(0.0)
        if drives[i].velocity_control >= 0:
            states[i].target_velocity = inputs.control[env, drives[i].velocity_control]


@wp.func
def begin_drives(robot: Any, work: Any, velocity: Any):
    """Begins a physics step.

    Returns:
        Generalised velocities: where a hinge is faster than its limit, all joints are slowed by the same share.
    """
    joints = robot.joints
    drives = robot.drives
    states = work.drives
    share = float(1.0)
    slowed = velocity
    for i in range(drives.shape[0]):
        states[i].impulse = 0.0
        states[i].effective_mass = 0.0
        speed = wp.abs(velocity[joints[i].velocity])
        if drives[i].slows_others == 1 and speed > drives[i].max_speed:
            share = wp.min(share, drives[i].max_speed / speed)
    if share < 1.0:
        for i in range(drives.shape[0]):
            slowed[joints[i].velocity] = share * velocity[joints[i].velocity]
    return slowed


@wp.func
def root_axis(work: Any, axis: int):
    """An axis of the environment in the axes of the root."""
    return wp.vec3(work.root_rotation[axis, 0], work.root_rotation[axis, 1], work.root_rotation[axis, 2])


@wp.func
def whitened_pushes(robot: Any, work: Any, body: int, zeros: Any):
    """Unit impulses on the centre of mass of a body along the axes of the environment, in whitened units. Only rows of
    the inverse factor are looked at that move the body.
    """
    tree = robot.tree
    bodies = work.bodies
    rows = work.inverse_factor
    centre = bodies[body].centre_of_mass
    x, y, z = root_axis(work, 0), root_axis(work, 1), root_axis(work, 2)
    across_x, across_y, across_z = wp.cross(centre, x), wp.cross(centre, y), wp.cross(centre, z)
    along_x = zeros
    along_y = zeros
    along_z = zeros
    if robot.floating == 1:
        for i in range(3):
            linear = rows[i]
            angular = rows[3 + i]
            along_x = along_x + x[i] * linear + across_x[i] * angular
            along_y = along_y + y[i] * linear + across_y[i] * angular
            along_z = along_z + z[i] * linear + across_z[i] * angular
    above = int(body)
    while above >= 0:
        if tree[above].joint >= 0:
            angular_axis, linear_axis = motion_subspace(
                tree[above].is_prismatic, bodies[above].axis, bodies[above].anchor
            )
            row = rows[tree[above].velocity]
            along_x = along_x + (wp.dot(angular_axis, across_x) + wp.dot(linear_axis, x)) * row
            along_y = along_y + (wp.dot(angular_axis, across_y) + wp.dot(linear_axis, y)) * row
            along_z = along_z + (wp.dot(angular_axis, across_z) + wp.dot(linear_axis, z)) * row
        above = tree[above].parent
    return along_x, along_y, along_z


@wp.func
def largest_response(robot: Any, work: Any, body: int, zeros: Any):
    """Largest change of the velocity of a body's centre of mass along an axis of the environment, per impulse on it
    along this axis; zero for a root that is fixed.
    """
    x, y, z = whitened_pushes(robot, work, body, zeros)
    return wp.max(wp.dot(x, x), wp.max(wp.dot(y, y), wp.dot(z, z)))


@wp.func
def response_of(robot: Any, work: Any, body: int, zeros: Any):
    """What :func:`largest_response` says of a body, which is computed once in a physics step."""
    known = work.responses
    if known[body] < 0.0:
        known[body] = largest_response(robot, work, body, zeros)
    return known[body]


@wp.func
def forget_responses(work: Any):
    """Begins a physics step, in which bodies answer otherwise."""
    known = work.responses
    for body in range(known.shape[0]):
        known[body] = -1.0


@wp.func
def constraint_mass(robot: Any, work: Any, i: int, delassus: float, zeros: Any):
    """Impulse per velocity of a constraint in a joint, which gives way as the softer one of its two bodies does."""
    states = work.drives
    if states[i].effective_mass == 0.0:
        body = int(robot.drives[i].body)
        own = response_of(robot, work, body, zeros)
        above = response_of(robot, work, int(robot.tree[body].parent), zeros)
        states[i].effective_mass = 1.0 / (delassus + robot.solver.compliance * wp.max(own, above))
    return states[i].effective_mass


@wp.func
def drive_impulse(
    robot: Any, work: Any, i: int, substep: int, sign: float, velocity: float, delassus: float, zeros: Any
):
    """The further impulse of the drive of a joint.

    Args:
        robot: Tables of the robot.
        work: Memory of the environment.
        i: Row of the joint.
        substep: Number of the substep.
        sign: One, or minus one for a joint that looks at its upper stop: the side that velocity and impulse count to.
        velocity: Velocity of the joint.
        delassus: Change of it per impulse.
        zeros: A generalised vector of zeros.
    """
    drive = robot.drives[i]
    states = work.drives
    substep_dt = robot.solver.dt / float(robot.solver.substeps)
    remaining = float(robot.solver.substeps - 1 - substep) * substep_dt
    slope = drive.damping + substep_dt * drive.stiffness
    gain = slope * substep_dt
    mass = gain / (1.0 + gain * delassus)
    if drive.of_acceleration == 1:
        mass = gain / (1.0 + gain) * constraint_mass(robot, work, i, delassus, zeros)
    missing = states[i].target - remaining * states[i].target_velocity - work.joint_pos[robot.joints[i].place]
    target = (drive.damping * states[i].target_velocity + drive.stiffness * missing) / slope
    before = states[i].impulse
    after = wp.clamp(before + mass * (target - sign * velocity), -drive.max_impulse, drive.max_impulse)
    states[i].impulse = after
    return sign * (after - before)


@wp.func
def friction_impulse(robot: Any, work: Any, i: int, velocity: float, delassus: float, zeros: Any):
    """Impulse of friction in a joint: to rest if static friction can, else by what brakes a joint that moves."""
    drive = robot.drives[i]
    impulse = -constraint_mass(robot, work, i, delassus, zeros) * velocity
    if wp.abs(impulse) > drive.static_friction:
        largest = drive.dynamic_friction + drive.viscous_friction * wp.abs(velocity)
        impulse = wp.clamp(impulse, -largest, largest)
    return impulse


@wp.func
def speed_limit_impulse(robot: Any, work: Any, i: int, velocity: float, delassus: float, zeros: Any):
    """Impulse that takes back by what a joint is faster than its limit."""
    largest = robot.drives[i].max_speed
    if wp.abs(velocity) <= largest:
        return float(0.0)
    excess = wp.clamp(velocity, -largest, largest) - velocity
    return excess * constraint_mass(robot, work, i, delassus, zeros)
