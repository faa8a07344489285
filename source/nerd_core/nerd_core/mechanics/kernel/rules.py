# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The rules of contacts and stops for one constraint: :class:`nerd_core.mechanics.rules.Rules`."""

from __future__ import annotations

from typing import Any

import warp as wp

from ..constants import EPSILON, FACTORS, FEATURES, MAX_LOG_FACTOR, RELAXATIONS, TRAIT_CENTRE, TRAITS, Feature

FACTORS_PADDED = 8
"""Length of the vectors of factors, the last of them unused: eight fit a register."""

Factors = wp.types.vector(length=FACTORS_PADDED, dtype=wp.float32)
"""Factors of the rules, by :class:`~nerd_core.mechanics.constants.Factor`."""

NORMAL_FEATURES = int(Feature.SLIP_SPEED)
"""Features that joints have, too; they come first."""

FRICTION_FEATURES = FEATURES - NORMAL_FEATURES
"""Features of contacts alone."""


@wp.func
def rule_factors(weights: Any, hidden: int, substep: int, of_normal: wp.vec4, of_friction: wp.vec3, traits: wp.vec4):
    """Factors of the rules.

    Args:
        weights: Weights of the rules of all substeps.
        hidden: Number of hidden features.
        substep: Number of the substep.
        of_normal: The first features.
        of_friction: The others; zeros for a joint.
        traits: The traits.
    """
    scales = weights.feature_scales
    inner = weights.inner
    outer = weights.outer
    count = scales.shape[0]
    x = inner[substep, FEATURES * count + TRAITS]
    for number in range(count):
        square = scales[number] * scales[number]
        for i in range(NORMAL_FEATURES):
            value = of_normal[i] / wp.sqrt(of_normal[i] * of_normal[i] + square)
            x = x + value * inner[substep, FEATURES * number + i]
        if of_friction[0] != 0.0:
            for i in range(FRICTION_FEATURES):
                value = of_friction[i] / wp.sqrt(of_friction[i] * of_friction[i] + square)
                x = x + value * inner[substep, FEATURES * number + NORMAL_FEATURES + i]
    for i in range(TRAITS):
        x = x + traits[i] * inner[substep, FEATURES * count + i]
    factors = outer[substep, hidden]
    for i in range(hidden):
        factors = factors + wp.max(x[i], 0.0) * outer[substep, i]
    for i in range(FACTORS):
        value = factors[i] / (1.0 + wp.abs(factors[i]) / MAX_LOG_FACTOR)
        if i < RELAXATIONS:
            factors[i] = 2.0 / (1.0 + wp.exp(-value))
        else:
            factors[i] = wp.exp(value)
    return factors


@wp.func
def contact_factors(robot: Any, weights: Any, work: Any, substep: int, i: int, gap: float, near: float):
    """Factors of the rules for the contact whose normal is row ``i``."""
    rows = work.rows
    per_dt = 1.0 / robot.solver.dt
    typical = robot.solver.typical_delassus
    normal, x, y = rows[i], rows[i + 1], rows[i + 2]
    slip, friction = wp.vec2(x.velocity, y.velocity), wp.vec2(x.impulse * x.delassus, y.impulse * y.delassus)
    slip_speed = wp.sqrt(wp.dot(slip, slip) + EPSILON)
    of_friction = wp.vec3(
        slip_speed, wp.sqrt(wp.dot(friction, friction) + EPSILON), wp.dot(friction, slip) / slip_speed
    )
    of_normal = wp.vec4(gap * per_dt, normal.gap * per_dt, normal.velocity, normal.impulse * normal.delassus)
    tangent = 0.5 * (x.delassus + y.delassus)
    traits = wp.vec4(
        normal.delassus / (normal.delassus + typical) - TRAIT_CENTRE,
        tangent / (tangent + typical) - TRAIT_CENTRE,
        near,
        -TRAIT_CENTRE,
    )
    return rule_factors(weights, robot.solver.hidden, substep, of_normal, of_friction, traits)
