# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Contacts of one shape as a patch, for one thread: as :mod:`nerd_core.mechanics.contact_patches` says for batches.

All normals are solved first, then friction at the anchors, each from the last contact to the first.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from ..constants import EPSILON, MIN_FACTOR, Constant, Factor
from .contact_constraints import slot_centre
from .joint_stops import rate_factor
from .rules import FACTORS_PADDED, Factors, contact_factors

IS_ASKED = FACTORS_PADDED - 1
"""Place among the factors, which none of them needs, that says whether rules were asked for them."""


@wp.func
def squared_distance(robot: Any, work: Any, one: int, other: int):
    """Square of the distance of two contacts [m^2]."""
    slots = robot.slots
    bodies = work.bodies
    contacts = work.contacts
    apart = slot_centre(slots, int(contacts[one]), bodies) - slot_centre(slots, int(contacts[other]), bodies)
    return wp.dot(apart, apart)


@wp.func
def find_anchors(robot: Any, work: Any, found: int):
    """Gives each contact its share of the friction of its patch: a half for each of two anchors, one for a single one.

    Args:
        robot: Tables of the robot.
        work: Memory of the environment, with the rows of all contacts begun.
        found: How many contacts there are.
    """
    slots = robot.slots
    contacts = work.contacts
    rows = work.rows
    base = robot.joints.shape[0]
    for contact in range(found):
        rows[base + 3 * contact].friction_share = 0.0
    for place in range(found):
        begin = found - 1 - place
        shape = slots[int(contacts[begin])].shape
        is_first = int(1)
        for later in range(begin + 1, found):
            if slots[int(contacts[later])].shape == shape:
                is_first = 0
        if is_first == 1:
            first, second = int(begin), int(begin)
            width = float(0.0)
            for step in range(begin):
                other = begin - 1 - step
                if slots[int(contacts[other])].shape == shape:
                    to_first = squared_distance(robot, work, other, first)
                    to_second = squared_distance(robot, work, other, second)
                    if to_first >= to_second and to_first > width:
                        second = other
                        width = to_first
                    elif to_first < to_second and to_second > width:
                        first = other
                        width = to_second
            i, j = base + 3 * first, base + 3 * second
            rows[i].friction_share = rows[i].friction_share + 0.5
            rows[j].friction_share = rows[j].friction_share + 0.5


@wp.func
def solve_patch_normal(robot: Any, work: Any, constants: Any, i: int, factors: Factors, solved: Any):
    """Solves the normal of a contact, row ``i``, and returns all impulses in whitened units."""
    rows = work.rows
    whitened_rows = work.whitened_rows
    substep_dt = robot.solver.dt / float(robot.solver.substeps)
    initial_gap = rows[i].gap
    gap = initial_gap + rows[i].displacement
    rate = 1.0 / substep_dt
    if initial_gap <= 0.0:
        rate = constants[Constant.CONTACT_BAUMGARTE] / substep_dt
    fastest = constants[Constant.MAX_CORRECTION_SPEED]
    correction = wp.max(rate * rate_factor(factors, initial_gap) * gap, -fastest)
    if rows[i].bounce > 0.0:
        correction = -rows[i].bounce
    velocity = rows[i].free_velocity + wp.dot(whitened_rows[i], solved)
    mass = factors[Factor.NORMAL_RELAXATION] / (robot.solver.softening * rows[i].delassus)
    new = wp.max(rows[i].impulse - mass * (velocity + correction), 0.0)
    solved = solved + (new - rows[i].impulse) * whitened_rows[i]
    rows[i].impulse = new
    return solved


@wp.func
def solve_patch_friction(
    robot: Any, work: Any, constants: Any, i: int, slot: int, pressed: float, factors: Factors, solved: Any
):
    """Solves the friction of an anchor, rows ``i + 1`` and ``i + 2``, and returns all impulses in whitened units."""
    rows = work.rows
    whitened_rows = work.whitened_rows
    slots = robot.slots
    x, y = rows[i + 1], rows[i + 2]
    substep_dt = robot.solver.dt / float(robot.solver.substeps)
    return_rate = constants[Constant.FRICTION_RETURN] / substep_dt * factors[Factor.FRICTION_RETURN]
    relaxation = robot.solver.friction_share * factors[Factor.FRICTION_RELAXATION] / robot.solver.softening
    x_velocity = x.free_velocity + wp.dot(whitened_rows[i + 1], solved) + return_rate * x.displacement
    y_velocity = y.free_velocity + wp.dot(whitened_rows[i + 2], solved) + return_rate * y.displacement
    a = x.impulse - relaxation / x.delassus * x_velocity
    b = y.impulse - relaxation / y.delassus * y_velocity
    friction = constants[Constant.FRICTION_COEFFICIENT]
    sliding = friction * robot.solver.sliding_share
    if slots[slot].static_friction >= 0.0:
        friction = slots[slot].static_friction
        sliding = friction
    if slots[slot].dynamic_friction >= 0.0:
        sliding = slots[slot].dynamic_friction
    size = wp.sqrt(a * a + b * b + EPSILON)
    bound = factors[Factor.FRICTION_COEFFICIENT] * pressed / size
    share = wp.min(friction * bound, 1.0)
    if share < 1.0:
        share = wp.min(sliding * bound, 1.0)
    a = a * share
    b = b * share
    solved = solved + (a - x.impulse) * whitened_rows[i + 1] + (b - y.impulse) * whitened_rows[i + 2]
    rows[i + 1].impulse = a
    rows[i + 2].impulse = b
    return solved


@wp.func
def is_idle(robot: Any, work: Any, constants: Any, i: int, solved: Any):
    """Whether a contact, row ``i``, is neither near nor loaded, whatever rules say."""
    rows = work.rows
    least = float(1.0)
    if robot.solver.hidden > 0:
        least = MIN_FACTOR
    gap = rows[i].gap + rows[i].displacement
    velocity = rows[i].free_velocity + wp.dot(work.whitened_rows[i], solved)
    closing = least * float(robot.solver.substeps) / robot.solver.dt * gap
    return gap > 0.0 and rows[i].impulse == 0.0 and rows[i].bounce == 0.0 and velocity + closing >= 0.0


@wp.func
def solve_patches(robot: Any, weights: Any, work: Any, substep: int, contacts: int, near: float, solved: Any):
    """Solves all contacts of a robot whose contacts are patches: normals first, then friction at anchors. Rules are
    asked once for a contact, before it is solved.

    Returns:
        All impulses, in whitened units.
    """
    rows = work.rows
    slots = robot.slots
    constants = weights.constants
    factors_of = work.factors
    base = robot.joints.shape[0]
    has_rules = robot.solver.hidden > 0
    for place in range(contacts):
        contact = contacts - 1 - place
        i = base + 3 * contact
        factors = Factors(1.0)
        factors[IS_ASKED] = 0.0
        if not is_idle(robot, work, constants, i, solved):
            if has_rules:
                gap = rows[i].gap + rows[i].displacement
                factors = contact_factors(robot, weights, work, substep, i, gap, near)
                factors[IS_ASKED] = 1.0
            solved = solve_patch_normal(robot, work, constants, i, factors, solved)
        factors_of[contact] = factors
    for place in range(contacts):
        contact = contacts - 1 - place
        i = base + 3 * contact
        slot = int(work.contacts[contact])
        if rows[i].friction_share > 0.0:
            pressed = float(0.0)
            for other in range(contacts):
                if slots[int(work.contacts[other])].shape == slots[slot].shape:
                    pressed = pressed + rows[base + 3 * other].impulse
            pressed = rows[i].friction_share * pressed
            if pressed > 0.0 or rows[i + 1].impulse != 0.0 or rows[i + 2].impulse != 0.0:
                factors = factors_of[contact]
                if has_rules and factors[IS_ASKED] == 0.0:
                    gap = rows[i].gap + rows[i].displacement
                    factors = contact_factors(robot, weights, work, substep, i, gap, near)
                solved = solve_patch_friction(robot, work, constants, i, slot, pressed, factors, solved)
    return solved


__all__ = ["find_anchors", "solve_patches"]
