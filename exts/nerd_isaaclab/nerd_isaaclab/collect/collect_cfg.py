# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What to collect."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .excitation import DEFAULT_SHARES
from .initial_states import InitialStateCfg


@dataclass(frozen=True)
class CollectCfg:
    """What to collect."""

    task: str
    """Id of a task with a robot that a model can drive; see ``nerd list-envs``."""
    transitions: int = 1_000_000
    """Number of control steps to record, over all workers."""
    steps: int = 100
    """Length of a trajectory [control steps]."""
    num_envs: int = 512
    """Environments of each worker. 64 to 512 use a CPU's caches best."""
    seed: int = 0
    """Seed of everything that is drawn."""
    shares: dict[str, float] = field(default_factory=lambda: dict(DEFAULT_SHARES))
    """Share of trajectories by kind of excitation: random, held, ou, spline, pd, zero."""
    initial: Literal["wide", "task"] = "wide"
    """First states: drawn from wide ranges, or as the task resets its robot."""
    ranges: InitialStateCfg = field(default_factory=InitialStateCfg)
    """The wide ranges."""
    teacher_mode: Literal["continuous", "rewritten"] = "continuous"
    """``continuous``: the solver runs on, keeping its friction history. ``rewritten``: its state is written back
    before each physics step, which makes the next state a function of state and control alone."""
    contacts: Literal["none", "geometry"] = "none"
    """Contacts to store with each step; they can always be computed later from states and ground."""
    physics: str = "ovphysx"
    """Physics preset of the task that teaches."""
