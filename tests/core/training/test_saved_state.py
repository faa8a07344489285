# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A state of training that somebody else may have written: one sentence, never a traceback."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from nerd_core import checkpoint
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.training.config import RolloutCfg, TrainCfg
from nerd_core.training.optimiser import OptimiserCfg
from nerd_core.training.run import train
from nerd_core.training.validation import validation_summary
from support.testbed_cartpole import SPEC, make_data

CFG = TrainCfg(
    updates=12,
    batch_size=8,
    rollout=RolloutCfg(weight=0.5, start=0.0, steps=3, batch_size=4),
    ema_decay=0.9,
    validations=3,
    validation_horizons=(5,),
    validation_trajectories=2,
)


def fresh() -> Predictor:
    """A small predictor, the same at every call."""
    torch.manual_seed(0)
    return Predictor(SPEC, PredictorCfg(network=ResidualMlpCfg(width=8, hidden=8, layers=2)))


@pytest.fixture(scope="module", params=["soap", "adamw"])
def saved(request, tmp_path_factory) -> tuple[Path, TrainCfg, Any]:
    """A run that has ended half way, its settings, and its state."""
    cfg = replace(CFG, optimiser=OptimiserCfg(kind=request.param))
    folder = tmp_path_factory.mktemp("run")
    data, valid = make_data(6, 8, seed=0), make_data(2, 8, seed=1, passive=True)
    train(fresh(), data, valid, cfg, folder, quiet=True)
    return folder, cfg, checkpoint.load_training_state(folder / "last")


def go_on(saved: tuple[Path, TrainCfg, Any], out: Path, state: Any) -> None:
    """Saves a copy of the run with another state, and goes on from it."""
    folder, cfg, _ = saved
    shutil.copytree(folder, out)
    checkpoint.save(out / "last", checkpoint.load(folder / "last"), training=cfg, state=state)
    data, valid = make_data(6, 8, seed=0), make_data(2, 8, seed=1, passive=True)
    train(fresh(), data, valid, cfg, out, resume=True, quiet=True)


def changed(tree: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    """A copy of a tree with another value at a place; ``...`` is any key of an object."""
    if not path:
        return change(tree)
    if isinstance(tree, list):
        return [changed(item, path[1:], change) if index == path[0] else item for index, item in enumerate(tree)]
    first = next(iter(tree)) if path[0] is ... else path[0]
    return {key: changed(item, path[1:], change) if key == first else item for key, item in tree.items()}


GONE = object()
COUNTS: tuple[Any, ...] = (-1, 1.5, True, None, "7", [], {}, 2**70, 10**60, math.nan)
NUMBERS: tuple[Any, ...] = (None, "7", [], {}, True)
TENSORS: tuple[Any, ...] = (None, 1, "x", [], {}, torch.ones(3, 1, 7), torch.ones(2, dtype=torch.int64))
HOSTILE: list[tuple[tuple[Any, ...], tuple[Any, ...]]] = [
    ((), (None, 1, "x", [], {}, [[]], {"update": 1})),
    (("settings",), (*NUMBERS, {"x": 1})),
    (("update",), COUNTS),
    (("stale",), COUNTS),
    (("seconds",), (*NUMBERS, -1.0, math.nan, math.inf)),
    (("best",), (*NUMBERS, math.nan)),
    (("history",), (None, 1, {}, "x", [None], [{}], [[]], [{"update": 1}])),
    (("history",), ([],)),
    (("history", 0, "rollouts"), COUNTS),
    (("history", 0, "lost"), COUNTS),
    (("data",), ([], 1, {"training data": []}, {"training data": "x"})),
    (("history", 0, "errors"), (None, [], {}, {"x": {}}, {"5": None}, {"5": {"a": "b"}}, {"-1": {}})),
    (("history", 0, "update"), COUNTS),
    (("history", 0, "minutes"), NUMBERS),
    (("weights",), (None, {}, [], [1], [torch.ones(1)] * 99)),
    (("weights", 0), TENSORS),
    (("optimiser",), (None, [], {"x": {}}, {"-1": {}}, {"10" * 50: {}}, {"0": None})),
    (("optimiser", ...), (None, [], {}, {"step": torch.tensor(1.0)}, {"x": torch.ones(1)})),
    (("optimiser", ..., ...), TENSORS),
    (("optimiser", ..., "step"), (-torch.ones(()), torch.ones(1), torch.tensor(math.inf), 3)),
    (("average",), (None, [], {}, {"count": 1}, {"average": []})),
    (("average", "count"), COUNTS),
    (("average", "average", 0), TENSORS),
    (("scale",), (*TENSORS, torch.zeros(4), -torch.ones(4), torch.full((4,), math.nan))),
    (("windows",), (None, [], {}, 1, {"step": 1})),
    (("windows", "step"), COUNTS),
    (("windows", "seed"), (None, 9, [], "x" * 5000)),
    (("rollouts",), (None, [], {}, {"step": 1})),
    (("rollouts", "step"), COUNTS),
]


@pytest.mark.parametrize(("path", "values"), HOSTILE, ids=lambda value: ".".join(map(str, value))[:40])
def test_a_crafted_state_is_refused_in_a_sentence(saved, path, values, monkeypatch):
    """Wrong types, missing entries, huge, negative and not finite numbers, wrong shapes: each gets a short refusal."""
    folder, cfg, sound = saved
    data, valid = make_data(6, 8, seed=0), make_data(2, 8, seed=1, passive=True)
    for value in values:
        state = changed(sound, path, lambda _, value=value: value)
        monkeypatch.setattr(checkpoint, "load_training_state", lambda _, state=state: state)
        with pytest.raises(ValueError, match="expected|no run can go on|other settings") as refused:
            train(fresh(), data, valid, cfg, folder, resume=True, quiet=True)
        assert len(str(refused.value)) < 1000, value


def test_every_missing_entry_is_named(saved, tmp_path):
    """Without any one of its entries a state in files that are sound otherwise is refused with the entry's name, but
    for the two that earlier versions did not write.
    """
    for name in saved[2].keys() - {"data", "lost"}:
        with pytest.raises(ValueError, match=f"no '{name}'|no run can go on"):
            go_on(saved, tmp_path / name, {key: value for key, value in saved[2].items() if key != name})


def test_names_in_a_state_cannot_steer_the_terminal():
    """The progress bar shows what the last validation found, whose names stand in a file."""
    history = [{"errors": {"5": {"joint_rad\x1b[2J": 1.0}}}]
    assert validation_summary(history) == r"joint_rad\x1b[2J 1 over 5 steps"


def test_the_model_of_another_run_is_refused(saved, tmp_path):
    """Checkpoints of a model with other settings in the place of 'last' and 'best' are refused."""
    other = Predictor(SPEC, PredictorCfg(network=ResidualMlpCfg(width=4, hidden=4, layers=1)))
    folder, cfg, state = saved
    data, valid = make_data(6, 8, seed=0), make_data(2, 8, seed=1, passive=True)
    for name in ("last", "best"):
        out = tmp_path / name
        shutil.copytree(folder, out)
        if name == "best":  # one of before the last save
            checkpoint.save(out / "last", fresh(), training=cfg, state={**state, "stale": 1})
        checkpoint.save(out / name, other, training=cfg, state=state)
        with pytest.raises(ValueError, match="other settings"):
            train(fresh(), data, valid, cfg, out, resume=True, quiet=True)


def test_the_state_of_a_sound_run_passes(saved, tmp_path):
    """What a run has saved itself is taken, also before the first update, when the optimiser remembers nothing."""
    go_on(saved, tmp_path / "as it is", saved[2])
    go_on(saved, tmp_path / "at the start", {**saved[2], "optimiser": {}, "history": [], "best": math.inf, "update": 0})
