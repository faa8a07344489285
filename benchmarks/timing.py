# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Timing of functions that are compared with each other."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Turns:
    """Times of functions that ran in turns [s], by name."""

    seconds: Mapping[str, list[float]]

    def milliseconds(self, name: str) -> float:
        """Median time of a function [ms]."""
        return 1e3 * statistics.median(self.seconds[name])

    def ratio(self, name: str, to: str) -> float:
        """Median over the turns of the time of one function relative to that of another."""
        pairs = zip(self.seconds[name], self.seconds[to], strict=True)
        return statistics.median(one / other for one, other in pairs)


def in_turns(functions: Mapping[str, Callable[[], Any]], turns: int, least: float = 2e-3, warm_up: int = 3) -> Turns:
    """Runs functions one after the other, again and again.

    Args:
        functions: Functions by name.
        turns: How often.
        least: Time that a function should take in one turn [s]; shorter ones are called several times.
        warm_up: Calls of each function before the first turn.
    """
    calls = {}
    for name, function in functions.items():
        for _ in range(warm_up):
            begin = time.perf_counter()
            function()
        calls[name] = max(1, round(least / max(time.perf_counter() - begin, 1e-7)))
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(turns):
        for name, function in functions.items():
            begin = time.perf_counter()
            for _ in range(calls[name]):
                function()
            seconds[name].append((time.perf_counter() - begin) / calls[name])
    return Turns(seconds)
