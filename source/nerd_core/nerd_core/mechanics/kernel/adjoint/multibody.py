# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The adjoint of the rigid bodies of one environment, for one thread: of
:mod:`nerd_core.mechanics.kernel.multibody`.

A function ``pull_x`` adds to the derivatives of what ``x`` reads, given those of what it says. What is fixed to a body
is not told apart: derivatives by axes, points and inertias of a body add up to one force and one torque on it.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from ..multibody import BodyParameters, BodyState, motion_subspace


@wp.struct
class BodyAdjoint:
    """Derivatives by what a body is and does."""

    force: wp.vec3
    """By a displacement of all that is fixed to the body."""
    torque: wp.vec3
    """By a turn of it about the origin."""
    mass: float
    """By its mass."""
    centre_of_mass: wp.vec3
    """By its centre of mass."""
    inertia: wp.mat33
    """By its inertia."""
    composite_mass: float
    """By :attr:`~nerd_core.mechanics.kernel.multibody.BodyState.composite_mass`, and so on."""
    first_moment: wp.vec3
    composite_inertia: wp.mat33
    unit_momentum: wp.vec3
    unit_angular_momentum: wp.vec3
    reference: wp.vec3
    angular_velocity: wp.vec3
    linear_velocity: wp.vec3
    angular_bias: wp.vec3
    linear_bias: wp.vec3
    force_of_composite: wp.vec3
    """By the force that its composite body takes."""
    torque_of_composite: wp.vec3
    """By that torque."""


@wp.func
def turn_of_inertia(inertia: wp.mat33, by_inertia: wp.mat33):
    """Derivative by a turn of a body, given that by its inertia, which need not be symmetric."""
    moved = inertia * (by_inertia + wp.transpose(by_inertia))
    return wp.vec3(moved[1, 2] - moved[2, 1], moved[2, 0] - moved[0, 2], moved[0, 1] - moved[1, 0])


@wp.func
def pull_point(adjoints: wp.array[BodyAdjoint], body: int, point: wp.vec3, by_point: wp.vec3):
    """Adds what is differentiated by a point of a body."""
    adjoints[body].force = adjoints[body].force + by_point
    adjoints[body].torque = adjoints[body].torque + wp.cross(point, by_point)


@wp.func
def pull_axis(
    tree: wp.array[BodyParameters],
    bodies: wp.array[BodyState],
    adjoints: wp.array[BodyAdjoint],
    body: int,
    by_angular: wp.vec3,
    by_linear: wp.vec3,
):
    """Adds what is differentiated by the motion subspace of a body's joint."""
    axis = bodies[body].axis
    anchor = bodies[body].anchor
    if tree[body].is_prismatic == 1:
        adjoints[body].torque = adjoints[body].torque + wp.cross(axis, by_linear)
    else:
        by_axis = by_angular + wp.cross(by_linear, anchor)
        by_anchor = wp.cross(axis, by_linear)
        adjoints[body].force = adjoints[body].force + by_anchor
        adjoints[body].torque = adjoints[body].torque + wp.cross(axis, by_axis) + wp.cross(anchor, by_anchor)


@wp.func
def pull_generalised_force(
    tree: wp.array[BodyParameters],
    floating: int,
    bodies: wp.array[BodyState],
    adjoints: wp.array[BodyAdjoint],
    body: int,
    force: wp.vec3,
    torque: wp.vec3,
    by_generalised: Any,
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.multibody.generalised_force`.

    Returns:
        Derivatives by the force, and by its torque about the origin.
    """
    by_force, by_torque = wp.vec3(), wp.vec3()
    if floating == 1:
        by_force = wp.vec3(by_generalised[0], by_generalised[1], by_generalised[2])
        by_torque = wp.vec3(by_generalised[3], by_generalised[4], by_generalised[5])
    above = int(body)
    while above >= 0:
        if tree[above].joint >= 0:
            share = by_generalised[tree[above].velocity]
            angular_axis, linear_axis = motion_subspace(
                tree[above].is_prismatic, bodies[above].axis, bodies[above].anchor
            )
            by_torque = by_torque + share * angular_axis
            by_force = by_force + share * linear_axis
            pull_axis(tree, bodies, adjoints, above, share * torque, share * force)
        above = tree[above].parent
    return by_force, by_torque


@wp.func
def pull_mass_matrix(
    tree: wp.array[BodyParameters],
    floating: int,
    bodies: wp.array[BodyState],
    adjoints: wp.array[BodyAdjoint],
    by_mass_matrix: wp.array[Any],
):
    """The adjoint of the mass matrix, of :func:`~nerd_core.mechanics.kernel.multibody.factorise_mass_matrix` before it
    factorises, given symmetric derivatives by all entries of the matrix.
    """
    for i in range(tree.shape[0]):
        if tree[i].joint >= 0:
            own = tree[i].velocity
            row = by_mass_matrix[own]
            row = row + row  # an entry stands on both sides of the diagonal
            row[own] = 0.5 * row[own]
            by_force, by_torque = pull_generalised_force(
                tree, floating, bodies, adjoints, i, bodies[i].unit_momentum, bodies[i].unit_angular_momentum, row
            )
            adjoints[i].unit_momentum = adjoints[i].unit_momentum + by_force
            adjoints[i].unit_angular_momentum = adjoints[i].unit_angular_momentum + by_torque
    if floating == 1:
        by_moment = wp.vec3()
        by_inertia = wp.mat33()
        for i in range(3):
            row = by_mass_matrix[3 + i]
            across = 2.0 * wp.vec3(row[0], row[1], row[2])
            unit = wp.vec3()
            unit[i] = 1.0
            by_moment = by_moment + wp.cross(across, unit)
            for j in range(3):
                by_inertia[i, j] = row[3 + j]
            adjoints[0].composite_mass = adjoints[0].composite_mass + by_mass_matrix[i][i]
        adjoints[0].first_moment = adjoints[0].first_moment + by_moment
        adjoints[0].composite_inertia = adjoints[0].composite_inertia + by_inertia


@wp.func
def pull_bias_force(
    tree: wp.array[BodyParameters],
    floating: int,
    bodies: wp.array[BodyState],
    adjoints: wp.array[BodyAdjoint],
    by_generalised: Any,
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.multibody.bias_force`."""
    for i in range(tree.shape[0]):
        above = tree[i].parent
        by_force, by_torque = wp.vec3(), wp.vec3()
        if above >= 0:
            by_force = adjoints[above].force_of_composite
            by_torque = adjoints[above].torque_of_composite
        elif floating == 1:
            by_force = wp.vec3(by_generalised[0], by_generalised[1], by_generalised[2])
            by_torque = wp.vec3(by_generalised[3], by_generalised[4], by_generalised[5])
        if tree[i].joint >= 0:
            share = by_generalised[tree[i].velocity]
            angular_axis, linear_axis = motion_subspace(tree[i].is_prismatic, bodies[i].axis, bodies[i].anchor)
            by_force = by_force + share * linear_axis
            by_torque = by_torque + share * angular_axis
            pull_axis(tree, bodies, adjoints, i, share * bodies[i].torque, share * bodies[i].force)
        adjoints[i].force_of_composite = by_force
        adjoints[i].torque_of_composite = by_torque
        mass = tree[i].mass
        centre = bodies[i].centre_of_mass
        inertia = bodies[i].inertia
        angular = bodies[i].angular_velocity
        angular_bias = bodies[i].angular_bias
        linear_bias = bodies[i].linear_bias
        by_own_force = by_force + wp.cross(by_torque, centre)
        adjoints[i].centre_of_mass = adjoints[i].centre_of_mass + wp.cross(mass * linear_bias, by_torque)
        adjoints[i].mass = adjoints[i].mass + wp.dot(linear_bias, by_own_force)
        adjoints[i].linear_bias = adjoints[i].linear_bias + mass * by_own_force
        adjoints[i].angular_bias = adjoints[i].angular_bias + inertia * by_torque
        momentum = inertia * angular
        by_momentum = wp.cross(by_torque, angular)
        adjoints[i].angular_velocity = (
            adjoints[i].angular_velocity + wp.cross(momentum, by_torque) + inertia * by_momentum
        )
        adjoints[i].inertia = adjoints[i].inertia + wp.outer(by_torque, angular_bias) + wp.outer(by_momentum, angular)


@wp.func
def pull_gravity_force(
    tree: wp.array[BodyParameters],
    floating: int,
    bodies: wp.array[BodyState],
    adjoints: wp.array[BodyAdjoint],
    gravity: wp.vec3,
    by_generalised: Any,
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.multibody.gravity_force`.

    Returns:
        Derivative by gravity in the axes of the root.
    """
    by_gravity = wp.vec3()
    for i in range(tree.shape[0]):
        if tree[i].joint >= 0:
            share = by_generalised[tree[i].velocity]
            adjoints[i].unit_momentum = adjoints[i].unit_momentum + share * gravity
            by_gravity = by_gravity + share * bodies[i].unit_momentum
    if floating == 1:
        by_force = wp.vec3(by_generalised[0], by_generalised[1], by_generalised[2])
        by_torque = wp.vec3(by_generalised[3], by_generalised[4], by_generalised[5])
        first_moment = bodies[0].first_moment
        adjoints[0].composite_mass = adjoints[0].composite_mass + wp.dot(by_force, gravity)
        adjoints[0].first_moment = adjoints[0].first_moment + wp.cross(gravity, by_torque)
        by_gravity = by_gravity + bodies[0].composite_mass * by_force + wp.cross(by_torque, first_moment)
    return by_gravity


@wp.func
def pull_centroidal_momentum(
    tree: wp.array[BodyParameters],
    bodies: wp.array[BodyState],
    adjoints: wp.array[BodyAdjoint],
    velocity: Any,
    momentum: wp.vec3,
    by_momentum: wp.vec3,
    by_angular_momentum: wp.vec3,
    zeros: Any,
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.multibody.centroidal_momentum`, which gave a ``momentum``.

    Returns:
        Derivatives by the generalised velocities.
    """
    linear = wp.vec3(velocity[0], velocity[1], velocity[2])
    angular = wp.vec3(velocity[3], velocity[4], velocity[5])
    mass = bodies[0].composite_mass
    first_moment = bodies[0].first_moment
    by_linear_momentum = by_momentum - wp.cross(by_angular_momentum, first_moment) / mass
    by_moment = (
        wp.cross(by_linear_momentum, angular)
        + wp.cross(linear, by_angular_momentum)
        - wp.cross(momentum, by_angular_momentum) / mass
    )
    by_mass = wp.dot(linear, by_linear_momentum) + wp.dot(wp.cross(first_moment, momentum), by_angular_momentum) / (
        mass * mass
    )
    adjoints[0].composite_mass = adjoints[0].composite_mass + by_mass
    adjoints[0].first_moment = adjoints[0].first_moment + by_moment
    adjoints[0].composite_inertia = adjoints[0].composite_inertia + wp.outer(by_angular_momentum, angular)
    by_linear = mass * by_linear_momentum + wp.cross(by_angular_momentum, first_moment)
    by_angular = wp.cross(first_moment, by_linear_momentum) + bodies[0].composite_inertia * by_angular_momentum
    by_velocity = zeros
    for i in range(3):
        by_velocity[i] = by_linear[i]
        by_velocity[3 + i] = by_angular[i]
    for i in range(tree.shape[0]):
        if tree[i].joint >= 0:
            own = tree[i].velocity
            by_velocity[own] = wp.dot(bodies[i].unit_momentum, by_linear_momentum) + wp.dot(
                bodies[i].unit_angular_momentum, by_angular_momentum
            )
            adjoints[i].unit_momentum = adjoints[i].unit_momentum + velocity[own] * by_linear_momentum
            adjoints[i].unit_angular_momentum = adjoints[i].unit_angular_momentum + velocity[own] * by_angular_momentum
    return by_velocity


@wp.func
def pull_motion(
    tree: wp.array[BodyParameters],
    floating: int,
    velocity: Any,
    bodies: wp.array[BodyState],
    adjoints: wp.array[BodyAdjoint],
    zeros: Any,
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.multibody.compute_motion`.

    Returns:
        Derivatives by the generalised velocities.
    """
    count = tree.shape[0]
    by_velocity = zeros
    for i in range(count):
        arm = bodies[i].centre_of_mass - bodies[i].reference
        angular = bodies[i].angular_velocity
        by_linear = adjoints[i].linear_velocity
        by_linear_bias = adjoints[i].linear_bias
        by_turned = wp.cross(by_linear_bias, angular)
        by_arm = wp.cross(by_linear + by_turned, angular) + wp.cross(by_linear_bias, bodies[i].angular_bias)
        adjoints[i].angular_velocity = (
            adjoints[i].angular_velocity
            + wp.cross(arm, by_linear + by_turned)
            + wp.cross(wp.cross(angular, arm), by_linear_bias)
        )
        adjoints[i].angular_bias = adjoints[i].angular_bias + wp.cross(arm, by_linear_bias)
        adjoints[i].centre_of_mass = adjoints[i].centre_of_mass + by_arm
        adjoints[i].reference = -by_arm
    for number in range(count):
        i = count - 1 - number
        above = tree[i].parent
        by_reference = adjoints[i].reference
        by_angular = adjoints[i].angular_velocity
        by_linear = adjoints[i].linear_velocity
        by_angular_bias = adjoints[i].angular_bias
        by_linear_bias = adjoints[i].linear_bias
        if tree[i].joint >= 0:
            own = tree[i].velocity
            axis = bodies[i].axis
            rate = velocity[own]
            angular, angular_bias, reference = wp.vec3(), wp.vec3(), wp.vec3()  # of what carries the joint
            if above >= 0:
                angular = bodies[above].angular_velocity
                angular_bias = bodies[above].angular_bias
                reference = bodies[above].reference
            elif floating == 1:
                angular = wp.vec3(velocity[3], velocity[4], velocity[5])
            arm = bodies[i].anchor - reference
            by_rate = by_angular
            if tree[i].is_prismatic == 1:
                by_rate = by_linear + 2.0 * wp.cross(by_linear_bias, angular)
                by_angular = by_angular + 2.0 * wp.cross(rate * axis, by_linear_bias)
            else:
                by_rate = by_rate + wp.cross(by_angular_bias, angular)
                by_angular = by_angular + wp.cross(rate * axis, by_angular_bias)
            by_turned = by_linear + wp.cross(by_linear_bias, angular)
            by_arm = wp.cross(by_turned, angular) + wp.cross(by_linear_bias, angular_bias)
            by_angular = by_angular + wp.cross(arm, by_turned) + wp.cross(wp.cross(angular, arm), by_linear_bias)
            by_angular_bias = by_angular_bias + wp.cross(arm, by_linear_bias)
            by_velocity[own] = wp.dot(by_rate, axis)
            adjoints[i].torque = adjoints[i].torque + wp.cross(axis, rate * by_rate)
            pull_point(adjoints, i, bodies[i].anchor, by_reference + by_arm)
            by_reference = -by_arm
        if above >= 0:
            adjoints[above].reference = adjoints[above].reference + by_reference
            adjoints[above].angular_velocity = adjoints[above].angular_velocity + by_angular
            adjoints[above].linear_velocity = adjoints[above].linear_velocity + by_linear
            adjoints[above].angular_bias = adjoints[above].angular_bias + by_angular_bias
            adjoints[above].linear_bias = adjoints[above].linear_bias + by_linear_bias
        elif floating == 1:
            for k in range(3):
                by_velocity[k] = by_linear[k]
                by_velocity[3 + k] = by_angular[k]
    return by_velocity


@wp.func
def pull_inertias(tree: wp.array[BodyParameters], bodies: wp.array[BodyState], adjoints: wp.array[BodyAdjoint]):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.multibody.compute_inertias`."""
    for i in range(tree.shape[0]):
        above = tree[i].parent
        mass = bodies[i].composite_mass
        by_mass = adjoints[i].composite_mass
        by_moment = adjoints[i].first_moment
        by_inertia = adjoints[i].composite_inertia
        if above >= 0:
            by_mass = by_mass + adjoints[above].composite_mass
            by_moment = by_moment + adjoints[above].first_moment
            by_inertia = by_inertia + adjoints[above].composite_inertia
        if tree[i].joint >= 0:
            first_moment = bodies[i].first_moment
            inertia = bodies[i].composite_inertia
            by_unit = adjoints[i].unit_momentum
            by_unit_angular = adjoints[i].unit_angular_momentum
            angular_axis, linear_axis = motion_subspace(tree[i].is_prismatic, bodies[i].axis, bodies[i].anchor)
            by_mass = by_mass + wp.dot(by_unit, linear_axis)
            by_moment = by_moment + wp.cross(by_unit, angular_axis) + wp.cross(linear_axis, by_unit_angular)
            by_inertia = by_inertia + wp.outer(by_unit_angular, angular_axis)
            by_linear = mass * by_unit + wp.cross(by_unit_angular, first_moment)
            by_angular = wp.cross(first_moment, by_unit) + inertia * by_unit_angular
            pull_axis(tree, bodies, adjoints, i, by_angular, by_linear)
        adjoints[i].composite_mass = by_mass
        adjoints[i].first_moment = by_moment
        adjoints[i].composite_inertia = by_inertia
        centre = bodies[i].centre_of_mass
        own = tree[i].mass
        turned = by_inertia * centre + wp.transpose(by_inertia) * centre
        trace = wp.trace(by_inertia)
        adjoints[i].centre_of_mass = adjoints[i].centre_of_mass + own * (by_moment + 2.0 * trace * centre - turned)
        adjoints[i].mass = (
            adjoints[i].mass
            + by_mass
            + wp.dot(centre, by_moment)
            + trace * wp.dot(centre, centre)
            - 0.5 * wp.dot(centre, turned)
        )
        by_own_inertia = adjoints[i].inertia + by_inertia
        adjoints[i].inertia = by_own_inertia
        adjoints[i].torque = adjoints[i].torque + turn_of_inertia(bodies[i].inertia, by_own_inertia)


@wp.func
def pull_places(
    tree: wp.array[BodyParameters],
    bodies: wp.array[BodyState],
    adjoints: wp.array[BodyAdjoint],
    by_joint_pos: wp.array[float],
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.multibody.place_bodies`: generalised forces of what pulls at
    all that is fixed to bodies.
    """
    count = tree.shape[0]
    for number in range(count):
        i = count - 1 - number
        above = tree[i].parent
        by_centre = adjoints[i].centre_of_mass
        force = adjoints[i].force + by_centre
        torque = adjoints[i].torque + wp.cross(bodies[i].centre_of_mass, by_centre)
        if tree[i].joint >= 0:
            angular_axis, linear_axis = motion_subspace(tree[i].is_prismatic, bodies[i].axis, bodies[i].anchor)
            by_joint_pos[tree[i].joint] = (
                by_joint_pos[tree[i].joint] + wp.dot(angular_axis, torque) + wp.dot(linear_axis, force)
            )
        if above >= 0:
            adjoints[above].force = adjoints[above].force + force
            adjoints[above].torque = adjoints[above].torque + torque


@wp.func
def clear_bodies(adjoints: wp.array[BodyAdjoint]):
    """Sets all derivatives to zero."""
    for i in range(adjoints.shape[0]):
        adjoints[i] = BodyAdjoint()
