# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Each cause of roll-outs that run away is found where it was planted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.data.layout import ShardMeta
from nerd_core.data.shards import ShardWriter
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.network.token_config import TokenCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.spec import Control, RobotSpec
from nerd_core.training.config import TrainCfg
from nerd_core.training.diagnosis import likely_causes
from nerd_core.training.losses import StateScale
from nerd_core.training.preparation import gather_statistics
from support.testbed_cartpole import SPEC, make_data


def causes(spec: RobotSpec, state: torch.Tensor, control: torch.Tensor, path, **cfg: Any) -> list[str]:
    """Causes that are found for an untrained model of some trajectories."""
    with ShardWriter(path, spec, ShardMeta(task="test", seed=0)) as writer:
        writer.append(state.numpy(), control.numpy())
    data = TrajectoryDataset.open(path)
    torch.manual_seed(0)
    predictor = Predictor(spec, PredictorCfg(ResidualMlpCfg(width=8, hidden=8, layers=1), **cfg))
    gather_statistics(predictor, StateScale(spec), data, TrainCfg(updates=1))
    return likely_causes(predictor, data, data)


@pytest.fixture(scope="module")
def motion():
    """States and controls of a cart-pole."""
    data = make_data(100, 20, seed=0)
    batch = data.beginnings(20)
    return batch.state, batch.control


def test_three_causes_are_told(motion, tmp_path):
    """Few data are the likeliest cause of a model of 2,000 transitions."""
    found = causes(SPEC, *motion, tmp_path)
    assert len(found) == 3 and found[0].startswith("the data are too narrow") and "2,000 transitions" in found[0]


def test_a_feature_that_is_far_out_is_named(motion, tmp_path):
    """A stop that is met once in two thousand steps is a feature of many standard deviations, named with its joint."""
    state, control = motion
    rail = replace(SPEC.joints[0], lower=-500.0, upper=500.0)
    spec = replace(SPEC, joints=(rail, *SPEC.joints[1:]))
    state = state.clone()
    state[3, 5, 0] = 499.0
    found = causes(spec, state, control, tmp_path, token=TokenCfg(limits=True))
    text = next(each for each in found if each.startswith("a feature is out of range"))
    assert "'rail'" in text and "--within-data" in text


def test_drives_at_their_limits_are_named(motion, tmp_path):
    """A position drive that is asked for ten times its effort is told with its joint and share."""
    state, control = motion
    rail = replace(SPEC.joints[0], stiffness=1e4, effort_limit=10.0)
    spec = replace(SPEC, joints=(rail, *SPEC.joints[1:]), controls=(Control("rail", "position"),))
    found = causes(spec, state, control, tmp_path)
    assert "drives are at their limits: 'rail' (limit 10)" in found[0]


def test_jumps_without_contact_are_told(motion, tmp_path):
    """Velocities that jump where nothing can be touched are contacts that the model does not see."""
    state = motion[0].clone()
    state[::2, 10:, 2] += 300.0
    found = causes(SPEC, state, motion[1], tmp_path)
    assert any(each.startswith("contacts are unexplained") for each in found)
