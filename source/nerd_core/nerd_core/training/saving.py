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
from .data_identity import differences
from .migration import completed, migrate_settings
from .optimiser import load_optimiser_state, optimiser_state
from .run_folder import BEST, LAST
from .saved_state import check_saved_state

if TYPE_CHECKING:
    from .run import Run

TRAINING_DEFAULTS = to_plain(TrainCfg(updates=1))
"""Settings that a run of an earlier version does not tell are as they are by default."""


def save_run(run: Run) -> None:
    """Saves the averaged weights as the checkpoint ``last``, with all that is needed to go on; then as ``best``, if the
    validation of this update says so. In this order a kill in between loses neither: see :func:`restore_run`.

    Args:
        run: The run. Only the first process saves, and only if the run has a folder.
    """
    if run.out is None or not run.processes.is_first:
        return
    state = {
        "settings": to_plain(run.cfg),
        "data": run.identities,
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
        if not run.best_is_saved:
            write_checkpoint(run, BEST)
            run.best_is_saved = True
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
        try:
            checkpoint.save(
                run.out / name, run.predictor, training=run.cfg, provenance=origin, results=results, state=state
            )
        except OSError as error:
            raise TrainingError(
                f"the run cannot be saved in '{run.out}' ({error.strerror or error}): what was saved before is whole; "
                "make room there, and go on with --resume"
            ) from error


def restore_run(run: Run, out: Path) -> None:
    """Takes everything from the last save.

    Args:
        run: A run that was set up with the same data and settings. Changed in place.
        out: Folder of the run that was saved.
    """
    state = checkpoint.load_training_state(out / LAST)
    check_saved_state(run, state)
    settings, before = to_plain(run.cfg), completed(migrate_settings(state["settings"]), TRAINING_DEFAULTS)
    if before != settings:
        changed = sorted(key[:60] for key in settings | before if before.get(key) != settings.get(key))
        raise TrainingError(
            f"the run '{out}' was started with other settings ({', '.join(changed)[:400]}): go on with the same, or "
            "start a new run from its weights"
        )
    # A run of an earlier version does not say what it was started on.
    known = state.get("data") or run.identities
    others = {name: differences(own, known.get(name)) for name, own in run.identities.items()}
    if any(others.values()):
        changed = "; ".join(f"{name}: {words}" for name, words in others.items() if words)
        raise TrainingError(
            f"the run '{out}' was started on other data ({changed[:400]}): go on with the same, or start a new run "
            f"from its weights (--start {out / BEST})"
        )
    run.predictor.load_state_dict(_tensors(run, out / LAST))
    run.update, run.before = state["update"], state["seconds"]
    run.best, run.validations_without_gain, run.history = state["best"], state["stale"], state["history"]
    run.lost = state.get("lost", 0)
    if math.isfinite(run.best):
        run.best_weights = _best_weights(run, out)
    with torch.no_grad():
        for param, weight in zip(run.params, state["weights"], strict=True):
            param.copy_(weight)
    load_optimiser_state(run.optimiser, state["optimiser"])
    run.ema.load_state_dict(state["average"])
    run.scale.scale = state["scale"]
    run.windows.load_state_dict(state["windows"])
    if run.rollouts is not None:
        run.rollouts.load_state_dict(state["rollouts"])


def _tensors(run: Run, path: Path) -> dict[str, torch.Tensor]:
    """The tensors of a checkpoint of a run, which must be of the model that the run trains."""
    found = checkpoint.read(path, run.predictor.spec)
    if found.config.predictor != run.predictor.cfg:
        raise TrainingError(f"the model in '{path}' has other settings than that of the run: it belongs to another one")
    return dict(found.tensors)


def _best_weights(run: Run, out: Path) -> dict[str, torch.Tensor]:
    """Weights of the best validation, of a run whose predictor has those of ``last``.

    If that validation was made at the last save, a kill may have come before ``best`` was written: then it is now.
    """
    if run.validations_without_gain or run.history[-1]["update"] != run.update:
        return _tensors(run, out / BEST)
    if run.processes.is_first and _validated_at(out / BEST) != run.update:
        write_checkpoint(run, BEST)
    return {name: tensor.detach().clone() for name, tensor in run.predictor.state_dict().items()}


def _validated_at(path: Path) -> int | None:
    """Update at which the model of a checkpoint was validated; None if there is none."""
    return checkpoint.read_config(path).results.get("validation", {}).get("update") if path.is_dir() else None


__all__ = ["restore_run", "save_run", "write_checkpoint"]
