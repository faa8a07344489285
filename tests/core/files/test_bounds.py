# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Ranges of settings."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest

from nerd_core.files.bounds import bounded, check_bounds


@dataclass(frozen=True)
class Settings:
    """Settings with bounds of each kind."""

    count: int | None = bounded(None, at_least=1)
    rate: float = bounded(0.5, above=0.0, at_most=1.0)
    share: float = bounded(0.0, at_least=0.0, below=1.0)
    sizes: tuple[int, ...] = bounded((1, 2), at_least=1)
    scales: dict[str, float] = bounded(default_factory=dict, at_most=1_000_000)
    shift: float = bounded(0.0)
    free: float = math.nan

    def __post_init__(self):
        check_bounds(self)


def test_what_is_within_its_bounds_passes():
    """Defaults, bounds that are included, None and every item of a tuple are let through."""
    Settings()
    Settings(count=1, rate=1.0, share=0.0, sizes=(), scales={"wide": 1e6}, shift=-7.0)
    Settings(count=2**63 - 1, shift=-3e38)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"count": 0}, "got count=0, expected at least 1"),
        ({"rate": 0.0}, "got rate=0.0, expected more than 0 and at most 1"),
        ({"rate": 1.5}, "got rate=1.5, expected more than 0 and at most 1"),
        ({"share": 1.0}, "got share=1.0, expected at least 0 and less than 1"),
        ({"share": math.nan}, "got share=nan, expected a finite number, at least 0 and less than 1"),
        ({"sizes": (3, 0)}, r"got sizes=\(3, 0\), expected at least 1"),
        ({"scales": {"wide": 1e7}}, "got scales={'wide': 10000000.0}, expected at most 1,000,000"),
        ({"shift": math.inf}, "got shift=inf, expected a finite number"),
        ({"count": math.inf}, "got count=inf, expected a finite number, at least 1"),
        ({"count": 2**63}, "got count=9223372036854775808, expected a number of at most 64 bits, at least 1"),
        ({"shift": -1e300}, r"got shift=-1e\+300, expected a number within single precision"),
    ],
)
def test_what_is_out_of_its_bounds_is_named(wrong, words):
    """The error names the setting, what was got and what was expected; a number that is none is refused."""
    with pytest.raises(ValueError, match=words):
        Settings(**wrong)


def test_the_caller_chooses_the_error():
    """A settings' own kind of error is raised if it is asked for."""

    class Wrong(ValueError):
        pass

    @dataclass
    class Own:
        size: int = bounded(1, at_least=1)

    with pytest.raises(Wrong, match="size=0"):
        check_bounds(Own(0), Wrong)
