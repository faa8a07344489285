# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Ranges of first states that suit the robots of this package, by the name of its file."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

from .initial_states import InitialStateCfg, InitialStateError

PRESETS: dict[str, InitialStateCfg] = {
    # published: x 3.5 m, any angle, both velocities 10
    "cartpole": InitialStateCfg(slide=3.5, joint_vel=10.0, slide_vel=10.0),
    # published: any angles, 2 pi rad/s at the first hinge and 4 pi rad/s at the second; at that speed the tip moves
    # 0.3 m in a physics step and sinks deep into a plane before the solver notices
    "double_pendulum": InitialStateCfg(joint_vel=math.pi),
    # published: any angles, pi rad/s; here within the limits of the joints, which the published robot has not
    "franka_panda": InitialStateCfg(joint_vel=math.pi),
    # published: 0.65 to 1 m, tilted by 30 degrees, slow; here faster, lower and more tilted, since robots fall
    "anymal_c": InitialStateCfg(
        root_height=(0.4, 1.0), root_tilt=math.pi / 4, root_ang_vel=2.0, joint_pos_share=0.15, joint_vel=math.pi
    ),
}
"""Robots with ranges of their own. The defaults of :class:`InitialStateCfg` are those of the Ant."""


def ranges_of(robot: str, changes: Mapping[str, tuple[float, ...]]) -> InitialStateCfg:
    """Ranges for a robot.

    Args:
        robot: Name of the robot.
        changes: What to change in its preset: one number, or two for a range.

    Raises:
        InitialStateError: A range that does not exist, or a wrong number of numbers.
    """
    preset = PRESETS.get(robot, InitialStateCfg())
    known = {item.name: getattr(preset, item.name) for item in dataclasses.fields(preset)}
    values: dict[str, float | tuple[float, float]] = {}
    for name, numbers in changes.items():
        if name not in known:
            raise InitialStateError(f"got the range '{name}', expected one of {', '.join(known)}")
        is_pair = isinstance(known[name], tuple)
        if len(numbers) != (2 if is_pair else 1) or not all(map(math.isfinite, numbers)):
            expected = "two numbers, LOW,HIGH" if is_pair else "one number"
            raise InitialStateError(f"got {','.join(map(str, numbers))} for the range '{name}', expected {expected}")
        if is_pair and numbers[0] > numbers[1] or not is_pair and numbers[0] < 0.0:
            raise InitialStateError(
                f"got {','.join(map(str, numbers))} for the range '{name}', expected "
                + ("LOW <= HIGH" if is_pair else "a number >= 0")
            )
        values[name] = (numbers[0], numbers[1]) if is_pair else numbers[0]
    return dataclasses.replace(preset, **values)  # type: ignore[arg-type]
