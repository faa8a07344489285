# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The adjoint of the normal impulse of a contact, for one thread."""

from __future__ import annotations

from typing import Any

import warp as wp

from ...constants import Constant, Factor
from ..joint_stops import rate_factor
from ..rules import Factors
from .joint_stops import pull_correction


@wp.func
def pull_normal(
    robot: Any,
    weights: Any,
    work: Any,
    adjoint: Any,
    substep: int,
    i: int,
    factors: Factors,
    soft: float,
    before: Any,
    by_solved: Any,
    by_impulse: float,
):
    """The adjoint of the impulse of the normal that is row ``i``. Derivatives by the row are added up where it is kept.

    Args:
        robot: Tables of the robot.
        weights: Constants and rules.
        work: What the physics step has kept.
        adjoint: Memory of the adjoint.
        substep: Number of the substep.
        i: Row of the normal.
        factors: What rules say of the contact.
        soft: How much more it gives way.
        before: All impulses before it was solved, in whitened units.
        by_solved: Derivatives by those after it.
        by_impulse: Derivative by the new impulse, as far as it is not one of them.

    Returns:
        Derivatives by all impulses before, by the old impulse, by the gap, by how much the contact gives way, and by
        what rules say.
    """
    rows = work.kept_rows[substep]
    by_rows = adjoint.rows
    by_whitened = adjoint.whitened_rows
    constants = weights.constants
    impulse, old = work.kept_rows[substep + 1, i].impulse, rows[i].impulse
    by_change = wp.dot(by_solved, work.whitened_rows[i])
    by_whitened[i] = by_whitened[i] + (impulse - old) * by_solved
    by_new, by_old = by_impulse + by_change, -by_change
    by_gap, by_softened, by_factors, by_before = float(0.0), float(0.0), Factors(), by_solved
    if impulse > 0.0:
        softened = robot.solver.softening * rows[i].delassus + soft
        initial_gap = rows[i].gap
        gap = initial_gap + rows[i].displacement
        fastest = constants[Constant.MAX_CORRECTION_SPEED]
        rate = float(robot.solver.substeps) / robot.solver.dt
        if initial_gap <= 0.0:
            rate = rate * constants[Constant.CONTACT_BAUMGARTE]
        of_rate = rate_factor(factors, initial_gap)
        velocity = rows[i].free_velocity + wp.dot(work.whitened_rows[i], before)
        correction = wp.max(rate * of_rate * gap, -fastest)
        if rows[i].bounce > 0.0:
            correction = -rows[i].bounce
        missing = velocity + correction
        mass = factors[Factor.NORMAL_RELAXATION] / softened
        by_velocity = -mass * by_new
        by_rate = float(0.0)
        if rows[i].bounce > 0.0:
            by_rows[i].bounce = by_rows[i].bounce - by_velocity
        else:
            baumgarte = int(Constant.CONTACT_BAUMGARTE)
            by_gap, by_rate = pull_correction(
                robot, weights, adjoint, baumgarte, of_rate, initial_gap, fastest, gap, by_velocity
            )
        by_factors[Factor.NORMAL_RELAXATION] = -missing / softened * by_new
        if initial_gap > 0.0:
            by_factors[Factor.OPEN_GAP_RATE] = by_rate
        else:
            by_factors[Factor.PENETRATION_RATE] = by_rate
        by_old = by_old + by_new
        by_softened = mass * missing / softened * by_new
        by_rows[i].delassus = by_rows[i].delassus + robot.solver.softening * by_softened
        by_rows[i].free_velocity = by_rows[i].free_velocity + by_velocity
        by_whitened[i] = by_whitened[i] + by_velocity * before
        by_before = by_solved + by_velocity * work.whitened_rows[i]
    return by_before, by_old, by_gap, by_softened, by_factors


__all__ = ["pull_normal"]
