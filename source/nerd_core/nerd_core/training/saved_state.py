# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Whether a saved state fits the run that shall go on from it: asked before anything of it is taken.

The files of a state are read without trust (:mod:`nerd_core.files.safe_state`), but what comes back is any tree of
tensors and plain values. Here every part that is taken has to have the type, the shape and the range that it had when
a run like this one was saved. Other entries, as a later version may write, are left alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..files.messages import shortened
from .config import TrainingError
from .optimiser import fresh_state

if TYPE_CHECKING:
    from .run import Run

MAX_COUNT = 2**32
"""Most updates, batches and so on of a run. The seeds of noise leave 32 bits to the number of the update."""


def check_saved_state(run: Run, state: Any) -> None:
    """Raises :class:`TrainingError` with the first part of a state that the run cannot go on from.

    Args:
        run: A run that was set up with the same data and settings.
        state: What :func:`nerd_core.checkpoint.load_training_state` gave.
    """
    for name in ("update", "stale"):
        _count(_entry(state, name, "the state"), name)
    if not _number(_entry(state, "seconds", "the state"), "seconds") >= 0.0:
        raise _unfit("seconds", state["seconds"], "a finite time of at least 0")
    if not (_number(_entry(state, "best", "the state"), "best", finite=False) <= math.inf):
        raise _unfit("best", state["best"], "an error")
    if not isinstance(_entry(state, "settings", "the state"), dict):
        raise _unfit("settings", state["settings"], "an object")
    # Earlier versions told neither of these.
    data = {} if state.get("data") is None else state["data"]
    if not isinstance(data, dict) or not all(isinstance(known, (dict, type(None))) for known in data.values()):
        raise _unfit("data", data, "an object with an object for each use")
    _count(state.get("lost", 0), "lost")
    _history(_entry(state, "history", "the state"))
    if math.isfinite(state["best"]) and not state["history"]:
        raise _unfit("best", state["best"], "infinity where nothing has been validated")
    params = [param.detach() for param in run.params]
    _tensors(_entry(state, "weights", "the state"), params, "weights")
    _optimiser(_entry(state, "optimiser", "the state"), run.optimiser)
    average = _entry(state, "average", "the state")
    _count(_entry(average, "count", "average"), "average.count")
    _tensors(_entry(average, "average", "average"), run.ema.average, "average.average")
    _tensor(_entry(state, "scale", "the state"), run.scale.scale, "scale")
    if not bool((state["scale"] > 0).all()):
        raise TrainingError("the saved state has scales that are not positive, expected units of one step's change")
    for name, sampler in (("windows", run.windows), ("rollouts", run.rollouts)):
        if sampler is not None:
            _count(_entry(_entry(state, name, "the state"), "step", name), f"{name}.step")


def _history(history: Any) -> None:
    """What validations found, which is shown while the run goes on."""
    if not isinstance(history, list):
        raise _unfit("history", history, "a list")
    for row in history:
        _count(_entry(row, "update", "history"), "history.update")
        for name in ("lost", "rollouts"):  # which earlier versions did not tell
            _count(row.get(name, 0), f"history.{name}")
        for name in ("minutes", "score"):
            _number(_entry(row, name, "history"), f"history.{name}", finite=False)
        errors = _entry(row, "errors", "history")
        if not isinstance(errors, dict) or not errors:
            raise _unfit("history.errors", errors, "an object with an entry for each horizon")
        for horizon, values in errors.items():
            if not (horizon.isascii() and horizon.isdigit() and len(horizon) < 12) or not isinstance(values, dict):
                raise _unfit(f"history.errors.{horizon[:40]}", values, "a number of steps with errors by name")
            for name, value in values.items():
                _number(value, f"history.errors.{horizon}.{name[:40]}", finite=False)


def _optimiser(tree: Any, optimiser: torch.optim.Optimizer) -> None:
    """What the optimiser remembers of each parameter; nothing of one that has not had a gradient yet."""
    expected = fresh_state(optimiser)
    if not isinstance(tree, dict) or not set(tree) <= set(expected):
        got = sorted(tree) if isinstance(tree, dict) else tree
        raise _unfit("optimiser", got, f"an object with entries for some of {len(expected)} parameters")
    for index, entries in tree.items():
        where, like = f"optimiser.{index}", expected[index]
        if not isinstance(entries, dict) or set(entries) != set(like):
            got = sorted(entries) if isinstance(entries, dict) else entries
            raise _unfit(where, got, f"an object with {', '.join(sorted(like))}")
        # The state of several parameters of a shape is stacked; those without a gradient are not among them.
        members = len(entries["norm"]) if "norm" in like and _has_rows(entries["norm"]) else None
        for name, value in like.items():
            stacked = members is not None and value.ndim > 0 and members <= len(value)
            _tensor(entries[name], value[:members] if stacked else value, f"{where}.{name}")
            if name in ("step", "square", "norm", "exp_avg_sq") and bool((entries[name] < 0).any()):
                raise TrainingError(f"the saved state has negative numbers as {where}.{name}, expected none below 0")


def _has_rows(value: Any) -> bool:
    return isinstance(value, Tensor) and value.ndim > 0 and len(value) > 0


def _entry(holder: Any, name: str, where: str) -> Any:
    if not isinstance(holder, dict):
        raise _unfit(where, holder, "an object")
    if name not in holder:
        raise TrainingError(f"the saved state has no '{name}' in {where}: no run can go on from it")
    return holder[name]


def _count(value: Any, where: str) -> None:
    if type(value) is not int or not 0 <= value < MAX_COUNT:
        raise _unfit(where, value, f"a whole number from 0 to {MAX_COUNT - 1}")


def _number(value: Any, where: str, finite: bool = True) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or (finite and not math.isfinite(value)):
        raise _unfit(where, value, "a finite number" if finite else "a number")
    return float(value)


def _tensors(values: Any, like: list[Tensor], where: str) -> None:
    if not isinstance(values, list) or len(values) != len(like):
        got = f"{len(values)} entries" if isinstance(values, list) else values
        raise _unfit(where, got, f"a list of {len(like)} tensors")
    for number, (value, own) in enumerate(zip(values, like, strict=True)):
        _tensor(value, own, f"{where}.{number}")


def _tensor(value: Any, like: Tensor, where: str) -> None:
    if not isinstance(value, Tensor):
        raise _unfit(where, value, "a tensor")
    if value.shape != like.shape or value.dtype != like.dtype:
        raise _unfit(
            where, f"{list(value.shape)} of {value.dtype}", f"a tensor of shape {list(like.shape)} of {like.dtype}"
        )
    if not bool(torch.isfinite(value).all()):
        raise TrainingError(f"the saved state has numbers that are not finite as {where}, expected finite ones")


def _unfit(where: str, got: Any, expected: str) -> TrainingError:
    return TrainingError(
        f"the saved state has {shortened(got, 100)} as {where}, expected {expected}: no run can go on from it"
    )


__all__ = ["check_saved_state"]
