# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Stops of the joints of one environment, and how much bodies give way, for one thread: the part of
:mod:`nerd_core.mechanics.constraint_solver` that needs one joint alone.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from ..constants import MIN_FACTOR, TRAIT_CENTRE, UNREACHABLE, Constant, Factor
from .joint_drives import response_of
from .rules import Factors, rule_factors


@wp.struct
class JointParameters:
    """What stays the same of a joint."""

    place: int
    """Place in a state."""
    velocity: int
    """Number of the velocity."""
    has_stop: int
    """Whether there is a stop."""
    lower: float
    """Lower stop [rad or m], very far away where there is none."""
    upper: float
    """Upper stop [rad or m], very far away where there is none."""
    damping: float
    """Damping of the drive [N m s/rad or N s/m], zero without one."""
    body: int
    """Number of the body that it moves."""
    typical_delassus: float
    """Delassus diagonal in the middle of the joint's range."""
    turns_freely: int
    """Whether the joint has no stops whatever its limits are."""


@wp.func
def softness(robot: Any, work: Any, body: int, zeros: Any):
    """What a body adds to how much its constraints give way; zero for the law that does not ask for it."""
    if robot.solver.body_compliance == 0.0:
        return float(0.0)
    return robot.solver.body_compliance * response_of(robot, work, body, zeros)


@wp.func
def stop_gap(joint: JointParameters, pos: float, sign: float):
    """How far a joint is before the stop that it looks at."""
    if sign < 0.0:
        return wp.min(joint.upper - pos, UNREACHABLE)
    return wp.min(pos - joint.lower, UNREACHABLE)


@wp.func
def rate_factor(factors: Factors, initial_gap: float):
    """Factor of the rate at which a gap may be closed, or a penetration is taken back."""
    factor = factors[Factor.PENETRATION_RATE]
    if initial_gap > 0.0:
        factor = factors[Factor.OPEN_GAP_RATE]
    return factor


@wp.func
def stop_impulse(robot: Any, weights: Any, work: Any, substep: int, i: int, velocity: float, zeros: Any):
    """The further impulse of the stop of a joint that has a velocity."""
    rows = work.rows
    constants = weights.constants
    joint = robot.joints[i]
    substep_dt, per_dt = robot.solver.dt / float(robot.solver.substeps), 1.0 / robot.solver.dt
    fastest = constants[Constant.MAX_CORRECTION_SPEED]
    least = float(1.0)
    if robot.solver.hidden > 0:
        least = MIN_FACTOR
    delassus = rows[i].delassus
    impulse = rows[i].impulse
    change = float(0.0)
    initial_gap = rows[i].gap
    if joint.has_stop == 1 and initial_gap < UNREACHABLE:
        gap = stop_gap(joint, work.joint_pos[joint.place], rows[i].sign)
        rate = 1.0 / substep_dt
        side = initial_gap
        if robot.solver.stops_release == 1:
            side = gap
            fastest = UNREACHABLE / substep_dt
        if side <= 0.0:
            rate = constants[Constant.STOP_BAUMGARTE] / substep_dt
        correction = wp.max(rate * gap, -fastest)
        if gap <= 0.0 or impulse > 0.0 or velocity + least * correction < 0.0:
            relaxation = float(1.0)
            if robot.solver.hidden > 0:
                features = wp.vec4(gap * per_dt, initial_gap * per_dt, rows[i].velocity, impulse * delassus)
                share = delassus / (delassus + joint.typical_delassus)
                traits = wp.vec4(share - TRAIT_CENTRE, -TRAIT_CENTRE, 0.0, 1.0 - TRAIT_CENTRE)
                factors = rule_factors(weights, robot.solver.hidden, substep, features, wp.vec3(), traits)
                relaxation = factors[Factor.NORMAL_RELAXATION]
                of_rate = rate_factor(factors, side)
                correction = wp.max(rate * of_rate * gap, -fastest)
            excess = velocity + correction
            if robot.solver.stops_release == 1 and correction >= 0.0 and excess >= 0.0:
                excess = wp.max(velocity, 0.0)
            softened = robot.solver.softening * delassus
            if robot.solver.body_compliance > 0.0:
                body = int(joint.body)
                own = softness(robot, work, body, zeros)
                above = softness(robot, work, int(robot.tree[body].parent), zeros)
                softened = softened + wp.max(own, above)
            new = wp.max(impulse - relaxation / softened * excess, 0.0)
            change = new - impulse
            rows[i].impulse = new
    return change
