# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The adjoint of what a control step of one environment reads, for one thread: its state, control and contacts."""

from __future__ import annotations

from typing import Any

import warp as wp

from ..contact_constraints import slot_centre
from ..step import part_of
from ..tables import Inputs, RobotTables
from .multibody import pull_point
from .root_motion import pull_turn


@wp.func
def add_control(gradients: Any, env: int, column: int, value: float):
    """Adds to the derivative by a control."""
    gradients.control[env, column] = gradients.control[env, column] + value


@wp.func
def pull_ground_planes(
    robot: RobotTables, inputs: Inputs, work: Any, adjoint: Any, env: int, root_rotation: wp.mat33, gradients: Any
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.step.find_ground_planes`; writes derivatives by contacts.

    Returns:
        Derivative by a turn of the root.
    """
    slots = robot.slots
    by_turn = wp.vec3()
    for i in range(slots.shape[0]):
        source = slots[i].place
        by_offset = adjoint.offsets[i]
        by_normal = adjoint.normals[i]
        normal = wp.transpose(root_rotation) * inputs.normal[env, source]
        if by_offset != 0.0:
            centre = slot_centre(slots, i, work.bodies)
            pull_point(adjoint.bodies, int(slots[i].body), centre, by_offset * normal)
            by_turn = by_turn + by_offset * wp.cross(centre, normal)
            by_normal = by_normal + by_offset * (root_rotation * centre)
            if inputs.active[env, source]:
                gradients.distance[env, source] = -by_offset
        gradients.normal[env, source] = by_normal
    return by_turn


@wp.func
def write_gradients(
    robot: RobotTables,
    gradients: Any,
    adjoint: Any,
    env: int,
    quat: wp.vec4,
    rotation: wp.mat33,
    velocity: Any,
    by_velocity: Any,
    by_effort: Any,
    turn: wp.vec3,
):
    """Writes derivatives by the state and the control of an environment, given those by what was read from them."""
    joints = robot.joints
    layout = robot.layout
    drives = robot.drives
    if robot.floating == 1:
        by_linear, by_angular = part_of(by_velocity, 0), part_of(by_velocity, 3)
        linear, angular = part_of(velocity, 0), part_of(velocity, 3)
        by_quat = pull_turn(quat, turn + wp.cross(by_linear, linear) + wp.cross(by_angular, angular))
        by_linear, by_angular = rotation * by_linear, rotation * by_angular
        by_root_pos = adjoint.root_pos[0]
        for i in range(3):
            gradients.state[env, i] = by_root_pos[i]
            gradients.state[env, layout.root_lin_vel + i] = by_linear[i]
            gradients.state[env, layout.root_ang_vel + i] = by_angular[i]
        for i in range(4):
            gradients.state[env, layout.root_quat + i] = by_quat[i]
    for i in range(joints.shape[0]):
        place = joints[i].place
        gradients.state[env, layout.joint_pos + place] = adjoint.joint_pos[place]
        gradients.state[env, layout.joint_vel + place] = by_velocity[joints[i].velocity]
    for i in range(robot.controlled.shape[0]):
        if robot.controlled[i] >= 0:
            add_control(gradients, env, i, by_effort[robot.controlled[i]])
    for i in range(drives.shape[0]):
        if drives[i].position_control >= 0:
            add_control(gradients, env, drives[i].position_control, adjoint.drives[i].target)
        if drives[i].velocity_control >= 0:
            add_control(gradients, env, drives[i].velocity_control, adjoint.drives[i].target_velocity)
