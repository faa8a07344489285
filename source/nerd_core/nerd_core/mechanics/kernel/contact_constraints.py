# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Contacts of one environment as constraints, for one thread: which slots are near the ground, and along which axes,
as :mod:`nerd_core.mechanics.contact_constraints` says for batches.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from ..constants import COUNTED_GAP, EPSILON, Constant
from .multibody import BodyState


@wp.struct
class SlotParameters:
    """What stays the same of a slot."""

    place: int
    """Place among the contacts."""
    body: int
    """Number of the body that carries it."""
    point: wp.vec3
    """Its centre, in the frame of the body [m]."""
    radius: float
    """Its radius [m]."""
    static_friction: float
    """Static friction per normal impulse, less than zero where it is the learned one."""
    dynamic_friction: float
    """Dynamic friction per normal impulse, less than zero where it is the static one."""
    restitution: float
    """Share of the speed of an impact with which it is left."""
    bounce_threshold: float
    """Speed of an impact below which there is no restitution [m/s]."""
    shape: int
    """Number of the shape to which it belongs."""
    reach: float
    """Gap below which it is looked at [m]."""
    turn: int
    """How many joints are solved before it."""
    has_rivals: int
    """Whether its body has other shapes that may touch, too."""
    is_lower_end: int
    """Whether it is the first end of a capsule whose other end is the next slot, and both are one patch."""


NO_END, ONE_END, OTHER_END = 0, 1, 2
"""A contact by itself, and the first and the other end of a capsule that is one patch."""


@wp.struct
class SlotGround:
    """The ground below a slot, a plane for the time of a control step."""

    offset: float
    """Where the slot's centre touches it, along the normal, from where the root began [m]."""
    normal: wp.vec3
    """Normal, environment axes; zero where there is no ground."""
    gap: float
    """How far away it is at the beginning of a physics step [m]."""
    nearest: float
    """The same, or at the end of the step with the velocity of the beginning if that is nearer [m]."""
    begin: float
    """Where the slot's shape begins along the first axis of the environment [m]."""
    place: int
    """Place of the slot's shape in the list of what touches, zero for one that does not."""


@wp.func
def slot_centre(slots: wp.array[SlotParameters], slot: int, bodies: wp.array[BodyState]):
    """Where the centre of a slot is."""
    body = slots[slot].body
    return bodies[body].rotation * slots[slot].point + bodies[body].position


@wp.func
def contact_depth(robot: Any, work: Any, slot: int):
    """How far below the centre of a slot its contact is, along the normal: at its surface, or of a corner in a patch at
    the ground.
    """
    depth = robot.slots[slot].radius
    if robot.solver.has_patches == 1 and depth == 0.0:
        depth = work.grounds[slot].gap
    return depth


@wp.func
def find_contacts(robot: Any, work: Any, root_rotation: wp.mat33, root_displacement: wp.vec3):
    """Lists the slots that the solver looks at in ``work.contacts``.

    Args:
        robot: Tables of the robot.
        work: Memory of the environment.
        root_rotation: Where the root is, with ``root_displacement``, from where it began.

    Returns:
        How many there are, and how many of all slots are near the ground.
    """
    slots = robot.slots
    bodies = work.bodies
    grounds = work.grounds
    contacts = work.contacts
    near, found = int(0), int(0)
    for i in range(slots.shape[0]):
        body = slots[i].body
        normal = wp.transpose(root_rotation) * grounds[i].normal
        centre = slot_centre(slots, i, bodies)
        gap = wp.dot(centre, normal) - (grounds[i].offset - wp.dot(grounds[i].normal, root_displacement))
        arm = centre - bodies[body].centre_of_mass
        velocity = bodies[body].linear_velocity + wp.cross(bodies[body].angular_velocity, arm)
        nearest = wp.min(gap, gap + robot.solver.dt * wp.dot(velocity, normal))
        grounds[i].gap = gap
        grounds[i].nearest = nearest
        if nearest < COUNTED_GAP:
            near = near + 1
    for i in range(slots.shape[0]):
        if grounds[i].gap < slots[i].reach:
            nearer = int(0)
            for other in range(slots.shape[0]):
                if grounds[other].nearest < grounds[i].nearest:
                    nearer = nearer + 1
            if nearer < contacts.shape[0] and found < contacts.shape[0]:
                contacts[found] = i
                found = found + 1
    if found < contacts.shape[0]:
        contacts[found] = -1
    return found, near


@wp.func
def end_of_capsule(robot: Any, work: Any, number: int):
    """Which end of a capsule of which both ends are contacts a contact is, if any."""
    contacts = work.contacts
    slots = robot.slots
    slot = int(contacts[number])
    end = int(NO_END)
    if number > 0:  # noqa: SIM102 (Warp would look at the contact before the first all the same)
        if int(contacts[number - 1]) == slot - 1 and slots[slot - 1].is_lower_end == 1:
            end = OTHER_END
    if slots[slot].is_lower_end == 1 and number + 1 < contacts.shape[0]:  # noqa: SIM102
        if int(contacts[number + 1]) == slot + 1:
            end = ONE_END
    return end


@wp.func
def friction_axes(normal: wp.vec3, velocity: wp.vec3, root_rotation: wp.mat33, sliding_speed_squared: float):
    """Two directions across a normal: along the motion, or else one that depends on the environment, and the next."""
    first = wp.vec3(root_rotation[0, 0], root_rotation[0, 1], root_rotation[0, 2])
    third = wp.vec3(root_rotation[2, 0], root_rotation[2, 1], root_rotation[2, 2])
    along_first = wp.dot(normal, first)
    tangent = wp.cross(first, normal)
    if along_first * along_first > 0.5:
        tangent = wp.cross(third, normal)
    slip = velocity - normal * wp.dot(normal, velocity)
    if wp.dot(slip, slip) > sliding_speed_squared:
        tangent = slip
    tangent = tangent / wp.sqrt(wp.dot(tangent, tangent) + EPSILON)
    return tangent, wp.cross(normal, tangent)


@wp.func
def held_share(robot: Any, constants: Any, slot: int, factor: float, pressed: float, a: float, b: float):
    """Share of a friction impulse (a, b) that is within its cone: one for a contact that does not slip.

    Args:
        robot: Tables of the robot.
        constants: Learned constants.
        slot: Number of the slot.
        factor: What rules say of the coefficient of friction.
        pressed: Normal impulse.
        a: Friction impulse along the first direction, and ``b`` along the second.
    """
    static, dynamic = robot.slots[slot].static_friction, robot.slots[slot].dynamic_friction
    return cone_share(robot, constants, static, dynamic, factor, pressed, a, b)


@wp.func
def cone_share(
    robot: Any, constants: Any, static: float, dynamic: float, factor: float, pressed: float, a: float, b: float
):
    """The same, given ``static`` friction per normal impulse, less than zero where it is the learned one, and
    ``dynamic``, less than zero where it is the static one.
    """
    friction = constants[Constant.FRICTION_COEFFICIENT]
    if static >= 0.0:
        friction = static
    largest = friction * factor * pressed
    share = wp.min(largest / wp.sqrt(a * a + b * b + EPSILON), 1.0)
    if share < 1.0:
        if dynamic >= 0.0:
            sliding = dynamic * factor * pressed
            share = wp.min(sliding / wp.sqrt(a * a + b * b + EPSILON), 1.0)
        elif static < 0.0:
            share = share * robot.solver.sliding_share
    return share
