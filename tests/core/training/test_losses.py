# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What training minimises."""

from __future__ import annotations

import math

import pytest
import torch

from nerd_core.contact.grounds import PlaneGround
from nerd_core.data.dataset import TrajectoryBatch
from nerd_core.dynamics import rollout
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.network.architectures.transformer import TransformerCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.training.losses import StateScale, mean_log, one_step_loss, rollout_loss
from support.robots import ant, random_state

TINY = TransformerCfg(width=16, layers=1, heads=2, window=3)


def ant_batch(count: int = 6, length: int = 5) -> TrajectoryBatch:
    """States near the ground that follow each other for no reason."""
    spec = ant()
    state = random_state(spec, count * (length + 1), seed=1).reshape(count, length + 1, -1)
    state[..., 2] = 0.4
    plane = torch.tensor([0.0, 0.0, 1.0, 0.0]).repeat(count, 1)
    return TrajectoryBatch(state, torch.randn(count, length, spec.control_dim), ground=plane)


def test_rollout_loss_is_the_error_of_the_rollout():
    """The multi-step loss of a floating robot on the ground is that of :func:`rollout`, contacts in the loop."""
    torch.manual_seed(0)
    batch, spec = ant_batch(), ant()
    predictor, scale = Predictor(spec, PredictorCfg(network=TINY)), StateScale(spec)
    scale.update(batch.state[:, :-1], batch.state[:, 1:])
    scale.finalise()
    assert batch.ground is not None
    states = rollout(predictor, batch.state[:, 0], batch.control, PlaneGround.from_vector(batch.ground))
    square = [scale.distance(batch.state[:, k], states[:, k]).square().mean(0) / k**2 for k in range(1, 6)]
    expected = torch.stack(square).mean(0).log().mean()
    loss = rollout_loss(predictor, batch, 5, scale)
    torch.testing.assert_close(loss, expected)
    loss.backward()
    assert all(param.grad is not None and param.grad.isfinite().all() for param in predictor.parameters())


def test_contacts_follow_the_predicted_state():
    """Moving the ground under a roll-out changes its loss: contacts are asked anew at every step."""
    torch.manual_seed(0)
    batch, spec = ant_batch(), ant()
    predictor, scale = Predictor(spec, PredictorCfg(network=TINY)), StateScale(spec)
    assert batch.ground is not None
    lower = TrajectoryBatch(batch.state, batch.control, batch.ground - torch.tensor([0.0, 0.0, 0.0, 0.1]))
    assert rollout_loss(predictor, batch, 3, scale) != rollout_loss(predictor, lower, 3, scale)


def test_a_perfect_prediction_has_no_loss():
    """With data that the model itself made both losses vanish."""
    torch.manual_seed(0)
    spec = ant()
    predictor, scale = Predictor(spec, PredictorCfg(network=TINY)), StateScale(spec)
    batch = ant_batch()
    assert batch.ground is not None
    states = rollout(predictor, batch.state[:, 0], batch.control, PlaneGround.from_vector(batch.ground)).detach()
    own = TrajectoryBatch(states, batch.control, batch.ground)
    assert float(rollout_loss(predictor, own, 5, scale).detach()) < math.log(1e-9)
    assert float(one_step_loss(predictor, own).detach()) < math.log(1e-8)
    assert float(one_step_loss(predictor, batch).detach()) > math.log(1e-3)


def test_noise_is_undone_by_the_target():
    """The target of a disturbed state leads to the true next state, so the disturbance is part of it."""
    torch.manual_seed(0)
    spec, batch = ant(), ant_batch()
    predictor, scale = (
        Predictor(spec, PredictorCfg(network=ResidualMlpCfg(width=8, hidden=8, layers=1))),
        StateScale(spec),
    )
    seen = scale.add_noise(batch.state[:, :-1], 0.5, torch.Generator().manual_seed(0))
    target = predictor.target(seen, batch.state[:, 1:])
    assert batch.ground is not None
    contacts = predictor.contacts(seen, PlaneGround.from_vector(batch.ground))
    change = predictor(seen, batch.control, contacts).change
    expected = (change - target).square().mean((0, 1)).log().mean()
    torch.testing.assert_close(one_step_loss(predictor, batch, noisy_state=seen), expected)


def test_perturbation_has_the_size_asked_for():
    """Noise of size 0.05 moves states by a twentieth of what one step changes, in every coordinate."""
    spec, batch = ant(), ant_batch(200)
    scale = StateScale(spec)
    scale.update(batch.state[:, :-1], batch.state[:, 1:])
    scale.finalise()
    moved = scale.add_noise(batch.state, 0.05, torch.Generator().manual_seed(0))
    size = scale.distance(batch.state, moved).square().mean((0, 1)).sqrt()
    torch.testing.assert_close(size, torch.full_like(size, 0.05), rtol=0.1, atol=0)


def test_a_force_head_needs_forces():
    """Training a force head on data without forces is refused with a reason; with them the head learns those of bodies
    that are near the ground.
    """
    spec, batch = ant(), ant_batch()
    predictor = Predictor(spec, PredictorCfg(network=TINY, force_head=True))
    with pytest.raises(ValueError, match="contact forces"):
        one_step_loss(predictor, batch)
    force = torch.ones(6, 5, len(spec.bodies), 3)
    full = TrajectoryBatch(batch.state, batch.control, batch.ground, body_force=force)
    assert full.ground is not None
    contacts = predictor.contacts(batch.state[:, :-1], PlaneGround.from_vector(full.ground))
    predicted = predictor(batch.state[:, :-1], batch.control, contacts)
    target = predictor.target(batch.state[:, :-1], batch.state[:, 1:])
    motion = (predicted.change - target).square().mean((0, 1)).log().mean()
    assert predicted.near is not None and 0.0 < predicted.near.float().mean() < 1.0
    push = (predicted.force - force)[predicted.near].square().mean().log()
    torch.testing.assert_close(one_step_loss(predictor, full), motion + push)


def test_numbers_at_their_noise_do_not_drown_others():
    """The gradient for a number does not depend on how large the error of another number is."""
    small, large = torch.tensor([1e-4, 1e-2], requires_grad=True), torch.tensor([1e-4, 1e6], requires_grad=True)
    for square in (small, large):
        mean_log(square).backward()
        assert square.grad is not None
        assert float(square.grad[0]) == pytest.approx(0.5e4, rel=1e-3)
    torch.testing.assert_close(mean_log(small), small.log().mean())


def test_ensemble_members_learn_apart():
    """The loss of an ensemble is the mean of its members' own losses, not that of their mean."""
    torch.manual_seed(0)
    spec, batch = ant(), ant_batch()
    predictor = Predictor(spec, PredictorCfg(network=TINY, ensemble=3))
    assert batch.ground is not None
    contacts = predictor.contacts(batch.state[:, :-1], PlaneGround.from_vector(batch.ground))
    members = predictor(batch.state[:, :-1], batch.control, contacts).members
    assert members is not None
    target = predictor.target(batch.state[:, :-1], batch.state[:, 1:])
    own = torch.stack([(change - target).square().mean((0, 1)).log().mean() for change in members.change])
    torch.testing.assert_close(one_step_loss(predictor, batch), own.mean())
