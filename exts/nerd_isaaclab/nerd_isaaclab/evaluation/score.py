# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Scores a policy over whole episodes, in quantities a person can picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from tqdm import tqdm

from nerd_core.checkpoint_names import find_checkpoint
from nerd_core.files.bounds import SEED, bounded, check_bounds
from nerd_core.files.serialization import from_plain
from nerd_core.training.feasibility import choose_device

from ..collect.collect_cfg import MAX_ENVS
from ..launch.engine_process import EngineProcess
from ..launch.host import host_facts
from ..launch.task_ids import check_task
from ..policies.load import load_policy
from ..policies.play import PlayResult


class ScoreError(ValueError):
    """A policy that could not be scored."""


@dataclass(frozen=True)
class ScoreCfg:
    """Which policy to score, and how."""

    task: str
    """Id of the task. Its registration may say what is measured beside the return (``score_entry_point``)."""
    policy: str | Path
    """Policy file, folder that ``nerd rl export`` has written, or log folder of a run."""
    checkpoint: str | Path | None = None
    """Model that steps the robot, its directory or the name of a shipped one. None: PhysX does, unless the overrides
    say otherwise."""
    num_envs: int = bounded(256, at_least=1, at_most=MAX_ENVS)
    """Environments, and so episodes."""
    seed: int = bounded(1, **SEED)
    """Seed of the starts and of all that is drawn later: commands, noise."""
    device: str | None = None
    """Device of simulation and policy; None: cuda:0, or cpu where there is none."""
    record: str | Path | None = None
    """File for the states of the first episodes, JSON."""
    overrides: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Isaac Lab's overrides of the configuration: physics=NAME, env.<field>=<value>."""

    def __post_init__(self):
        check_bounds(self, ScoreError)
        for word in self.overrides:
            if word.startswith("-") or "=" not in word:
                raise ScoreError(
                    f"got the unknown argument '{word}', expected words like env.<field>=<value>; an option takes one "
                    "value, and a * that several folders match gives more"
                )

    def all_overrides(self) -> tuple[str, ...]:
        """The overrides, and those that let the model step the robot."""
        if self.checkpoint is None:
            return self.overrides
        path = find_checkpoint(self.checkpoint)
        return ("env.nerd.mode=neural", f"env.nerd.checkpoint={path}", *self.overrides)


@dataclass(frozen=True)
class ScoreResult(PlayResult):
    """What was measured, and what made it."""

    task: str
    """Id of the task."""
    seed: int
    """Seed of the starts."""
    policy: dict[str, Any]
    """What the policy's file says of its making."""
    host: dict[str, Any]
    """The machine."""
    versions: dict[str, str | None]
    """Versions of the packages that decide the numbers."""


def score(cfg: ScoreCfg, quiet: bool = False) -> ScoreResult:
    """Plays one episode in each environment with the mean action of a policy, and measures the episodes.

    The engine runs in a process of its own, so this may be called any number of times in one Python session.

    .. code-block:: python

        from nerd_isaaclab.evaluation.score import ScoreCfg, score

        result = score(ScoreCfg("NeRD-Cartpole", policy="policies/NeRD-Cartpole", num_envs=64))
        print(result.scores["return"].mean, result.ends)

    Args:
        cfg: Which policy to score, and how.
        quiet: Whether to show no progress.

    Raises:
        ValueError: There is no such task or model, before anything is started; or the message of the process.
        FileNotFoundError: There is no such policy.
    """
    check_task(cfg.task)
    if cfg.device is not None:
        choose_device(cfg.device)
    policy = load_policy(cfg.policy)
    cfg.all_overrides()
    with tqdm(unit="step", desc="score", disable=True if quiet else None) as bar:

        def show(progress: dict[str, int]) -> None:
            bar.total = progress["steps"]
            bar.update(progress["step"] - bar.n)
            bar.set_postfix_str(f"{progress['playing']} playing")

        process = EngineProcess("nerd_isaaclab.evaluation.score_worker", cfg, on_progress=show)
        plain = process.wait(ScoreError)
    origin = {"task": cfg.task, "seed": cfg.seed, "policy": policy.facts, **host_facts()}
    return from_plain(ScoreResult, plain | origin)
