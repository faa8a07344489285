# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The adjoint of gravity and damping of single bodies: of :mod:`nerd_core.mechanics.kernel.body_damping`."""

from __future__ import annotations

from typing import Any

import warp as wp

from ..body_damping import DampingParameters, slowing
from ..multibody import BodyParameters, BodyState
from .multibody import BodyAdjoint, pull_generalised_force


@wp.func
def pull_slowing(velocity: wp.vec3, damping: float, largest: float, physics_dt: float, by_slowing: wp.vec3):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.body_damping.slowing`: derivative by the velocity."""
    speed = wp.length(velocity)
    share = damping
    along = float(0.0)
    if speed > largest:
        share = share + (1.0 - largest / speed) / physics_dt
        along = wp.dot(velocity, by_slowing) * largest / (speed * speed * speed * physics_dt)
    return share * by_slowing + along * velocity


@wp.func
def pull_special_gravity_force(
    tree: wp.array[BodyParameters],
    damping: wp.array[DampingParameters],
    floating: int,
    bodies: wp.array[BodyState],
    adjoints: wp.array[BodyAdjoint],
    gravity: wp.vec3,
    by_generalised: Any,
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.body_damping.special_gravity_force`: derivative by gravity."""
    by_gravity = wp.vec3()
    for i in range(tree.shape[0]):
        pulled = damping[i].gravity_share * gravity
        force = tree[i].mass * pulled
        centre = bodies[i].centre_of_mass
        by_force, by_torque = pull_generalised_force(
            tree, floating, bodies, adjoints, i, force, wp.cross(centre, force), by_generalised
        )
        by_force = by_force + wp.cross(by_torque, centre)
        adjoints[i].centre_of_mass = adjoints[i].centre_of_mass + wp.cross(force, by_torque)
        adjoints[i].mass = adjoints[i].mass + wp.dot(pulled, by_force)
        by_gravity = by_gravity + tree[i].mass * damping[i].gravity_share * by_force
    return by_gravity


@wp.func
def pull_damping_force(
    tree: wp.array[BodyParameters],
    damping: wp.array[DampingParameters],
    floating: int,
    bodies: wp.array[BodyState],
    adjoints: wp.array[BodyAdjoint],
    physics_dt: float,
    by_generalised: Any,
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.body_damping.damping_force`."""
    for i in range(tree.shape[0]):
        each = damping[i]
        centre = bodies[i].centre_of_mass
        inertia = bodies[i].inertia
        linear = slowing(bodies[i].linear_velocity, each.linear_damping, each.max_linear_velocity, physics_dt)
        angular = slowing(bodies[i].angular_velocity, each.angular_damping, each.max_angular_velocity, physics_dt)
        force = -tree[i].mass * linear
        torque = wp.cross(centre, force) - inertia * angular
        by_force, by_torque = pull_generalised_force(tree, floating, bodies, adjoints, i, force, torque, by_generalised)
        by_force = by_force + wp.cross(by_torque, centre)
        adjoints[i].centre_of_mass = adjoints[i].centre_of_mass + wp.cross(force, by_torque)
        adjoints[i].mass = adjoints[i].mass - wp.dot(linear, by_force)
        adjoints[i].inertia = adjoints[i].inertia - wp.outer(by_torque, angular)
        adjoints[i].linear_velocity = adjoints[i].linear_velocity + pull_slowing(
            bodies[i].linear_velocity,
            each.linear_damping,
            each.max_linear_velocity,
            physics_dt,
            -tree[i].mass * by_force,
        )
        adjoints[i].angular_velocity = adjoints[i].angular_velocity + pull_slowing(
            bodies[i].angular_velocity,
            each.angular_damping,
            each.max_angular_velocity,
            physics_dt,
            -(inertia * by_torque),
        )
