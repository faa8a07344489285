# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The moving average of weights, by itself and in training."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from nerd_core import checkpoint
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.predictor.predictor import Predictor, PredictorCfg
from nerd_core.training.config import TrainCfg
from nerd_core.training.ema import ExponentialMovingAverage
from nerd_core.training.metrics import open_loop
from nerd_core.training.optimiser import OptimiserCfg
from nerd_core.training.run import Run, update_weights
from support.testbed_cartpole import SPEC, make_data


def test_average_is_put_in_place_and_taken_out():
    """Inside the context the model has the averaged weights, outside its own, to the last bit."""
    model = nn.Linear(3, 3)
    average = ExponentialMovingAverage(model, 0.9)
    first = model.weight.detach().clone()
    with torch.no_grad():
        model.weight += 1.0
    average.update()
    last = model.weight.detach().clone()
    with average.average_weights():
        torch.testing.assert_close(model.weight.detach(), first + 0.9)
    assert torch.equal(model.weight, last)


def test_validation_and_checkpoints_have_the_averaged_weights(tmp_path):
    """Every validation scores the averaged weights, ``best`` and ``last`` hold those of their time, ``last`` keeps the
    weights that training goes on with beside them, and a run without validation data ends with the average.
    """
    data, valid = make_data(20, 12, seed=0), make_data(6, 12, seed=1, passive=True)
    cfg = TrainCfg(
        updates=12,
        batch_size=16,
        optimiser=OptimiserCfg(lr=0.05, warmup=0.0),
        ema_decay=0.9,
        validations=3,
        validation_horizons=(5,),
        validation_trajectories=4,
    )
    followed: list[list[torch.Tensor]] = []
    scored: dict[int, float] = {}
    with Run(small(), data, valid, cfg, tmp_path, False, True) as run:
        mean = [param.detach().clone() for param in run.params]
        while (progress := run.progress()) < 1.0:
            update_weights(run, progress)
            keep = min(0.9, run.update / (run.update + 9.0))
            mean = [keep * old + (1.0 - keep) * new.detach() for old, new in zip(mean, run.params, strict=True)]
            followed.append([each.clone() for each in mean])
            other = small()
            other.load_state_dict(run.predictor.state_dict())
            with torch.no_grad():
                for param, value in zip(other.parameters(), mean, strict=True):
                    param.copy_(value)
            scored[run.update] = open_loop(other, valid, 5, 4).score()
            run.save_when_due(progress)
        own = [param.detach().clone() for param in run.params]
        run.finalise()
        history = run.history
    assert [row["update"] for row in history] == [4, 8, 12]
    for row in history:
        assert row["score"] == pytest.approx(scored[row["update"]], rel=1e-3)
    best = min(history, key=lambda row: row["score"])["update"]
    last = checkpoint.load(tmp_path / "last")
    for name, update in (("best", best), ("last", 12)):
        for param, value in zip(checkpoint.load(tmp_path / name).parameters(), followed[update - 1], strict=True):
            torch.testing.assert_close(param.detach(), value)
    assert any((param - value).abs().max() > 1e-3 for param, value in zip(last.parameters(), own, strict=True))
    for weight, value in zip(checkpoint.load_training_state(tmp_path / "last")["weights"], own, strict=True):
        assert torch.equal(weight, value)


def test_a_run_without_validation_ends_with_the_average():
    """Without validation data the predictor gets the averaged weights, not those of the last update."""
    cfg = TrainCfg(updates=3, batch_size=16, ema_decay=0.9)
    with Run(small(), make_data(20, 12, seed=0), None, cfg, None, False, True) as run:
        while (progress := run.progress()) < 1.0:
            update_weights(run, progress)
        own, mean = ([each.detach().clone() for each in some] for some in (run.params, run.ema.average))
        run.finalise()
        assert all(torch.equal(param, value) for param, value in zip(run.params, mean, strict=True))
        assert any((one - other).abs().max() > 1e-5 for one, other in zip(own, mean, strict=True))


def test_the_first_updates_are_a_plain_mean():
    """After update n the average keeps min(decay, n / (n + 9)) of itself: a tenth after one, the decay in the end."""
    model = nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    average, expected = ExponentialMovingAverage(model, 0.25), 0.0
    for number, keep in enumerate((0.1, 2 / 11, 0.25, 0.25), start=1):
        torch.nn.init.constant_(model.weight, float(number))
        average.update()
        expected = keep * expected + (1.0 - keep) * number
        assert float(average.average[0]) == pytest.approx(expected, rel=1e-6)


def small() -> Predictor:
    """A small predictor, the same at every call."""
    torch.manual_seed(0)
    return Predictor(SPEC, PredictorCfg(network=ResidualMlpCfg(width=8, hidden=8, layers=1)))
