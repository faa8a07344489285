# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a refinement is asked for."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import tyro

from nerd_core.files.bounds import SEED, bounded, check_bounds

from ..collect.collect_cfg import MAX_ENVS, MAX_STEPS
from ..collect.run import MAX_WORKERS
from .stopping import StopCfg


class RefineError(ValueError):
    """A refinement that cannot be begun, or asks for what does not go together."""


@dataclass(frozen=True)
class RefineCfg:
    """Which model to refine, for which task, and how large each part of a round is."""

    task: str
    """Task whose policy is to transfer; it needs an RSL-RL agent."""
    model: str | Path
    """Model to begin with, of either kind: a directory, or the name of a shipped one."""
    data: tuple[Path, ...] = ()
    """Datasets that the model learned from, to be mixed with the motion of the policies: so that what it knows of
    other motion is not forgotten."""
    stop: Annotated[StopCfg, tyro.conf.arg(name="")] = StopCfg()
    """When to stop."""
    iterations: int = bounded(150, at_least=1, at_most=1_000_000)
    """Iterations of each policy's training."""
    num_envs: int = bounded(512, at_least=1, at_most=MAX_ENVS)
    """Environments of each policy's training."""
    episodes: int = bounded(256, at_least=2, at_most=MAX_ENVS)
    """Episodes in each mode that a gap is measured with."""
    transitions: int = bounded(200_000, at_least=1)
    """Control steps of PhysX under the policy that a round adds."""
    steps: int = bounded(300, at_least=1, at_most=MAX_STEPS)
    """Most steps of these trajectories; each begins with a reset of the task."""
    takeover_transitions: int = bounded(50_000, at_least=0)
    """Control steps that a round adds from states which the policy reaches in the model, where PhysX takes over; 0 for
    none."""
    takeover_steps: int = bounded(16, at_least=1, at_most=MAX_STEPS)
    """Length of these trajectories."""
    visited_steps: int = bounded(150, at_least=1, at_most=MAX_STEPS)
    """Most steps of the policy in the model before PhysX takes over."""
    collect_envs: int = bounded(256, at_least=1, at_most=MAX_ENVS)
    """Environments of each worker of a collection."""
    workers: int = bounded(1, at_least=1, at_most=MAX_WORKERS)
    """Processes of a collection."""
    policy_noise: float = bounded(0.3, at_least=0.0)
    """Largest standard deviation of the noise on the policy's actions while data are collected."""
    minutes: float | None = bounded(3.0, above=0.0)
    """Budget of each training of the model [min], where no updates are given."""
    updates: int | None = bounded(None, at_least=1)
    """Updates of each training of the model, instead of minutes: the result is then a function of the seed."""
    train_options: str = ""
    """Further words for each 'nerd train', as one text: --train-options="--optimiser.lr 3e-3"."""
    seed: int = bounded(0, **SEED)
    """Seed of everything that is drawn."""
    overrides: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Changes of the task, env.<field>=<value>, and of its agent, agent.<field>=<value>."""

    def __post_init__(self):
        check_bounds(self, RefineError)
        if self.minutes is None and self.updates is None:
            raise RefineError("got neither minutes nor updates, expected a budget of each training: set one of them")
        for word in self.overrides:
            name = word.partition("=")[0]
            if "=" not in word or not name.startswith(("env.", "agent.")):
                raise RefineError(
                    f"got the unknown word '{word}', expected words like env.<field>=<value> or agent.<field>=<value>"
                )
            if name in ("env.nerd.mode", "env.nerd.checkpoint"):
                raise RefineError(f"got the override '{word}', expected none of it: each phase sets mode and model")
        try:
            shlex.split(self.train_options)
        except ValueError as error:
            raise RefineError(f"got train_options={self.train_options!r}, which is no command line: {error}") from None

    @property
    def task_overrides(self) -> tuple[str, ...]:
        """The changes of the task alone."""
        return tuple(word for word in self.overrides if word.startswith("env."))


def smoke(cfg: RefineCfg) -> RefineCfg:
    """The same in sizes that only show that every phase runs.

    Args:
        cfg: What was asked for.
    """
    return replace(
        cfg,
        stop=StopCfg(target=1.0e-6, rounds=1, patience=0),  # so that there is a round
        iterations=3,
        num_envs=32,
        episodes=16,
        transitions=3_200,
        steps=50,
        takeover_transitions=512,
        takeover_steps=8,
        visited_steps=20,
        collect_envs=64,
        workers=1,
        updates=20,
        train_options="--batch-size 64 --validations 1 --validation-horizons 10 --optimiser.lr 1e-4",
    )


__all__ = ["RefineCfg", "RefineError", "smoke"]
