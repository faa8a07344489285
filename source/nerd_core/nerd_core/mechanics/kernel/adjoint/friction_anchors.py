# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The adjoint of the memory of friction of one environment, for one thread: of
:mod:`nerd_core.mechanics.kernel.friction_anchors`. Derivatives by a memory go back from physics step to physics step as
it went forth; which anchors there were is read from what the step kept.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from ...friction_anchors import SAME_NORMAL
from ..capsule_contacts import is_put_down_anew
from ..contact_constraints import NO_END, OTHER_END, end_of_capsule, slot_centre
from ..friction_anchors import (
    FIRST_NORMAL,
    FIRST_PLACE,
    OF_SHAPE,
    SECOND_NORMAL,
    SECOND_PLACE,
    VECTORS,
    ContactAnchors,
)
from .multibody import pull_point


@wp.struct
class AnchorAdjoint:
    """Derivatives by :class:`~nerd_core.mechanics.kernel.friction_anchors.ContactAnchors`."""

    drift: wp.vec2
    second_drift: wp.vec2
    second_impulse: wp.vec2


@wp.func
def kept_anchors_of(work: Any, substep: int, contact: int):
    """Anchors of a contact at the beginning of a substep; none, with nothing drifted, of a step without memory."""
    found = ContactAnchors()
    if work.kept_anchors.shape[0] > 0:
        kept = work.kept_anchors[substep, contact]
        found.has_second = kept.has_second
        found.drift = kept.drift
        found.second_drift = kept.second_drift
        found.second_impulse = kept.second_impulse
    return found


@wp.func
def pull_kept_anchors(adjoint: Any, after: wp.array2d[wp.vec3]):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.friction_anchors.keep_anchors`, given the memory after it: what
    was forgotten is no part of it.
    """
    by_memory = adjoint.memory
    for slot in range(after.shape[0]):
        by_memory[slot, OF_SHAPE] = wp.vec3()
        if wp.length_sq(after[slot, FIRST_NORMAL]) == 0.0:
            for i in range(VECTORS):
                by_memory[slot, i] = wp.vec3()


@wp.func
def pull_drift(robot: Any, work: Any, adjoint: Any, slot: int, anchor: int, root_pos: wp.vec3, by_apart: wp.vec3):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.friction_anchors.anchor_drift`.

    Returns:
        How far the slot has come from the anchor, and derivatives by a turn of the root and by where it is.
    """
    memory = work.memory
    by_memory = adjoint.memory
    normal, place = 2 * anchor + FIRST_NORMAL, 2 * anchor + FIRST_PLACE
    root_rotation = work.root_rotation
    body = int(robot.slots[slot].body)
    rotation = work.bodies[body].rotation
    depth = robot.slots[slot].radius
    point = slot_centre(robot.slots, slot, work.bodies) - depth * (rotation * memory[slot, normal])
    on_ground = wp.transpose(root_rotation) * (memory[slot, place] - root_pos)
    by_place = root_rotation * by_apart
    pull_point(adjoint.bodies, body, point, by_apart)
    by_memory[slot, normal] = by_memory[slot, normal] - depth * (wp.transpose(rotation) * by_apart)
    by_memory[slot, place] = by_memory[slot, place] - by_place
    return point - on_ground, wp.cross(on_ground, by_apart), by_place


@wp.func
def pull_anchors(
    robot: Any,
    work: Any,
    adjoint: Any,
    number: int,
    normal: wp.vec3,
    first: wp.vec3,
    second: wp.vec3,
    root_displacement: wp.vec3,
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.friction_anchors.begin_anchors`; arguments as there.

    Returns:
        Derivatives by the normal, by both directions of friction, by a turn of the root, and by where it is.
    """
    by_normal, by_first, by_second = wp.vec3(), wp.vec3(), wp.vec3()
    by_turn, by_root = wp.vec3(), wp.vec3()
    memory = work.memory
    if memory.shape[0] > 0:
        by_memory = adjoint.memory
        by_bodies = adjoint.bodies
        by_anchors = adjoint.anchors[number]
        root_rotation = work.root_rotation
        root_pos = work.root_begin + root_displacement
        slot = int(work.contacts[number])
        body = int(robot.slots[slot].body)
        rotation = work.bodies[body].rotation
        centre = slot_centre(robot.slots, slot, work.bodies)
        depth = robot.slots[slot].radius
        now = wp.transpose(rotation) * normal
        lasts = wp.dot(memory[slot, FIRST_NORMAL], now) > SAME_NORMAL
        end = end_of_capsule(robot, work, number)
        if end != NO_END:  # noqa: SIM102 (Warp would ask the rest all the same)
            if is_put_down_anew(robot, work, slot - int(end == OTHER_END), root_rotation) == 1:
                lasts = False
        had_second = wp.length_sq(memory[slot, SECOND_NORMAL]) > 0.0
        by_now, by_ground = wp.vec3(), wp.vec3()
        if not lasts:
            by_now = by_now + by_memory[slot, FIRST_NORMAL]
            by_ground = by_ground + by_memory[slot, FIRST_PLACE]
            by_memory[slot, FIRST_NORMAL] = wp.vec3()
            by_memory[slot, FIRST_PLACE] = wp.vec3()
        elif work.kept_anchors[0, number].has_second == 1 and not had_second:
            by_now = by_now + by_memory[slot, SECOND_NORMAL]
            by_ground = by_ground + by_memory[slot, SECOND_PLACE]
        if not (lasts and had_second):
            by_memory[slot, SECOND_NORMAL] = wp.vec3()
            by_memory[slot, SECOND_PLACE] = wp.vec3()
        if lasts:
            drift = by_anchors.drift[0] * first + by_anchors.drift[1] * second
            apart, turn, root = pull_drift(robot, work, adjoint, slot, 0, root_pos, drift)
            by_first = by_first + by_anchors.drift[0] * apart
            by_second = by_second + by_anchors.drift[1] * apart
            by_turn = by_turn + turn
            by_root = by_root + root
        if lasts and had_second:
            drift = by_anchors.second_drift[0] * first + by_anchors.second_drift[1] * second
            apart, turn, root = pull_drift(robot, work, adjoint, slot, 1, root_pos, drift)
            by_first = by_first + by_anchors.second_drift[0] * apart
            by_second = by_second + by_anchors.second_drift[1] * apart
            by_turn = by_turn + turn
            by_root = by_root + root
        # New ones: the normal in the axes of the body, and the point on the ground.
        by_point = wp.transpose(root_rotation) * by_ground
        by_outwards = rotation * by_now
        by_normal = by_outwards - depth * by_point
        by_bodies[body].torque = by_bodies[body].torque + wp.cross(by_outwards, normal)
        pull_point(by_bodies, body, centre, by_point)
        by_turn = by_turn + wp.cross(centre - depth * normal, by_point)
        by_root = by_root + by_ground
    return by_normal, by_first, by_second, by_turn, by_root


__all__ = ["AnchorAdjoint", "kept_anchors_of", "pull_anchors", "pull_kept_anchors"]
