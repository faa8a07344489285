# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The adjoint of joints that follow another one: of :mod:`nerd_core.mechanics.kernel.mimic_joints`."""

from __future__ import annotations

from typing import Any

import warp as wp


@wp.func
def mimic_row(robot: Any, work: Any, substep: int, number: int):
    """The row of a joint that follows another one, in whitened units."""
    rows = work.kept_rows[substep]
    each = robot.mimics[number]
    a, b = int(each.follower), int(each.leader)
    return rows[a].sign * work.whitened_rows[a] - each.ratio * rows[b].sign * work.whitened_rows[b]


@wp.func
def mimic_impulse(robot: Any, work: Any, substep: int, number: int, solved: Any):
    """Its impulse, given all impulses before it."""
    joints = robot.joints
    rows = work.kept_rows[substep]
    joint_pos = work.kept_joint_pos[substep]
    each = robot.mimics[number]
    a, b = int(each.follower), int(each.leader)
    whitened = mimic_row(robot, work, substep, number)
    velocity = rows[a].sign * rows[a].free_velocity - each.ratio * rows[b].sign * rows[b].free_velocity
    velocity = velocity + wp.dot(whitened, solved)
    error = joint_pos[joints[a].place] - each.ratio * joint_pos[joints[b].place] - each.offset
    return -each.share * (each.rate * error + velocity) / wp.dot(whitened, whitened)


@wp.func
def pull_mimics(robot: Any, work: Any, adjoint: Any, substep: int, by_after: Any):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.mimic_joints.solve_mimics`.

    Args:
        robot: Tables of the robot.
        work: What the physics step has kept.
        adjoint: Memory of the adjoint.
        substep: Number of the substep.
        by_after: Derivatives by all impulses after it, in whitened units.

    Returns:
        Derivatives by those before it.
    """
    joints = robot.joints
    rows = work.kept_rows[substep]
    by_rows = adjoint.rows
    by_whitened = adjoint.whitened_rows
    by_joint_pos = adjoint.joint_pos
    by_solved = by_after
    count = robot.mimics.shape[0]
    for number in range(count):
        # All impulses as they were before this joint, made anew: there are few such joints.
        solved = work.kept_solved[substep, 0]
        for earlier in range(count - 1 - number):
            solved = solved + mimic_impulse(robot, work, substep, earlier, solved) * mimic_row(
                robot, work, substep, earlier
            )
        each = robot.mimics[count - 1 - number]
        a, b = int(each.follower), int(each.leader)
        towards, away = rows[a].sign, -each.ratio * rows[b].sign
        whitened = mimic_row(robot, work, substep, count - 1 - number)
        response = wp.dot(whitened, whitened)
        impulse = mimic_impulse(robot, work, substep, count - 1 - number, solved)
        by_impulse = wp.dot(by_solved, whitened)
        by_velocity = -each.share / response * by_impulse
        by_row = impulse * by_solved - (2.0 * impulse / response * by_impulse) * whitened + by_velocity * solved
        by_error = each.rate * by_velocity
        by_joint_pos[joints[a].place] = by_joint_pos[joints[a].place] + by_error
        by_joint_pos[joints[b].place] = by_joint_pos[joints[b].place] - each.ratio * by_error
        by_rows[a].free_velocity = by_rows[a].free_velocity + towards * by_velocity
        by_rows[b].free_velocity = by_rows[b].free_velocity + away * by_velocity
        by_whitened[a] = by_whitened[a] + towards * by_row
        by_whitened[b] = by_whitened[b] + away * by_row
        by_solved = by_solved + by_velocity * whitened
    return by_solved
