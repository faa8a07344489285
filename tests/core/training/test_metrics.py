# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Open-loop errors in metres and radians."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch

from nerd_core.dynamics import rollout
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.network.architectures.transformer import TransformerCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.frames import quat_from_rotvec, quat_mul
from nerd_core.training.metrics import compare, open_loop, predict, state_errors
from support.robots import ant, cartpole, random_state
from support.testbed_cartpole import SPEC, make_data


def test_known_offsets_come_back():
    """A root moved by 0.3 m and turned by 0.2 rad, and joints moved by 0.1 rad, give those numbers."""
    spec = ant()
    truth = random_state(spec, 50, seed=0)
    state, at = truth.clone(), spec.state
    axis = torch.nn.functional.normalize(torch.randn(50, 3), dim=-1)
    state[:, at.root_pos] += 0.3 * torch.nn.functional.normalize(torch.randn(50, 3), dim=-1)
    state[:, at.root_quat] = -quat_mul(state[:, at.root_quat], quat_from_rotvec(0.2 * axis))  # -q is the same rotation
    state[:, at.joint_pos] -= 0.1
    errors = state_errors(spec, state, truth)
    assert set(errors) == {"base_position_m", "base_orientation_rad", "joint_rad"}
    for name, value in (("base_position_m", 0.3), ("base_orientation_rad", 0.2), ("joint_rad", 0.1)):
        torch.testing.assert_close(errors[name], torch.full((50,), value), rtol=1e-3, atol=1e-5)


def test_angles_go_the_short_way_round_and_slides_count_in_metres():
    """A hinge without limits at +pi - e against -pi + e is 2 e off; a slide has its own unit."""
    truth = torch.tensor([[0.5, math.pi - 0.01, 0.0, 0.0]])
    errors = state_errors(cartpole(), torch.tensor([[0.75, -math.pi + 0.01, 9.0, 9.0]]), truth)
    assert float(errors["joint_rad"]) == pytest.approx(0.02, abs=1e-5)
    assert float(errors["joint_m"]) == pytest.approx(0.25)
    assert "base_position_m" not in errors


def test_errors_are_temporal_means_over_all_steps_but_the_first_state():
    """An error that grows like the step number k has the temporal mean (H + 1) / 2, not its last value."""
    truth = torch.zeros(4, 21, 4)
    states = truth.clone()
    states[:, :, 0] = torch.arange(21.0)
    errors = compare(SPEC, states, truth)
    assert errors.at(20)["joint_m"] == pytest.approx(10.5)
    assert errors.at(1)["joint_m"] == pytest.approx(1.0)
    assert errors.table((5, 10, 100)).keys() == {"5", "10"}
    assert errors.at(20)["joint/rail"] == pytest.approx(10.5)
    with pytest.raises(ValueError, match="expected 1 to 20"):
        errors.at(21)


@pytest.mark.parametrize(
    "model", [ResidualMlpCfg(width=8, hidden=8, layers=1), TransformerCfg(width=16, layers=1, heads=2, window=3)]
)
def test_prediction_is_the_rollout(model):
    """The cached roll-out of the metrics equals the functional one, past the end of the window."""
    torch.manual_seed(0)
    predictor = Predictor(SPEC, PredictorCfg(network=model))
    state, controls = torch.randn(3, 4), torch.randn(3, 9, 1)
    torch.testing.assert_close(
        predict(predictor, state, controls), rollout(predictor, state, controls).detach(), rtol=1e-4, atol=1e-4
    )


def test_chunks_do_not_change_errors():
    """Rolling out 3 or 100 trajectories at a time gives the same means, and trajectories can be limited."""
    torch.manual_seed(0)
    predictor = Predictor(SPEC, PredictorCfg(network=ResidualMlpCfg(width=8, hidden=8, layers=1)))
    data = make_data(10, 12, seed=0)
    small, large = (open_loop(predictor, data, 12, chunk=chunk) for chunk in (3, 100))
    assert small.at(12) == pytest.approx(large.at(12), rel=1e-5)
    assert open_loop(predictor, data, 12, trajectories=4).trajectories == 4
    assert predictor.training, "it trains on as before"
    open_loop(predictor.eval(), data, 12, trajectories=1)
    assert not predictor.training, "or does not"


def test_divergence_is_counted_and_never_averages_away():
    """A trajectory that leaves the finite numbers makes the mean infinite and is counted."""
    truth = torch.zeros(5, 4, 4)
    states = truth.clone()
    states[2, 2:] = math.nan
    errors = compare(SPEC, states, truth)
    assert errors.diverged == 1
    assert errors.at(1)["joint_m"] == 0.0
    assert errors.at(3)["joint_m"] == math.inf
    assert errors.score() == math.inf
    assert dataclasses.replace(errors, diverged=0).score(1) == pytest.approx(1e-12)


def test_one_bad_trajectory_does_not_decide_the_scores():
    """Of 21 roll-outs one leaves the guard at step 3: it is counted with its step, the median is that of the others,
    and with the guard holding its error is that of its last good state.
    """
    truth = torch.zeros(21, 11, 4)
    states = truth.clone()
    states[:, 1:, 0] = 0.1
    states[7, 1:3, 0] = 2.2
    states[7, 3:] = 1.0e9
    errors = compare(SPEC, states, truth)
    assert errors.left_guard == (3,) and errors.at_bounds == () and errors.lost == 1
    assert errors.diverged == 0 and errors.at(10)["joint_m"] > 1e6
    spread = errors.spread(10)["joint_m"]
    assert spread["median"] == pytest.approx(0.1) and spread["q90"] == pytest.approx(0.1)
    assert spread["mean"] == pytest.approx(0.2)
    assert errors.held_score() < 1.0
    nothing = compare(SPEC, truth.index_fill(1, torch.tensor([5]), math.nan), truth)
    assert nothing.left_guard == (5,) * 21 and math.isfinite(nothing.held_score())


def test_roll_outs_go_on_where_the_recordings_end():
    """A model that runs away after the recorded steps is found out, and its errors are those of the recorded ones."""
    torch.manual_seed(0)
    predictor = Predictor(SPEC, PredictorCfg(network=ResidualMlpCfg(width=8, hidden=8, layers=1)))
    data = make_data(6, 12, seed=0)
    assert predictor.network is not None
    with torch.no_grad():
        predictor.network.get_parameter("head.bias").fill_(0.5)  # a constant acceleration
    short, long = open_loop(predictor, data, 12), open_loop(predictor, data, 12, least_steps=600)
    assert short.lost == 0 and short.at(12) == long.at(12)
    assert len(long.left_guard) == 6 and min(long.left_guard) > 12
