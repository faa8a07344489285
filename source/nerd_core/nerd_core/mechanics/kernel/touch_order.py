# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Which shape of a body is solved first, for one thread: as :mod:`nerd_core.mechanics.touch_order` says for batches."""

from __future__ import annotations

from typing import Any

import warp as wp

from ..touch_order import LAST
from .contact_constraints import slot_centre
from .friction_anchors import OF_SHAPE


@wp.func
def is_first_of_shape(robot: Any, slot: int):
    """Whether a slot is the first one of its shape."""
    is_first = int(1)
    if slot > 0:  # noqa: SIM102 (Warp would look at the slot before the first all the same)
        if robot.slots[slot - 1].shape == robot.slots[slot].shape:
            is_first = 0
    return is_first


@wp.func
def is_listed(robot: Any, work: Any, slot: int):
    """Whether a slot is the first one of a shape that touches and may not have its body for itself."""
    listed = int(0)
    if robot.slots[slot].has_rivals == 1 and work.grounds[slot].place > 0:
        listed = is_first_of_shape(robot, slot)
    return listed


@wp.func
def place_before(work: Any, slot: int):
    """Place of a slot's shape in the list of the physics step before; behind all others if it was not there."""
    place = int(LAST)
    if work.memory.shape[0] > 0:
        kept = int(work.memory[slot, OF_SHAPE][0] + 0.5)
        if kept > 0:
            place = kept
    return place


@wp.func
def is_listed_before(work: Any, one: int, other: int):
    """Whether the shape of slot ``one`` stands before that of slot ``other`` in the list, both being touching."""
    first, second = place_before(work, one), place_before(work, other)
    is_before = int(first < second)
    if first == second:
        x, y = work.grounds[one].begin, work.grounds[other].begin
        is_before = int(x < y or (x == y and one < other))
    return is_before


@wp.func
def list_touching(robot: Any, work: Any, root_rotation: wp.mat33):
    """Renews the list of what touches: ``work.grounds[...].place``, and the memory if there is one.

    Args:
        robot: Tables of the robot.
        work: Memory of the environment, with the gaps of all slots.
        root_rotation: Where the root is.
    """
    slots = robot.slots
    grounds = work.grounds
    memory = work.memory
    count = slots.shape[0]
    first = int(0)
    for slot in range(count):
        if slots[slot].has_rivals == 1:
            along = root_rotation * slot_centre(slots, slot, work.bodies)
            begin = along[0] - slots[slot].radius
            if is_first_of_shape(robot, slot) == 1:
                first = slot
                grounds[slot].begin = begin
                grounds[slot].place = 0
            grounds[first].begin = wp.min(grounds[first].begin, begin)
            if grounds[slot].gap < slots[slot].reach:
                grounds[first].place = 1
    for slot in range(count):
        if is_listed(robot, work, slot) == 1:
            place = int(1)
            for other in range(count):
                if other != slot and slots[other].body == slots[slot].body and is_listed(robot, work, other) == 1:
                    place = place + is_listed_before(work, other, slot)
            grounds[slot].place = place
    for slot in range(count):
        if slots[slot].has_rivals == 1:
            if is_first_of_shape(robot, slot) == 0:
                grounds[slot].place = grounds[slot - 1].place
            if memory.shape[0] > 0:
                memory[slot, OF_SHAPE] = wp.vec3(float(grounds[slot].place), 0.0, 0.0)


@wp.func
def order_contacts(robot: Any, work: Any, found: int):
    """Sorts the contacts of each body by the places of their shapes.

    Args:
        robot: Tables of the robot.
        work: Memory of the environment, with ``found`` contacts in the order of their slots.
        found: How many there are.
    """
    contacts = work.contacts
    for number in range(1, found):
        slot = int(contacts[number])
        place = int(number)
        is_due = int(1)
        while place > 0 and is_due == 1:
            other = int(contacts[place - 1])
            is_due = 0
            if robot.slots[slot].has_rivals == 1 and robot.slots[other].body == robot.slots[slot].body:  # noqa: SIM102
                if work.grounds[other].place > work.grounds[slot].place:
                    contacts[place] = other
                    place = place - 1
                    is_due = 1
        contacts[place] = slot


__all__ = ["list_touching", "order_contacts"]
