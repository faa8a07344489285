# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The rigid bodies of one environment, for one thread: what :mod:`nerd_core.multibody` says of whole batches.

Vectors stand in the axes of the root, with its origin at zero; for a fixed base in those of its environment. Velocities
are numbered root first (linear, then angular), then joints *in the order of the bodies that they carry*, so that a
joint's number is larger than those of the joints that carry it, and the mass matrix is factorised without fill-in.
"""

from __future__ import annotations

from typing import Any

import warp as wp


@wp.struct
class Link:
    """What stays the same of a body; parents come first."""

    parent: int
    """Number of the parent; -1 for the root."""
    joint: int
    """Place of the joint in a state; -1 for a body that is fixed to its parent."""
    velocity: int
    """Number of the joint's velocity."""
    slides: int
    """Whether the joint slides."""
    turn: wp.mat33
    """Rotation in the parent; with the joint at ``q`` it is ``turn + turn_cos cos(q) + turn_sin sin(q)``."""
    turn_cos: wp.mat33
    """See :attr:`turn`."""
    turn_sin: wp.mat33
    """See :attr:`turn`."""
    shift: wp.vec3
    """Position in the parent [m], ``shift + shift_cos cos(q) + shift_sin sin(q) + slide q``."""
    shift_cos: wp.vec3
    """See :attr:`shift`."""
    shift_sin: wp.vec3
    """See :attr:`shift`."""
    slide: wp.vec3
    """See :attr:`shift`."""
    axis: wp.vec3
    """Axis of the joint, in the axes of the body."""
    origin: wp.vec3
    """A point on that axis, in the frame of the body [m]."""
    mass: float
    """Mass [kg]."""
    centre: wp.vec3
    """Centre of mass, in the frame of the body [m]."""
    inertia: wp.mat33
    """Inertia about it, in the axes of the body [kg m^2]."""
    rotor: float
    """Inertia of the joint's rotor [kg m^2 or kg]."""


@wp.struct
class Body:
    """Where a body is, how it moves, and what it carries."""

    turn: wp.mat33
    """Rotation."""
    shift: wp.vec3
    """Position [m]."""
    axis: wp.vec3
    """Axis of its joint."""
    origin: wp.vec3
    """A point on that axis [m]."""
    centre: wp.vec3
    """Centre of mass [m]."""
    inertia: wp.mat33
    """Inertia about it."""
    mass: float
    """Mass of the body and all that it carries [kg]."""
    first: wp.vec3
    """First moment of that mass about the origin [kg m]."""
    second: wp.mat33
    """Inertia of that mass about the origin [kg m^2]."""
    push: wp.vec3
    """Momentum of that mass per velocity of the joint."""
    swirl: wp.vec3
    """Angular momentum of that mass about the origin per velocity of the joint."""
    pivot: wp.vec3
    """A point of the body: the origin of the last joint above or at it [m]."""
    spin: wp.vec3
    """Angular velocity [rad/s]."""
    moving: wp.vec3
    """Velocity of the centre of mass [m/s]."""
    bend: wp.vec3
    """Change of the angular velocity while the velocities of the robot stay the same [rad/s^2]."""
    pull: wp.vec3
    """Acceleration of the centre of mass while they do [m/s^2]."""
    force: wp.vec3
    """Force that this takes for the body and all that it carries [N]."""
    torque: wp.vec3
    """Torque about the origin that it takes [N m]."""


@wp.func
def moment_of_point(mass: float, place: wp.vec3):
    """Inertia of a point about the origin."""
    return mass * (wp.dot(place, place) * wp.identity(n=3, dtype=float) - wp.outer(place, place))


@wp.func
def slope(slides: int, axis: wp.vec3, origin: wp.vec3):
    """Angular velocity, and velocity of what is at the origin, per velocity of a joint."""
    if slides == 1:
        return wp.vec3(), axis
    return axis, wp.cross(origin, axis)


@wp.func
def place_bodies(links: wp.array[Link], joint_pos: wp.array[float], bodies: wp.array[Body]):
    """Sets where bodies, their centres of mass and the axes of their joints are."""
    for i in range(links.shape[0]):
        above = links[i].parent
        joint = links[i].joint
        turn = links[i].turn
        shift = links[i].shift
        if joint >= 0:
            pos = joint_pos[joint]
            c, s = wp.cos(pos), wp.sin(pos)
            turn = turn + links[i].turn_cos * c + links[i].turn_sin * s
            shift = shift + links[i].shift_cos * c + links[i].shift_sin * s + links[i].slide * pos
        if above >= 0:
            shift = bodies[above].turn * shift + bodies[above].shift
            turn = bodies[above].turn * turn
        bodies[i].turn = turn
        bodies[i].shift = shift
        bodies[i].axis = turn * links[i].axis
        bodies[i].origin = turn * links[i].origin + shift
        bodies[i].centre = turn * links[i].centre + shift


@wp.func
def weigh_bodies(links: wp.array[Link], bodies: wp.array[Body]):
    """Sets inertias, what each body carries, and the momenta that joints make."""
    count = links.shape[0]
    for i in range(count):
        turn = bodies[i].turn
        mass = links[i].mass
        centre = bodies[i].centre
        inertia = turn * links[i].inertia * wp.transpose(turn)
        bodies[i].inertia = inertia
        bodies[i].mass = mass
        bodies[i].first = mass * centre
        bodies[i].second = inertia + moment_of_point(mass, centre)
    for number in range(count):
        i = count - 1 - number
        above = links[i].parent
        mass = bodies[i].mass
        first = bodies[i].first
        second = bodies[i].second
        if above >= 0:
            bodies[above].mass = bodies[above].mass + mass
            bodies[above].first = bodies[above].first + first
            bodies[above].second = bodies[above].second + second
        if links[i].joint >= 0:
            turning, moving = slope(links[i].slides, bodies[i].axis, bodies[i].origin)
            bodies[i].push = mass * moving + wp.cross(turning, first)
            bodies[i].swirl = second * turning + wp.cross(first, moving)


@wp.func
def total_momentum(links: wp.array[Link], bodies: wp.array[Body], velocity: Any):
    """Momentum of a floating robot, and angular momentum about its centre of mass."""
    linear = wp.vec3(velocity[0], velocity[1], velocity[2])
    angular = wp.vec3(velocity[3], velocity[4], velocity[5])
    mass = bodies[0].mass
    first = bodies[0].first
    push = mass * linear + wp.cross(angular, first)
    swirl = bodies[0].second * angular + wp.cross(first, linear)
    for i in range(links.shape[0]):
        if links[i].joint >= 0:
            push = push + velocity[links[i].velocity] * bodies[i].push
            swirl = swirl + velocity[links[i].velocity] * bodies[i].swirl
    return push, swirl - wp.cross(first, push) / mass


@wp.func
def move_bodies(links: wp.array[Link], floating: int, velocity: Any, bodies: wp.array[Body]):
    """Sets how bodies move, from the root outwards."""
    count = links.shape[0]
    for i in range(count):
        above = links[i].parent
        pivot, spin, moving, bend, pull = wp.vec3(), wp.vec3(), wp.vec3(), wp.vec3(), wp.vec3()
        if above >= 0:
            pivot = bodies[above].pivot
            spin = bodies[above].spin
            moving = bodies[above].moving
            bend = bodies[above].bend
            pull = bodies[above].pull
        elif floating == 1:
            moving = wp.vec3(velocity[0], velocity[1], velocity[2])
            spin = wp.vec3(velocity[3], velocity[4], velocity[5])
        if links[i].joint >= 0:
            rate = velocity[links[i].velocity] * bodies[i].axis
            arm = bodies[i].origin - pivot
            led = wp.cross(spin, arm)
            pull = pull + wp.cross(bend, arm) + wp.cross(spin, led)
            moving = moving + led
            if links[i].slides == 1:
                pull = pull + 2.0 * wp.cross(spin, rate)
                moving = moving + rate
            else:
                bend = bend + wp.cross(spin, rate)
                spin = spin + rate
            pivot = bodies[i].origin
        bodies[i].pivot = pivot
        bodies[i].spin = spin
        bodies[i].moving = moving
        bodies[i].bend = bend
        bodies[i].pull = pull
    for i in range(count):
        arm = bodies[i].centre - bodies[i].pivot
        led = wp.cross(bodies[i].spin, arm)
        bodies[i].moving = bodies[i].moving + led
        bodies[i].pull = bodies[i].pull + wp.cross(bodies[i].bend, arm) + wp.cross(bodies[i].spin, led)


@wp.func
def load_of_motion(links: wp.array[Link], floating: int, bodies: wp.array[Body], zeros: Any):
    """Forces that it would take to keep all velocities as they are: Coriolis, centrifugal, gyroscopes."""
    count = links.shape[0]
    for i in range(count):
        force = links[i].mass * bodies[i].pull
        spin = bodies[i].spin
        inertia = bodies[i].inertia
        torque = inertia * bodies[i].bend + wp.cross(spin, inertia * spin)
        bodies[i].force = force
        bodies[i].torque = torque + wp.cross(bodies[i].centre, force)
    load = zeros
    for number in range(count):
        i = count - 1 - number
        above = links[i].parent
        if above >= 0:
            bodies[above].force = bodies[above].force + bodies[i].force
            bodies[above].torque = bodies[above].torque + bodies[i].torque
        if links[i].joint >= 0:
            turning, moving = slope(links[i].slides, bodies[i].axis, bodies[i].origin)
            load[links[i].velocity] = wp.dot(turning, bodies[i].torque) + wp.dot(moving, bodies[i].force)
    if floating == 1:
        for i in range(3):
            load[i] = bodies[0].force[i]
            load[3 + i] = bodies[0].torque[i]
    return load


@wp.func
def load_of_gravity(links: wp.array[Link], floating: int, bodies: wp.array[Body], pull: wp.vec3, zeros: Any):
    """Forces of gravity on all velocities of the robot."""
    load = zeros
    for i in range(links.shape[0]):
        if links[i].joint >= 0:
            load[links[i].velocity] = wp.dot(bodies[i].push, pull)
    if floating == 1:
        turning = wp.cross(bodies[0].first, pull)
        for i in range(3):
            load[i] = bodies[0].mass * pull[i]
            load[3 + i] = turning[i]
    return load


@wp.func
def load_of_force(
    links: wp.array[Link],
    floating: int,
    bodies: wp.array[Body],
    body: int,
    force: wp.vec3,
    torque: wp.vec3,
    zeros: Any,
):
    """Forces on all velocities of the robot by one on a body, given with its torque about the origin."""
    load = zeros
    if floating == 1:
        for i in range(3):
            load[i] = force[i]
            load[3 + i] = torque[i]
    above = int(body)
    while above >= 0:
        if links[above].joint >= 0:
            turning, moving = slope(links[above].slides, bodies[above].axis, bodies[above].origin)
            load[links[above].velocity] = wp.dot(turning, torque) + wp.dot(moving, force)
        above = links[above].parent
    return load


@wp.func
def factorise(
    links: wp.array[Link],
    floating: int,
    bodies: wp.array[Body],
    zeros: Any,
    rows: wp.array[Any],
    columns: wp.array[Any],
):
    """Sets rows and columns of a lower triangular ``W`` such that the inverse of the mass matrix is
    ``W transpose(W)``.
    """
    for i in range(links.shape[0]):
        if links[i].joint >= 0:
            own = links[i].velocity
            row = load_of_force(links, floating, bodies, i, bodies[i].push, bodies[i].swirl, zeros)
            row[own] = row[own] + links[i].rotor
            rows[own] = row
    if floating == 1:
        for i in range(3):
            row = zeros
            row[i] = bodies[0].mass
            rows[i] = row
            unit = wp.vec3()
            unit[i] = 1.0
            across = wp.cross(unit, bodies[0].first)
            row = zeros
            for j in range(3):
                row[j] = across[j]
                row[3 + j] = bodies[0].second[i, j]
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
def combined(vectors: wp.array[Any], shares: Any, zeros: Any):
    """Sum of vectors, each times its share. With the rows of ``W`` it turns an impulse into units in which a product of
    two impulses is what one does to the other's speed; with its columns it leads from these units to velocities.
    """
    total = zeros
    for k in range(vectors.shape[0]):
        total = total + shares[k] * vectors[k]
    return total
