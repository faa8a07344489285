# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Actuators outside of the engine of one environment, for one thread: :mod:`nerd_core.mechanics.actuators`."""

from __future__ import annotations

from typing import Any

import warp as wp


@wp.struct
class ActuatorParameters:
    """What stays the same of an actuator that makes efforts outside of the engine."""

    place: int
    """Place of its joint in a state."""
    velocity: int
    """Number of the joint's velocity."""
    stiffness: float
    """Effort per missing position [N m/rad or N/m]."""
    damping: float
    """Effort per missing velocity [N m s/rad or N s/m]."""
    effort_limit: float
    """Largest effort [N m or N]."""
    stall_effort: float
    """Effort of a motor at rest [N m or N]."""
    no_load_speed: float
    """Speed at which that effort has fallen to zero [rad/s or m/s]."""
    has_motor: int
    """Whether effort falls with speed."""
    fixed_target: float
    """Position to which it leads where no control says one [rad or m]."""
    effort_control: int
    """Number of the control that is an effort; -1 for none. The same of targets follows."""
    position_control: int
    velocity_control: int
    table_begin: int
    """First row of its table, and the number of rows; 0 without a table."""
    table_rows: int


@wp.func
def from_table(table: Any, begin: int, rows: int, pos: float):
    """A piecewise linear function, constant beyond its ends."""
    upper = int(1)
    while upper + 1 < rows and table[begin + upper][0] < pos:
        upper = upper + 1
    if rows == 1:
        upper = int(0)
    low = table[begin + wp.max(upper - 1, 0)]
    high = table[begin + upper]
    value = float(low[1])
    if high[0] > low[0]:
        value = low[1] + wp.clamp((pos - low[0]) / (high[0] - low[0]), 0.0, 1.0) * (high[1] - low[1])
    return value


@wp.func
def wanted_effort(law: ActuatorParameters, inputs: Any, env: int, pos: float, vel: float):
    """The effort of an actuator without bounds, from the position and the velocity of its joint."""
    target = float(law.fixed_target)
    target_velocity = float(0.0)
    given = float(0.0)
    if law.position_control >= 0:
        target = inputs.control[env, law.position_control]
    if law.velocity_control >= 0:
        target_velocity = inputs.control[env, law.velocity_control]
    if law.effort_control >= 0:
        given = inputs.control[env, law.effort_control]
    return law.stiffness * (target - pos) + law.damping * (target_velocity - vel) + given


@wp.func
def motor_bounds(law: ActuatorParameters, vel: float):
    """Least and largest effort at a velocity, without what a table allows."""
    upper = float(law.effort_limit)
    lower = -upper
    if law.has_motor == 1:
        most = 1.0 + law.effort_limit / law.stall_effort
        share = wp.clamp(vel / law.no_load_speed, -most, most)
        upper = wp.min(law.stall_effort * (1.0 - share), upper)
        lower = wp.max(law.stall_effort * (-1.0 - share), lower)
    return lower, upper


@wp.func
def actuated_effort(robot: Any, inputs: Any, joint_pos: Any, velocity: Any, effort: Any, env: int):
    """Generalised efforts with those of all actuators at the beginning of a physics step.

    Args:
        robot: Tables of the robot.
        inputs: Controls.
        joint_pos: Positions of the joints.
        velocity: Generalised velocities.
        effort: Generalised efforts that are held over the control step.
        env: Number of the environment.
    """
    pushed = effort
    for i in range(robot.actuators.shape[0]):
        law = robot.actuators[i]
        pos = float(joint_pos[law.place])
        vel = float(velocity[law.velocity])
        lower, upper = motor_bounds(law, vel)
        made = wp.clamp(wanted_effort(law, inputs, env, pos, vel), lower, upper)
        if law.table_rows > 0:
            largest = float(from_table(robot.effort_tables, law.table_begin, law.table_rows, pos))
            made = wp.clamp(made, -largest, largest)
        pushed[law.velocity] = pushed[law.velocity] + made
    return pushed
