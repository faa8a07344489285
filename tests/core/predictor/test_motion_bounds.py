# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A bounded predictor stays near its data, whatever its network says."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from nerd_core import checkpoint
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.network.token_config import TokenCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.motion_bounds import LARGEST, MotionBounds
from nerd_core.predictor.prediction import Prediction
from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.guard import StateGuard
from nerd_core.robot.spec import RobotSpec
from nerd_core.training.metrics import predict
from support.robots import ant, move_state, random_state, yaw

NETWORK = ResidualMlpCfg(width=8, hidden=8, layers=1)


def trained(spec: RobotSpec, cfg: PredictorCfg | None = None) -> tuple[Predictor, Tensor, Tensor]:
    """A bounded predictor with the ranges of some transitions, their states and the next ones."""
    torch.manual_seed(0)
    predictor = Predictor(spec, cfg or PredictorCfg(NETWORK, token=TokenCfg(contacts=False), within_data=True))
    state = random_state(spec, 400, seed=1, spread=0.3)
    middle = torch.tensor([0.5 * (joint.lower + joint.upper) for joint in spec.joints])
    state[:, spec.state.joint_pos] = middle + 0.3 * (torch.rand(400, len(spec.joints)) - 0.5)
    next_state = predictor.codec.apply(state, 0.1 * torch.randn(400, predictor.codec.dim))
    control = torch.randn(400, spec.control_dim)
    predictor.update_statistics(state, control, next_state)
    predictor.finalise_statistics()
    return predictor.eval(), state, next_state


def test_what_the_data_hold_is_not_changed():
    """The changes of the data lead to their next states, to the last bit as without bounds; all are within."""
    predictor, state, next_state = trained(ant())
    assert predictor.bounds is not None
    change = predictor.codec.encode(state, next_state)
    normal = Prediction(predictor.change_normaliser(change))
    expected = predictor.codec.apply(state, predictor.change_normaliser.inverse(normal.change))
    assert torch.equal(predictor.next_state(state, normal), expected)
    assert bool(predictor.bounds.within(next_state).all())


@pytest.mark.parametrize("size", [1e3, 1e30])
def test_no_network_drives_a_robot_out_of_its_guard(size):
    """Two hundred steps of an absurd network stay finite and inside the guard, and are told from good ones."""
    spec = ant()
    predictor, state, _ = trained(spec)
    assert predictor.network is not None and predictor.bounds is not None
    with torch.no_grad():
        predictor.network.get_parameter("head.bias").fill_(size)
    states = predict(predictor, state[:8], torch.randn(8, 200, spec.control_dim))
    assert bool(StateGuard(spec)(states).all())
    assert not bool(predictor.bounds.within(states[:, 1:]).all(1).any())


def test_outliers_set_no_bounds():
    """One transition in two hundred that is thrown a hundred times as far widens the bounds of changes, states and
    speeds, unless a hundredth at either end of each number counts as outliers; then they are what the others set.
    """
    spec, cfg = ant(), PredictorCfg(NETWORK, token=TokenCfg(contacts=False), within_data=True)

    def bounds(outliers: float, thrown: int) -> MotionBounds:
        predictor = Predictor(spec, replace(cfg, outliers=outliers))
        torch.manual_seed(3)
        state, change = random_state(spec, 2000, seed=1, spread=0.3), 0.1 * torch.randn(2000, predictor.codec.dim)
        change[:thrown] *= 100.0
        state[:thrown, spec.state.root_lin_vel] *= 100.0
        found = MotionBounds(spec, predictor.codec, outliers)
        for part in torch.randperm(2000).split(500):  # as the data come
            found.update(state[part], change[part])
        found.finalise()
        return found

    clean, robust, wide = bounds(0.01, 0), bounds(0.01, 10), bounds(0.0, 10)
    assert wide.change_upper.min() > 5.0 and wide.speed[0] > 20.0
    assert robust.change_upper.max() < 0.6 and robust.change_lower.min() > -0.6
    assert torch.allclose(robust.change_upper, clean.change_upper, rtol=0.3)
    assert torch.allclose(robust.speed, clean.speed, rtol=0.3)


def test_bounds_turn_with_the_robot():
    """A robot that is moved and turned about gravity meets the same bounds."""
    predictor, state, _ = trained(ant())
    assert predictor.bounds is not None
    fast = state.clone()
    fast[:, ant().state.root_lin_vel] *= 1e3
    turn, shift = yaw(1.1), torch.tensor([3.0, -2.0, 0.0])
    expected = move_state(ant(), predictor.bounds.bound_state(fast), turn, shift)
    moved = predictor.bounds.bound_state(move_state(ant(), fast, turn, shift))
    torch.testing.assert_close(moved, expected, rtol=1e-4, atol=1e-4)


def test_positions_are_bounded_where_a_drive_needs_them():
    """A joint that could turn without end and in the data never did may not turn on; one that did, may."""
    joint = replace(ant().joints[0], lower=-9.0, upper=9.0, wraps=None)
    spec = replace(ant(), joints=(joint, replace(joint, name=ant().joints[1].name), *ant().joints[2:]))
    assert spec.joints[0].wraps and spec.joints[1].wraps
    predictor, _, _ = trained(spec)
    assert predictor.bounds is not None
    state = random_state(spec, 400, seed=1, spread=0.1)
    first, second = spec.state.joint_pos.start, spec.state.joint_pos.start + 1
    state[:, first], state[:, second] = torch.linspace(-1.0, 1.0, 400), torch.linspace(-3.1, 3.1, 400)
    predictor.bounds._seen = {}
    predictor.bounds.update(state, torch.zeros(400, predictor.codec.dim))
    predictor.bounds.finalise()
    assert 1.0 < float(predictor.bounds.state_upper[first]) < math.pi
    assert float(predictor.bounds.state_upper[second]) == LARGEST


def test_bounds_are_in_the_checkpoint_and_old_ones_have_none(tmp_path):
    """A bounded model is read back with its bounds and steps to the same bits; an unbounded one has no such tensors."""
    predictor, state, _ = trained(ant())
    checkpoint.save(tmp_path / "bounded", predictor)
    again = checkpoint.load(tmp_path / "bounded")
    wild = Prediction(100.0 * torch.randn(400, predictor.codec.dim))
    assert torch.equal(predictor.next_state(state, wild), again.next_state(state, wild))
    plain = Predictor(ant(), PredictorCfg(NETWORK))
    assert plain.bounds is None
    assert not [name for name in plain.state_dict() if name.startswith("bounds.") or name.endswith(".lower")]
