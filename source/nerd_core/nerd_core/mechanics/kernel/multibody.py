# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The rigid bodies of one environment, for one thread: what :mod:`nerd_core.mechanics.multibody` computes for batches.

The mass matrix ``H`` is made by the composite-rigid-body algorithm and factorised as ``H = transpose(L) L`` without
fill-in (Featherstone, *Rigid Body Dynamics Algorithms*, 2008, sections 6.2 and 6.5); the bias force by the recursive
Newton-Euler algorithm (chapter 5).

Vectors stand in the axes of the root, with its origin at zero; for a fixed base in those of its environment. Velocities
are numbered root first (linear, then angular), then joints *in the order of the bodies that they move*, so that a
joint's number is larger than those of the joints that support it, as that factorisation needs it.
"""

from __future__ import annotations

from typing import Any

import warp as wp


@wp.struct
class BodyParameters:
    """What stays the same of a body; parents come first."""

    parent: int
    """Number of the parent; -1 for the root."""
    joint: int
    """Place of the joint in a state; -1 for a body that is fixed to its parent."""
    velocity: int
    """Number of the joint's velocity."""
    is_prismatic: int
    """Whether the joint slides."""
    rotation: wp.mat33
    """Rotation in the parent; at the joint position ``q`` it is ``rotation + rotation_cos cos(q) + rotation_sin
    sin(q)``.
    """
    rotation_cos: wp.mat33
    """See :attr:`rotation`."""
    rotation_sin: wp.mat33
    """See :attr:`rotation`."""
    position: wp.vec3
    """Position in the parent [m], ``position + position_cos cos(q) + position_sin sin(q) + slide q``."""
    position_cos: wp.vec3
    """See :attr:`position`."""
    position_sin: wp.vec3
    """See :attr:`position`."""
    slide: wp.vec3
    """See :attr:`position`."""
    parent_pos: wp.vec3
    """Place of the joint in the frame of the parent [m], a part of :attr:`position`."""
    axis: wp.vec3
    """Axis of the joint, in the axes of the body."""
    anchor: wp.vec3
    """A point on that axis, in the frame of the body [m]."""
    mass: float
    """Mass [kg]."""
    centre_of_mass: wp.vec3
    """Centre of mass, in the frame of the body [m]."""
    inertia: wp.mat33
    """Inertia about it, in the axes of the body [kg m^2]."""
    armature: float
    """Inertia that is added to the joint, as of a rotor [kg m^2 or kg]."""


@wp.struct
class BodyState:
    """Where a body is, how it moves, and what it carries. What it carries is all that hangs from it and the body
    itself, as one: its composite body. Biases are accelerations at generalised velocities that stay the same.
    """

    rotation: wp.mat33
    """Rotation."""
    position: wp.vec3
    """Position [m]."""
    axis: wp.vec3
    """Axis of its joint."""
    anchor: wp.vec3
    """A point on that axis [m]."""
    centre_of_mass: wp.vec3
    """Centre of mass [m]."""
    inertia: wp.mat33
    """Inertia about it [kg m^2]."""
    composite_mass: float
    """Mass of the composite body [kg]."""
    first_moment: wp.vec3
    """First moment of the composite body's mass about the origin [kg m]."""
    composite_inertia: wp.mat33
    """Inertia of the composite body about the origin [kg m^2]."""
    unit_momentum: wp.vec3
    """Momentum of the composite body per velocity of the joint [kg or kg m]."""
    unit_angular_momentum: wp.vec3
    """Angular momentum of the composite body about the origin per velocity of the joint [kg m or kg m^2]."""
    reference: wp.vec3
    """A point of the body: the anchor of the last joint above or at it [m]."""
    angular_velocity: wp.vec3
    """Angular velocity [rad/s]."""
    linear_velocity: wp.vec3
    """Velocity of the centre of mass [m/s]."""
    angular_bias: wp.vec3
    """Angular bias acceleration [rad/s^2]."""
    linear_bias: wp.vec3
    """Bias acceleration of the centre of mass [m/s^2]."""
    force: wp.vec3
    """Force that these take for the composite body [N]."""
    torque: wp.vec3
    """Torque about the origin that they take [N m]."""


@wp.func
def point_inertia(mass: float, position: wp.vec3):
    """Inertia of a point about the origin."""
    return mass * (wp.dot(position, position) * wp.identity(n=3, dtype=float) - wp.outer(position, position))


@wp.func
def motion_subspace(is_prismatic: int, axis: wp.vec3, anchor: wp.vec3):
    """Angular velocity, and velocity of what is at the origin, per velocity of a joint: its motion subspace
    (Featherstone, section 3.5).
    """
    if is_prismatic == 1:
        return wp.vec3(), axis
    return axis, wp.cross(anchor, axis)


@wp.func
def place_bodies(tree: wp.array[BodyParameters], joint_pos: wp.array[float], bodies: wp.array[BodyState]):
    """Sets where bodies, their centres of mass and the axes of their joints are."""
    for i in range(tree.shape[0]):
        above = tree[i].parent
        joint = tree[i].joint
        rotation = tree[i].rotation
        position = tree[i].position
        if joint >= 0:
            pos = joint_pos[joint]
            c, s = wp.cos(pos), wp.sin(pos)
            rotation = rotation + tree[i].rotation_cos * c + tree[i].rotation_sin * s
            position = position + tree[i].position_cos * c + tree[i].position_sin * s + tree[i].slide * pos
        if above >= 0:
            position = bodies[above].rotation * position + bodies[above].position
            rotation = bodies[above].rotation * rotation
        bodies[i].rotation = rotation
        bodies[i].position = position
        bodies[i].axis = rotation * tree[i].axis
        bodies[i].anchor = rotation * tree[i].anchor + position
        bodies[i].centre_of_mass = rotation * tree[i].centre_of_mass + position


@wp.func
def compute_inertias(tree: wp.array[BodyParameters], bodies: wp.array[BodyState]):
    """Sets inertias of bodies and composite bodies, and the momenta that joints make."""
    count = tree.shape[0]
    for i in range(count):
        rotation = bodies[i].rotation
        mass = tree[i].mass
        centre = bodies[i].centre_of_mass
        inertia = rotation * tree[i].inertia * wp.transpose(rotation)
        bodies[i].inertia = inertia
        bodies[i].composite_mass = mass
        bodies[i].first_moment = mass * centre
        bodies[i].composite_inertia = inertia + point_inertia(mass, centre)
    for number in range(count):
        i = count - 1 - number
        above = tree[i].parent
        mass = bodies[i].composite_mass
        first_moment = bodies[i].first_moment
        inertia = bodies[i].composite_inertia
        if above >= 0:
            bodies[above].composite_mass = bodies[above].composite_mass + mass
            bodies[above].first_moment = bodies[above].first_moment + first_moment
            bodies[above].composite_inertia = bodies[above].composite_inertia + inertia
        if tree[i].joint >= 0:
            angular_axis, linear_axis = motion_subspace(tree[i].is_prismatic, bodies[i].axis, bodies[i].anchor)
            bodies[i].unit_momentum = mass * linear_axis + wp.cross(angular_axis, first_moment)
            bodies[i].unit_angular_momentum = inertia * angular_axis + wp.cross(first_moment, linear_axis)


@wp.func
def centroidal_momentum(tree: wp.array[BodyParameters], bodies: wp.array[BodyState], velocity: Any):
    """Momentum of a floating robot, and angular momentum about its centre of mass."""
    linear = wp.vec3(velocity[0], velocity[1], velocity[2])
    angular = wp.vec3(velocity[3], velocity[4], velocity[5])
    mass = bodies[0].composite_mass
    first_moment = bodies[0].first_moment
    momentum = mass * linear + wp.cross(angular, first_moment)
    angular_momentum = bodies[0].composite_inertia * angular + wp.cross(first_moment, linear)
    for i in range(tree.shape[0]):
        if tree[i].joint >= 0:
            momentum = momentum + velocity[tree[i].velocity] * bodies[i].unit_momentum
            angular_momentum = angular_momentum + velocity[tree[i].velocity] * bodies[i].unit_angular_momentum
    return momentum, angular_momentum - wp.cross(first_moment, momentum) / mass


@wp.func
def compute_motion(tree: wp.array[BodyParameters], floating: int, velocity: Any, bodies: wp.array[BodyState]):
    """Sets how bodies move, from the root outwards; velocities are the generalised ones."""
    count = tree.shape[0]
    for i in range(count):
        above = tree[i].parent
        reference, angular, linear, angular_bias, linear_bias = wp.vec3(), wp.vec3(), wp.vec3(), wp.vec3(), wp.vec3()
        if above >= 0:
            reference = bodies[above].reference
            angular = bodies[above].angular_velocity
            linear = bodies[above].linear_velocity
            angular_bias = bodies[above].angular_bias
            linear_bias = bodies[above].linear_bias
        elif floating == 1:
            linear = wp.vec3(velocity[0], velocity[1], velocity[2])
            angular = wp.vec3(velocity[3], velocity[4], velocity[5])
        if tree[i].joint >= 0:
            joint_rate = velocity[tree[i].velocity] * bodies[i].axis
            arm = bodies[i].anchor - reference
            turned = wp.cross(angular, arm)
            linear_bias = linear_bias + wp.cross(angular_bias, arm) + wp.cross(angular, turned)
            linear = linear + turned
            if tree[i].is_prismatic == 1:
                linear_bias = linear_bias + 2.0 * wp.cross(angular, joint_rate)
                linear = linear + joint_rate
            else:
                angular_bias = angular_bias + wp.cross(angular, joint_rate)
                angular = angular + joint_rate
            reference = bodies[i].anchor
        bodies[i].reference = reference
        bodies[i].angular_velocity = angular
        bodies[i].linear_velocity = linear
        bodies[i].angular_bias = angular_bias
        bodies[i].linear_bias = linear_bias
    for i in range(count):
        arm = bodies[i].centre_of_mass - bodies[i].reference
        turned = wp.cross(bodies[i].angular_velocity, arm)
        bodies[i].linear_velocity = bodies[i].linear_velocity + turned
        bodies[i].linear_bias = (
            bodies[i].linear_bias + wp.cross(bodies[i].angular_bias, arm) + wp.cross(bodies[i].angular_velocity, turned)
        )


@wp.func
def bias_force(tree: wp.array[BodyParameters], floating: int, bodies: wp.array[BodyState], zeros: Any):
    """Generalised forces that keep all generalised velocities as they are: Coriolis, centrifugal, gyroscopic."""
    count = tree.shape[0]
    for i in range(count):
        force = tree[i].mass * bodies[i].linear_bias
        angular = bodies[i].angular_velocity
        inertia = bodies[i].inertia
        torque = inertia * bodies[i].angular_bias + wp.cross(angular, inertia * angular)
        bodies[i].force = force
        bodies[i].torque = torque + wp.cross(bodies[i].centre_of_mass, force)
    generalised = zeros
    for number in range(count):
        i = count - 1 - number
        above = tree[i].parent
        if above >= 0:
            bodies[above].force = bodies[above].force + bodies[i].force
            bodies[above].torque = bodies[above].torque + bodies[i].torque
        if tree[i].joint >= 0:
            angular_axis, linear_axis = motion_subspace(tree[i].is_prismatic, bodies[i].axis, bodies[i].anchor)
            generalised[tree[i].velocity] = wp.dot(angular_axis, bodies[i].torque) + wp.dot(
                linear_axis, bodies[i].force
            )
    if floating == 1:
        for i in range(3):
            generalised[i] = bodies[0].force[i]
            generalised[3 + i] = bodies[0].torque[i]
    return generalised


@wp.func
def gravity_force(
    tree: wp.array[BodyParameters], floating: int, bodies: wp.array[BodyState], gravity: wp.vec3, zeros: Any
):
    """Generalised forces of gravity, given in the axes of the root [m/s^2]."""
    generalised = zeros
    for i in range(tree.shape[0]):
        if tree[i].joint >= 0:
            generalised[tree[i].velocity] = wp.dot(bodies[i].unit_momentum, gravity)
    if floating == 1:
        torque = wp.cross(bodies[0].first_moment, gravity)
        for i in range(3):
            generalised[i] = bodies[0].composite_mass * gravity[i]
            generalised[3 + i] = torque[i]
    return generalised


@wp.func
def generalised_force(
    tree: wp.array[BodyParameters],
    floating: int,
    bodies: wp.array[BodyState],
    body: int,
    force: wp.vec3,
    torque: wp.vec3,
    zeros: Any,
):
    """Generalised forces by a force on a body, given with its torque about the origin."""
    generalised = zeros
    if floating == 1:
        for i in range(3):
            generalised[i] = force[i]
            generalised[3 + i] = torque[i]
    above = int(body)
    while above >= 0:
        if tree[above].joint >= 0:
            angular_axis, linear_axis = motion_subspace(
                tree[above].is_prismatic, bodies[above].axis, bodies[above].anchor
            )
            generalised[tree[above].velocity] = wp.dot(angular_axis, torque) + wp.dot(linear_axis, force)
        above = tree[above].parent
    return generalised


@wp.func
def factorise_mass_matrix(
    tree: wp.array[BodyParameters],
    floating: int,
    bodies: wp.array[BodyState],
    zeros: Any,
    rows: wp.array[Any],
    columns: wp.array[Any],
):
    """Sets rows and columns of the inverse factor ``W``, lower triangular, such that the inverse of the mass matrix is
    ``W transpose(W)``.
    """
    for i in range(tree.shape[0]):
        if tree[i].joint >= 0:
            own = tree[i].velocity
            row = generalised_force(
                tree, floating, bodies, i, bodies[i].unit_momentum, bodies[i].unit_angular_momentum, zeros
            )
            row[own] = row[own] + tree[i].armature
            rows[own] = row
    if floating == 1:
        for i in range(3):
            row = zeros
            row[i] = bodies[0].composite_mass
            rows[i] = row
            unit = wp.vec3()
            unit[i] = 1.0
            across = wp.cross(unit, bodies[0].first_moment)
            row = zeros
            for j in range(3):
                row[j] = across[j]
                row[3 + j] = bodies[0].composite_inertia[i, j]
            rows[3 + i] = row
    # The mass matrix is transpose(L) L: what is left of the diagonal of L, leaves of the tree first.
    size = rows.shape[0]
    for number in range(size):
        k = size - 1 - number
        row = rows[k]
        row = row / wp.sqrt(row[k])
        rows[k] = row
        for i in range(k):
            if row[i] != 0.0:
                rows[i] = rows[i] - row[i] * row
    # W is the inverse of L.
    for k in range(size):
        row = rows[k]
        inverse = zeros
        inverse[k] = 1.0
        for i in range(k):
            if row[i] != 0.0:
                inverse = inverse - row[i] * rows[i]
        rows[k] = inverse / row[k]
    for k in range(size):
        column = zeros
        for i in range(k, size):
            column[i] = rows[i][k]
        columns[k] = column


@wp.func
def weighted_sum(vectors: wp.array[Any], weights: Any, zeros: Any):
    """Sum of vectors, each times its weight.

    With the rows of the inverse factor ``W`` it is ``transpose(W) x``: a generalised impulse in whitened units, in
    which the product of two is an entry of the Delassus matrix. With its columns it is ``W x``: from these units to
    velocities.
    """
    total = zeros
    for k in range(vectors.shape[0]):
        total = total + weights[k] * vectors[k]
    return total
