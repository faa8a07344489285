# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The adjoint of both ends of a capsule as one patch, for one thread: of
:mod:`nerd_core.mechanics.kernel.capsule_contacts`.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from ..joint_stops import softness
from ..rules import Factors, contact_factors
from .contact_normal import pull_normal
from .friction import along_ground, pull_friction, whitened_along_ground
from .friction_anchors import kept_anchors_of
from .joint_stops import pull_softness
from .rules import pull_contact_factors


@wp.func
def kept_least_pressed(robot: Any, work: Any, substep: int, i: int, soft: float):
    """The normal impulse of an end for which friction holds at least [N s], and what it gives way."""
    rows = work.kept_rows[substep]
    softened = robot.solver.softening * rows[i].delassus + soft
    return robot.solver.friction_floor * wp.max(rows[i].approach, 0.0) / softened, softened


@wp.func
def pull_least_pressed(robot: Any, work: Any, adjoint: Any, substep: int, i: int, soft: float, by_least: float):
    """The adjoint of :func:`kept_least_pressed`; returns the derivative by how much more the end gives way."""
    by_rows = adjoint.rows
    least, softened = kept_least_pressed(robot, work, substep, i, soft)
    by_softened = -least / softened * by_least
    if work.kept_rows[substep, i].approach > 0.0:
        by_rows[i].approach = by_rows[i].approach + robot.solver.friction_floor / softened * by_least
    by_rows[i].delassus = by_rows[i].delassus + robot.solver.softening * by_softened
    return by_softened


@wp.func
def change_along_ground(work: Any, substep: int, i: int):
    """What a substep added to the friction of the contact whose first row is ``i``."""
    x = work.kept_rows[substep + 1, i + 1].impulse - work.kept_rows[substep, i + 1].impulse
    y = work.kept_rows[substep + 1, i + 2].impulse - work.kept_rows[substep, i + 2].impulse
    return wp.vec2(x, y)


@wp.func
def pull_rubbing(
    robot: Any,
    weights: Any,
    work: Any,
    adjoint: Any,
    substep: int,
    contact: int,
    factors: Factors,
    soft: float,
    bears: float,
    before: Any,
    by_solved: Any,
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.capsule_contacts.rub_end`. Derivatives by the impulses of the
    rows before it take the places of those after it.

    Returns:
        Derivatives by all impulses before, by what presses the end, by how much it gives way, and by what rules say.
    """
    by_rows = adjoint.rows
    by_whitened = adjoint.whitened_rows
    by_anchors = adjoint.anchors
    i = robot.joints.shape[0] + 3 * contact
    along, change = along_ground(work, i, by_solved), change_along_ground(work, substep, i)
    old = wp.vec2(work.kept_rows[substep, i + 1].impulse, work.kept_rows[substep, i + 2].impulse)
    by_held = wp.vec2(by_rows[i + 1].impulse, by_rows[i + 2].impulse) + along
    by_whitened[i + 1] = by_whitened[i + 1] + change[0] * by_solved
    by_whitened[i + 2] = by_whitened[i + 2] + change[1] * by_solved
    drift = kept_anchors_of(work, substep, contact).drift
    pulled = pull_friction(
        robot, weights, work, adjoint, substep, contact, factors, soft, bears, drift, old, before, by_held
    )
    by_anchors[contact].drift = by_anchors[contact].drift + pulled.drift
    by_anchors[contact].second_impulse = wp.vec2()
    by_rows[i + 1].impulse = pulled.impulse[0] - along[0]
    by_rows[i + 2].impulse = pulled.impulse[1] - along[1]
    by_before = by_solved + whitened_along_ground(work, i, pulled.velocity)
    return by_before, pulled.bears, pulled.softness, pulled.factors


@wp.func
def pull_capsule(
    robot: Any,
    weights: Any,
    gradients: Any,
    work: Any,
    adjoint: Any,
    chunk: int,
    substep: int,
    contact: int,
    near: float,
    before: Any,
    by_after: Any,
    zeros: Any,
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.capsule_contacts.solve_capsule`; arguments as of
    :func:`~nerd_core.mechanics.kernel.adjoint.constraint_solver.pull_contact`.
    """
    rows = work.kept_rows[substep]
    after = work.kept_rows[substep + 1]
    by_rows = adjoint.rows
    i = robot.joints.shape[0] + 3 * contact
    j = i + 3
    of_one, of_other = Factors(1.0), Factors(1.0)
    one_gap, other_gap = rows[i].gap + rows[i].displacement, rows[j].gap + rows[j].displacement
    if robot.solver.hidden > 0:
        of_one = contact_factors(robot, weights, work, substep, i, one_gap, near)
        of_other = contact_factors(robot, weights, work, substep, j, other_gap, near)
    body = int(robot.slots[int(work.contacts[contact])].body)
    soft = softness(robot, work, body, zeros)
    # What the step did.
    pressed_one = before + (after[i].impulse - rows[i].impulse) * work.whitened_rows[i]
    pressed = pressed_one + (after[j].impulse - rows[j].impulse) * work.whitened_rows[j]
    rubbed_one = pressed + whitened_along_ground(work, i, change_along_ground(work, substep, i))
    least_of_one, softened = kept_least_pressed(robot, work, substep, i, soft)
    least_of_other, softened = kept_least_pressed(robot, work, substep, j, soft)
    least = 0.5 * (least_of_one + least_of_other)
    bears = 0.5 * wp.max(after[i].impulse + after[j].impulse, least)
    # And back.
    by_solved, by_bears, by_soft, by_other_factors = pull_rubbing(
        robot, weights, work, adjoint, substep, contact + 1, of_other, soft, bears, rubbed_one, by_after
    )
    by_solved, by_bears_of_one, by_soft_of_one, by_one_factors = pull_rubbing(
        robot, weights, work, adjoint, substep, contact, of_one, soft, bears, pressed, by_solved
    )
    by_pressed = 0.5 * (by_bears + by_bears_of_one)
    by_one, by_other = 0.0 + by_rows[i].impulse, 0.0 + by_rows[j].impulse  # values, not places
    by_soft = by_soft + by_soft_of_one
    if after[i].impulse + after[j].impulse >= least:
        by_one = by_one + by_pressed
        by_other = by_other + by_pressed
    else:
        by_soft = by_soft + pull_least_pressed(robot, work, adjoint, substep, i, soft, 0.5 * by_pressed)
        by_soft = by_soft + pull_least_pressed(robot, work, adjoint, substep, j, soft, 0.5 * by_pressed)
    by_solved, by_old, by_gap, by_softened, by_factors = pull_normal(
        robot, weights, work, adjoint, substep, j, of_other, soft, pressed_one, by_solved, by_other
    )
    by_rows[j].impulse = by_old
    by_soft = by_soft + by_softened
    by_other_factors = by_other_factors + by_factors
    by_other_gap = by_gap
    by_solved, by_old, by_gap, by_softened, by_factors = pull_normal(
        robot, weights, work, adjoint, substep, i, of_one, soft, before, by_solved, by_one
    )
    by_rows[i].impulse = by_old
    by_soft = by_soft + by_softened
    by_one_factors = by_one_factors + by_factors
    if robot.solver.body_compliance > 0.0:
        pull_softness(robot, adjoint, body, by_soft)
    if robot.solver.hidden > 0:
        by_gap = by_gap + pull_contact_factors(
            robot, weights, gradients, work, adjoint, chunk, substep, i, one_gap, near, by_one_factors
        )
        by_other_gap = by_other_gap + pull_contact_factors(
            robot, weights, gradients, work, adjoint, chunk, substep, j, other_gap, near, by_other_factors
        )
    by_rows[i].gap = by_rows[i].gap + by_gap
    by_rows[i].displacement = by_rows[i].displacement + by_gap
    by_rows[j].gap = by_rows[j].gap + by_other_gap
    by_rows[j].displacement = by_rows[j].displacement + by_other_gap
    return by_solved


__all__ = ["pull_capsule"]
