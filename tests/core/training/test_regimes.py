# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Regimes of motion, and the loss that takes its means within them."""

from __future__ import annotations

import math

import pytest
import torch

from nerd_core.contact.contacts import ContactModel
from nerd_core.contact.grounds import PlaneGround
from nerd_core.data.dataset import TrajectoryBatch, TrajectoryDataset
from nerd_core.data.sampler import WindowSampler
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.network.token_config import TokenCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.training.losses import one_step_loss
from nerd_core.training.regimes import Regimes
from support.robots import ant, cartpole


@pytest.mark.parametrize(
    ("position", "velocity", "regime"),
    [(0.0, 5.0, 0), (3.9, 0.0, 0), (3.9, 12.0, 1), (-3.95, 0.0, 1), (-3.9, -12.0, 1), (4.0, 0.0, 2), (-4.1, 9.0, 2)],
)
def test_a_cart_is_free_arrives_or_leans(position, velocity, regime):
    """A cart is free away from its stops, arrives when it is or will be near one, and leans on one when it is there."""
    regimes = Regimes(cartpole())
    assert regimes.count == 3
    state = torch.tensor([position, 0.3, velocity, 0.0])
    assert int(regimes(state, None)) == regime


def test_touching_slots_are_counted():
    """An Ant high above a plane is free of it; on the plane it is in a regime by the number of slots that touch."""
    spec = ant()
    regimes, contacts = Regimes(spec), ContactModel(spec)
    state = torch.zeros(2, spec.state.dim)
    state[:, spec.state.root_quat] = torch.tensor([0.0, 0.0, 0.0, 1.0])
    state[:, spec.state.joint_pos] = torch.tensor([0.5 * (j.lower + j.upper) for j in spec.joints])
    state[:, 2] = torch.tensor([5.0, 0.2])
    found = contacts(state, PlaneGround.from_vector(torch.tensor([0.0, 0.0, 1.0, 0.0]).expand(2, 4)))
    high, low = regimes(state, found).tolist()
    assert high == 0 and low > 0 and low % 3 == 0 and regimes.count == (1 + 3 * 3) * 3


@pytest.mark.parametrize(("speed", "steps"), [(0.001, 0), (0.05, 1), (0.5, 2)])
def test_rest_is_told_from_motion(speed, steps):
    """In contact, a robot at rest, a slow and a moving one are in three neighbouring regimes, whichever velocity it is;
    in the air speed does not matter.
    """
    spec = ant()
    regimes, contacts = Regimes(spec), ContactModel(spec)
    at = spec.state
    state = torch.zeros(4, at.dim)
    state[:, at.root_quat] = torch.tensor([0.0, 0.0, 0.0, 1.0])
    state[:, at.joint_pos] = torch.tensor([0.5 * (j.lower + j.upper) for j in spec.joints])
    state[:, 2] = 0.2
    still = int(regimes(state, found := contacts(state, PlaneGround.flat()))[0])
    state[1, at.root_lin_vel] = speed
    state[2, at.root_ang_vel] = speed / 0.3
    state[3, at.joint_vel] = speed / 0.3
    assert ((regimes(state, found)[1:] - still) == 3 * steps).all()
    state[:, 2] = 5.0
    assert not regimes(state, contacts(state, PlaneGround.flat())).any()


def _batch(share_at_stop: float):
    generator = torch.Generator().manual_seed(0)
    count = 512
    state = torch.rand(count, 2, 4, generator=generator) - 0.5
    stopped = torch.arange(count) < share_at_stop * count
    state[stopped, :, 0] += 4.5
    data = TrajectoryDataset.from_tensors(cartpole(), state, torch.zeros(count, 1, 2))
    return next(WindowSampler(data, 1, count, 0)), stopped


@pytest.mark.parametrize("power", [0.0, 1.0])
def test_the_weight_of_what_is_rare(power):
    """With impacts whose errors are a thousand times as large, free transitions pull at the loss more than ten times as
    hard as in one mean over everything.
    """
    torch.manual_seed(0)
    predictor = Predictor(
        cartpole(), PredictorCfg(network=ResidualMlpCfg(width=8, hidden=8), token=TokenCfg(limits=True, contacts=False))
    )
    batch, _ = _batch(0.25)
    at_stop = batch.state[:, 0, 0] > 3.0
    batch.state[at_stop, 1, 2:] += 1.0e3
    regimes = Regimes(predictor.spec)

    def pull(loss, batch_control):
        return torch.autograd.grad(loss, batch_control)[0][~at_stop].norm()

    control = batch.control.requires_grad_(True)
    torch.nn.init.normal_(predictor.network.head.weight)
    apart = pull(one_step_loss(predictor, batch, regimes=regimes, regime_power=power), control)
    together = pull(one_step_loss(predictor, batch), control)
    assert float(apart) > 10.0 * float(together)


def test_one_regime_is_one_mean():
    """When all transitions are free, the means within regimes are the mean over everything."""
    torch.manual_seed(0)
    predictor = Predictor(cartpole(), PredictorCfg(network=ResidualMlpCfg(), token=TokenCfg(contacts=False)))
    batch, _ = _batch(0.0)
    regimes = Regimes(predictor.spec)
    with torch.no_grad():
        apart, together = one_step_loss(predictor, batch, regimes=regimes), one_step_loss(predictor, batch)
    assert math.isclose(float(apart), float(together), rel_tol=1e-5)


def test_a_regime_of_a_few_transitions_does_not_count():
    """One cart at its stop in a batch of free ones does not change the loss: the logarithm of a single square may have
    any gradient. In a batch of a few transitions they all count.
    """
    torch.manual_seed(0)
    predictor = Predictor(cartpole(), PredictorCfg(network=ResidualMlpCfg(), token=TokenCfg(contacts=False)))
    regimes = Regimes(predictor.spec)
    batch, _ = _batch(1.5 / 512)
    at_stop = batch.state[:, 0, 0] > 3.0
    assert at_stop.sum() == 2
    with torch.no_grad():
        loss = one_step_loss(predictor, batch, regimes=regimes)
        batch.state[at_stop, 1, 2:] += 1.0e3
        assert torch.equal(one_step_loss(predictor, batch, regimes=regimes), loss)
        few, _ = _batch(1.5 / 512)
        few = type(few)(state=few.state[:4], control=few.control[:4])
        assert one_step_loss(predictor, few, regimes=regimes).isfinite()


def test_fast_errors_count_beside_their_speed():
    """Ten times the error at ten times the speed costs as much, where the robot is much faster than the speed of the
    weighting; where it is much slower errors count as they are.
    """
    spec = cartpole()
    regimes = Regimes(spec)
    predictor = Predictor(spec, PredictorCfg(network=ResidualMlpCfg(), token=TokenCfg(contacts=False)))
    control, losses = torch.zeros(64, 1, spec.control_dim), {}
    for speed, error in ((10.0, 1.0), (1.0, 0.1), (1e-4, 1e-3), (1e-4, 1e-2)):
        state = torch.zeros(64, spec.state.dim)
        state[:, spec.state.joint_vel] = speed
        after = predictor.codec.apply(state, predictor.extend(state, control[:, 0])[0].change.detach() + error)
        batch = TrajectoryBatch(torch.stack((state, after), 1), control)
        losses[speed, error] = float(one_step_loss(predictor, batch, regimes=regimes, speed_weighting=0.01).detach())
    assert losses[10.0, 1.0] == pytest.approx(losses[1.0, 0.1], abs=0.01)
    assert losses[1e-4, 1e-2] - losses[1e-4, 1e-3] == pytest.approx(math.log(100), abs=0.1)
