# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What to collect."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .excitation import DEFAULT_SHARES

Initial = Literal["wide", "task"]
TeacherMode = Literal["continuous", "rewritten"]
ContactChoice = Literal["none", "geometry", "sensor", "both"]
GroundChoice = Literal["task", "random-planes"]


class CollectError(ValueError):
    """Choices that do not go together, or a robot whose trajectories are all unusable."""


@dataclass(frozen=True)
class CollectCfg:
    """What to collect."""

    task: str
    """Id of a task with a robot that a model can drive; see ``nerd list-envs``."""
    steps: int = 100
    """Length of a trajectory [control steps]; with managers the most, since resets cut."""
    num_envs: int = 512
    """Environments of each worker. 64 to 512 use a CPU's caches best."""
    seed: int = 0
    """Seed of everything that is drawn."""
    shares: dict[str, float] = field(default_factory=lambda: dict(DEFAULT_SHARES))
    """Share of trajectories by kind of excitation."""
    initial: Initial = "wide"
    """First states: drawn from wide ranges, or as the task resets its robot."""
    ranges: dict[str, tuple[float, ...]] = field(default_factory=dict)
    """Changes of the robot's wide ranges."""
    teacher_mode: TeacherMode = "continuous"
    """``continuous``: the solver runs on, keeping its friction history. ``rewritten``: its state is written back
    before each physics step, which makes the next state a function of state and control alone."""
    visited: str | None = None
    """Checkpoint of a model whose own roll-outs, from the first states that :attr:`initial` names, give the first
    states of the trajectories."""
    visited_hash: str = ""
    """Hash of the model, so that a dataset is not continued with another one."""
    visited_steps: int = 300
    """Length of the model's roll-outs [control steps]; with managers the most, each batch draws its own."""
    managers: bool = False
    """Whether the task runs with all its managers; otherwise only the robot is stepped."""
    policy: str | None = None
    """Policy file or log folder of a run, for the kind ``policy``."""
    policy_hash: str = ""
    """SHA-256 of the policy's weights, so that a dataset is not continued with another one."""
    policy_noise: float = 0.3
    """Largest standard deviation of the noise on the policy's actions; each trajectory draws its own below it."""
    contacts: ContactChoice = "none"
    """Contacts to store with each step: by geometry, or by the solver with the forces on the bodies; ``both`` stores
    those by geometry and the forces, and compares the two sources."""
    ground: GroundChoice = "task"
    """The ground of the task, or a random plane for each trajectory."""
    physics: str = "ovphysx"
    """Physics preset of the task that teaches."""

    def __post_init__(self):
        if self.managers and self.teacher_mode == "rewritten":
            raise CollectError("--teacher-mode rewritten steps without managers: leave out --managers")
        if self.managers and self.ground != "task":
            raise CollectError("--ground random-planes steps without managers: leave out --managers")
        if self.ground != "task" and self.initial != "wide":
            raise CollectError("--ground random-planes needs --initial wide, so that nothing starts inside a plane")
        if self.policy is not None and not self.managers:
            raise CollectError("--policy needs --managers: a policy acts on the task's observations")
        if self.visited is not None and self.ground != "task":
            raise CollectError("--visited needs the ground of the task: leave out --ground")
        if self.visited_steps < 1:
            raise CollectError(f"got --visited-steps {self.visited_steps}, expected at least 1")
        if "policy" in self.shares and self.policy is None:
            raise CollectError("got a share for the excitation 'policy', expected --policy PATH with it")
