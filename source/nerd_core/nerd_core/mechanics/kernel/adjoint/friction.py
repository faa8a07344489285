# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The adjoint of the friction at one anchor of a contact, for one thread: of a part of
:func:`~nerd_core.mechanics.kernel.constraint_solver.solve_contact`.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from ...constants import EPSILON, Constant, Factor
from ..contact_constraints import held_share
from ..rules import Factors
from .contact_constraints import friction_at_rest, friction_of_sliding, pull_friction_of_sliding


@wp.struct
class FrictionAdjoint:
    """Derivatives by what the friction at an anchor is made of."""

    impulse: wp.vec2
    """By the impulse that the anchor has borne before."""
    velocity: wp.vec2
    """By the velocities along the ground."""
    drift: wp.vec2
    """By how far the contact has come from the anchor."""
    bears: float
    """By the part of the normal impulse that presses it."""
    softness: float
    """By how much the contact gives way."""
    factors: Factors
    """By what rules say."""


@wp.func
def along_ground(work: Any, i: int, vector: Any):
    """Both parts along the ground, of a contact whose first row is ``i``, of a vector in whitened units."""
    return wp.vec2(wp.dot(vector, work.whitened_rows[i + 1]), wp.dot(vector, work.whitened_rows[i + 2]))


@wp.func
def whitened_along_ground(work: Any, i: int, parts: wp.vec2):
    """The vector in whitened units of impulses along both directions along the ground."""
    return parts[0] * work.whitened_rows[i + 1] + parts[1] * work.whitened_rows[i + 2]


@wp.func
def unheld_friction(
    robot: Any,
    weights: Any,
    work: Any,
    substep: int,
    contact: int,
    factors: Factors,
    soft: float,
    drift: wp.vec2,
    impulse: wp.vec2,
    solved: Any,
):
    """The impulse of friction at an anchor that would take back all that it should, and velocities along the ground
    with what is to be taken back.

    Args:
        robot: Tables of the robot.
        weights: Constants and rules.
        work: What the physics step has kept.
        substep: Number of the substep.
        contact: Number of the contact.
        factors: What rules say of it.
        soft: How much it gives way.
        drift: How far it has come from the anchor when the physics step begins.
        impulse: What the anchor has borne before.
        solved: All impulses before, in whitened units.
    """
    i = robot.joints.shape[0] + 3 * contact
    rows = work.kept_rows[substep]
    x, y = rows[i + 1], rows[i + 2]
    substep_dt = robot.solver.dt / float(robot.solver.substeps)
    return_rate = weights.constants[Constant.FRICTION_RETURN] / substep_dt * factors[Factor.FRICTION_RETURN]
    relaxation = robot.solver.friction_share / robot.solver.softening * factors[Factor.FRICTION_RELAXATION]
    velocity = wp.vec2(x.free_velocity, y.free_velocity) + along_ground(work, i, solved)
    missing = velocity + return_rate * (wp.vec2(x.displacement, y.displacement) + drift)
    mass = wp.vec2(relaxation / (x.delassus + soft), relaxation / (y.delassus + soft))
    return impulse - wp.cw_mul(mass, missing), missing


@wp.func
def held_friction(
    robot: Any,
    weights: Any,
    work: Any,
    substep: int,
    contact: int,
    factors: Factors,
    soft: float,
    bears: float,
    drift: wp.vec2,
    impulse: wp.vec2,
    solved: Any,
):
    """The impulse of friction at an anchor, within its cone; arguments as of :func:`unheld_friction`, and what presses
    it.
    """
    wanted, missing = unheld_friction(robot, weights, work, substep, contact, factors, soft, drift, impulse, solved)
    factor = factors[Factor.FRICTION_COEFFICIENT]
    slot = int(work.contacts[contact])
    return held_share(robot, weights.constants, slot, factor, bears, wanted[0], wanted[1]) * wanted


@wp.func
def pull_friction(
    robot: Any,
    weights: Any,
    work: Any,
    adjoint: Any,
    substep: int,
    contact: int,
    factors: Factors,
    soft: float,
    bears: float,
    drift: wp.vec2,
    impulse: wp.vec2,
    solved: Any,
    by_held: wp.vec2,
):
    """The adjoint of :func:`held_friction`. Derivatives by rows and constants are added up where they are kept.

    Returns:
        The others.
    """
    found, by_factors, by_wanted = FrictionAdjoint(), Factors(), by_held
    i = robot.joints.shape[0] + 3 * contact
    slot = int(work.contacts[contact])
    rows = work.kept_rows[substep]
    by_rows = adjoint.rows
    by_whitened = adjoint.whitened_rows
    by_constants = adjoint.constants
    x, y = rows[i + 1], rows[i + 2]
    wanted, missing = unheld_friction(robot, weights, work, substep, contact, factors, soft, drift, impulse, solved)
    of_coefficient = factors[Factor.FRICTION_COEFFICIENT]
    size = wp.sqrt(wanted[0] * wanted[0] + wanted[1] * wanted[1] + EPSILON)
    if friction_at_rest(robot, weights, slot) * of_coefficient * bears < size:
        coefficient = friction_of_sliding(robot, weights, slot)
        share = coefficient * of_coefficient * bears / size
        if share < 1.0:
            along = wp.dot(wanted, by_held)
            by_largest = along / size
            by_wanted = share * (by_held - along / (size * size) * wanted)
            found.bears = coefficient * of_coefficient * by_largest
            pull_friction_of_sliding(robot, adjoint, slot, of_coefficient * bears * by_largest)
            by_factors[Factor.FRICTION_COEFFICIENT] = coefficient * bears * by_largest
    substep_dt = robot.solver.dt / float(robot.solver.substeps)
    drift_rate = weights.constants[Constant.FRICTION_RETURN] / substep_dt
    return_rate = drift_rate * factors[Factor.FRICTION_RETURN]
    friction_share = robot.solver.friction_share / robot.solver.softening
    relaxation = friction_share * factors[Factor.FRICTION_RELAXATION]
    x_softened, y_softened = x.delassus + soft, y.delassus + soft
    by_x, by_y = -relaxation / x_softened * by_wanted[0], -relaxation / y_softened * by_wanted[1]
    by_factors[Factor.FRICTION_RELAXATION] = -friction_share * (
        missing[0] / x_softened * by_wanted[0] + missing[1] / y_softened * by_wanted[1]
    )
    by_x_softened, by_y_softened = -by_x * missing[0] / x_softened, -by_y * missing[1] / y_softened
    by_rows[i + 1].delassus = by_rows[i + 1].delassus + by_x_softened
    by_rows[i + 2].delassus = by_rows[i + 2].delassus + by_y_softened
    by_rows[i + 1].free_velocity = by_rows[i + 1].free_velocity + by_x
    by_rows[i + 2].free_velocity = by_rows[i + 2].free_velocity + by_y
    by_rows[i + 1].displacement = by_rows[i + 1].displacement + return_rate * by_x
    by_rows[i + 2].displacement = by_rows[i + 2].displacement + return_rate * by_y
    by_whitened[i + 1] = by_whitened[i + 1] + by_x * solved
    by_whitened[i + 2] = by_whitened[i + 2] + by_y * solved
    by_return = by_x * (x.displacement + drift[0]) + by_y * (y.displacement + drift[1])
    by_factors[Factor.FRICTION_RETURN] = drift_rate * by_return
    by_constants[Constant.FRICTION_RETURN] = (
        by_constants[Constant.FRICTION_RETURN] + by_return * factors[Factor.FRICTION_RETURN] / substep_dt
    )
    found.impulse = by_wanted
    found.velocity = wp.vec2(by_x, by_y)
    found.drift = return_rate * found.velocity
    found.softness = by_x_softened + by_y_softened
    found.factors = by_factors
    return found


__all__ = ["FrictionAdjoint", "along_ground", "held_friction", "pull_friction", "whitened_along_ground"]
