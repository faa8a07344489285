# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Compares the scores of a policy in the learned dynamics and in the solver."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from nerd_core.checkpoint_names import find_checkpoint
from nerd_core.files.bounds import SEED, bounded, check_bounds

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
    """Seed of the starts and of all that is drawn later: commands, noise."""
    record: str | Path | None = None
    """Folder for the motion of the first episodes: ``physx.json`` and ``neural.json``."""
    physx: tuple[str, ...] = ()
    """Changes of the task's configuration in PhysX alone, where the robot there is not what the model's specification
    says: ``env.nerd.calibration=real.json``."""
    overrides: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Changes of the task's configuration, env.<field>=<value>."""

    def __post_init__(self):
        check_bounds(self, TransferError)


@dataclass(frozen=True)
class Difference:
    """What a quantity is in the model less what it is in PhysX, episode by episode from the same starts."""

    mean: float
    """Mean over the episodes."""
    standard_error: float | None
    """Standard error of that mean; None for a single episode."""
    in_standard_errors: float | None
    """The mean in units of its standard error; None where that is zero or not known. Within two either way the modes
    cannot be told apart by these episodes."""


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
    differences: dict[str, Difference]
    """The model less PhysX, by the names of :attr:`~nerd_isaaclab.policies.play.PlayResult.per_episode`."""

    @property
    def gap_is_telling(self) -> bool:
        """Whether a share of the return says something: not where it is negative, or within its spread of zero."""
        found = self.modes["physx"].scores["return"]
        return self.reward_gap is not None and found.mean > found.std


def transfer(cfg: TransferCfg, quiet: bool = False) -> TransferResult:
    """Scores a policy in PhysX and in a model: the same starts, the same seed, whole episodes, the mean action.

    Both modes draw the same starts, commands and noise for each episode, so they are compared episode by episode. A
    reward that agrees is a weak proof; compare lengths, terminations and reward terms, too. Each mode runs in a
    process with an engine of its own, so this may be called any number of times in one Python session.

    .. code-block:: python

        from nerd_isaaclab.evaluation.transfer import TransferCfg, transfer

        result = transfer(TransferCfg("NeRD-Cartpole", policy="policies/NeRD-Cartpole", checkpoint="cartpole"))
        print(result.differences["return"], result.modes["neural"].scores["length"])

    Args:
        cfg: Which policy to compare in which model.
        quiet: Whether to show no progress.

    Raises:
        ValueError: There is no such task or model, before anything is started; or the policy could not be scored.
        FileNotFoundError: There is no such policy.
    """
    check_task(cfg.task)
    for word in (*cfg.overrides, *cfg.physx):
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
    return TransferResult(cfg.task, Path(cfg.checkpoint).name, cfg.episodes, gap, modes, _differences(modes))


def _differences(modes: dict[str, ScoreResult]) -> dict[str, Difference]:
    """The difference of each quantity that both modes have."""
    physx, neural = modes["physx"].per_episode, modes["neural"].per_episode
    return {name: compare(neural[name], values) for name, values in physx.items() if name in neural}


def compare(neural: Sequence[float], physx: Sequence[float]) -> Difference:
    """The difference of a quantity in pairs of episodes.

    Args:
        neural: Its value in each episode in the model.
        physx: Its value in the same episodes in PhysX.
    """
    pairs = [one - other for one, other in zip(neural, physx, strict=True)]
    mean = statistics.fmean(pairs)
    error = statistics.stdev(pairs) / math.sqrt(len(pairs)) if len(pairs) > 1 else None
    return Difference(_short(mean), None if error is None else _short(error), _short(mean / error) if error else None)


def _short(value: float) -> float:
    """Six significant digits."""
    return float(f"{value:.6g}")


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
        overrides=(*(("env.nerd.mode=physx", *cfg.physx) if mode == "physx" else ()), *cfg.overrides),
    )
    try:
        return score(asked, quiet)
    except ScoreError as error:
        raise TransferError(f"the policy could not be scored in {mode} mode: {error}") from error
