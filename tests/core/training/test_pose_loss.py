# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The loss of measured poses, and what keeps a model near to what it knew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.training.config import RolloutCfg, TrainCfg, TrainingError
from nerd_core.training.metrics import open_loop
from nerd_core.training.pose_loss import departure, pose_distance, pose_loss
from nerd_core.training.run import train
from support.testbed_cartpole import SPEC, make_data
from support.tosses import CUBE, cube_model, first_states, tossed

SHORT = TrainCfg(updates=6, batch_size=16, validations=1, validation_horizons=(5,), validation_steps=0)


def fresh() -> Predictor:
    """A small network for the Cartpole, always with the same weights."""
    torch.manual_seed(0)
    return Predictor(SPEC, PredictorCfg(network=ResidualMlpCfg(width=16, hidden=16, layers=1)))


def weights(predictor: Predictor) -> torch.Tensor:
    """All trained numbers in one row."""
    return torch.cat([param.detach().flatten() for param in predictor.parameters()])


def test_a_distance_is_counted_in_its_units():
    """Position and angle count in their units, a quaternion and its negative are the same pose."""
    state = first_states(8, seed=0)
    moved = state.clone()
    moved[:, 0] += 0.03
    far = pose_distance(CUBE, moved, state, 0.015, 0.2)
    torch.testing.assert_close(far, torch.full((8,), 2.0), atol=0.02, rtol=0)
    flipped = state.clone()
    flipped[:, 3:7] *= -1.0
    assert float(pose_distance(CUBE, flipped, state, 0.015, 0.2).abs().max()) < 1e-6
    turned = torch.tensor([[0.0, 0, 1, 0, 0, 0.05, 1, 0, 0, 0, 0, 0, 0]])
    turned[:, 3:7] = torch.nn.functional.normalize(turned[:, 3:7], dim=-1)
    level = torch.tensor([[0.0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]])
    assert float(pose_distance(CUBE, turned, level, 0.015, 0.1)) == pytest.approx(1.0, abs=0.02)


def test_velocities_do_not_count_and_chaos_is_limited():
    """A roll-out of the truth costs nothing; one that goes another way costs less than the limit."""
    model = cube_model()
    data = tossed(model, 8, 20, seed=0)
    batch = data.gather(np.arange(8), np.zeros(8, np.int64), 20)
    cfg = RolloutCfg(errors="pose", limit=3.0)
    with torch.no_grad():
        assert float(pose_loss(model, batch, 20, cfg)) < 0.01
        batch.state[:, 1:, :3] += 5.0
        assert 2.0 < float(pose_loss(model, batch, 20, cfg)) < 3.0


def test_a_penalty_keeps_weights_near_the_start():
    """With a penalty a training moves weights less, and by the half square of what they move."""
    start, free, held = weights(fresh()), fresh(), fresh()
    train(free, make_data(8, 12, seed=0), None, SHORT, quiet=True)
    train(held, make_data(8, 12, seed=0), None, replace(SHORT, keep=1e4), quiet=True)
    assert float((weights(held) - start).norm()) < 0.7 * float((weights(free) - start).norm())
    assert float(departure([torch.tensor([1.0, 3.0])], [torch.tensor([0.0, 1.0])])) == 2.5


def test_what_is_replayed_is_not_forgotten():
    """A model that learns other motion keeps more of what it knew if that is replayed."""
    known, other = make_data(32, 20, seed=1, passive=True), make_data(32, 20, seed=2)
    learned = fresh()
    cfg = replace(SHORT, updates=60, batch_size=64)
    train(learned, known, None, cfg, quiet=True)
    errors = []
    for replay in (0.0, 0.7):
        model = fresh()
        model.load_state_dict(learned.state_dict())
        train(model, other, None, replace(cfg, replay=replay), quiet=True, replay=known if replay else None)
        errors.append(open_loop(model, known, 10).score())
    assert errors[1] < errors[0]


def test_replay_needs_data():
    """A share without data, or data without a share, is refused."""
    with pytest.raises(TrainingError, match="replay=0.5 without data"):
        train(fresh(), make_data(4, 8, seed=0), None, replace(SHORT, replay=0.5), quiet=True)
    with pytest.raises(TrainingError, match="with data to be remembered"):
        train(fresh(), make_data(4, 8, seed=0), None, SHORT, quiet=True, replay=make_data(4, 8, seed=0))


def test_windows_begin_anywhere():
    """Errors of windows are those of roll-outs from all steps, evenly spread, and of no other."""
    model, data = fresh(), make_data(3, 12, seed=0)
    train(model, data, None, SHORT, quiet=True)
    found = open_loop(model, data, 5, anywhere=True)
    assert found.trajectories == 3 * 8
    alone = [open_loop(model, _from(data, first), 5).at(5)["joint_rad"] for first in range(8)]
    assert found.at(5)["joint_rad"] == pytest.approx(float(np.mean(alone)), rel=1e-4)
    assert open_loop(model, data, 5, trajectories=4, anywhere=True).trajectories == 4


def _from(data, first: int):
    """The trajectories from a step on."""
    batch = data.gather(np.arange(len(data)), np.full(len(data), first), 12 - first)
    return TrajectoryDataset.from_tensors(SPEC, batch.state, batch.control)


def test_the_score_of_a_validation_is_that_of_both_kinds_of_starts():
    """With windows the score is the geometric mean of the scores of beginnings and of windows."""
    model, data = fresh(), make_data(4, 12, seed=0)
    result = train(model, data, data, replace(SHORT, validation_windows=9), quiet=True)
    both = open_loop(model, data, 5).held_score() * open_loop(model, data, 5, 9, anywhere=True).held_score()
    assert result.best == pytest.approx(both**0.5, rel=1e-4)
