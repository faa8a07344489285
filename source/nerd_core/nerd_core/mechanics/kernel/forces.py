# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a control step keeps of its forces, for one thread: :class:`nerd_core.mechanics.forces.StepForces`."""

from __future__ import annotations

from typing import Any

import torch
import warp as wp

from ..forces import StepForces
from .contact_constraints import contact_depth, friction_axes, slot_centre


@wp.struct
class ForceArrays:
    """Where forces are written, environments first; empty for a step that keeps none."""

    normal: wp.array3d[wp.vec3]
    """Normal forces on bodies in each physics step, environment axes [N]."""
    friction: wp.array3d[wp.vec3]
    """Friction."""
    torque: wp.array3d[wp.vec3]
    """Torques of both about centres of mass [N m]."""
    before: wp.array2d[float]
    """States at the beginning of the last physics step."""
    gained: wp.array2d[float]
    """What it adds to the generalised velocities."""


@wp.func
def write_forces(
    robot: Any, work: Any, contacts: int, env: int, physics_step: int, root_rotation: wp.mat33, forces: ForceArrays
):
    """Writes the forces of the contacts of a physics step, before its bodies are moved.

    Args:
        robot: Tables of the robot.
        work: Memory of the environment, with solved rows.
        contacts: How many contacts there are.
        env: Number of the environment.
        physics_step: Number of the physics step.
        root_rotation: Orientation of the root at the beginning of it.
        forces: Where they are written.
    """
    slots = robot.slots
    bodies = work.bodies
    rows = work.rows
    per_dt = 1.0 / robot.solver.dt
    for contact in range(contacts):
        slot = int(work.contacts[contact])
        body = int(slots[slot].body)
        i = robot.joints.shape[0] + 3 * contact
        normal = wp.transpose(root_rotation) * work.grounds[slot].normal
        velocity = bodies[body].linear_velocity + robot.solver.dt * bodies[body].linear_bias
        first, second = friction_axes(normal, velocity, root_rotation, robot.solver.sliding_speed_squared)
        push = per_dt * rows[i].impulse * normal
        rub = per_dt * (rows[i + 1].impulse * first + rows[i + 2].impulse * second)
        depth = contact_depth(robot, work, slot)
        point = slot_centre(slots, slot, bodies) - depth * normal
        add_forces(work, body, point, push, rub, env, physics_step, root_rotation, forces)


@wp.func
def add_forces(
    work: Any,
    body: int,
    point: wp.vec3,
    push: wp.vec3,
    rub: wp.vec3,
    env: int,
    physics_step: int,
    root_rotation: wp.mat33,
    forces: ForceArrays,
):
    """Adds the forces on a body at a point, normal ``push`` and friction ``rub``, all in the axes of the root; the
    other arguments are those of :func:`write_forces`.
    """
    arm = point - work.bodies[body].centre_of_mass
    of_normal, of_friction = forces.normal[env, physics_step, body], forces.friction[env, physics_step, body]
    of_torque = forces.torque[env, physics_step, body]
    forces.normal[env, physics_step, body] = of_normal + root_rotation * push
    forces.friction[env, physics_step, body] = of_friction + root_rotation * rub
    forces.torque[env, physics_step, body] = of_torque + root_rotation * wp.cross(arm, push + rub)


@wp.func
def write_gained(robot: Any, env: int, gained: Any, forces: ForceArrays):
    """Writes what a physics step adds to the generalised velocities, joints in the order of the specification."""
    joints = robot.joints
    root = 6 * robot.floating
    for i in range(root):
        forces.gained[env, i] = gained[i]
    for i in range(joints.shape[0]):
        forces.gained[env, root + joints[i].place] = gained[joints[i].velocity]


def new_forces(count: int, steps: int, bodies: int, dim: int, like: torch.Tensor) -> tuple[StepForces, Any]:
    """Memory for the forces of a step, as PyTorch and as the kernel see it.

    Args:
        count: Environments.
        steps: Physics steps in a control step.
        bodies: Bodies of the robot.
        dim: Generalised velocities.
        like: States of the robot, shape (count, S).
    """
    of_bodies = [like.new_zeros(count, steps, bodies, 3) for _ in range(3)]
    kept = StepForces(*of_bodies, torch.empty_like(like), like.new_empty(count, dim))
    arrays = ForceArrays()
    for name, value in kept._asdict().items():
        setattr(arrays, name, wp.from_torch(value, dtype=wp.vec3 if value.dim() == 4 else wp.float32))
    return kept, arrays


__all__ = ["ForceArrays", "new_forces", "write_forces", "write_gained"]
