# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Settings of adaptation."""

from __future__ import annotations

from dataclasses import dataclass

from ..files.bounds import bounded, check_bounds


@dataclass(frozen=True)
class AdaptCfg:
    """How a few physical parameters follow the last seconds of motion."""

    words: tuple[str, ...] = ("payload",)
    """What may change: payload, friction, motors."""
    every: int = bounded(4, at_least=1, at_most=10_000)
    """Least control steps from one look at an environment to the next."""
    budget: float = bounded(0.5, above=0.0, at_most=1.0e4)
    """Steps of the model that looks may take for each environment and control step, on average. A look costs two, and
    one more for each number; environments that surprise are looked at first. It bounds what adaptation costs: many
    numbers are followed in fewer looks."""
    settle: int = bounded(80, at_least=1, at_most=100_000)
    """Control steps at first from which the model's usual error is taken, with the parameters of the specification."""
    doubt: float = bounded(0.1, above=0.0, at_most=10.0)
    """Standard deviation of a number before anything is known."""
    wander: float = bounded(0.01, at_least=0.0, at_most=10.0)
    """How far a number may go in a second by itself (standard deviation)."""
    leap: float = bounded(0.2, at_least=0.0, at_most=10.0)
    """The same while the estimate predicts surprisingly badly: something has just changed."""
    inflation: float = bounded(3.0, above=0.0, at_most=1.0e4)
    """Factor of the usual error: errors of steps in a row are alike, which a filter does not know."""
    outlier: float = bounded(2.0, above=0.0, at_most=1.0e4)
    """Errors beyond so many standard deviations count less and less."""
    evidence: float = bounded(0.05, at_least=0.0, at_most=1.0e4)
    """By how much the estimate must have predicted better than the specification, as a mean over the memory and the
    numbers of a state, before it is used."""
    memory: float = bounded(1.0, above=0.0, at_most=1.0e4)
    """Seconds over which that is judged."""

    def __post_init__(self):
        check_bounds(self)


__all__ = ["AdaptCfg"]
