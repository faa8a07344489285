# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The adjoint of the contacts of one environment as constraints: of
:mod:`nerd_core.mechanics.kernel.contact_constraints`.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from ...constants import EPSILON, Constant
from ..contact_constraints import slot_centre
from .multibody import pull_point


@wp.func
def pull_friction_axes(
    normal: wp.vec3,
    velocity: wp.vec3,
    root_rotation: wp.mat33,
    sliding_speed_squared: float,
    by_tangent: wp.vec3,
    by_other: wp.vec3,
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.contact_constraints.friction_axes`.

    Returns:
        Derivatives by the normal, by the velocity, and by a turn of the root.
    """
    axis = wp.vec3(root_rotation[0, 0], root_rotation[0, 1], root_rotation[0, 2])
    along = wp.dot(normal, axis)
    if along * along > 0.5:
        axis = wp.vec3(root_rotation[2, 0], root_rotation[2, 1], root_rotation[2, 2])
    tangent = wp.cross(axis, normal)
    slip = velocity - normal * wp.dot(normal, velocity)
    slides = wp.dot(slip, slip) > sliding_speed_squared
    if slides:
        tangent = slip
    length = wp.sqrt(wp.dot(tangent, tangent) + EPSILON)
    tangent = tangent / length
    by_normal = wp.cross(tangent, by_other)
    by_unit = by_tangent + wp.cross(by_other, normal)
    by_vector = (by_unit - tangent * wp.dot(tangent, by_unit)) / length
    by_velocity, by_turn = wp.vec3(), wp.vec3()
    if slides:
        by_velocity = by_vector - normal * wp.dot(normal, by_vector)
        by_normal = by_normal - wp.dot(normal, by_vector) * velocity - wp.dot(normal, velocity) * by_vector
    else:
        by_turn = wp.cross(wp.cross(normal, by_vector), axis)
        by_normal = by_normal + wp.cross(by_vector, axis)
    return by_normal, by_velocity, by_turn


@wp.func
def pull_gap(
    robot: Any,
    bodies: Any,
    adjoint: Any,
    slot: int,
    normal: wp.vec3,
    root_rotation: wp.mat33,
    root_displacement: wp.vec3,
    by_gap: float,
):
    """The adjoint of the gap that :func:`~nerd_core.mechanics.kernel.contact_constraints.find_contacts` finds.

    Returns:
        Derivatives by the normal in the axes of the root, ``normal``, and by the root's displacement.
    """
    centre = slot_centre(robot.slots, slot, bodies)
    environment_normal = root_rotation * normal
    pull_point(adjoint.bodies, int(robot.slots[slot].body), centre, by_gap * normal)
    adjoint.offsets[slot] = adjoint.offsets[slot] - by_gap
    adjoint.normals[slot] = adjoint.normals[slot] + by_gap * root_displacement
    return by_gap * centre, by_gap * environment_normal


@wp.func
def friction_at_rest(robot: Any, weights: Any, slot: int):
    """Coefficient of friction of a slot that does not slide: its own, or the learned one."""
    coefficient = weights.constants[Constant.FRICTION_COEFFICIENT]
    if robot.slots[slot].static_friction >= 0.0:
        coefficient = robot.slots[slot].static_friction
    return coefficient


@wp.func
def friction_of_sliding(robot: Any, weights: Any, slot: int):
    """Coefficient of friction of a slot that slides: its own, its own at rest, or a share of the learned one."""
    coefficient = robot.slots[slot].dynamic_friction
    if coefficient < 0.0:
        coefficient = robot.slots[slot].static_friction
    if coefficient < 0.0:
        coefficient = robot.solver.sliding_share * weights.constants[Constant.FRICTION_COEFFICIENT]
    return coefficient


@wp.func
def pull_friction_of_sliding(robot: Any, adjoint: Any, slot: int, by_coefficient: float):
    """The adjoint of :func:`friction_of_sliding`."""
    by_slots = adjoint.of_slots
    by_constants = adjoint.constants
    if robot.slots[slot].dynamic_friction >= 0.0:
        by_slots[slot].dynamic_friction = by_slots[slot].dynamic_friction + by_coefficient
    elif robot.slots[slot].static_friction >= 0.0:
        by_slots[slot].static_friction = by_slots[slot].static_friction + by_coefficient
    else:
        by_constants[Constant.FRICTION_COEFFICIENT] = (
            by_constants[Constant.FRICTION_COEFFICIENT] + robot.solver.sliding_share * by_coefficient
        )
