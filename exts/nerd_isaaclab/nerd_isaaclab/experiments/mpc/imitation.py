# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Examples for the network: problems that robots meet while they walk, and what the programme answers.

First the programme drives. A network that has learned from that meets other problems, those that its own errors lead
to; so in further rounds the network of the round before drives, while the programme says what it would have done (Ross,
Gordon, Bagnell 2011, *A Reduction of Imitation Learning and Structured Prediction to No-Regret Online Learning*).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from . import Array
from .controller import Planner
from .convex_mpc import ConvexMpc
from .force_network import Fit, FitCfg, fit
from .problem import ForceProblem, features


@dataclass
class Examples:
    """Asks the programme, keeps its answers, and lets somebody drive."""

    teacher: ConvexMpc
    """The programme."""
    driver: Planner | None = None
    """Whose forces act; None for the programme's."""
    seen: list[Array] = field(default_factory=list)
    """Features, each of shape (N, 41)."""
    forces: list[Array] = field(default_factory=list)
    """Answers [N], each of shape (N, 4, 3)."""
    problems: list[ForceProblem] = field(default_factory=list)
    """The problems, each of N robots."""

    def __call__(self, problem: ForceProblem) -> Array:
        """Forces on the feet now, in the heading frame [N], shape (N, 4, 3)."""
        answer = self.teacher(problem)
        self.seen.append(features(problem, self.teacher.gait, self.teacher.cfg.horizon))
        self.forces.append(answer)
        self.problems.append(problem)
        return answer if self.driver is None else self.driver(problem)

    def __len__(self) -> int:
        return sum(map(len, self.seen))


def imitate(
    teacher: ConvexMpc,
    walk_with: Callable[[Planner, int, int], None],
    shares: tuple[float, ...],
    transitions: int,
    cfg: FitCfg,
    seed: int,
    say: Callable[[str], None],
) -> tuple[Fit, Examples]:
    """Trains a network in rounds.

    Args:
        teacher: The programme.
        walk_with: Lets robots walk with a planner until it has been asked a number of times for each robot, on a course
            with a seed.
        shares: Share of the transitions in each round.
        transitions: Number of transitions in all rounds.
        cfg: How the network is trained.
        seed: Seed.
        say: Is told of the progress.

    Returns:
        The network, and the examples.
    """
    examples, found = Examples(teacher), None
    for number, share in enumerate(np.cumsum(shares) / sum(shares)):
        wanted = round(transitions * float(share)) - len(examples)
        examples.driver = None if found is None else found.network
        walk_with(examples, wanted, seed + number)
        say(f"examples: {len(examples)} of {transitions}, driven by the {'network' if number else 'programme'}")
        # the last examples are held out: walks of a network that has not seen them
        seen, forces = np.concatenate(examples.seen), np.concatenate(examples.forces)
        found = fit(seen[:transitions], forces[:transitions], teacher.gait, teacher.cfg, cfg, seed, say)
    assert found is not None
    return found, examples
