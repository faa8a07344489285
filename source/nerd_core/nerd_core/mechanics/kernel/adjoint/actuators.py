# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The adjoint of actuators outside of the engine of one environment, for one thread: of
:mod:`nerd_core.mechanics.kernel.actuators`.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from ..actuators import ActuatorParameters, from_table, motor_bounds, wanted_effort
from .reading import add_control


@wp.func
def table_slope(table: Any, begin: int, rows: int, pos: float):
    """Slope of :func:`~nerd_core.mechanics.kernel.actuators.from_table`: zero beyond the table's ends."""
    slope = float(0.0)
    for row in range(begin, begin + rows - 1):
        low, high = table[row], table[row + 1]
        if low[0] < pos and pos <= high[0]:
            slope = (high[1] - low[1]) / (high[0] - low[0])
    return slope


@wp.func
def pull_bounds(law: ActuatorParameters, wanted: float, vel: float, by_made: float):
    """The adjoint of keeping a wanted effort within :func:`~nerd_core.mechanics.kernel.actuators.motor_bounds`.

    Returns:
        Derivatives by the wanted effort, and by the velocity.
    """
    lower, upper = motor_bounds(law, vel)
    if wanted >= lower and wanted <= upper:
        return by_made, float(0.0)
    by_vel = float(0.0)
    fastest = law.no_load_speed * (1.0 + law.effort_limit / law.stall_effort)
    # A motor's line bounds the effort where it is nearer than the limit of efforts.
    is_of_line = upper < law.effort_limit
    if wanted < lower:
        is_of_line = lower > -law.effort_limit
    if law.has_motor == 1 and is_of_line and wp.abs(vel) < fastest:
        by_vel = -law.stall_effort / law.no_load_speed * by_made
    return float(0.0), by_vel


@wp.func
def pull_actuated_effort(
    robot: Any,
    inputs: Any,
    work: Any,
    adjoint: Any,
    gradients: Any,
    env: int,
    velocity: Any,
    by_effort: Any,
    zeros: Any,
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.actuators.actuated_effort`. Derivatives by joint positions are
    added up where they are kept, those by controls where they are written.

    Args:
        robot: Tables of the robot.
        inputs: Controls.
        work: What the physics step has kept.
        adjoint: Memory of the adjoint.
        gradients: Derivatives that are written.
        env: Number of the environment.
        velocity: Generalised velocities at the beginning of the physics step.
        by_effort: Derivatives by the generalised efforts.
        zeros: A generalised vector of zeros.

    Returns:
        What they add to the derivatives by the velocities.
    """
    by_joint_pos = adjoint.joint_pos
    by_velocity = zeros
    for i in range(robot.actuators.shape[0]):
        law = robot.actuators[i]
        pos, vel = float(work.kept_joint_pos[0, law.place]), float(velocity[law.velocity])
        wanted = wanted_effort(law, inputs, env, pos, vel)
        by_made, by_pos = float(by_effort[law.velocity]), float(0.0)
        if law.table_rows > 0:
            largest = float(from_table(robot.effort_tables, law.table_begin, law.table_rows, pos))
            lower, upper = motor_bounds(law, vel)
            made = wp.clamp(wanted, lower, upper)
            if wp.abs(made) > largest:
                slope = table_slope(robot.effort_tables, law.table_begin, law.table_rows, pos)
                by_pos = wp.sign(made) * slope * by_made
                by_made = 0.0
        by_wanted, by_vel = pull_bounds(law, wanted, vel, by_made)
        by_joint_pos[law.place] = by_joint_pos[law.place] + by_pos - law.stiffness * by_wanted
        by_velocity[law.velocity] = by_vel - law.damping * by_wanted
        if law.position_control >= 0:
            add_control(gradients, env, law.position_control, law.stiffness * by_wanted)
        if law.velocity_control >= 0:
            add_control(gradients, env, law.velocity_control, law.damping * by_wanted)
        if law.effort_control >= 0:
            add_control(gradients, env, law.effort_control, by_wanted)
    return by_velocity


__all__ = ["pull_actuated_effort"]
