# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The experiment with robots that are there: examples, a network, and a course that everybody walks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .controller import Planner, TrotController, WalkCfg
from .convex_mpc import GRAVITY, ConvexMpc, MpcCfg
from .force_network import Fit, FitCfg
from .gait import Gait
from .imitation import Examples, imitate
from .problem import ForceProblem
from .quadruped import Quadruped
from .run import MpcWalkCfg
from .timing import measure
from .walking import CourseCfg, Robots, Walk, walk

ROUNDS = (0.6, 0.2, 0.2)
"""Shares of the examples: while the programme drives, and twice while a network does."""
COURSE_SEED = 1000
"""Added to the seed for the course on which everybody is measured, which no example comes from."""
DRAWN_EVERY = 10
"""Physics steps between two points of a plot."""


class Study:
    """Robots that walk with one planner after the other."""

    def __init__(self, cfg: MpcWalkCfg, robots: Robots, body: Quadruped, say: Callable[[str], None]):
        """Keeps who walks.

        Args:
            cfg: Settings.
            robots: The robots.
            body: Their description.
            say: Is told of the progress.
        """
        self.cfg, self.robots, self.body, self.say = cfg, robots, body, say
        self.gait, self.mpc, self.walking, self.course = Gait(), MpcCfg(), WalkCfg(), CourseCfg()

    def run(self) -> dict[str, Any]:
        """Collects, trains and measures; returns figures, and series for the plot."""
        fit, examples = self._imitate()
        figures: dict[str, Any] = {}
        series: dict[str, Any] = {}
        planners = {"qp": self._programme(self.robots.count), "network": fit.network, "even": self.even}
        for name, planner in planners.items():
            went = self.walk_with(planner, self.cfg.walk_seconds, self.cfg.seed + COURSE_SEED)
            self.say(f"{name}: {went.velocity_error:.3f} m/s from the wanted velocity, {went.falls} falls")
            figures[f"velocity_error_{name}"] = went.velocity_error
            figures[f"turning_error_{name}"] = went.turning_error
            figures[f"falls_{name}"] = went.falls
            series[name] = went.velocity[::DRAWN_EVERY, 0].round(4).tolist()
            series["target"] = went.target[::DRAWN_EVERY, 0].round(4).tolist()
        return {
            "figures": figures | self._times(fit, examples) | self._facts(fit, examples),
            "series": series,
            "sample_dt": DRAWN_EVERY * self.robots.dt,
        }

    def walk_with(self, planner: Planner, seconds: float, seed: int) -> Walk:
        """Lets the robots walk a course.

        Args:
            planner: Plans the forces.
            seconds: Length of the course [s].
            seed: Seed of the course.
        """
        controller = TrotController(self.body, self.gait, self.walking, planner, self.robots.count, self.robots.dt)
        return walk(self.robots, controller, self.body, self.mpc.height, self.course, seconds, seed)

    def even(self, problem: ForceProblem) -> NDArray[np.float64]:
        """A planner that looks at nothing: the weight, in equal parts on the feet that stand."""
        forces = np.zeros((len(problem), 4, 3))
        stands = self.gait.stands(problem.time)
        forces[..., 2] = stands * self.body.mass * GRAVITY / np.maximum(stands.sum(-1, keepdims=True), 1)
        return forces

    def _programme(self, count: int) -> ConvexMpc:
        return ConvexMpc(self.body, self.gait, self.mpc, count)

    def _imitate(self) -> tuple[Fit, Examples]:
        def collect(planner: Planner, transitions: int, seed: int) -> None:
            plans = -(-transitions // self.robots.count)
            self.walk_with(planner, plans * self.walking.plan_steps * self.robots.dt, seed)

        teacher, cfg = self._programme(self.robots.count), self.cfg
        return imitate(teacher, collect, ROUNDS, cfg.transitions, FitCfg(epochs=cfg.epochs), cfg.seed, self.say)

    def _times(self, fit: Fit, examples: Examples) -> dict[str, float]:
        """Times for the first robot on the walk of the first round, which the programme drove."""
        problems = [problem.rows(slice(0, 1)) for problem in examples.problems[: self.cfg.timed]]
        times = measure(self._programme(1), fit.network, problems)
        return {
            **times._asdict(),
            "speed_up": times.qp_ms / times.network_ms,
            "speed_up_published": times.qp_published_ms / times.network_ms,
            "speed_up_plan": times.qp_plan_ms / times.network_plan_ms,
        }

    def _facts(self, fit: Fit, examples: Examples) -> dict[str, float]:
        return {
            "transitions": min(len(examples), self.cfg.transitions),
            "network_parameters": fit.network.size,
            "force_error": fit.error,
            "force_spread": fit.spread,
            "robot_seconds": self.cfg.walk_seconds * self.robots.count,
        }
