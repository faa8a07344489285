# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How much later measured efforts follow commanded ones: the shift at which the two correlate best.

Both are means over short steps, so that neither irregular stamps nor held commands move the result by part of a frame.

Example::

    for delay in effort_delays(recordings, "commanded", "measured"):
        print(delay.joint, delay.seconds, delay.correlation)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .conversion import mean_effort, signal_of
from .recording import RecordingSet

LONGEST = 0.05
"""Longest delay that is looked for [s]."""

RESOLUTION = 1.0e-3
"""Distance of delays that are tried [s]; between them a parabola is laid through the best three."""

SURE = 0.8
"""Correlation below which nothing is said."""

SMALLEST = 1.0e-2
"""Standard deviation of a command below which nothing follows it [N m or N]."""


@dataclass(frozen=True)
class Delay:
    """The delay of one joint."""

    joint: str
    """Name of the joint."""
    seconds: float
    """Median over the runs [s]."""
    shortest: float
    """What one in ten runs stays below [s]."""
    longest: float
    """What nine in ten runs stay below [s]."""
    correlation: float
    """Median of the correlation at that delay."""
    runs: int
    """Runs that say it."""


def effort_delays(recordings: RecordingSet, commanded: str, measured: str) -> list[Delay]:
    """Delays of all joints that are driven; those without a clear answer are left out.

    Args:
        recordings: The recordings.
        commanded: Name of the signal of commands.
        measured: Name of the measured signal.
    """
    shifts = np.arange(-2, round(LONGEST / RESOLUTION) + 3) * RESOLUTION
    found: list[list[tuple[float, float]]] = [[] for _ in recordings.spec.controls]
    for run in recordings.recordings:
        dt = float(np.median(np.diff(run.time)))
        time = np.arange(run.time[0], run.time[-1], dt)
        target = mean_effort(run, signal_of(run, measured), time)
        shifted = np.stack([mean_effort(run, signal_of(run, commanded), time, float(shift)) for shift in shifts])
        for column, answers in enumerate(found):
            answer = best_shift(shifted[:, :, column], target[:, column], shifts)
            if answer is not None:
                answers.append(answer)
    delays = []
    for control, answers in zip(recordings.spec.controls, found, strict=True):
        if answers:
            seconds, correlations = np.array(answers).T
            low, middle, high = (float(each) for each in np.quantile(seconds, (0.1, 0.5, 0.9)))
            delays.append(Delay(control.joint, middle, low, high, float(np.median(correlations)), len(answers)))
    return delays


def best_shift(shifted: np.ndarray, target: np.ndarray, shifts: np.ndarray) -> tuple[float, float] | None:
    """The shift of a signal that correlates best with another, and that correlation; None without a clear maximum.

    Args:
        shifted: The signal at each shift, shape (K, T).
        target: The other signal, shape (T,).
        shifts: The shifts, rising in equal steps, shape (K,).
    """
    if len(target) < 3 or target.std() < SMALLEST or shifted.std(1).min() < SMALLEST:
        return None
    centred, other = shifted - shifted.mean(1, keepdims=True), target - target.mean()
    correlation = centred @ other / (np.linalg.norm(centred, axis=1) * np.linalg.norm(other))
    best = int(correlation.argmax())
    if correlation[best] < SURE or best in (0, len(shifts) - 1):
        return None
    before, here, after = correlation[best - 1 : best + 2]
    bend = before - 2.0 * here + after
    offset = 0.5 * (before - after) / bend if bend < 0.0 else 0.0
    return float(shifts[best] + offset * (shifts[1] - shifts[0])), float(here)


__all__ = ["Delay", "best_shift", "effort_delays"]
