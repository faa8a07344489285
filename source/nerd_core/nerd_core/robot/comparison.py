# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""In what two robot specifications differ, in words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .spec import RobotSpec


class SpecMismatch(ValueError):
    """Data or weights made for another robot specification than the one in use."""


def diff_specs(got: RobotSpec, expected: RobotSpec) -> list[str]:
    """Differences of meaning between two specifications, one readable line each; empty when they agree."""
    return list(_diff("", got.meaning(), expected.meaning()))


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
    shown = lines[:12] + ([f"... and {len(lines) - 12} more"] if len(lines) > 12 else [])
    one, other = (f"{spec.name[:80]}, {spec.content_hash[:12]}" for spec in (got, expected))
    raise SpecMismatch(
        f"{what} was made for another robot specification ({one}) than the one in use ({other}):\n"
        + "\n".join(f"  {line[:300]}" for line in shown)
    )


def _diff(path: str, got: Any, expected: Any) -> Iterator[str]:
    """Walks two plain structures side by side. Lists of named things are compared by name, then by order."""
    if isinstance(got, dict) and isinstance(expected, dict):
        for key in [*expected, *(key for key in got if key not in expected)]:
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
    elif got != expected:
        yield f"{path}: got {_show(got)}, expected {_show(expected)}"


def _are_named(items: list) -> bool:
    return bool(items) and all(isinstance(item, dict) and "name" in item for item in items)


def _are_objects(items: list) -> bool:
    return bool(items) and all(isinstance(item, dict) for item in items)


def _show(value: Any) -> str:
    return "nothing" if value is None else json.dumps(value)


__all__ = ["SpecMismatch", "diff_specs", "require_same_spec"]
