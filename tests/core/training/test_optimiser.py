# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The state of optimisers, and the learning rate over a run."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from nerd_core.files.safe_state import load_state, save_state
from nerd_core.training.optimiser import OptimiserCfg, load_optimiser_state, make_optimiser, optimiser_state


@pytest.mark.parametrize("kind", ["soap", "adamw"])
def test_state_survives_on_disk(kind, tmp_path):
    """An optimiser that goes on from a saved state makes the same updates to the last bit."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 2))
    other = nn.Sequential(nn.Linear(4, 6), nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 2))
    cfg = OptimiserCfg(kind=kind, precondition_frequency=3)
    optimiser, resumed = make_optimiser(model, cfg), make_optimiser(other, cfg)
    grads = [[torch.randn_like(param) for param in model.parameters()] for _ in range(20)]

    def update(net, which, grad):
        for param, value in zip(net.parameters(), grad, strict=True):
            param.grad = value.clone()
        which.step()

    for grad in grads[:10]:
        update(model, optimiser, grad)
    save_state(tmp_path / "state", optimiser_state(optimiser))
    other.load_state_dict(model.state_dict())
    load_optimiser_state(resumed, load_state(tmp_path / "state"))
    for grad in grads[10:]:
        update(model, optimiser, grad)
        update(other, resumed, grad)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))


def test_learning_rate_rises_and_falls():
    """The rate starts at zero, reaches its height after the warm-up and ends at its last share."""
    cfg = OptimiserCfg(lr=2.0, warmup=0.1, final_lr=0.25)
    assert cfg.rate(0.0) == 0.0
    assert cfg.rate(0.1) == pytest.approx(2.0)
    assert cfg.rate(0.55) == pytest.approx(2.0 * (0.25 + 0.75 * 0.5))
    assert cfg.rate(1.0) == pytest.approx(0.5)
