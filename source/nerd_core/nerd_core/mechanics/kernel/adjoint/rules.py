# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The adjoint of the rules for one constraint: of :mod:`nerd_core.mechanics.kernel.rules`."""

from __future__ import annotations

from typing import Any

import warp as wp

from ...constants import EPSILON, FACTORS, FEATURES, MAX_LOG_FACTOR, RELAXATIONS, TRAIT_CENTRE, TRAITS
from ..rules import FRICTION_FEATURES, NORMAL_FEATURES, Factors


@wp.func
def pull_rule_factors(
    weights: Any,
    gradients: Any,
    chunk: int,
    hidden: int,
    substep: int,
    of_normal: wp.vec4,
    of_friction: wp.vec3,
    traits: wp.vec4,
    by_factors: Factors,
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.rules.rule_factors`. Adds to the derivatives by the weights
    where these are wanted.

    Args:
        weights: Weights of the rules of all substeps.
        gradients: Derivatives of the chunk's environments.
        chunk: Number of the chunk.
        hidden: Number of hidden features.
        substep: Number of the substep.
        of_normal: The first features.
        of_friction: The others; zeros for a joint.
        traits: The traits.
        by_factors: Derivatives by the factors.

    Returns:
        Derivatives by the first features, the others, and the traits.
    """
    scales = weights.feature_scales
    inner = weights.inner
    outer = weights.outer
    count = scales.shape[0]
    has_friction = of_friction[0] != 0.0
    x = inner[substep, FEATURES * count + TRAITS]
    for number in range(count):
        square = scales[number] * scales[number]
        for i in range(NORMAL_FEATURES):
            value = of_normal[i] / wp.sqrt(of_normal[i] * of_normal[i] + square)
            x = x + value * inner[substep, FEATURES * number + i]
        if has_friction:
            for i in range(FRICTION_FEATURES):
                value = of_friction[i] / wp.sqrt(of_friction[i] * of_friction[i] + square)
                x = x + value * inner[substep, FEATURES * number + NORMAL_FEATURES + i]
    for i in range(TRAITS):
        x = x + traits[i] * inner[substep, FEATURES * count + i]
    logs = outer[substep, hidden]
    for i in range(hidden):
        logs = logs + wp.max(x[i], 0.0) * outer[substep, i]
    by_logs = Factors()
    for i in range(FACTORS):
        clipped = 1.0 / (1.0 + wp.abs(logs[i]) / MAX_LOG_FACTOR)
        value = logs[i] * clipped
        slope = wp.exp(value)
        if i < RELAXATIONS:
            factor = 2.0 / (1.0 + wp.exp(-value))
            slope = factor * (1.0 - 0.5 * factor)
        by_logs[i] = by_factors[i] * slope * clipped * clipped
    by_x = x
    for i in range(hidden):
        if x[i] > 0.0:
            by_x[i] = wp.dot(by_logs, outer[substep, i])
        else:
            by_x[i] = 0.0
    if gradients.wants_weights == 1:
        for i in range(hidden):
            if x[i] > 0.0:
                wp.atomic_add(gradients.outer, chunk, substep, i, x[i] * by_logs)
        wp.atomic_add(gradients.outer, chunk, substep, hidden, by_logs)
        for i in range(TRAITS):
            wp.atomic_add(gradients.inner, chunk, substep, FEATURES * count + i, traits[i] * by_x)
        wp.atomic_add(gradients.inner, chunk, substep, FEATURES * count + TRAITS, by_x)
    by_normal, by_friction, by_traits = wp.vec4(), wp.vec3(), wp.vec4()
    for number in range(count):
        square = scales[number] * scales[number]
        for i in range(NORMAL_FEATURES):
            inverse = 1.0 / wp.sqrt(of_normal[i] * of_normal[i] + square)
            row = FEATURES * number + i
            slope = square * inverse * inverse * inverse
            by_normal[i] = by_normal[i] + slope * wp.dot(by_x, inner[substep, row])
            if gradients.wants_weights == 1:
                wp.atomic_add(gradients.inner, chunk, substep, row, (of_normal[i] * inverse) * by_x)
        if has_friction:
            for i in range(FRICTION_FEATURES):
                inverse = 1.0 / wp.sqrt(of_friction[i] * of_friction[i] + square)
                row = FEATURES * number + NORMAL_FEATURES + i
                slope = square * inverse * inverse * inverse
                by_friction[i] = by_friction[i] + slope * wp.dot(by_x, inner[substep, row])
                if gradients.wants_weights == 1:
                    wp.atomic_add(gradients.inner, chunk, substep, row, (of_friction[i] * inverse) * by_x)
    for i in range(TRAITS):
        by_traits[i] = wp.dot(by_x, inner[substep, FEATURES * count + i])
    return by_normal, by_friction, by_traits


@wp.func
def pull_contact_factors(
    robot: Any,
    weights: Any,
    gradients: Any,
    work: Any,
    adjoint: Any,
    chunk: int,
    substep: int,
    i: int,
    gap: float,
    near: float,
    by_factors: Factors,
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.rules.contact_factors`.

    Returns:
        Derivative by the gap.
    """
    rows = work.kept_rows[substep]
    by_rows = adjoint.rows
    per_dt = 1.0 / robot.solver.dt
    typical = robot.solver.typical_delassus
    normal, x, y = rows[i], rows[i + 1], rows[i + 2]
    slip, friction = wp.vec2(x.velocity, y.velocity), wp.vec2(x.impulse * x.delassus, y.impulse * y.delassus)
    slip_speed = wp.sqrt(wp.dot(slip, slip) + EPSILON)
    size = wp.sqrt(wp.dot(friction, friction) + EPSILON)
    along = wp.dot(friction, slip) / slip_speed
    of_friction = wp.vec3(slip_speed, size, along)
    of_normal = wp.vec4(gap * per_dt, normal.gap * per_dt, normal.velocity, normal.impulse * normal.delassus)
    tangent = 0.5 * (x.delassus + y.delassus)
    share, tangent_share = normal.delassus / (normal.delassus + typical), tangent / (tangent + typical)
    traits = wp.vec4(share - TRAIT_CENTRE, tangent_share - TRAIT_CENTRE, near, -TRAIT_CENTRE)
    by_normal, by_friction, by_traits = pull_rule_factors(
        weights, gradients, chunk, robot.solver.hidden, substep, of_normal, of_friction, traits, by_factors
    )
    by_slip = ((by_friction[0] - by_friction[2] * along / slip_speed) * slip + by_friction[2] * friction) / slip_speed
    by_impulses = by_friction[1] / size * friction + by_friction[2] / slip_speed * slip
    by_tangent = 0.5 * by_traits[1] * (1.0 - tangent_share) / (tangent + typical)
    by_rows[i].gap = by_rows[i].gap + per_dt * by_normal[1]
    by_rows[i].velocity = by_rows[i].velocity + by_normal[2]
    by_rows[i].impulse = by_rows[i].impulse + normal.delassus * by_normal[3]
    by_rows[i].delassus = (
        by_rows[i].delassus + normal.impulse * by_normal[3] + by_traits[0] * (1.0 - share) / (normal.delassus + typical)
    )
    for k in range(2):
        by_rows[i + 1 + k].velocity = by_rows[i + 1 + k].velocity + by_slip[k]
        by_rows[i + 1 + k].impulse = by_rows[i + 1 + k].impulse + rows[i + 1 + k].delassus * by_impulses[k]
        by_rows[i + 1 + k].delassus = (
            by_rows[i + 1 + k].delassus + rows[i + 1 + k].impulse * by_impulses[k] + by_tangent
        )
    return per_dt * by_normal[0]
