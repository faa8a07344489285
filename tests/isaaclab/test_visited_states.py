# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""First states that a model reaches, without an engine."""

from __future__ import annotations

import pytest
import torch

from nerd_core import checkpoint
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.network.token_config import TokenCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_isaaclab.collect.collect_cfg import CollectCfg, CollectError
from nerd_isaaclab.collect.excitation import ControlRange
from nerd_isaaclab.collect.visited_states import TIMES, VisitedStates
from support.robots import cartpole

STEPS = 5


@pytest.fixture
def model(tmp_path):
    """A cartpole whose velocities stay as they are."""
    predictor = Predictor(
        cartpole(), PredictorCfg(network=ResidualMlpCfg(width=8, hidden=8), token=TokenCfg(contacts=False))
    )
    torch.nn.init.zeros_(predictor.network.head.bias)
    return checkpoint.save(tmp_path / "model", predictor)


def visited(model):
    """States visited from some first states."""
    spec = cartpole()
    limits = ControlRange(-torch.ones(spec.control_dim), torch.ones(spec.control_dim))
    return VisitedStates(str(model), spec, limits, {"zero": 1.0}, STEPS, None)


def test_states_are_on_the_way_of_the_model(model):
    """A cart that keeps its velocity is found where it is after one to five steps, from the first states given, and the
    same seed finds it at the same places.
    """
    first = torch.zeros(8 * TIMES, 4)
    first[:, 2] = torch.linspace(0.5, 1.0, 8 * TIMES)
    states = visited(model).draw(first, torch.Generator().manual_seed(3))
    assert states.shape == first.shape
    steps = states[:, 0] / states[:, 2] / cartpole().control_dt
    torch.testing.assert_close(steps, steps.round(), rtol=0, atol=1e-3)
    assert set(steps.round().int().tolist()) == set(range(1, STEPS + 1))
    assert set(states[:, 2].tolist()) == set(first[:8, 2].tolist())
    assert torch.equal(states, visited(model).draw(first, torch.Generator().manual_seed(3)))


def test_what_leaves_the_guard_starts_over(model):
    """Where the model runs away, the first state itself is taken: nothing absurd is asked of the solver."""
    first = torch.zeros(64, 4)
    first[:, 0], first[:, 2] = 3.99, 99.0  # far beyond the stop after the first step
    assert torch.equal(visited(model).draw(first, torch.Generator()), first)


def test_it_needs_the_ground_of_the_task():
    """On planes of their own for each trajectory visited states are refused with a reason."""
    with pytest.raises(CollectError, match="--visited needs the ground of the task"):
        CollectCfg(task="T", ground="random-planes", visited="model")
