# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""When rounds stop: what is said of a gap by the episodes that measured it.

A gap counts as closed when it is below the target with two standard errors added, so that few episodes cannot close it.
A policy that does nothing has no gap, either; ``least_return`` asks for more.

Example::

    gap = measured_gap(json.loads(Path("transfer.json").read_text()))
    judgement = judge([gap], StopCfg(target=0.03))
    print(judgement.reason, judgement.best)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from nerd_core.files.bounds import bounded, check_bounds

Reason = Literal["closed", "no progress", "no rounds left"]

STANDARD_ERRORS = 2.0
"""Standard errors that are added to a measured gap before it is compared with the target."""


@dataclass(frozen=True)
class StopCfg:
    """When to stop."""

    target: float = bounded(0.03, above=0.0, at_most=10.0)
    """Gap at which to stop: the return in the model less that in PhysX, as a share of the latter, with two standard
    errors added."""
    least_return: float | None = bounded(None)
    """Return in PhysX that the policy has to reach as well; None for any."""
    rounds: int = bounded(4, at_least=0, at_most=100)
    """Most rounds of new data, after the first policy."""
    patience: int = bounded(2, at_least=0, at_most=100)
    """Rounds in a row without a smaller gap after which to stop; 0 to go on."""

    def __post_init__(self):
        check_bounds(self)


@dataclass(frozen=True)
class Gap:
    """How a policy scored in both modes."""

    physx: float
    """Mean return in PhysX."""
    neural: float
    """Mean return in the model, over the same starts."""
    share: float | None
    """The latter less the former, as a share of the size of the former; None where that is zero."""
    standard_error: float | None
    """Standard error of that share."""
    spread: float = 0.0
    """Standard deviation of the return in PhysX over the episodes."""

    @property
    def is_telling(self) -> bool:
        """Whether a share of the return says something: not where the return is within its spread of zero."""
        return abs(self.physx) > self.spread

    @property
    def bound(self) -> float:
        """Size of the gap with :data:`STANDARD_ERRORS` added; infinite where it is not known."""
        if self.share is None or not math.isfinite(self.share):
            return math.inf
        return abs(self.share) + STANDARD_ERRORS * (self.standard_error or 0.0)


@dataclass(frozen=True)
class Judgement:
    """What follows from the gaps so far."""

    reason: Reason | None
    """Why to stop; None to go on."""
    best: int
    """Number of the round whose gap is smallest, or that has closed it."""


def measured_gap(transfer: Mapping[str, Any]) -> Gap:
    """The gap of the return.

    Args:
        transfer: What ``nerd transfer --json`` has written.
    """
    physx, neural = (float(transfer["modes"][mode]["scores"]["return"]["mean"]) for mode in ("physx", "neural"))
    spread = float(transfer["modes"]["physx"]["scores"]["return"]["std"])
    error = transfer["differences"]["return"]["standard_error"]
    if physx == 0.0:
        return Gap(physx, neural, None, None, spread)
    share = (neural - physx) / abs(physx)
    return Gap(physx, neural, share, None if error is None else float(error) / abs(physx), spread)


def is_closed(gap: Gap, cfg: StopCfg) -> bool:
    """Whether a gap is below the target, by a policy that is good enough.

    Args:
        gap: The gap.
        cfg: What counts.
    """
    return gap.bound <= cfg.target and (cfg.least_return is None or gap.physx >= cfg.least_return)


def judge(gaps: Sequence[Gap], cfg: StopCfg) -> Judgement:
    """Whether to stop after the rounds so far, and which of them is best.

    Args:
        gaps: Gap of each round, that of the first policy first.
        cfg: When to stop.
    """
    if is_closed(gaps[-1], cfg):
        return Judgement("closed", len(gaps) - 1)
    best = min(range(len(gaps)), key=lambda number: gaps[number].bound)
    if cfg.patience and len(gaps) - 1 - best >= cfg.patience:
        return Judgement("no progress", best)
    return Judgement("no rounds left" if len(gaps) > cfg.rounds else None, best)


__all__ = ["Gap", "Judgement", "Reason", "StopCfg", "is_closed", "judge", "measured_gap"]
