# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Judging a run while it goes on: how many roll-outs are lost, and how large the errors of the averaged weights are."""

from __future__ import annotations

import logging
import math
import time
from typing import TYPE_CHECKING, Any

from ..files.messages import printable
from .metrics import OpenLoopErrors, open_loop
from .remembered import remembered

if TYPE_CHECKING:
    from .run import Run

logger = logging.getLogger(__name__)


def validate(run: Run) -> OpenLoopErrors | None:
    """Errors on the validation data, of the averaged weights; None without such data. Keeps the weights if they are the
    best so far: those that lose the fewest roll-outs, and of these the ones with the smallest error. The next save
    writes them. What leaves the finite numbers in every roll-out is never kept.

    Args:
        run: The run. Only the first process may call this.
    """
    if run.valid is None:
        return None
    began, longest = time.monotonic(), int(run.valid.length.max())
    cfg = run.cfg
    horizons = [horizon for horizon in cfg.validation_horizons if horizon <= longest] or [longest]
    with run.ema.average_weights():
        if not all(bool(param.isfinite().all()) for param in run.params):
            run.refuse("weights are not finite")
        errors = open_loop(
            run.predictor, run.valid, max(horizons), cfg.validation_trajectories, least_steps=cfg.validation_steps
        )
        score, lost, table = errors.held_score(), errors.lost, errors.table(horizons)
        if cfg.validation_windows:
            if run.known_valid is None:  # where feet stand in the middle of a trajectory
                whole = run.valid.select(run.valid.length >= max(horizons))
                words = run.predictor, whole, cfg.remembered, cfg.seed
                run.known_valid = remembered(*words, use="used for windows of the validation")
            windows = open_loop(run.predictor, run.known_valid, max(horizons), cfg.validation_windows, anywhere=True)
            score = math.sqrt(score * windows.held_score())
            run.log({f"error of windows/{name}": x for name, x in windows.at(max(horizons)).items()})
        medians = {name: each["median"] for name, each in errors.spread(errors.steps).items()}
        row = {"update": run.update, "minutes": run.elapsed / 60, "score": score, "errors": table}
        run.history.append(row | {"lost": lost, "rollouts": errors.trajectories, "medians": medians})
        run.log({f"error over {steps} steps/{name}": x for steps, row in table.items() for name, x in row.items()})
        run.log({"roll-outs lost": lost})
        run.validations_without_gain += 1
        learned = errors.diverged < errors.trajectories
        if learned and (run.best == math.inf or (lost, score) < (run.lost, run.best)):
            run.best, run.lost, run.validations_without_gain = score, lost, 0
            run.best_weights = {name: x.detach().clone() for name, x in run.predictor.state_dict().items()}
            run.best_is_saved = False
    run.validating += time.monotonic() - began
    return errors


def validate_untrained(run: Run) -> None:
    """Judges mechanics alone before the first update: what is kept as the best is then never worse than what nobody
    trained, by the measure of the validation. Networks say nothing before they have learned.

    Args:
        run: The run.
    """
    if run.update == 0 and not run.history and run.predictor.network is None:
        run.validate()


def tell_if_untrained(run: Run) -> None:
    """Logs a warning if no update has made the model better.

    Args:
        run: The run, at its end.
    """
    scores = [row["score"] for row in run.history]
    if len(scores) > 1 and run.history[0]["update"] == 0 and run.best == scores[0] < min(scores[1:]):
        logger.warning(
            "no validation of %d updates was better than the model before them (score %.3g, untrained %.3g): 'best' is "
            "untrained; learn slower, from other data, or ship it as it is",
            run.update,
            min(scores[1:]),
            scores[0],
        )


def validation_summary(history: list[dict[str, Any]]) -> str:
    """The last validation in a few words.

    Args:
        history: What each validation found.
    """
    if not history:
        return "not validated yet"
    errors = history[-1]["errors"]
    horizon = max(errors, key=int)
    values = [f"{name} {value:.2g}" for name, value in errors[horizon].items() if not name.startswith("joint/")]
    lost = history[-1].get("lost")
    return printable(f"{', '.join(values)} over {horizon} steps") + (f", {lost} lost" if lost else "")


__all__ = ["tell_if_untrained", "validate", "validate_untrained", "validation_summary"]
