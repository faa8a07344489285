# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Which preset suits a robot, found by short trials: what ``nerd train`` does where none is named.

Every preset of :data:`CANDIDATES` that the robot allows is trained for a small share of the budget, and judged as a
whole run is: by how many roll-outs it loses, then by its error. The trials count in the budget. With a budget in
updates the choice is a function of the seed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..data.dataset import TrajectoryDataset
from ..predictor.predictor import Predictor
from .config import TrainCfg, TrainingError
from .presets import PresetName
from .run import train

CANDIDATES: tuple[PresetName, ...] = ("mechanics", "bounded", "bounded-mlp")
"""Presets that are tried, in this order; the first of two that are equally good is taken."""

WITHOUT_TRIALS: PresetName = "bounded"
"""Preset where the budget is too small for trials: it serves every robot."""

TRIAL_SHARE = 0.06
"""Share of the budget that each trial takes."""

LONGEST_TRIAL = 0.5
"""Longest trial [min]."""

LEAST_UPDATES, LEAST_MINUTES = 100, 0.08
"""A shorter trial shows nothing: then there is none."""

TRIAL_TRANSITIONS = 100_000
"""Transitions from which the normalisers of a trial are set, at most."""

TRIAL_TRAJECTORIES = 64
"""Trajectories by which a trial is judged, at most."""


@dataclass(frozen=True)
class Trial:
    """How a preset did."""

    preset: PresetName
    """Its name."""
    lost: int = 0
    """Roll-outs that left the robot's guard, or met the bounds of the model."""
    rollouts: int = 0
    """Roll-outs of the validation."""
    score: float = math.inf
    """Error of the roll-outs, see :meth:`~nerd_core.training.metrics.OpenLoopErrors.held_score`."""
    updates: int = 0
    """Updates that it made."""
    refused: str = ""
    """Why it cannot be used; empty if it can."""

    @property
    def rank(self) -> tuple[bool, int, float]:
        """Smaller is better."""
        return (bool(self.refused), self.lost, self.score)

    def __str__(self) -> str:
        if self.refused:
            return f"{self.preset}: {self.refused}"
        return f"{self.preset}: {self.lost} of {self.rollouts} roll-outs lost, error {self.score:.3g}"


@dataclass(frozen=True)
class Choice:
    """A preset, and why."""

    preset: PresetName
    """Its name."""
    why: str
    """The reason, for people."""
    trials: tuple[Trial, ...] = ()
    """What was tried."""
    training: TrainCfg | None = None
    """Settings of the training whose budget is what the trials left; None where there was none."""


def trial_budget(cfg: TrainCfg) -> TrainCfg | None:
    """Settings of a trial; None if the budget is too small for any.

    Args:
        cfg: Settings of the whole training.
    """
    updates = None if cfg.updates is None else round(TRIAL_SHARE * cfg.updates)
    minutes = None if cfg.minutes is None else min(LONGEST_TRIAL, TRIAL_SHARE * cfg.minutes)
    if (updates is not None and updates < LEAST_UPDATES) or (minutes is not None and minutes < LEAST_MINUTES):
        return None
    return replace(
        cfg,
        updates=updates,
        minutes=minutes,
        validations=1,
        normaliser_transitions=min(cfg.normaliser_transitions, TRIAL_TRANSITIONS),
        validation_trajectories=min(cfg.validation_trajectories, TRIAL_TRAJECTORIES),
    )


def choose_preset(
    make: Callable[[PresetName], tuple[Predictor, TrainCfg]],
    data: TrajectoryDataset,
    valid: TrajectoryDataset,
    budget: TrainCfg,
    candidates: Sequence[PresetName] = CANDIDATES,
    say: Callable[[str], None] = print,
) -> Choice:
    """Tries presets, and takes the best.

    Args:
        make: Gives for a preset a new predictor and the settings of the whole training.
        data: Trajectories to learn from.
        valid: Held-out trajectories.
        budget: Settings whose budget is that of the whole training.
        candidates: Names of the presets.
        say: Told what each trial gave.
    """
    if trial_budget(budget) is None:
        return Choice(WITHOUT_TRIALS, "the budget is too small for trials")
    say("no preset was named: each that may suit the robot is tried for a moment")
    began, trials = time.monotonic(), []
    for name in candidates:
        trial = _try(name, make, data, valid)
        say(f"trial of {trial}")
        trials.append(trial)
    best = min(trials, key=lambda trial: trial.rank)  # the first of equal ones
    if best.refused:
        raise TrainingError(f"no preset can be trained ({'; '.join(map(str, trials))}): name one with --preset")
    cfg = make(best.preset)[1]
    spent = sum(trial.updates for trial in trials)
    left = replace(
        cfg,
        updates=None if cfg.updates is None else max(1, cfg.updates - spent),
        minutes=None
        if cfg.minutes is None
        else max(0.5 * cfg.minutes, cfg.minutes - (time.monotonic() - began) / 60.0),
    )
    return Choice(best.preset, f"it did best of {len(trials)} in short trials", tuple(trials), left)


def _try(
    name: PresetName,
    make: Callable[[PresetName], tuple[Predictor, TrainCfg]],
    data: TrajectoryDataset,
    valid: TrajectoryDataset,
) -> Trial:
    """Trains a preset for a moment."""
    try:
        predictor, whole = make(name)
        cfg = trial_budget(whole)
        assert cfg is not None  # the budget is the same for all
        result = train(predictor, data, valid, cfg, quiet=True)
    except (ValueError, RuntimeError) as error:  # it does not suit the robot, or does not learn
        return Trial(name, refused=_first_sentence(str(error)))
    return Trial(name, result.lost, result.rollouts, result.best, result.updates)


def _first_sentence(text: str) -> str:
    line = text.splitlines()[0] if text else "it failed"
    return line if len(line) <= 120 else line[:117] + "..."


__all__ = ["CANDIDATES", "WITHOUT_TRIALS", "Choice", "Trial", "choose_preset", "trial_budget"]
