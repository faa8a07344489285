# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The adjoint of how constraints begin: of ``begin_rows`` in
:mod:`nerd_core.mechanics.kernel.constraint_solver`, and of the inverse of the mass matrix.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from ...constants import EPSILON, Constant
from ..contact_constraints import friction_axes, slot_centre
from ..multibody import generalised_force, weighted_sum
from .contact_constraints import pull_friction_axes, pull_gap
from .friction_anchors import pull_anchors
from .joint_stops import pull_limits
from .multibody import pull_generalised_force, pull_point


@wp.func
def pull_contact_rows(
    robot: Any,
    weights: Any,
    work: Any,
    adjoint: Any,
    number: int,
    velocity: Any,
    gain: Any,
    root_displacement: wp.vec3,
    by_velocity: Any,
    by_gain: Any,
    zeros: Any,
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.constraint_rows.begin_contact`; arguments as of
    :func:`pull_rows`.

    Returns:
        Derivatives by the velocities, by what applied forces add to them, by a turn of the root, and by its
        displacement.
    """
    bodies = work.bodies
    by_bodies = adjoint.bodies
    by_rows = adjoint.rows
    by_constants = adjoint.constants
    by_normals = adjoint.normals
    constants = weights.constants
    root_rotation = work.root_rotation
    slot = int(work.contacts[number])
    body = int(robot.slots[slot].body)
    i = robot.joints.shape[0] + 3 * number
    dt = robot.solver.dt
    normal = wp.transpose(root_rotation) * work.grounds[slot].normal
    point = slot_centre(robot.slots, slot, bodies) - robot.slots[slot].radius * normal
    arm = point - bodies[body].centre_of_mass
    linear_bias = dt * bodies[body].linear_bias
    angular_bias = dt * wp.cross(bodies[body].angular_bias, arm)
    bias = constants[Constant.LINEAR_BIAS_SHARE] * linear_bias + constants[Constant.ANGULAR_BIAS_SHARE] * angular_bias
    first, second = friction_axes(
        normal, bodies[body].linear_velocity + linear_bias, root_rotation, robot.solver.sliding_speed_squared
    )
    by_axes = wp.mat33()
    by_normal, by_tangent, by_other, by_turn_of_anchors, by_root = pull_anchors(
        robot, work, adjoint, number, normal, first, second, root_displacement
    )
    by_root_pos = adjoint.root_pos
    by_root_pos[0] = by_root_pos[0] + by_root
    by_point, by_bias, by_way = wp.vec3(), wp.vec3(), wp.vec3()
    restitution = robot.slots[slot].restitution
    by_slots = adjoint.of_slots
    if restitution > 0.0:
        approach = work.kept_rows[0, i].bounce / restitution
        by_slots[slot].restitution = by_slots[slot].restitution + approach * by_rows[i].bounce
    by_rows[i].free_velocity = by_rows[i].free_velocity - by_rows[i].approach - restitution * by_rows[i].bounce
    by_rows[i].gap = by_rows[i].gap - by_rows[i].approach / dt
    by_all, by_all_gain = by_velocity, by_gain
    for axis in range(3):
        direction = normal
        if axis == 1:
            direction = first
        elif axis == 2:
            direction = second
        torque = wp.cross(point, direction)
        jacobian = generalised_force(robot.tree, robot.floating, bodies, body, direction, torque, zeros)
        by_speed = by_rows[i + axis].free_velocity
        by_gain_of_row = by_rows[i + axis].gain
        by_jacobian = weighted_sum(work.inverse_factor_columns, adjoint.whitened_rows[i + axis], zeros)
        by_jacobian = by_jacobian + by_speed * velocity + by_gain_of_row * gain
        by_all = by_all + by_speed * jacobian
        by_all_gain = by_all_gain + by_gain_of_row * jacobian
        by_force, by_torque = pull_generalised_force(
            robot.tree, robot.floating, bodies, by_bodies, body, direction, torque, by_jacobian
        )
        by_direction = by_force + wp.cross(by_torque, point) + by_speed * bias
        by_point = by_point + wp.cross(direction, by_torque)
        by_bias = by_bias + by_speed * direction
        if robot.solver.way_is_bent == 1:
            by_own = by_rows[i + axis].own_motion
            by_way = by_way + by_own * direction
            by_direction = by_direction + by_own * constants[Constant.LINEAR_BIAS_SHARE] * linear_bias
        for k in range(3):
            by_axes[axis, k] = by_direction[k]
    by_normal = by_normal + wp.vec3(by_axes[0, 0], by_axes[0, 1], by_axes[0, 2])
    by_normal_of_axes, by_sliding, by_turn = pull_friction_axes(
        normal,
        bodies[body].linear_velocity + linear_bias,
        root_rotation,
        robot.solver.sliding_speed_squared,
        by_tangent + wp.vec3(by_axes[1, 0], by_axes[1, 1], by_axes[1, 2]),
        by_other + wp.vec3(by_axes[2, 0], by_axes[2, 1], by_axes[2, 2]),
    )
    # Biases of the body.
    by_linear = by_bias + by_way
    by_constants[Constant.LINEAR_BIAS_SHARE] = by_constants[Constant.LINEAR_BIAS_SHARE] + wp.dot(by_linear, linear_bias)
    by_constants[Constant.ANGULAR_BIAS_SHARE] = by_constants[Constant.ANGULAR_BIAS_SHARE] + wp.dot(
        by_bias, angular_bias
    )
    by_angular = dt * constants[Constant.ANGULAR_BIAS_SHARE] * by_bias
    by_arm = wp.cross(by_angular, bodies[body].angular_bias)
    by_bodies[body].linear_bias = by_bodies[body].linear_bias + dt * (
        constants[Constant.LINEAR_BIAS_SHARE] * by_linear + by_sliding
    )
    by_bodies[body].linear_velocity = by_bodies[body].linear_velocity + by_sliding
    by_bodies[body].angular_bias = by_bodies[body].angular_bias + wp.cross(arm, by_angular)
    by_bodies[body].centre_of_mass = by_bodies[body].centre_of_mass - by_arm
    by_point = by_point + by_arm
    # Place and ground.
    pull_point(by_bodies, body, slot_centre(robot.slots, slot, bodies), by_point)
    by_normal_of_gap, by_displacement = pull_gap(
        robot, bodies, adjoint, slot, normal, root_rotation, root_displacement, by_rows[i].gap
    )
    by_normal = by_normal + by_normal_of_axes + by_normal_of_gap - robot.slots[slot].radius * by_point
    by_normals[slot] = by_normals[slot] + root_rotation * by_normal
    by_turn = by_turn + by_turn_of_anchors + wp.cross(by_normal, normal)
    return by_all, by_all_gain, by_turn, by_displacement + by_root


@wp.func
def pull_rows(
    robot: Any,
    weights: Any,
    work: Any,
    adjoint: Any,
    contacts: int,
    velocity: Any,
    gain: Any,
    root_displacement: wp.vec3,
    zeros: Any,
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.constraint_rows.begin_rows`, without what joint positions do
    by places of bodies. Derivatives by the inverse of the mass matrix go to ``adjoint.factor``.

    Args:
        robot: Tables of the robot.
        weights: Constants and rules.
        work: What the physics step has kept.
        adjoint: Memory of the adjoint, with the derivatives by rows.
        contacts: How many contacts there are.
        velocity: Generalised velocities at the beginning.
        gain: What applied forces add to them in a substep.
        root_displacement: How far the root has come.
        zeros: A generalised vector of zeros.

    Returns:
        Derivatives by the velocities, by what applied forces add to them, by a turn of the root, and by its
        displacement.
    """
    joints = robot.joints
    rows = work.kept_rows[0]
    whitened_rows = work.whitened_rows
    by_rows = adjoint.rows
    by_whitened = adjoint.whitened_rows
    by_joint_pos = adjoint.joint_pos
    factor = adjoint.factor
    by_velocity, by_gain = zeros, zeros
    by_turn, by_displacement = wp.vec3(), wp.vec3()
    count = joints.shape[0]
    for i in range(count + 3 * contacts):
        by_rows[i].free_velocity = by_rows[i].free_velocity + by_rows[i].velocity
        whitened = whitened_rows[i]
        by_row = by_whitened[i]
        if rows[i].delassus > EPSILON:
            by_row = by_row + 2.0 * by_rows[i].delassus * whitened
        by_whitened[i] = by_row
        for k in range(factor.shape[0]):
            if whitened[k] != 0.0:
                factor[k] = factor[k] + whitened[k] * by_row
    by_velocity = zeros
    by_gain = zeros
    for i in range(count):
        own = joints[i].velocity
        sign = rows[i].sign
        by_velocity[own] = sign * by_rows[i].free_velocity
        by_gain[own] = sign * by_rows[i].gain
        by_joint_pos[joints[i].place] = by_joint_pos[joints[i].place] + sign * by_rows[i].gap
        pull_limits(adjoint, i, sign, by_rows[i].gap)
    for number in range(contacts):
        by_velocity, by_gain, turn, displacement = pull_contact_rows(
            robot, weights, work, adjoint, number, velocity, gain, root_displacement, by_velocity, by_gain, zeros
        )
        by_turn = by_turn + turn
        by_displacement = by_displacement + displacement
    return by_velocity, by_gain, by_turn, by_displacement


@wp.func
def pull_product(adjoint: Any, work: Any, vector: Any, by_product: Any, zeros: Any):
    """The adjoint of ``inverse(H) x``, with ``x`` given in whitened units; that by the matrix goes to
    ``adjoint.factor``.

    Returns:
        Derivatives by ``x``.
    """
    factor = adjoint.factor
    whitened = weighted_sum(work.inverse_factor, by_product, zeros)
    for k in range(factor.shape[0]):
        factor[k] = factor[k] + whitened[k] * vector + vector[k] * whitened
    return weighted_sum(work.inverse_factor_columns, whitened, zeros)


@wp.func
def pull_unwhitened(adjoint: Any, work: Any, vector: Any, by_velocity: Any, zeros: Any):
    """The adjoint of ``W x``; that by the matrix goes to ``adjoint.factor``.

    Returns:
        Derivatives by ``x``.
    """
    factor = adjoint.factor
    whitened = weighted_sum(work.inverse_factor, by_velocity, zeros)
    for k in range(factor.shape[0]):
        factor[k] = factor[k] + whitened[k] * vector
    return whitened


@wp.func
def pull_inverse_factor(work: Any, adjoint: Any, zeros: Any):
    """Derivatives by the mass matrix, into ``adjoint.mass_matrix``, given ``S = transpose(W) dL/dW`` in
    ``adjoint.factor``: ``-W S transpose(W) / 2``, made symmetric.
    """
    factor = adjoint.factor
    found = adjoint.mass_matrix
    entries = adjoint.mass_entries
    size = factor.shape[0]
    for k in range(size):
        factor[k] = weighted_sum(work.inverse_factor_columns, factor[k], zeros)
    for k in range(size):
        weights = work.inverse_factor[k]
        total = zeros
        for j in range(k + 1):  # the factor is lower triangular
            total = total + weights[j] * factor[j]
        found[k] = -0.25 * total
    for k in range(size):
        for j in range(k + 1):
            entry = entries[k, j] + entries[j, k]
            entries[k, j] = entry
            entries[j, k] = entry
