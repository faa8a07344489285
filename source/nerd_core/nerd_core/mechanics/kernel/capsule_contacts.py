# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Both ends of a capsule as one patch, for one thread: as :mod:`nerd_core.mechanics.contact_turns` says for batches.

Both normals are solved first. Then friction acts at an anchor on either end, each of which may have half of the
friction that both normals allow.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from ..constants import MIN_FACTOR, Constant, Factor
from ..friction_anchors import SAME_NORMAL
from .contact_constraints import ONE_END, end_of_capsule, held_share
from .friction_anchors import ANCHOR_VECTORS, FIRST_NORMAL, SECOND_NORMAL
from .joint_stops import rate_factor, softness
from .rules import Factors, contact_factors


@wp.func
def is_put_down_anew(robot: Any, work: Any, lower: int, root_rotation: wp.mat33):
    """Whether the anchors of a capsule of which both ends are contacts, slot ``lower`` and the next one, are forgotten:
    it has turned since any of them was made, or two of them are at the same end.
    """
    memory = work.memory
    rotation = work.bodies[int(robot.slots[lower].body)].rotation
    is_new = int(0)
    for slot in range(lower, lower + 2):
        if wp.length_sq(memory[slot, FIRST_NORMAL]) > 0.0:
            normal = wp.transpose(rotation) * (wp.transpose(root_rotation) * work.grounds[slot].normal)
            has_turned = wp.dot(memory[slot, FIRST_NORMAL], normal) <= SAME_NORMAL
            if has_turned or wp.length_sq(memory[slot, SECOND_NORMAL]) > 0.0:
                is_new = 1
    return is_new


@wp.func
def renew_capsules(robot: Any, work: Any, found: int, root_rotation: wp.mat33):
    """Forgets the anchors of capsules that are put down anew.

    Args:
        robot: Tables of the robot.
        work: Memory of the environment, with the contacts of the physics step.
        found: How many contacts there are.
        root_rotation: Where the root is.
    """
    memory = work.memory
    if memory.shape[0] > 0:
        for number in range(found):
            if end_of_capsule(robot, work, number) == ONE_END:
                lower = int(work.contacts[number])
                if is_put_down_anew(robot, work, lower, root_rotation) == 1:
                    for i in range(ANCHOR_VECTORS):
                        memory[lower, i] = wp.vec3()
                        memory[lower + 1, i] = wp.vec3()


@wp.func
def is_idle_end(robot: Any, work: Any, i: int, solved: Any):
    """Whether an end, of which row ``i`` is the normal, is neither near nor loaded, whatever rules say."""
    rows = work.rows
    least = float(1.0)
    if robot.solver.hidden > 0:
        least = MIN_FACTOR
    gap = rows[i].gap + rows[i].displacement
    rate = float(robot.solver.substeps) / robot.solver.dt
    velocity = rows[i].free_velocity + wp.dot(work.whitened_rows[i], solved)
    has_floor = robot.solver.friction_floor > 0.0 and rows[i].approach > 0.0
    loaded = rows[i].impulse > 0.0 or rows[i].bounce > 0.0 or has_floor
    return gap > 0.0 and not loaded and velocity + least * rate * gap >= 0.0


@wp.func
def press_end(robot: Any, weights: Any, work: Any, i: int, soft: float, factors: Factors, solved: Any):
    """Solves the normal of an end, row ``i``, and returns all impulses in whitened units."""
    rows = work.rows
    whitened_rows = work.whitened_rows
    constants = weights.constants
    initial_gap = rows[i].gap
    gap = initial_gap + rows[i].displacement
    rate = float(robot.solver.substeps) / robot.solver.dt
    if initial_gap <= 0.0:
        rate = rate * constants[Constant.CONTACT_BAUMGARTE]
    correction = wp.max(rate * rate_factor(factors, initial_gap) * gap, -constants[Constant.MAX_CORRECTION_SPEED])
    if rows[i].bounce > 0.0:
        correction = -rows[i].bounce
    velocity = rows[i].free_velocity + wp.dot(whitened_rows[i], solved)
    softened = robot.solver.softening * rows[i].delassus + soft
    new = wp.max(rows[i].impulse - factors[Factor.NORMAL_RELAXATION] / softened * (velocity + correction), 0.0)
    solved = solved + (new - rows[i].impulse) * whitened_rows[i]
    rows[i].impulse = new
    return solved


@wp.func
def least_pressed(robot: Any, work: Any, i: int, soft: float):
    """The normal impulse of an end for which friction holds at least [N s]."""
    rows = work.rows
    softened = robot.solver.softening * rows[i].delassus + soft
    return robot.solver.friction_floor * wp.max(rows[i].approach, 0.0) / softened


@wp.func
def rub_end(
    robot: Any,
    weights: Any,
    work: Any,
    contact: int,
    bears: float,
    soft: float,
    factors: Factors,
    solved: Any,
):
    """Solves the friction of an end, contact ``contact``, and returns all impulses in whitened units, and whether it
    did not slip.

    Args:
        robot: Tables of the robot.
        weights: Constants and rules.
        work: Memory of the environment.
        contact: Number of the contact.
        bears: Its share of what presses the capsule [N s].
        soft: How much more it gives way.
        factors: What rules say of it.
        solved: All impulses, in whitened units.
    """
    rows = work.rows
    whitened_rows = work.whitened_rows
    constants = weights.constants
    i = robot.joints.shape[0] + 3 * contact
    x, y = rows[i + 1], rows[i + 2]
    drift = work.anchors[contact].drift
    substep_dt = robot.solver.dt / float(robot.solver.substeps)
    return_rate = constants[Constant.FRICTION_RETURN] / substep_dt * factors[Factor.FRICTION_RETURN]
    relaxation = robot.solver.friction_share * factors[Factor.FRICTION_RELAXATION] / robot.solver.softening
    x_velocity = x.free_velocity + wp.dot(whitened_rows[i + 1], solved) + return_rate * (x.displacement + drift[0])
    y_velocity = y.free_velocity + wp.dot(whitened_rows[i + 2], solved) + return_rate * (y.displacement + drift[1])
    a = x.impulse - relaxation / (x.delassus + soft) * x_velocity
    b = y.impulse - relaxation / (y.delassus + soft) * y_velocity
    slot = int(work.contacts[contact])
    share = held_share(robot, constants, slot, factors[Factor.FRICTION_COEFFICIENT], bears, a, b)
    a = share * a
    b = share * b
    solved = solved + (a - x.impulse) * whitened_rows[i + 1] + (b - y.impulse) * whitened_rows[i + 2]
    rows[i + 1].impulse = a
    rows[i + 2].impulse = b
    return solved, int(share == 1.0)


@wp.func
def solve_capsule(
    robot: Any, weights: Any, work: Any, substep: int, contact: int, near: float, solved: Any, zeros: Any
):
    """Solves both ends of a capsule, of which ``contact`` is the first and the next one the other.

    Returns:
        All impulses, in whitened units.
    """
    rows = work.rows
    anchors = work.anchors
    i = robot.joints.shape[0] + 3 * contact
    j = i + 3
    holds = int(0)
    rubs = rows[i + 1].impulse != 0.0 or rows[i + 2].impulse != 0.0
    rubs = rubs or rows[j + 1].impulse != 0.0 or rows[j + 2].impulse != 0.0
    is_idle = is_idle_end(robot, work, i, solved) and is_idle_end(robot, work, j, solved)
    if rubs or not is_idle:
        soft = softness(robot, work, int(robot.slots[int(work.contacts[contact])].body), zeros)
        of_one, of_other = Factors(1.0), Factors(1.0)
        if robot.solver.hidden > 0:
            of_one = contact_factors(robot, weights, work, substep, i, rows[i].gap + rows[i].displacement, near)
            of_other = contact_factors(robot, weights, work, substep, j, rows[j].gap + rows[j].displacement, near)
        solved = press_end(robot, weights, work, i, soft, of_one, solved)
        solved = press_end(robot, weights, work, j, soft, of_other, solved)
        least = 0.5 * (least_pressed(robot, work, i, soft) + least_pressed(robot, work, j, soft))
        bears = 0.5 * wp.max(rows[i].impulse + rows[j].impulse, least)
        solved, one_holds = rub_end(robot, weights, work, contact, bears, soft, of_one, solved)
        solved, other_holds = rub_end(robot, weights, work, contact + 1, bears, soft, of_other, solved)
        holds = one_holds * other_holds
    anchors[contact].holds = holds
    anchors[contact + 1].holds = holds
    return solved


__all__ = ["is_put_down_anew", "least_pressed", "renew_capsules", "solve_capsule"]
