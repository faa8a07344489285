# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What to collect."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from nerd_core.files.bounds import SEED, bounded, check_bounds

from .excitation import DEFAULT_SHARES, LEAN_KINDS, MANAGED_KINDS, check_shares
from .robot_ranges import ranges_of

Initial = Literal["auto", "wide", "task"]
TeacherMode = Literal["continuous", "rewritten"]
ContactChoice = Literal["none", "geometry", "sensor", "both"]
GroundChoice = Literal["task", "random-planes"]

MAX_ENVS = 2**20
"""Most environments of an engine that are asked for. It has to hold them all, and a GPU holds some ten thousand."""

MAX_STEPS = 1_000_000
"""Longest trajectory [control steps], hours of motion."""


class CollectError(ValueError):
    """Choices that do not go together, or a robot whose trajectories are all unusable."""


@dataclass(frozen=True)
class CollectCfg:
    """What to collect."""

    task: str
    """Id of a task with a robot that a model can drive; see ``nerd list-envs``."""
    steps: int = bounded(100, at_least=1, at_most=MAX_STEPS)
    """Length of a trajectory [control steps]; with managers the most, since resets cut."""
    num_envs: int = bounded(512, at_least=1, at_most=MAX_ENVS)
    """Environments of each worker. 64 to 512 use a CPU's caches best."""
    seed: int = bounded(0, **SEED)
    """Seed of everything that is drawn."""
    shares: Annotated[dict[str, float], tyro.conf.Suppress] = bounded(default_factory=dict, at_least=0.0)
    """Share of trajectories by kind of excitation, for instance ``{"held": 0.5, "policy": 0.5}``; the kinds are in
    :mod:`nerd_isaaclab.collect.excitation`. Empty: a mixture of all but bang and policy, or with a policy the policy
    alone."""
    initial: Initial = "auto"
    """First states: drawn from wide ranges, or as the task resets its robot. auto: task with managers, else wide."""
    ranges: Annotated[dict[str, tuple[float, ...]], tyro.conf.Suppress] = bounded(default_factory=dict)
    """Changes of the robot's wide ranges, for instance ``{"joint_vel": (3.0,), "root_height": (0.5, 1.0)}``."""
    teacher_mode: TeacherMode = "continuous"
    """continuous: the solver runs on and keeps its friction history. rewritten: its state is written back before each
    physics step, which makes the next state a function of state and control alone; see docs/collecting.md."""
    visited: str | None = None
    """Model, a directory or the name of a shipped one, whose own roll-outs from those first states give the first
    states instead: the solver then shows what should have happened where the model goes. For another round of
    training."""
    visited_steps: int = bounded(300, at_least=1, at_most=MAX_STEPS)
    """Length of these roll-outs [control steps]; with managers the most, each batch draws its own."""
    managers: bool = False
    """Run the task with all its managers, resets and events included, instead of its robot alone. Slower."""
    policy: str | Path | None = None
    """Policy that acts, a file or the log folder of a run; implies managers."""
    policy_noise: float = bounded(0.3, at_least=0.0)
    """Largest standard deviation of the noise on its actions; each trajectory draws its own below."""
    contacts: ContactChoice = "none"
    """Contacts to store with each step: by geometry, or by the solver (sensor) with the forces on the bodies. both
    stores geometry and forces and reports how well the two agree. none: they are computed when they are needed."""
    ground: GroundChoice = "task"
    """The ground of the task, or for robots with a fixed base a random plane for each trajectory."""
    action_reach: float | None = bounded(None, above=0.0)
    """Largest action to either side. None: what the task's own agent uses, its clip of the actions, or without one
    twice the standard deviation with which it begins to explore; 1 for a task without an RSL-RL agent."""
    randomised: bool = False
    """Whether events may give the robots different properties (masses, friction, gains, hidden wrenches). Otherwise
    they are held at the middle of their ranges: one model knows one robot."""
    physics: str = "ovphysx"
    """Physics preset of the task that teaches."""
    overrides: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Changes of the task's configuration, env.<field>=<value>."""

    def __post_init__(self):
        check_bounds(self, CollectError)
        managers = self.managers or self.policy is not None
        if managers and self.teacher_mode == "rewritten":
            raise CollectError("--teacher-mode rewritten steps without managers: leave out --managers")
        if managers and self.ground != "task":
            raise CollectError("--ground random-planes steps without managers: leave out --managers")
        if self.ground != "task" and self.initial == "task":
            raise CollectError("--ground random-planes needs --initial wide, so that nothing starts inside a plane")
        if self.visited is not None and self.ground != "task":
            raise CollectError("--visited needs the ground of the task: leave out --ground")

    def resolved(self) -> CollectCfg:
        """The same with every default that depends on other fields written out, and with shares that sum up to one.

        Raises:
            ExcitationError: A share of a kind that does not exist, or of one that does not go with these settings.
            InitialStateError: A range that does not exist, or a wrong number of numbers.
        """
        managers = self.managers or self.policy is not None
        kinds = MANAGED_KINDS if managers else LEAN_KINDS
        if self.shares:
            shares = check_shares(self.shares, kinds)
        elif self.policy is not None:
            shares = {"policy": 1.0}
        else:
            shares = check_shares({kind: share for kind, share in DEFAULT_SHARES.items() if kind in kinds})
        if "policy" in shares and self.policy is None:
            raise CollectError("got a share for the excitation 'policy', expected --policy PATH with it")
        ranges_of("", self.ranges)
        initial = self.initial if self.initial != "auto" else "task" if managers else "wide"
        return dataclasses.replace(self, managers=managers, shares=shares, initial=initial)
