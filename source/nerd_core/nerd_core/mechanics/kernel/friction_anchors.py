# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The memory of friction of one environment, for one thread: as :mod:`nerd_core.mechanics.friction_anchors` says for
batches. The memory is changed in place; where there is none, contacts have one anchor that was just made.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from ..friction_anchors import SAME_NORMAL, SAME_POINT
from .contact_constraints import NO_END, contact_depth, end_of_capsule, slot_centre

FIRST_NORMAL, FIRST_PLACE, SECOND_NORMAL, SECOND_PLACE, OF_SHAPE = range(5)
"""Places of the vectors of a slot's anchors in the memory, and of the one that says when its shape touched."""

ANCHOR_VECTORS, VECTORS = 4, 5
"""Vectors of a slot's anchors, and of all that is remembered of it."""


@wp.struct
class ContactAnchors:
    """Anchors of a contact in a physics step."""

    has_second: int
    """Whether there are two, each of which bears half of the friction."""
    drift: wp.vec2
    """How far the contact has come from the first along both directions of friction [m]."""
    second_drift: wp.vec2
    """The same from the second."""
    second_impulse: wp.vec2
    """What the second bears of the friction impulse [N s]."""
    holds: int
    """Whether none of them slipped in the last substep."""


@wp.func
def begin_anchors(
    robot: Any,
    work: Any,
    number: int,
    normal: wp.vec3,
    first: wp.vec3,
    second: wp.vec3,
    root_rotation: wp.mat33,
    root_displacement: wp.vec3,
):
    """Finds the anchors of a contact, or makes them.

    Args:
        robot: Tables of the robot.
        work: Memory of the environment.
        number: Number of the contact.
        normal: Its normal, axes of the root, and both directions of friction, ``first`` and ``second``.
        root_rotation: Where the root is, with ``root_displacement``, from where it began.
    """
    found = ContactAnchors()
    memory = work.memory
    if memory.shape[0] > 0:
        slot = int(work.contacts[number])
        body = int(robot.slots[slot].body)
        rotation = work.bodies[body].rotation
        centre = slot_centre(robot.slots, slot, work.bodies)
        depth = contact_depth(robot, work, slot)
        root_pos = work.root_begin + root_displacement
        now = wp.transpose(rotation) * normal
        ground = root_rotation * (centre - depth * normal) + root_pos
        if wp.dot(memory[slot, FIRST_NORMAL], now) > SAME_NORMAL:
            apart = anchor_drift(memory, slot, 0, rotation, centre, depth, root_rotation, root_pos)
            found.drift = wp.vec2(wp.dot(apart, first), wp.dot(apart, second))
            rolled = now - memory[slot, FIRST_NORMAL]
            if wp.length_sq(memory[slot, SECOND_NORMAL]) > 0.0:
                found.has_second = 1
                apart = anchor_drift(memory, slot, 1, rotation, centre, depth, root_rotation, root_pos)
                found.second_drift = wp.vec2(wp.dot(apart, first), wp.dot(apart, second))
            elif (
                end_of_capsule(robot, work, number) == NO_END
                and depth * depth * wp.length_sq(rolled) > SAME_POINT * SAME_POINT
            ):
                found.has_second = 1
                memory[slot, SECOND_NORMAL] = now
                memory[slot, SECOND_PLACE] = ground
        else:
            memory[slot, FIRST_NORMAL] = now
            memory[slot, FIRST_PLACE] = ground
            memory[slot, SECOND_NORMAL] = wp.vec3()
            memory[slot, SECOND_PLACE] = wp.vec3()
    anchors = work.anchors
    anchors[number] = found


@wp.func
def anchor_drift(
    memory: Any,
    slot: int,
    anchor: int,
    rotation: wp.mat33,
    centre: wp.vec3,
    depth: float,
    root_rotation: wp.mat33,
    root_pos: wp.vec3,
):
    """How far a slot has come from an anchor, axes of the root [m]."""
    point = centre - depth * (rotation * memory[slot, 2 * anchor + FIRST_NORMAL])
    return point - wp.transpose(root_rotation) * (memory[slot, 2 * anchor + FIRST_PLACE] - root_pos)


@wp.func
def keep_anchors(work: Any, contacts: int):
    """Forgets the anchors of all slots at the end of a physics step but those of contacts that friction holds."""
    memory = work.memory
    for slot in range(memory.shape[0]):
        holds = int(0)
        for number in range(contacts):
            if work.contacts[number] == slot:
                holds = work.anchors[number].holds
        if holds == 0:
            for i in range(ANCHOR_VECTORS):
                memory[slot, i] = wp.vec3()


__all__ = ["ANCHOR_VECTORS", "VECTORS", "ContactAnchors", "anchor_drift", "begin_anchors", "keep_anchors"]
