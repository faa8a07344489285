# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Saving a run, so that one that was killed goes on and ends with the same weights to the last bit."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from .. import checkpoint
from ..files.provenance import describe_run
from ..files.serialization import to_plain
from .config import TrainCfg, TrainingError
from .migration import migrate_settings
from .optimiser import load_optimiser_state, optimiser_state

if TYPE_CHECKING:
    from .run import Run

TRAINING_DEFAULTS = to_plain(TrainCfg(updates=1))
"""Settings that a run of an earlier version does not tell are as they are by default."""

LAST, BEST = "last", "best"
"""Checkpoints in the folder of a run: where it can go on, and the smallest error on validation data."""


def save_run(run: Run) -> None:
    """Saves the averaged weights as the checkpoint ``last``, with all that is needed to go on.

    Args:
        run: The run. Only the first process saves, and only if the run has a folder.
    """
    if run.out is None or not run.processes.is_first:
        return
    state = {
        "settings": to_plain(run.cfg),
        "update": run.update,
        "seconds": run.elapsed,
        "best": run.best,
        "lost": run.lost,
        "stale": run.validations_without_gain,
        "history": run.history,
        "weights": [param.detach().clone() for param in run.params],
        "optimiser": optimiser_state(run.optimiser),
        "average": run.ema.state_dict(),
        "scale": run.scale.scale,
        "windows": run.windows.state_dict(),
        "rollouts": None if run.rollouts is None else run.rollouts.state_dict(),
    }
    with run.ema.average_weights():
        write_checkpoint(run, LAST, state)
    run.saved = time.monotonic()


def write_checkpoint(run: Run, name: str, state: Any = None) -> None:
    """Writes a checkpoint with the weights that the predictor has now, if the run has a folder.

    Args:
        run: The run.
        name: Folder of the checkpoint in that of the run.
        state: What the run needs to go on from there; None for a model that is only to be used.
    """
    if run.out is not None:
        results = {"validation": run.history[-1]} if run.history else {}
        origin = describe_run(seeds={"training": run.cfg.seed}, data=run.digests)
        checkpoint.save(
            run.out / name, run.predictor, training=run.cfg, provenance=origin, results=results, state=state
        )


def restore_run(run: Run, out: Path) -> None:
    """Takes everything from the last save.

    Args:
        run: A run that was set up with the same data and settings. Changed in place.
        out: Folder of the run that was saved.
    """
    state = checkpoint.load_training_state(out / LAST)
    settings, before = to_plain(run.cfg), TRAINING_DEFAULTS | migrate_settings(state["settings"])
    if before != settings:
        changed = sorted(key for key, value in settings.items() if before.get(key) != value)
        raise TrainingError(
            f"the run '{out}' was started with other settings ({', '.join(changed)}): go on with the same, or "
            "start a new run from its weights"
        )
    run.predictor.load_state_dict(checkpoint.read(out / LAST, run.predictor.spec).tensors)
    with torch.no_grad():
        for param, weight in zip(run.params, state["weights"], strict=True):
            param.copy_(weight)
    load_optimiser_state(run.optimiser, state["optimiser"])
    run.ema.load_state_dict(state["average"])
    run.scale.scale = state["scale"]
    run.windows.load_state_dict(state["windows"])
    if run.rollouts is not None:
        run.rollouts.load_state_dict(state["rollouts"])
    run.update, run.before = state["update"], state["seconds"]
    run.best, run.validations_without_gain, run.history = state["best"], state["stale"], state["history"]
    run.lost = state.get("lost", 0)
    if math.isfinite(run.best):
        run.best_weights = dict(checkpoint.read(out / BEST, run.predictor.spec).tensors)


__all__ = ["BEST", "LAST", "restore_run", "save_run", "write_checkpoint"]
