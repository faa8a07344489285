# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Ranges of first states that suit a robot: those of its record, and what the user changes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from ..robots.registry import robot_of_spec
from .initial_states import InitialStateCfg, InitialStateError


def ranges_of(spec_name: str, changes: Mapping[str, tuple[float, ...]]) -> InitialStateCfg:
    """Ranges for a robot.

    Args:
        spec_name: Name of the robot in its specification. One that nobody registered has the defaults.
        changes: What to change: one number, or two for a range.

    Raises:
        InitialStateError: A range that does not exist, or a wrong number of numbers.
    """
    defaults = InitialStateCfg()
    known = {item.name: getattr(defaults, item.name) for item in dataclasses.fields(defaults)}
    record = robot_of_spec(spec_name)
    if record is not None:
        if unknown := set(record.first_states) - set(known):
            expected = ", ".join(known)
            raise InitialStateError(f"the robot '{record.name}' has the ranges {unknown}, expected some of {expected}")
        defaults = dataclasses.replace(defaults, **record.first_states)  # type: ignore[arg-type]
    values: dict[str, float | tuple[float, float]] = {}
    for name, numbers in changes.items():
        if name not in known:
            raise InitialStateError(f"got the range '{name}', expected one of {', '.join(known)}")
        is_pair = isinstance(known[name], tuple)
        if len(numbers) != (2 if is_pair else 1):
            expected = "two numbers, LOW,HIGH" if is_pair else "one number"
            raise InitialStateError(f"got {','.join(map(str, numbers))} for the range '{name}', expected {expected}")
        values[name] = (numbers[0], numbers[1]) if is_pair else numbers[0]
    return dataclasses.replace(defaults, **values)  # type: ignore[arg-type]
