# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Ranges of settings, stated where a setting is and checked in one place.

Example::

    @dataclass(frozen=True)
    class OptimiserCfg:
        lr: float = bounded(1.0e-2, above=0.0)

        def __post_init__(self):
            check_bounds(self)
"""

from __future__ import annotations

import operator
from dataclasses import field, fields
from typing import Any

CHECKS = {
    "at_least": (operator.ge, "at least"),
    "above": (operator.gt, "more than"),
    "at_most": (operator.le, "at most"),
    "below": (operator.lt, "less than"),
}
"""Kinds of bounds: what must hold, and how a message says it."""


def bounded(default: Any, **bounds: float) -> Any:
    """A field of a dataclass with a default and bounds for :func:`check_bounds`.

    Args:
        default: Default of the field.
        bounds: Bounds by kind, see :data:`CHECKS`.
    """
    unknown = sorted(set(bounds) - set(CHECKS))
    assert not unknown, f"unknown bounds {unknown}"
    return field(default=default, metadata={"bounds": bounds})


def check_bounds(settings: Any, error: type[ValueError] = ValueError) -> None:
    """Raises an error that names the first setting out of its bounds. None is within all; of a tuple every item counts.

    Args:
        settings: A dataclass.
        error: What to raise.
    """
    for item in fields(settings):
        got = getattr(settings, item.name)
        for kind, bound in item.metadata.get("bounds", {}).items():
            holds, words = CHECKS[kind]
            values = got if isinstance(got, tuple) else (got,)
            # Written so that a number that is none (NaN) is refused.
            if not all(value is None or holds(value, bound) for value in values):
                raise error(f"got {item.name}={got}, expected {words} {bound:g}")


__all__ = ["CHECKS", "bounded", "check_bounds"]
