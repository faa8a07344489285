# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Gravity and damping of single bodies of one environment, for one thread: :mod:`nerd_core.mechanics.body_damping`."""

from __future__ import annotations

from typing import Any

import warp as wp

from .multibody import BodyParameters, BodyState, generalised_force


@wp.struct
class DampingParameters:
    """What stays the same of a body that is damped, slowed, or not pulled by gravity."""

    gravity_share: float
    """Share of gravity that acts on it."""
    linear_damping: float
    """Linear damping [1/s]."""
    angular_damping: float
    """Angular damping [1/s]."""
    max_linear_velocity: float
    """Speed to which a faster one is slowed [m/s]."""
    max_angular_velocity: float
    """Angular speed to which a faster one is slowed [rad/s]."""


@wp.func
def slowing(velocity: wp.vec3, damping: float, largest: float, physics_dt: float):
    """Acceleration that damping and the largest speed take from a velocity."""
    speed = wp.length(velocity)
    share = damping
    if speed > largest:
        share = share + (1.0 - largest / speed) / physics_dt
    return share * velocity


@wp.func
def special_gravity_force(
    tree: wp.array[BodyParameters],
    damping: wp.array[DampingParameters],
    floating: int,
    bodies: wp.array[BodyState],
    gravity: wp.vec3,
    zeros: Any,
):
    """Generalised forces of gravity, given in the axes of the root [m/s^2]."""
    total = zeros
    for i in range(tree.shape[0]):
        force = tree[i].mass * damping[i].gravity_share * gravity
        torque = wp.cross(bodies[i].centre_of_mass, force)
        total = total + generalised_force(tree, floating, bodies, i, force, torque, zeros)
    return total


@wp.func
def damping_force(
    tree: wp.array[BodyParameters],
    damping: wp.array[DampingParameters],
    floating: int,
    bodies: wp.array[BodyState],
    physics_dt: float,
    zeros: Any,
):
    """Generalised forces of damping."""
    total = zeros
    for i in range(tree.shape[0]):
        each = damping[i]
        linear = slowing(bodies[i].linear_velocity, each.linear_damping, each.max_linear_velocity, physics_dt)
        angular = slowing(bodies[i].angular_velocity, each.angular_damping, each.max_angular_velocity, physics_dt)
        force = -tree[i].mass * linear
        torque = wp.cross(bodies[i].centre_of_mass, force) - bodies[i].inertia * angular
        total = total + generalised_force(tree, floating, bodies, i, force, torque, zeros)
    return total
