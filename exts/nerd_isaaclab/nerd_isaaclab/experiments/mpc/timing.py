# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How long the programme and the network take for one robot, in turns on the same problems of a walk."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .convex_mpc import ConvexMpc
from .force_network import ForceNetwork
from .problem import ForceProblem, features

BLOCK = 20
"""Problems that one planner is given before it is the turn of the next: each has the caches to itself, as when it walks
a robot alone, and all see the same of whatever else the machine does."""


class Times(NamedTuple):
    """Medians over the problems."""

    qp_ms: float
    """OSQP alone: new matrices, the last solution to begin with, and the solution [ms]."""
    network_ms: float
    """The network alone, one problem at a time [ms]."""
    qp_plan_ms: float
    """From a problem to forces with the programme: its matrices, and OSQP [ms]."""
    network_plan_ms: float
    """From a problem to forces with the network: its features, the network, and limits [ms]."""
    qp_published_ms: float
    """As ``qp_ms``, for the published programme: with feet in the air, 120 numbers and 200 constraints [ms]."""
    qp_slowest_ms: float
    """The slowest hundredth of what ``qp_ms`` is the median of [ms]."""
    network_slowest_ms: float
    """The slowest hundredth of what ``network_ms`` is the median of [ms]."""


def measure(mpc: ConvexMpc, network: ForceNetwork, problems: Sequence[ForceProblem]) -> Times:
    """Measures both on one walk.

    Args:
        mpc: The programme, for one robot.
        network: The network.
        problems: Problems of one robot, in the order in which it met them, so that solutions help their successors.
    """
    published = ConvexMpc(mpc.body, mpc.gait, replace(mpc.cfg, keeps_swinging=True))
    seen = [features(problem, network.gait, network.cfg.horizon).astype(np.float32) for problem in problems]
    qp, alone, plan, whole, large = [], [], [], [], []
    for first in range(0, len(problems), BLOCK):
        rows = range(first, min(first + BLOCK, len(problems)))
        for row in rows:
            before = mpc.solver_seconds
            plan.append(_seconds(mpc, problems[row]))
            qp.append(mpc.solver_seconds - before)
        for row in rows:
            before = published.solver_seconds
            published(problems[row])
            large.append(published.solver_seconds - before)
        alone += [_seconds(network.evaluate, seen[row]) for row in rows]
        whole += [_seconds(network, problems[row]) for row in rows]
    medians = [1.0e3 * statistics.median(each) for each in (qp, alone, plan, whole, large)]
    return Times(*medians, *(1.0e3 * float(np.quantile(each, 0.99)) for each in (qp, alone)))


def _seconds(call: Callable[[Any], Any], argument: Any) -> float:
    begin = time.perf_counter()
    call(argument)
    return time.perf_counter() - begin
