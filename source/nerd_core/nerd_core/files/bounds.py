# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Ranges of settings, stated where a setting is and checked in one place. The help of a command shows them.

A number in a range is finite and can be stored: in 64 bits, or in single precision. ``bounded(1.0)`` asks for nothing
else.

Example::

    @dataclass(frozen=True)
    class OptimiserCfg:
        lr: float = bounded(1.0e-2, above=0.0)

        def __post_init__(self):
            check_bounds(self)
"""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, field, fields
from typing import Any

import numpy as np

CHECKS = {
    "at_least": (operator.ge, "at least"),
    "above": (operator.gt, "more than"),
    "at_most": (operator.le, "at most"),
    "below": (operator.lt, "less than"),
}
"""Kinds of bounds: what must hold, and how a message says it."""

LARGEST = float(np.finfo(np.float32).max)
"""Largest number in single precision, which PyTorch refuses to exceed in its arithmetic."""

SEED = {"at_least": 0, "below": 2**31}
"""Bounds of a seed: what PyTorch, NumPy and the engines all take."""


def bounded(default: Any = MISSING, *, default_factory: Any = MISSING, **bounds: float) -> Any:
    """A field of a dataclass with bounds for :func:`check_bounds`.

    Args:
        default: Default of the field, if it has one.
        default_factory: Makes the default, for a dictionary.
        bounds: Bounds by kind, see :data:`CHECKS`.
    """
    unknown = sorted(set(bounds) - set(CHECKS))
    assert not unknown, f"unknown bounds {unknown}"
    return field(default=default, default_factory=default_factory, metadata={"bounds": bounds})  # type: ignore[call-overload]


def bounds_of(item: dataclasses.Field) -> dict[str, float] | None:
    """The bounds of a field by kind; None if it was not made by :func:`bounded`."""
    return item.metadata.get("bounds")


def range_in_words(bounds: Mapping[str, float]) -> str:
    """Bounds as a message and the help say them."""
    words = [f"{CHECKS[kind][1]} {_number(bound)}" for kind, bound in bounds.items()]
    return " and ".join(words) or "a finite number"


def check_bounds(settings: Any, error: type[ValueError] = ValueError) -> None:
    """Raises an error that names the first setting out of its bounds.

    None is within all; of a tuple or a dictionary every item counts.

    Args:
        settings: A dataclass.
        error: What to raise.
    """
    for item in fields(settings):
        bounds, got = bounds_of(item), getattr(settings, item.name)
        if bounds is not None and not all(_within(number, bounds) for number in _numbers(got)):
            unstorable = next(filter(None, map(_what_it_is_not, _numbers(got))), None)
            words = [unstorable] if unstorable else []
            words += [range_in_words(bounds)] if bounds or not words else []
            raise error(f"got {item.name}={got}, expected {', '.join(words)}")


def _within(number: float, bounds: Mapping[str, float]) -> bool:
    return _what_it_is_not(number) is None and all(CHECKS[kind][0](number, bound) for kind, bound in bounds.items())


def _what_it_is_not(number: float) -> str | None:
    """What a number should be to be stored and computed with; None if it is."""
    if isinstance(number, int):
        return None if abs(number) < 2**63 else "a number of at most 64 bits"
    if not math.isfinite(number):
        return "a finite number"
    return None if abs(number) <= LARGEST else "a number within single precision"


def _numbers(value: Any) -> Iterator[float]:
    """The numbers in a setting."""
    if isinstance(value, (tuple, list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _numbers(item)
    elif value is not None:
        yield value


def _number(bound: float) -> str:
    """A bound for people: a million is 1,000,000 and a tenth 0.1."""
    return f"{bound:,}" if isinstance(bound, int) else f"{bound:g}"


__all__ = ["CHECKS", "SEED", "bounded", "bounds_of", "check_bounds", "range_in_words"]
