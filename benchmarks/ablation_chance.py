# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What of ``ablations.py`` is chance: the base is trained several times with other seeds, and a row counts as other
than the base only where it is farther from it than such trainings are from each other.

Errors are compared by their logarithms. With ``s`` the standard deviation of the base's ``n`` trainings, a single other
training of the same kind is within ``t s sqrt(1 + 1 / n)`` of their mean in 95 of 100 cases, ``t`` being Student's
quantile with ``n - 1`` degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any, Literal

CONFIDENCE = 0.95
"""Share of the trainings that differ by chance alone which count as such."""

Verdict = Literal["better", "worse", "chance"]


@dataclass(frozen=True)
class Chance:
    """How far trainings of the same kind are apart."""

    spread: float
    """Standard deviation of the logarithms of their errors."""
    seeds: int
    """How many there were."""

    @property
    def factor(self) -> float:
        """Factor by which a single other training has to differ from their mean."""
        from scipy.stats import t

        quantile = float(t.ppf(0.5 + 0.5 * CONFIDENCE, self.seeds - 1))
        return math.exp(quantile * self.spread * math.sqrt(1.0 + 1.0 / self.seeds))

    def verdict(self, relative: float) -> Verdict:
        """What an error says that is this multiple of the base's."""
        if relative > self.factor:
            return "worse"
        return "better" if relative < 1.0 / self.factor else "chance"


def relative(found: Mapping[str, Any], base: Mapping[str, Any], horizon: str) -> float:
    """The error of a row over that of the base: the geometric mean over all quantities; infinite for a failure.

    Args:
        found: The row.
        base: The base.
        horizon: The horizon.
    """
    if found["failure"] or base["failure"]:
        return math.inf
    ours, theirs = found["errors"][horizon], base["errors"][horizon]
    logs = [math.log(max(ours[name]["mean"], 1e-12) / max(theirs[name]["mean"], 1e-12)) for name in theirs]
    mean = sum(logs) / len(logs)
    return math.exp(mean) if math.isfinite(mean) else math.inf


def middle(bases: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A row whose errors are the geometric means of those of the base's trainings.

    Args:
        bases: The trainings, of which none has failed.
    """

    def mean_of(horizon: str, name: str) -> float:
        return math.exp(fmean(math.log(max(each["errors"][horizon][name]["mean"], 1e-12)) for each in bases))

    errors = {
        horizon: {name: {"mean": mean_of(horizon, name)} for name in values}
        for horizon, values in bases[0]["errors"].items()
    }
    return {**bases[0], "errors": errors}


def chance_of(bases: Sequence[Mapping[str, Any]], horizon: str) -> Chance | None:
    """How far the base's trainings are apart; None where there are not two.

    Args:
        bases: The trainings.
        horizon: The horizon.
    """
    if len(bases) < 2:
        return None
    logs = [math.log(relative(each, bases[0], horizon)) for each in bases]
    return Chance(stdev(logs), len(logs))


def bases_of(told: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The base's trainings in the numbers of a robot, failures left out."""
    first = [row for row in told["rows"] if row["group"] == "base"]
    return [row for row in (*first, *told.get("base_again", ())) if not row["failure"]]


def judged(told: Mapping[str, Any], horizon: str) -> dict[str, tuple[float, Verdict]]:
    """The error of each row over that of the base, and what it says; nothing where the base was trained once.

    Args:
        told: The numbers of a robot.
        horizon: The horizon.
    """
    bases = bases_of(told)
    chance = chance_of(bases, horizon)
    if chance is None:
        return {}
    base = middle(bases)
    found = {row["name"]: relative(row, base, horizon) for row in told["rows"] if row["group"] != "base"}
    return {name: (value, chance.verdict(value)) for name, value in found.items()}


def conclusions(told: Mapping[str, Any], horizon: str) -> str:
    """What the numbers of a robot say at a horizon, in words.

    Args:
        told: The numbers of a robot.
        horizon: The horizon.
    """
    chance = chance_of(bases_of(told), horizon)
    if chance is None:
        return f"Over {horizon} steps nothing can be said: the base was trained once."
    found = judged(told, horizon)
    said = [
        f"**Over {horizon} steps** {chance.seeds} trainings of the base with different seeds scatter by a factor of "
        f"{math.exp(chance.spread):.2f}: a row is other than the base from {chance.factor:.2f} on."
    ]
    for verdict, words in (("worse", "Worse"), ("better", "Better"), ("chance", "Not told from chance")):
        chosen = sorted((value, name) for name, (value, its) in found.items() if its == verdict)
        names = [f"{name} ({factor_words(value)})" for value, name in (chosen[::-1] if verdict == "worse" else chosen)]
        said.append(f"{words}: {'; '.join(names) or 'none'}.")
    return " ".join(said)


def in_common(found: Mapping[str, Mapping[str, tuple[float, Verdict]]]) -> str:
    """Which rows say the same of all robots, in words; nothing for a single robot.

    Args:
        found: Rows with their errors over the base and what these say, by robot.
    """
    if len(found) < 2:
        return ""
    shared = set.intersection(*(set(rows) for rows in found.values()))
    said = []
    for verdict, words in (("worse", "Worse"), ("better", "Better"), ("chance", "Not told from chance")):
        names = [name for name in next(iter(found.values())) if name in shared]
        same = [name for name in names if all(rows[name][1] == verdict for rows in found.values())]
        said.append(f"{words} for all of them: {'; '.join(same) or 'none'}.")
    opposite = [name for name in shared if {"worse", "better"} <= {rows[name][1] for rows in found.values()}]
    if opposite:
        said.append(f"Better for one and worse for another: {'; '.join(sorted(opposite))}.")
    return " ".join(said)


def factor_words(value: float) -> str:
    """An error over that of the base, for people."""
    if not math.isfinite(value):
        return "failed"
    return f"{value:.2f}" if 0.1 <= value < 10.0 else f"{value:.2g}"


__all__ = [
    "Chance",
    "bases_of",
    "chance_of",
    "conclusions",
    "factor_words",
    "in_common",
    "judged",
    "middle",
    "relative",
]
