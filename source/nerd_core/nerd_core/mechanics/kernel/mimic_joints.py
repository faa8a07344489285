# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Joints of one environment that follow another one, for one thread: :mod:`nerd_core.mechanics.mimic_joints`."""

from __future__ import annotations

from typing import Any

import warp as wp


@wp.struct
class MimicParameters:
    """What stays the same of a joint that follows another one, both by their rows."""

    follower: int
    """Row of the joint that follows."""
    leader: int
    """Row of the joint that is followed."""
    ratio: float
    """Position per position of the leader."""
    offset: float
    """More of it [rad or m]."""
    rate: float
    """Velocity at which an error is taken back, per error [1/s]."""
    share: float
    """Share of the impulse of a firm constraint."""


@wp.func
def solve_mimics(robot: Any, work: Any, solved: Any):
    """Leads followers, and their leaders, together.

    Returns:
        All impulses, in whitened units.
    """
    joints = robot.joints
    rows = work.rows
    whitened_rows = work.whitened_rows
    for number in range(robot.mimics.shape[0]):
        each = robot.mimics[number]
        a, b = int(each.follower), int(each.leader)
        towards, away = rows[a].sign, -each.ratio * rows[b].sign
        whitened = towards * whitened_rows[a] + away * whitened_rows[b]
        velocity = towards * rows[a].free_velocity + away * rows[b].free_velocity + wp.dot(whitened, solved)
        error = work.joint_pos[joints[a].place] - each.ratio * work.joint_pos[joints[b].place] - each.offset
        impulse = -each.share * (each.rate * error + velocity) / wp.dot(whitened, whitened)
        solved = solved + impulse * whitened
    return solved
