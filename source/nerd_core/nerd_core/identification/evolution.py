# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Global search by CMA-ES (Hansen 2006, *The CMA evolution strategy: a comparing review*), over processes.

A population is drawn about a mean, judged by its costs alone, and the mean and the covariance move to the better half.
It asks for no gradients, and finds its way where basins are many and narrow.

Example::

    best = evolve(Value(cost), start, EvolutionCfg(generations=30, workers=2), report=print)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from ..files.bounds import SEED, bounded, check_bounds
from .cost import RolloutCost
from .drivers import Basin, Processes
from .parameterisation import IdentificationError

BAD = 1.0e12
"""Cost of a place that cannot be rolled out: the strategy sorts places, and has to have a number."""


@dataclass(frozen=True)
class EvolutionCfg:
    """How to evolve."""

    generations: int = bounded(0, at_least=0)
    """Generations; 0 for no evolution."""
    population: int = bounded(0, at_least=0, at_most=100_000)
    """Places of a generation; 0 for as many as the number of parameters suggests."""
    step: float = bounded(0.3, above=0.0)
    """Standard deviation of the first generation, in free numbers."""
    workers: int = bounded(1, at_least=1, at_most=256)
    """Processes that judge places."""
    seed: int = bounded(0, **SEED)
    """Seed of what is drawn."""

    def __post_init__(self):
        check_bounds(self)
        if 0 < self.population < 4:
            raise ValueError(f"got population={self.population}, expected at least 4, or 0 for a usual one")


class Value:
    """The cost of free numbers alone; picklable. Infinite where nothing can be rolled out."""

    def __init__(self, cost: RolloutCost, steps: int | None = None):
        """Keeps the cost.

        Args:
            cost: The cost.
            steps: Steps of the windows that are looked at; all by default.
        """
        self.cost, self.steps = cost, steps

    def __call__(self, place: np.ndarray) -> float:
        """The cost of a place, shape (dim,)."""
        with torch.no_grad():
            self.cost.variables.free.copy_(torch.from_numpy(np.asarray(place, dtype=float)))
        value = self.cost.value(self.steps)
        return value if math.isfinite(value) else math.inf


def evolve(
    value: Callable[[np.ndarray], float],
    start: np.ndarray,
    cfg: EvolutionCfg,
    report: Callable[[str], None] | None = None,
) -> Basin:
    """The best place of all generations; that of the start if none is better.

    Args:
        value: Cost of a place; picklable for more than one process.
        start: Where to begin, shape (dim,).
        cfg: How.
        report: Told of each generation, in words.
    """
    try:
        import cma
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "the evolution strategy needs the package cma (pip install 'nerd-core[experiments]'), or leave "
            "--evolution.generations out"
        ) from None
    start = np.asarray(start, dtype=float)
    if len(start) < 2:
        raise IdentificationError("got one free number for the evolution strategy, expected at least two: hop instead")
    best = Basin(start.copy(), value(start))
    # Zero would mean a seed of the clock.
    options = {"seed": cfg.seed + 1, "verbose": -9, "maxiter": cfg.generations}
    if cfg.population:
        options["popsize"] = cfg.population
    strategy = cma.CMAEvolutionStrategy(start, cfg.step, options)
    with Processes(cfg.workers) as run:
        while not strategy.stop():
            places = strategy.ask()
            costs = [each if math.isfinite(each) else BAD for each in run(value, places)]
            strategy.tell(places, costs)
            first = int(np.argmin(costs))
            if costs[first] < best.value:
                best = Basin(np.array(places[first]), costs[first])
            if report is not None:
                report(f"generation {strategy.countiter} of {cfg.generations}: best cost {best.value:.5g}")
    return best


__all__ = ["Basin", "EvolutionCfg", "Value", "evolve"]
