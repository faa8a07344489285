# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Joint limits in tokens."""

from __future__ import annotations

import pytest
import torch

from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.network.token_config import TokenCfg
from nerd_core.network.tokens import Tokenizer
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from support.robots import ant, cartpole


@pytest.mark.parametrize(
    ("position", "velocity", "now", "after"),
    [
        (3.0, 0.0, (-0.25, -0.25), (-0.25, -0.25)),
        (3.9, 12.0, (-0.1, -0.25), (0.1, -0.25)),
        (4.5, -60.0, (0.5, -0.25), (-0.25, -0.25)),
        (-5, 0, (-0.25, 1), (-0.25, 1)),
    ],
)
def test_stops_are_seen(position, velocity, now, after):
    """A token says how far a joint is above its upper and below its lower stop, now and one step on, negative before a
    stop, and but not below the band of 1/32 of the rail's 8 m.
    """
    token = Tokenizer(cartpole(), TokenCfg(limits=True))
    value = token(torch.tensor([position, 0.0, velocity, 0.0]), torch.zeros(2))
    torch.testing.assert_close(value[token.slices["limit_now"]], torch.tensor(now, dtype=torch.float32))
    torch.testing.assert_close(value[token.slices["limit_next"]], torch.tensor(after, dtype=torch.float32))


def test_only_joints_with_limits_count():
    """A hinge that turns freely has no stop; all eight of Ant's have two. Without the option nothing is added."""
    assert Tokenizer(cartpole(), TokenCfg(limits=True)).dim == Tokenizer(cartpole()).dim + 4
    assert Tokenizer(ant(), TokenCfg(limits=True)).dim == Tokenizer(ant()).dim + 32
    assert "limit_now" not in Tokenizer(ant()).slices


@pytest.mark.parametrize(("window", "ensemble"), [(1, 1), (3, 1), (3, 2)])
def test_gated_perceptron_steps_as_it_predicts(window, ensemble):
    """Cached steps and functional ones equal the prediction of the whole sequence, and start at the mean change."""
    torch.manual_seed(0)
    predictor = Predictor(
        cartpole(),
        PredictorCfg(network=ResidualMlpCfg(width=8, hidden=8, layers=2, window=window), ensemble=ensemble),
    )
    state, control = torch.randn(4, 7, 4), torch.randn(4, 7, 2)
    fresh = predictor(state, control).change
    torch.testing.assert_close(fresh, fresh[:1, :1].expand_as(fresh))
    torch.nn.init.normal_(predictor.network.get_parameter("head.weight"))
    whole = predictor(state, control).change
    cache, past = predictor.init_cache(4), None
    for step in range(7):
        cached = predictor.step(state[:, step], control[:, step], None, cache).change
        extended, past = predictor.extend(state[:, step], control[:, step], None, past)
        torch.testing.assert_close(cached, whole[:, step], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(extended.change, whole[:, step], rtol=1e-4, atol=1e-5)
