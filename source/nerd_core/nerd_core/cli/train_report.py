# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What ``nerd train`` says before and after a run: data and budget, errors, what was lost and why."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from ..data.dataset import TrajectoryDataset
from ..predictor.predictor import Predictor
from ..training.config import TrainCfg
from ..training.diagnosis import SHORT_TRAINING, likely_causes
from ..training.metrics import OpenLoopErrors
from ..training.run import TrainResult
from .terminal import console, say

VERDICT_UPDATES = 200
"""Updates below which a training cannot fail: it has hardly begun, as someone wanted who tries out a command."""

EXIT_FAILED = 1
"""What the command ends with when there is a model, and most of its roll-outs run away."""


def announce(predictor: Predictor, cfg: TrainCfg, data: TrajectoryDataset, valid: TrajectoryDataset) -> None:
    """Says what is trained, on what and for how long.

    Args:
        predictor: The model.
        cfg: Settings of the training.
        data: Trajectories to learn from.
        valid: Held-out trajectories.
    """
    count = sum(param.numel() for param in predictor.parameters())
    budget = [f"{cfg.minutes:.3g} minutes"] if cfg.minutes else []
    budget += [f"{cfg.updates} updates"] if cfg.updates else []
    parts = [part.kind for part in (predictor.cfg.prior, predictor.cfg.network) if part is not None]
    say(f"{data.spec.name}: {data.transitions:,} transitions to learn from, {valid.transitions:,} held out")
    print(f"{' and '.join(parts)} with {count:,} parameters on {predictor.device}, for {' or '.join(budget)}")


def report(
    result: TrainResult,
    model: Path,
    horizons: Sequence[int],
    predictor: Predictor,
    data: TrajectoryDataset,
    valid: TrajectoryDataset,
) -> int:
    """Shows errors on the held-out trajectories, what was lost and why, and where the model is.

    Args:
        result: How the run ended.
        model: Where the model is.
        horizons: Horizons to show.
        predictor: The model.
        data: Trajectories that it was trained on.
        valid: Held-out trajectories.

    Returns:
        What the command ends with: not zero if most roll-outs are lost after a training worth its name.
    """
    if result.errors is not None:
        _show_errors(result.errors, horizons)
    print(f"{result.updates} updates in {result.minutes:.1f} minutes; the model: {model}")
    if not result.lost:
        return 0
    print(f"{result.lost} of {result.rollouts} roll-outs of this model left the guard, or all that is like the data")
    for line in causes(predictor, data, valid, result.updates):
        say(line)
    if 2 * result.lost <= result.rollouts or result.updates < VERDICT_UPDATES:
        return 0
    print("nerd train: the training failed: most roll-outs run away, though the model was kept", file=sys.stderr)
    return EXIT_FAILED


def causes(
    predictor: Predictor, data: TrajectoryDataset, valid: TrajectoryDataset, updates: int = SHORT_TRAINING
) -> list[str]:
    """Lines that tell the likeliest causes of roll-outs that run away; arguments as of :func:`likely_causes`."""
    found = likely_causes(predictor, data, valid, updates)
    return ["what may be the cause, the likeliest first:", *(f"  - {text}" for text in found)]


def _show_errors(errors: OpenLoopErrors, wanted: Sequence[int]) -> None:
    """Means and medians by horizon; a median says what a usual roll-out does where a few decide the mean."""
    horizons = [horizon for horizon in wanted if horizon <= errors.steps] or [errors.steps]
    print("errors over held-out trajectories, open loop, mean / median:")
    table = Table()
    for name in ("steps", *errors.held):
        table.add_column(name, justify="right")
    for horizon in horizons:
        means, spread = errors.at(horizon), errors.spread(horizon)
        table.add_row(str(horizon), *(f"{means[name]:.3g} / {each['median']:.3g}" for name, each in spread.items()))
    console().print(table)


__all__ = ["announce", "causes", "report"]
