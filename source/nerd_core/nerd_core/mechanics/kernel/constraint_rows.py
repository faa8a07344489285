# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The rows of constraints of one environment, for one thread, as the solver begins a physics step with them.

Rows of constraints are joints in the order of the solver, then three for each contact: its normal and the two
directions of friction. Each row of the Jacobian is kept in whitened units: with ``W`` for the inverse factor of the
mass matrix (:func:`~nerd_core.mechanics.kernel.multibody.factorise_mass_matrix`) it is ``J W``, so that the Delassus
matrix is the product of two such rows, and an impulse on a row changes all velocities by that row. The sum of all
impulses is one whitened vector.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from ..constants import EPSILON, Constant
from .capsule_contacts import renew_capsules
from .contact_constraints import contact_depth, find_contacts, friction_axes, slot_centre
from .contact_patches import find_anchors
from .friction_anchors import begin_anchors
from .joint_stops import stop_gap
from .multibody import generalised_force, weighted_sum
from .touch_order import list_touching, order_contacts


@wp.struct
class ConstraintRow:
    """A constraint."""

    gap: float
    """Gap of a slot or stop at the beginning [m or rad]."""
    sign: float
    """One, or minus one for a joint that looks at its upper stop."""
    free_velocity: float
    """Velocity without the impulses of this physics step."""
    gain: float
    """What applied forces add to it in a substep."""
    velocity: float
    """Velocity at the end of the last substep, or the beginning of this one."""
    delassus: float
    """Change of the velocity per impulse: the diagonal of the Delassus matrix."""
    impulse: float
    """Accumulated impulse: of a stop, of a normal or of friction; not of a drive."""
    displacement: float
    """How far it has come [m or rad]."""
    own_motion: float
    """What linear bias accelerations add to the velocity in the physics step, of a contact."""
    approach: float
    """Velocity that would have to be taken from a contact's normal for it not to be closed at the end of the step."""
    bounce: float
    """Velocity with which a slot leaves the ground after an impact [m/s], zero for one that stays."""
    friction_share: float
    """Share of the friction of its patch that a contact may have."""


@wp.func
def begin_row(
    i: int, whitened: Any, velocity: float, gain: float, rows: wp.array[ConstraintRow], whitened_rows: wp.array[Any]
):
    """Begins a row with its Jacobian in whitened units, its velocity, and what applied forces add in a substep."""
    whitened_rows[i] = whitened
    rows[i].free_velocity = velocity
    rows[i].velocity = velocity
    rows[i].gain = gain
    rows[i].delassus = wp.max(wp.dot(whitened, whitened), EPSILON)
    rows[i].impulse = 0.0
    rows[i].displacement = 0.0
    rows[i].own_motion = 0.0
    rows[i].bounce = 0.0


@wp.func
def begin_contact(
    robot: Any,
    weights: Any,
    work: Any,
    number: int,
    velocity: Any,
    gain: Any,
    root_rotation: wp.mat33,
    root_displacement: wp.vec3,
    zeros: Any,
):
    """Begins the three rows of a contact; arguments as of :func:`begin_rows`."""
    slots = robot.slots
    constants = weights.constants
    bodies = work.bodies
    rows = work.rows
    whitened_rows = work.whitened_rows
    inverse_factor = work.inverse_factor
    slot = int(work.contacts[number])
    body = int(slots[slot].body)
    i = robot.joints.shape[0] + 3 * number
    normal = wp.transpose(root_rotation) * work.grounds[slot].normal
    point = slot_centre(slots, slot, bodies) - contact_depth(robot, work, slot) * normal
    linear_bias = robot.solver.dt * bodies[body].linear_bias
    angular_bias = robot.solver.dt * wp.cross(bodies[body].angular_bias, point - bodies[body].centre_of_mass)
    bias = constants[Constant.LINEAR_BIAS_SHARE] * linear_bias + constants[Constant.ANGULAR_BIAS_SHARE] * angular_bias
    first, second = friction_axes(
        normal, bodies[body].linear_velocity + linear_bias, root_rotation, robot.solver.sliding_speed_squared
    )
    begin_anchors(robot, work, number, normal, first, second, root_rotation, root_displacement)
    rows[i].gap = work.grounds[slot].gap
    for axis in range(3):
        direction = normal
        if axis == 1:
            direction = first
        elif axis == 2:
            direction = second
        # The generalised force of a unit force along the row is the row of the Jacobian.
        jacobian = generalised_force(
            robot.tree, robot.floating, bodies, body, direction, wp.cross(point, direction), zeros
        )
        speed = wp.dot(jacobian, velocity) + wp.dot(bias, direction)
        whitened = weighted_sum(inverse_factor, jacobian, zeros)
        begin_row(i + axis, whitened, speed, wp.dot(jacobian, gain), rows, whitened_rows)
        if robot.solver.way_is_bent == 1:
            rows[i + axis].own_motion = constants[Constant.LINEAR_BIAS_SHARE] * wp.dot(linear_bias, direction)
    rows[i].approach = -rows[i].velocity - rows[i].gap / robot.solver.dt
    approach = -rows[i].velocity
    least = wp.max(slots[slot].bounce_threshold, rows[i].gap / robot.solver.dt)
    if slots[slot].restitution > 0.0 and approach > least:
        rows[i].bounce = slots[slot].restitution * approach


@wp.func
def begin_rows(
    robot: Any,
    weights: Any,
    work: Any,
    velocity: Any,
    gain: Any,
    root_rotation: wp.mat33,
    root_displacement: wp.vec3,
    zeros: Any,
):
    """Begins the rows of all joints and contacts.

    Args:
        robot: Tables of the robot.
        weights: Constants and rules.
        work: Memory of the environment.
        velocity: Generalised velocities at the beginning.
        gain: What applied forces add to them in a substep.
        root_rotation: Where the root is, with ``root_displacement``, from where it began.
        zeros: A generalised vector of zeros.

    Returns:
        How many contacts there are, and how many of all slots are near the ground.
    """
    joints = robot.joints
    rows = work.rows
    whitened_rows = work.whitened_rows
    inverse_factor = work.inverse_factor
    count = joints.shape[0]
    for i in range(count):
        own = joints[i].velocity
        pos = work.joint_pos[joints[i].place]
        sign = float(1.0)
        if joints[i].upper - pos < pos - joints[i].lower:
            sign = -1.0
        rows[i].sign = sign
        rows[i].gap = stop_gap(joints[i], pos, sign)
        begin_row(i, sign * inverse_factor[own], sign * velocity[own], sign * gain[own], rows, whitened_rows)
    found, near = find_contacts(robot, work, root_rotation, root_displacement)
    if robot.solver.touch_order == 1:
        list_touching(robot, work, root_rotation)
        order_contacts(robot, work, found)
    renew_capsules(robot, work, found, root_rotation)
    for number in range(found):
        begin_contact(robot, weights, work, number, velocity, gain, root_rotation, root_displacement, zeros)
    if robot.solver.has_patches == 1:
        find_anchors(robot, work, found)
    return found, near


__all__ = ["ConstraintRow", "begin_row", "begin_rows"]
