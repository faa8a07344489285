# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The adjoint of the stops of the joints of one environment, and of how much bodies give way, for one thread: of
:mod:`nerd_core.mechanics.kernel.joint_stops`.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from ...constants import TRAIT_CENTRE, UNREACHABLE, Constant, Factor
from ..joint_stops import rate_factor, softness, stop_gap
from ..rules import Factors, rule_factors
from .rules import pull_rule_factors


@wp.func
def softer_body(robot: Any, work: Any, body: int, zeros: Any):
    """Number of a body, or of that which carries it if this one gives way more."""
    above = int(robot.tree[body].parent)
    if softness(robot, work, above, zeros) > softness(robot, work, body, zeros):
        return above
    return body


@wp.func
def pull_softness(robot: Any, adjoint: Any, body: int, by_softness: float):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.joint_stops.softness`."""
    by_responses = adjoint.responses
    by_responses[body] = by_responses[body] + robot.solver.body_compliance * by_softness


@wp.func
def pull_limits(adjoint: Any, i: int, sign: float, by_gap: float):
    """Adds what is differentiated by the limit of a joint at which it looks, given derivatives by how far it is."""
    by_parameters = adjoint.of_joints
    if sign < 0.0:
        by_parameters[i].upper = by_parameters[i].upper + by_gap
    else:
        by_parameters[i].lower = by_parameters[i].lower - by_gap


@wp.func
def pull_correction(
    robot: Any,
    weights: Any,
    adjoint: Any,
    share: int,
    of_rate: float,
    side: float,
    fastest: float,
    gap: float,
    by: float,
):
    """The adjoint of the velocity at which a gap may be closed or a penetration is taken back.

    Args:
        robot: Tables of the robot.
        weights: Constants and rules.
        adjoint: Memory of the adjoint.
        share: Which constant is the share of a penetration that is taken back.
        of_rate: Factor of the rules.
        side: Gap of which the sign says whether it may be closed or is taken back.
        fastest: Largest speed at which a penetration is taken back.
        gap: Gap now.
        by: Derivative by the velocity.

    Returns:
        Derivatives by the gap and by the factor.
    """
    by_constants = adjoint.constants
    per_substep = float(robot.solver.substeps) / robot.solver.dt
    rate = per_substep
    if side <= 0.0:
        rate = weights.constants[share] * per_substep
    if rate * of_rate * gap < -fastest:
        by_constants[Constant.MAX_CORRECTION_SPEED] = by_constants[Constant.MAX_CORRECTION_SPEED] - by
        return 0.0, 0.0
    if side <= 0.0:
        by_constants[share] = by_constants[share] + by * of_rate * gap * per_substep
    return by * rate * of_rate, by * rate * gap


@wp.func
def pull_stop_impulse(
    robot: Any,
    weights: Any,
    gradients: Any,
    work: Any,
    adjoint: Any,
    chunk: int,
    substep: int,
    i: int,
    velocity: float,
    by_change: float,
    zeros: Any,
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.joint_stops.stop_impulse`.

    Returns:
        Derivative by the velocity.
    """
    rows = work.kept_rows[substep]
    by_rows = adjoint.rows
    by_joint_pos = adjoint.joint_pos
    joint = robot.joints[i]
    substep_dt, per_dt = robot.solver.dt / float(robot.solver.substeps), 1.0 / robot.solver.dt
    fastest = weights.constants[Constant.MAX_CORRECTION_SPEED]
    initial_gap = rows[i].gap
    by_velocity = float(0.0)
    if joint.has_stop == 1 and initial_gap < UNREACHABLE:
        # The impulse of the stop is the larger of two, and the change is what is new of it.
        by_new = by_rows[i].impulse + by_change
        if work.kept_rows[substep + 1, i].impulse > 0.0:
            delassus = rows[i].delassus
            impulse = rows[i].impulse
            sign = rows[i].sign
            gap = stop_gap(joint, work.kept_joint_pos[substep, joint.place], sign)
            rate = 1.0 / substep_dt
            side = initial_gap
            if robot.solver.stops_release == 1:
                side = gap
                fastest = UNREACHABLE / substep_dt
            if side <= 0.0:
                rate = weights.constants[Constant.STOP_BAUMGARTE] / substep_dt
            features, traits = wp.vec4(), wp.vec4()
            relaxation, of_rate = float(1.0), float(1.0)
            share = delassus / (delassus + joint.typical_delassus)
            if robot.solver.hidden > 0:
                features = wp.vec4(gap * per_dt, initial_gap * per_dt, rows[i].velocity, impulse * delassus)
                traits = wp.vec4(share - TRAIT_CENTRE, -TRAIT_CENTRE, 0.0, 1.0 - TRAIT_CENTRE)
                factors = rule_factors(weights, robot.solver.hidden, substep, features, wp.vec3(), traits)
                relaxation = factors[Factor.NORMAL_RELAXATION]
                of_rate = rate_factor(factors, side)
            correction = wp.max(rate * of_rate * gap, -fastest)
            excess = velocity + correction
            softened, softer = robot.solver.softening * delassus, int(-1)
            if robot.solver.body_compliance > 0.0:
                softer = softer_body(robot, work, int(joint.body), zeros)
                softened = softened + softness(robot, work, softer, zeros)
            mass = relaxation / softened
            by_excess = -mass * by_new
            by_gap, by_rate = float(0.0), float(0.0)
            if robot.solver.stops_release == 1 and correction >= 0.0 and excess >= 0.0:
                # The stop is left, which brings the joint to rest wherever it is.
                excess = wp.max(velocity, 0.0)
                if velocity >= 0.0:
                    by_velocity = by_excess
            else:
                by_velocity = by_excess
                by_gap, by_rate = pull_correction(
                    robot, weights, adjoint, int(Constant.STOP_BAUMGARTE), of_rate, side, fastest, gap, by_excess
                )
            by_softened = mass * excess / softened * by_new
            if softer >= 0:
                pull_softness(robot, adjoint, softer, by_softened)
            by_delassus = robot.solver.softening * by_softened
            by_impulse = by_new - by_change
            if robot.solver.hidden > 0:
                by_factors = Factors()
                by_factors[Factor.NORMAL_RELAXATION] = -excess / softened * by_new
                if side > 0.0:
                    by_factors[Factor.OPEN_GAP_RATE] = by_rate
                else:
                    by_factors[Factor.PENETRATION_RATE] = by_rate
                by_features, by_unused, by_traits = pull_rule_factors(
                    weights,
                    gradients,
                    chunk,
                    robot.solver.hidden,
                    substep,
                    features,
                    wp.vec3(),
                    traits,
                    by_factors,
                )
                by_gap = by_gap + per_dt * by_features[0]
                by_rows[i].gap = by_rows[i].gap + per_dt * by_features[1]
                by_rows[i].velocity = by_rows[i].velocity + by_features[2]
                by_impulse = by_impulse + delassus * by_features[3]
                by_delassus = (
                    by_delassus
                    + impulse * by_features[3]
                    + by_traits[0] * (1.0 - share) / (delassus + joint.typical_delassus)
                )
            by_rows[i].impulse = by_impulse
            by_rows[i].delassus = by_rows[i].delassus + by_delassus
            by_joint_pos[joint.place] = by_joint_pos[joint.place] + sign * by_gap
            pull_limits(adjoint, i, sign, by_gap)
        else:
            by_rows[i].impulse = -by_change
    return by_velocity
