# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The adjoint of how the root of one environment turns, and of the momenta that it keeps, for one thread: of parts of
:mod:`nerd_core.mechanics.kernel.step`.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from ..multibody import centroidal_momentum, point_inertia
from ..step import length, part_of
from ..tables import RobotTables
from .multibody import BodyAdjoint, pull_centroidal_momentum


@wp.func
def pull_rotation_vector(vector: wp.vec3, by_turn: wp.vec3):
    """Derivative by a rotation vector, given that by a turn in the axes that it leads to: the transpose of the right
    Jacobian of rotations.
    """
    squared = wp.dot(vector, vector)
    first = 0.5 - squared * (1.0 / 24.0 - squared * (1.0 / 720.0 - squared / 40320.0))
    second = 1.0 / 6.0 - squared * (1.0 / 120.0 - squared * (1.0 / 5040.0 - squared / 362880.0))
    if squared > 0.25:
        angle = wp.sqrt(squared)
        first = (1.0 - wp.cos(angle)) / squared
        second = (angle - wp.sin(angle)) / (squared * angle)
    turned = wp.cross(vector, by_turn)
    return by_turn + first * turned + second * wp.cross(vector, turned)


@wp.func
def turn_of_quat(quat: wp.vec4, by_quat: wp.vec4):
    """Derivative by a turn in its own axes of a quaternion of length one, given that by its numbers."""
    v, b = wp.vec3(quat[0], quat[1], quat[2]), wp.vec3(by_quat[0], by_quat[1], by_quat[2])
    return 0.5 * (quat[3] * b + wp.cross(b, v) - by_quat[3] * v)


@wp.func
def pull_turn(quat: wp.vec4, by_turn: wp.vec3):
    """Derivatives by a quaternion of any length, given that by a turn in the axes that it leads to."""
    scale = 2.0 / wp.dot(quat, quat)
    v = wp.vec3(quat[0], quat[1], quat[2])
    found = scale * (quat[3] * by_turn + wp.cross(v, by_turn))
    return wp.vec4(found[0], found[1], found[2], -scale * wp.dot(v, by_turn))


@wp.func
def add_root(vector: Any, linear: wp.vec3, angular: wp.vec3):
    """A generalised vector and more for its root."""
    found = vector
    for i in range(3):
        found[i] = found[i] + linear[i]
        found[3 + i] = found[3 + i] + angular[i]
    return found


@wp.func
def pull_keep_momentum(
    robot: RobotTables,
    bodies: Any,
    adjoints: wp.array[BodyAdjoint],
    velocity: Any,
    momentum: wp.vec3,
    angular_momentum: wp.vec3,
    rotation_step: wp.mat33,
    gravity: wp.vec3,
    by_kept: Any,
    zeros: Any,
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.step.keep_momentum`; ``bodies`` where they are then.

    Returns:
        Derivatives by the velocities, the momentum, the angular momentum, gravity, and a turn of the new axes.
    """
    linear_before = wp.transpose(rotation_step) * part_of(velocity, 0)
    angular_before = wp.transpose(rotation_step) * part_of(velocity, 3)
    turned = velocity
    for i in range(3):
        turned[i] = linear_before[i]
        turned[3 + i] = angular_before[i]
    after, angular_after = centroidal_momentum(robot.tree, bodies, turned)
    mass = bodies[0].composite_mass
    falling = mass
    if robot.damping.shape[0] > 0:
        falling = robot.gravity_mass
    centre = bodies[0].first_moment / mass
    inverse = wp.inverse(bodies[0].composite_inertia - point_inertia(mass, centre))
    size, size_after = length(angular_momentum), length(angular_after)
    angular = inverse * ((size / size_after - 1.0) * angular_after)
    target = wp.transpose(rotation_step) * (momentum + robot.solver.dt * falling * gravity)
    # And back.
    by_linear, by_angular = part_of(by_kept, 0), part_of(by_kept, 3)
    by_missing = by_linear / mass
    by_correction = by_angular - wp.cross(centre, by_linear)
    by_centre = wp.cross(angular, by_linear)
    by_lacking = inverse * by_correction
    along = wp.dot(angular_after, by_lacking)
    by_angular_after = (size / size_after - 1.0) * by_lacking - (
        along * size / (size_after * size_after * size_after)
    ) * angular_after
    by_angular_momentum = along / (size_after * size) * angular_momentum
    by_inertia = -wp.outer(by_lacking, angular)
    # The locked inertia is that about the origin less that of all mass at the centre.
    trace = wp.trace(by_inertia)
    both = by_inertia * centre + wp.transpose(by_inertia) * centre
    by_centre = by_centre - mass * (2.0 * trace * centre - both)
    by_mass = (
        -wp.dot(by_linear, target - after) / (mass * mass)
        - trace * wp.dot(centre, centre)
        + 0.5 * wp.dot(centre, both)
        - wp.dot(by_centre, centre) / mass
    )
    by_falling = robot.solver.dt * wp.dot(by_missing, wp.transpose(rotation_step) * gravity)
    if robot.damping.shape[0] == 0:
        by_mass = by_mass + by_falling
    else:
        for i in range(robot.damping.shape[0]):
            adjoints[i].mass = adjoints[i].mass + robot.damping[i].gravity_share * by_falling
    adjoints[0].composite_inertia = adjoints[0].composite_inertia + by_inertia
    adjoints[0].first_moment = adjoints[0].first_moment + by_centre / mass
    adjoints[0].composite_mass = adjoints[0].composite_mass + by_mass
    by_turned = by_kept + pull_centroidal_momentum(
        robot.tree, bodies, adjoints, turned, after, -by_missing, by_angular_after, zeros
    )
    by_momentum = rotation_step * by_missing
    by_turn = (
        wp.cross(by_missing, target)
        + wp.cross(part_of(by_turned, 0), linear_before)
        + wp.cross(part_of(by_turned, 3), angular_before)
    )
    by_velocity = by_turned
    by_linear = rotation_step * part_of(by_turned, 0)
    by_angular = rotation_step * part_of(by_turned, 3)
    for i in range(3):
        by_velocity[i] = by_linear[i]
        by_velocity[3 + i] = by_angular[i]
    return by_velocity, by_momentum, by_angular_momentum, (robot.solver.dt * falling) * by_momentum, by_turn
