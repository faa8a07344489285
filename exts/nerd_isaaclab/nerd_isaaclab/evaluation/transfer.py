# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Compares the scores of a policy in the learned dynamics and in the solver."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from nerd_core.files.bounds import SEED, bounded, check_bounds

from ..checkpoints.shipped import find_checkpoint
from ..collect.collect_cfg import MAX_ENVS
from ..launch.task_ids import check_task
from ..policies.load import load_policy
from .score import ScoreCfg, ScoreError, ScoreResult, score

Mode = Literal["physx", "neural"]


class TransferError(ValueError):
    """A mode in which the policy could not be scored."""


@dataclass(frozen=True)
class TransferCfg:
    """Which policy to compare in which model."""

    task: str
    """Task to play."""
    policy: str | Path
    """Policy file, folder that ``nerd rl export`` has written, or log folder of a run."""
    checkpoint: str | Path
    """Directory of the model, or the name of a shipped one."""
    episodes: int = bounded(512, at_least=1, at_most=MAX_ENVS)
    """Episodes in each mode."""
    seed: int = bounded(1, **SEED)
    """Seed of the starts."""
    record: str | Path | None = None
    """Folder for the motion of the first episodes: ``physx.json`` and ``neural.json``."""
    overrides: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Changes of the task's configuration, env.<field>=<value>."""

    def __post_init__(self):
        check_bounds(self, TransferError)


@dataclass(frozen=True)
class TransferResult:
    """The scores of both modes."""

    task: str
    """Id of the task."""
    checkpoint: str
    """Name of the model."""
    episodes: int
    """Episodes in each mode."""
    reward_gap: float | None
    """Mean return in the model less that in PhysX, as a share of the latter; None where the latter is zero."""
    modes: dict[str, ScoreResult]
    """Scores by mode: ``physx`` and ``neural``."""


def transfer(cfg: TransferCfg, quiet: bool = False) -> TransferResult:
    """Scores a policy in PhysX and in a model: the same starts, the same seed, whole episodes, the mean action.

    A reward that agrees is a weak proof; compare lengths, terminations and reward terms, too. Each mode runs in a
    process with an engine of its own, so this may be called any number of times in one Python session.

    .. code-block:: python

        from nerd_isaaclab.evaluation.transfer import TransferCfg, transfer

        result = transfer(TransferCfg("NeRD-Cartpole", policy="policies/NeRD-Cartpole", checkpoint="cartpole"))
        print(result.reward_gap, result.modes["neural"].scores["length"])

    Args:
        cfg: Which policy to compare in which model.
        quiet: Whether to show no progress.

    Raises:
        ValueError: There is no such task or model, before anything is started; or the policy could not be scored.
        FileNotFoundError: There is no such policy.
    """
    check_task(cfg.task)
    for word in cfg.overrides:
        if word.lstrip("+~").split("=")[0] in ("env.nerd.mode", "env.nerd.checkpoint"):
            raise TransferError(
                f"got the override '{word}', expected none of env.nerd.mode and env.nerd.checkpoint: both modes are "
                "run, the second with --checkpoint"
            )
    find_checkpoint(cfg.checkpoint)
    load_policy(cfg.policy)
    neural_first = {mode: _score(cfg, mode, quiet) for mode in ("neural", "physx")}  # a wrong model is told at once
    modes = dict(reversed(neural_first.items()))
    physx, neural = (modes[mode].scores["return"].mean for mode in ("physx", "neural"))
    gap = (neural - physx) / abs(physx) if physx else None
    return TransferResult(cfg.task, Path(cfg.checkpoint).name, cfg.episodes, gap, modes)


def _score(cfg: TransferCfg, mode: Mode, quiet: bool) -> ScoreResult:
    """Scores the policy in one mode."""
    if not quiet:
        print(f"scoring {cfg.episodes} episodes in {mode} mode", file=sys.stderr)
    asked = ScoreCfg(
        task=cfg.task,
        policy=cfg.policy,
        checkpoint=cfg.checkpoint if mode == "neural" else None,
        num_envs=cfg.episodes,
        seed=cfg.seed,
        record=None if cfg.record is None else Path(cfg.record, f"{mode}.json"),
        overrides=(*(("env.nerd.mode=physx",) if mode == "physx" else ()), *cfg.overrides),
    )
    try:
        return score(asked, quiet)
    except ScoreError as error:
        raise TransferError(f"the policy could not be scored in {mode} mode: {error}") from error
