# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Local search by gradients, with windows that grow, and global search by basin hopping over processes.

Long roll-outs of a wrong model tell little, and their gradients point anywhere; short ones are nearly linear. So the
search begins with short windows and goes on with longer ones.

Example::

    value = descend(cost, DescentCfg(driver="lbfgs"), report=print)
    best = hop(local_search, start, step=0.5, cfg=HoppingCfg(hops=8, workers=2))
"""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..files.bounds import bounded, check_bounds
from .cost import RolloutCost
from .parameterisation import IdentificationError

FIRST_DAMPING, LARGEST_DAMPING = 1.0e-3, 1.0e6
"""Damping with which least squares begin, and from which they give up."""

LONGEST_STEP = 0.7
"""Longest step of least squares in each number: a factor of two."""

SMALLEST_GAIN = 1.0e-5
"""Share of the cost below which least squares have come to their end."""

HOP_RANGE = (0.3, 2.0)
"""Smallest and largest size of a hop beside the usual one."""


@dataclass(frozen=True)
class DescentCfg:
    """How to go downhill."""

    driver: Literal["lbfgs", "adam", "least_squares"] = "lbfgs"
    """L-BFGS on all windows, Adam on some of them at a time (many learned weights), or least squares by Levenberg and
    Marquardt on all windows, whose derivatives are differences (few parameters, noisy motion; not of first states)."""
    growth: tuple[float, ...] = bounded((0.1, 0.3, 1.0), above=0.0, at_most=1.0)
    """Shares of the windows' length that are looked at, one stage after the other."""
    iterations: int = bounded(20, at_least=1)
    """Iterations of a stage."""
    batch: int = bounded(192, at_least=1)
    """Windows of an iteration of Adam."""
    learning_rate: float = bounded(0.02, above=0.0)
    """First step of Adam; it falls to zero over each stage."""
    seed: int = bounded(0, at_least=0)
    """Seed of the choice of windows."""

    def __post_init__(self):
        check_bounds(self)
        if not self.growth or list(self.growth) != sorted(self.growth):
            raise IdentificationError(f"got the shares {self.growth} of windows, expected at least one, rising")


def descend(
    cost: RolloutCost, cfg: DescentCfg | None = None, report: Callable[[str], None] | None = None, first_stage: int = 0
) -> float:
    """Moves the variables of a cost downhill, in place, and returns the cost of whole windows.

    Args:
        cost: The cost.
        cfg: How.
        report: Told of each stage, in words.
        first_stage: Stage to begin with, to go on with an earlier search.
    """
    cfg = cfg or DescentCfg()
    before = cost.value(_steps(cost, cfg.growth[first_stage]) if first_stage < len(cfg.growth) else None)
    if not math.isfinite(before):
        raise IdentificationError(
            f"the roll-outs of '{cost.predictor.spec.name}' are not finite before any search: expected shorter windows "
            "(--seconds), or a specification to start from that is nearer to the robot"
        )
    for stage in range(first_stage, len(cfg.growth)):
        steps = _steps(cost, cfg.growth[stage])
        run = {"lbfgs": _lbfgs, "adam": _adam, "least_squares": _least_squares}[cfg.driver]
        run(cost, cfg, steps, stage)
        if report is not None:
            report(f"windows of {steps} steps: cost {cost.value(steps):.5g}")
    return cost.value()


def _steps(cost: RolloutCost, share: float) -> int:
    """Steps of a share of the windows' length."""
    return max(1, round(share * cost.windows.steps))


def _lbfgs(cost: RolloutCost, cfg: DescentCfg, steps: int, stage: int) -> None:
    leaves = cost.variables.leaves()
    if not leaves:
        return
    optimiser = torch.optim.LBFGS(
        leaves, max_iter=cfg.iterations, history_size=20, line_search_fn="strong_wolfe", tolerance_grad=1e-9
    )
    best, kept = cost.value(steps), [each.detach().clone() for each in leaves]

    def closure() -> float:
        nonlocal best, kept
        optimiser.zero_grad()
        value = cost.backward(steps)
        if not math.isfinite(value):
            return 1.0e6  # too far: the line search comes back
        if value < best:
            best, kept = value, [each.detach().clone() for each in leaves]
        return value

    optimiser.step(closure)
    _set(leaves, kept)


def _adam(cost: RolloutCost, cfg: DescentCfg, steps: int, stage: int) -> None:
    leaves = cost.variables.leaves()
    if not leaves:
        return
    random = torch.Generator().manual_seed(cfg.seed + stage)
    optimiser = torch.optim.Adam(leaves, lr=cfg.learning_rate)
    count = len(cost.windows)
    for iteration in range(cfg.iterations):
        for group in optimiser.param_groups:
            group["lr"] = cfg.learning_rate * (1.0 - iteration / cfg.iterations)
        optimiser.zero_grad()
        index = torch.randperm(count, generator=random)[: cfg.batch]
        kept = [each.detach().clone() for each in leaves]
        if not math.isfinite(cost.backward(steps, index)):
            _set(leaves, kept)
            continue
        torch.nn.utils.clip_grad_norm_(leaves, 1.0)
        optimiser.step()


@torch.no_grad()
def _least_squares(cost: RolloutCost, cfg: DescentCfg, steps: int, stage: int) -> None:
    """Levenberg (1944) and Marquardt (1963), each window weighted by how much it counts at the present errors."""
    leaves = [each for each in (cost.variables.free, *cost.variables.weights) if each.numel()]
    if not leaves:
        return
    if cost.variables.first is not None:
        raise IdentificationError("got first_state_noise with least_squares, expected lbfgs to look for first states")
    damping, value = FIRST_DAMPING, cost.value(steps)
    for _ in range(cfg.iterations):
        errors, jacobian = cost.residuals(steps), cost.jacobian(steps)
        weight = cost.influence(errors) / errors[0].numel() / len(errors)
        hessian = torch.einsum("nea,n,neb->ab", jacobian, weight, jacobian)
        slope = torch.einsum("nea,n,ne->a", jacobian, weight, errors.flatten(1))
        first, second = cost.prior_slopes()
        # The cost is a sum of squares without a half: half of its derivatives stand here.
        hessian, slope = hessian + 0.5 * torch.diag(second), slope + 0.5 * first
        now = torch.cat([each.flatten() for each in leaves])
        while damping < LARGEST_DAMPING:
            diagonal = hessian.diagonal() + 1e-3 * hessian.diagonal().mean() + 1e-300
            step = torch.linalg.solve(hessian + damping * torch.diag(diagonal), slope)
            _set(leaves, _split_like(now - step.clamp(-LONGEST_STEP, LONGEST_STEP), leaves))
            tried = cost.value(steps)
            if tried < value:
                break
            damping *= 10.0
        else:
            _set(leaves, _split_like(now, leaves))
            return
        gain, value, damping = value - tried, tried, damping * 0.2
        if gain < SMALLEST_GAIN * value:
            return


def _split_like(numbers: Tensor, leaves: list[Tensor]) -> list[Tensor]:
    """One vector as tensors of the shapes of others."""
    parts = numbers.split([each.numel() for each in leaves])
    return [part.view_as(each) for part, each in zip(parts, leaves, strict=True)]


@torch.no_grad()
def _set(leaves: list[Tensor], values: list[Tensor]) -> None:
    for leaf, value in zip(leaves, values, strict=True):
        leaf.copy_(value)


# -- global search ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HoppingCfg:
    """How to hop from basin to basin."""

    hops: int = bounded(0, at_least=0)
    """Rounds of hops; 0 for none."""
    workers: int = bounded(1, at_least=1, at_most=256)
    """Processes, each of which makes a hop of its own in a round."""
    step: float = bounded(0.5, above=0.0)
    """Usual standard deviation of a hop, in free numbers. Each hop draws its own, within :data:`HOP_RANGE` of it: which
    is right, nobody knows before."""
    temperature: float = bounded(0.02, at_least=0.0)
    """How much worse a basin may be, as a share of the best cost, to be hopped on from as often as not."""
    seed: int = bounded(0, at_least=0)
    """Seed of the hops."""

    def __post_init__(self):
        check_bounds(self)


class Basin(NamedTuple):
    """The bottom of a basin."""

    place: np.ndarray
    """Where it is, shape (dim,)."""
    value: float
    """Its cost."""


LocalSearch = Callable[[np.ndarray], tuple[np.ndarray, float]]
"""From a place to the bottom of its basin and the cost there. For more than one process it must be picklable."""


def hop(search: LocalSearch, start: np.ndarray, cfg: HoppingCfg, report: Callable[[str], None] | None = None) -> Basin:
    """Parallel basin hopping (Wales and Doye 1997): random hops from a good basin, each followed by a local search.

    In each round every process hops from the basin where the chain stands. The best of the round is taken if it is
    better, and else with a probability that falls with how much worse it is; the best of all is returned.

    Args:
        search: Finds the bottom of a basin.
        start: Where to begin, shape (dim,).
        cfg: How to hop.
        report: Told of each round, in words.
    """
    random = np.random.default_rng(cfg.seed)
    here = best = Basin(*search(np.asarray(start, dtype=float)))
    with Processes(cfg.workers) as run:
        for number in range(cfg.hops):
            steps = cfg.step * np.exp(random.uniform(math.log(HOP_RANGE[0]), math.log(HOP_RANGE[1]), cfg.workers))
            places = [here.place + step * random.standard_normal(len(here.place)) for step in steps]
            found = [Basin(*each) for each in run(search, places)]
            sound = [each for each in found if math.isfinite(each.value)]
            if not sound:
                continue
            tried = min(sound, key=lambda each: each.value)
            allowed = cfg.temperature * abs(best.value) + 1e-300
            if tried.value < here.value or random.random() < math.exp(-(tried.value - here.value) / allowed):
                here = tried
            best = min(best, here, key=lambda each: each.value)
            if report is not None:
                report(f"hop {number + 1} of {cfg.hops}: best cost {best.value:.5g}")
    return best


class Processes:
    """Runs a function for several places, in processes if there is more than one."""

    def __init__(self, count: int):
        """Starts the processes.

        Args:
            count: How many.
        """
        self._pool = None
        if count > 1:
            self._pool = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _one_thread)

    def __enter__(self) -> Callable[[Callable[[np.ndarray], Any], list[np.ndarray]], list[Any]]:
        return lambda function, places: list((map if self._pool is None else self._pool.map)(function, places))

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def _one_thread() -> None:
    torch.set_num_threads(1)


class Descent:
    """A local search of the free numbers alone, for :func:`hop`; picklable."""

    def __init__(self, cost: RolloutCost, cfg: DescentCfg):
        """Keeps what to search.

        Args:
            cost: The cost.
            cfg: How to go downhill.
        """
        self.cost, self.cfg = cost, cfg

    def __call__(self, place: np.ndarray) -> tuple[np.ndarray, float]:
        """The bottom of the basin of some free numbers, and its cost; infinity where nothing can be rolled out."""
        free = self.cost.variables.free
        with torch.no_grad():
            free.copy_(torch.from_numpy(place))
        try:
            value = descend(self.cost, self.cfg)
        except IdentificationError:
            return place, math.inf
        return free.detach().numpy().copy(), value


__all__ = ["Basin", "Descent", "DescentCfg", "HoppingCfg", "LocalSearch", "Processes", "descend", "hop"]
