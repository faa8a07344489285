# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""In what two robot specifications differ, in words.

Numbers that differ by less than single precision may round them agree, though they give other hashes. What only one of
the two says is not compared, and that is logged once: specifications of before did not hold actuators.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterator
from typing import Any

from .spec import RobotSpec

RELATIVE = 1.0e-5
"""Two numbers agree when they differ by less than this share of the larger one."""

ABSOLUTE = 1.0e-5
"""... and in positions, orientations and axes by less than this [m or 1]: those of an engine come as differences of
large numbers, far from the origin of its world."""

logger = logging.getLogger(__name__)
_told: set[tuple[str, str]] = set()


class SpecMismatch(ValueError):
    """Data or weights made for another robot specification than the one in use."""


def diff_specs(got: RobotSpec, expected: RobotSpec) -> list[str]:
    """Differences of meaning between two specifications, one readable line each; empty when they agree."""
    return list(_diff("", got.meaning(), expected.meaning()))


def says_actuators(spec: RobotSpec) -> bool:
    """Whether a specification says what drives its joints; those of before did not."""
    return all(joint.actuator is not None for joint in spec.joints)


def require_same_spec(got: RobotSpec, expected: RobotSpec, what: str) -> None:
    """Raises :class:`SpecMismatch` with the differences unless the two specifications mean the same.

    Args:
        got: The specification that came with the data or the weights.
        expected: The specification in use.
        what: What was loaded, for the message, for instance ``"checkpoint 'runs/ant'"``.
    """
    if got.content_hash == expected.content_hash:
        return
    lines = diff_specs(got, expected)
    if not lines:
        if says_actuators(got) != says_actuators(expected):
            _tell_once(got, expected, what)
        return
    shown = lines[:12] + ([f"... and {len(lines) - 12} more"] if len(lines) > 12 else [])
    one, other = (f"{spec.name[:80]}, {spec.content_hash[:12]}" for spec in (got, expected))
    raise SpecMismatch(
        f"{what} was made for another robot specification ({one}) than the one in use ({other}):\n"
        + "\n".join(f"  {line[:300]}" for line in shown)
    )


def _tell_once(got: RobotSpec, expected: RobotSpec, what: str) -> None:
    """Says that what drives the joints was not compared: for a pair of specifications once, whoever loads what."""
    pair = (got.content_hash, expected.content_hash)
    if pair in _told or pair[::-1] in _told:
        return
    _told.add(pair)
    silent = what if says_actuators(expected) else f"what {what} is compared with"
    logger.warning(
        "%s is from before specifications said what drives the joints of '%s', so this was not compared: that it is "
        "the same is left to you",
        silent,
        got.name,
    )


def _diff(path: str, got: Any, expected: Any) -> Iterator[str]:
    """Walks two plain structures side by side. Lists of named things are compared by name, then by order."""
    if isinstance(got, dict) and isinstance(expected, dict):
        for key in [*expected, *(key for key in got if key not in expected)]:
            if key in ("actuator", "velocity_limit") and (key not in got or key not in expected):
                continue
            yield from _diff(f"{path}.{key}" if path else key, got.get(key), expected.get(key))
    elif isinstance(got, list) and isinstance(expected, list) and _are_named(got + expected):
        by_name_got = {item["name"]: item for item in got}
        by_name_expected = {item["name"]: item for item in expected}
        for name in by_name_expected:
            if name not in by_name_got:
                yield f"{path}: '{name}' is missing"
        for name in by_name_got:
            if name not in by_name_expected:
                yield f"{path}: '{name}' was not expected"
        shared_got = [name for name in by_name_got if name in by_name_expected]
        shared_expected = [name for name in by_name_expected if name in by_name_got]
        if shared_got != shared_expected:
            yield f"{path}: got the order {shared_got}, expected {shared_expected}"
        for name in shared_expected:
            yield from _diff(f"{path}['{name}']", by_name_got[name], by_name_expected[name])
    elif isinstance(got, list) and isinstance(expected, list) and _are_objects(got + expected):
        if len(got) != len(expected):
            yield f"{path}: got {len(got)}, expected {len(expected)}"
        for i, (item_got, item_expected) in enumerate(zip(got, expected, strict=False)):
            yield from _diff(f"{path}[{i}]", item_got, item_expected)
    elif not _agree(got, expected):
        yield f"{path}: got {_show(got)}, expected {_show(expected)}"


def _agree(got: Any, expected: Any) -> bool:
    """Whether two values are equal, numbers up to rounding."""
    if isinstance(got, float) and isinstance(expected, float):
        return math.isclose(got, expected, rel_tol=RELATIVE)
    if isinstance(got, list) and isinstance(expected, list) and len(got) == len(expected):
        floats = all(isinstance(value, float) for value in got + expected)
        return (
            got == expected
            if not floats
            else all(math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE) for a, b in zip(got, expected, strict=True))
        )
    return got == expected


def _are_named(items: list) -> bool:
    return bool(items) and all(isinstance(item, dict) and "name" in item for item in items)


def _are_objects(items: list) -> bool:
    return bool(items) and all(isinstance(item, dict) for item in items)


def _show(value: Any) -> str:
    return "nothing" if value is None else json.dumps(value)


__all__ = ["SpecMismatch", "diff_specs", "require_same_spec", "says_actuators"]
