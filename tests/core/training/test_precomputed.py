# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Training in parts: the prior first, then the network on transitions that are encoded once."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from nerd_core.data.sampler import WindowSampler
from nerd_core.network.architectures.mlp import MlpCfg
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.network.config import NetworkCfg
from nerd_core.network.token_config import TokenCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.free_motion import FreeMotionCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.predictor.residual_network import MIN_RESIDUAL_SCALE
from nerd_core.training.config import TrainCfg, TrainingError
from nerd_core.training.losses import regime_loss, speed_weights
from nerd_core.training.optimiser import OptimiserCfg
from nerd_core.training.precomputed import PrecomputedTransitions
from nerd_core.training.regimes import Regimes
from nerd_core.training.run import train
from support.robots import with_inertias
from support.testbed_cartpole import SPEC, make_data

ROBOT = replace(
    SPEC,
    bodies=with_inertias(SPEC).bodies,
    joints=(replace(SPEC.joints[0], lower=-1.0, upper=1.0), *SPEC.joints[1:]),
)
SMALL = ResidualMlpCfg(width=8, hidden=8, layers=1)
CFG = TrainCfg(updates=5, batch_size=32, validations=1, validation_horizons=(5,), validation_trajectories=4)


def fresh(model: NetworkCfg = SMALL, solver: bool = True) -> Predictor:
    """A predictor with mechanics and a solver of stops, or with free motion, with the same weights at every call."""
    torch.manual_seed(0)
    cfg = PredictorCfg(
        network=model,
        token=TokenCfg(limits=True),
        prior=MechanicsPriorCfg(hidden=4) if solver else FreeMotionCfg(SMALL, TokenCfg(contacts=False)),
    )
    return Predictor(ROBOT, cfg)


def state_of(module: torch.nn.Module) -> list[torch.Tensor]:
    """Copies of all parameters."""
    return [param.detach().clone() for param in module.parameters()]


def differs(module: torch.nn.Module, before: list[torch.Tensor]) -> bool:
    """Whether any parameter is another than before."""
    return any(not torch.equal(*pair) for pair in zip(state_of(module), before, strict=True))


@pytest.mark.parametrize("precompute", [0, 200])
def test_each_part_learns_alone(precompute: int):
    """With train_parts='prior' only the rules of the mechanics change, with train_parts='network' only the network."""
    data, predictor = make_data(40, 12, seed=0), fresh()
    assert predictor.prior is not None
    solver, network = state_of(predictor.prior), state_of(predictor.network)
    train(predictor, data, None, replace(CFG, train_parts="prior"), quiet=True)
    assert differs(predictor.prior, solver) and not differs(predictor.network, network)
    solver = state_of(predictor.prior)
    train(predictor, data, None, replace(CFG, train_parts="network", precompute=precompute), quiet=True)
    assert differs(predictor.network, network) and not differs(predictor.prior, solver)


@pytest.mark.parametrize("prior", [None, FreeMotionCfg(SMALL, TokenCfg(contacts=False, limits=False))])
def test_a_network_behind_a_prior_that_does_not_learn_is_precomputed(prior: FreeMotionCfg | None):
    """Without a prior, or behind one of free motion, there are no parts to choose: the network changes, the prior
    stays; without a prior all transitions count, behind one those to which the network may add something.
    """
    data = make_data(40, 12, seed=0)
    torch.manual_seed(0)
    predictor = Predictor(ROBOT, PredictorCfg(network=SMALL, token=TokenCfg(limits=True), prior=prior))
    frozen = [] if predictor.prior is None else state_of(predictor.prior)
    network = state_of(predictor.network)
    result = train(predictor, data, None, replace(CFG, precompute=200), quiet=True)
    assert differs(predictor.network, network)
    assert predictor.prior is None or not differs(predictor.prior, frozen)
    assert result.updates == CFG.updates
    regimes, batch = Regimes(ROBOT), next(WindowSampler(data, 1, data.transitions, 0))
    precomputed = PrecomputedTransitions(predictor, WindowSampler(data, 1, data.transitions, 0), 1, regimes)
    encoded = predictor.encode(batch.state[:, :-1], batch.control, None)
    active = encoded.active
    assert precomputed.count == (len(batch.state) if active is None else int(active.sum()))


def test_a_precomputed_loss_is_that_of_the_predictor():
    """What is precomputed gives the loss that the predictor itself has on transitions to which its network may add."""
    data, predictor = make_data(40, 12, seed=0), fresh()
    with torch.no_grad():
        for param in predictor.parameters():
            param.add_(0.1 * torch.randn_like(param))
    regimes, count = Regimes(ROBOT), 100_000
    precomputed = PrecomputedTransitions(
        predictor, WindowSampler(data, 1, data.transitions, 0), 1, regimes, speed_weighting=0.5
    )
    batch = next(WindowSampler(data, 1, data.transitions, 0))
    state, next_state = batch.state[:, :-1], batch.state[:, 1:]
    active = predictor.encode(state, batch.control, None).active
    assert active is not None and 0 < precomputed.count == int(active.sum()) < len(state)
    error = predictor(state, batch.control).change - predictor.target(state, next_state)
    error = (error * speed_weights(regimes, state, 0.5))[active.flatten()]
    expected = regime_loss(error, regimes(state, None)[active.flatten()], regimes.count, 1.0)
    assert precomputed.loss(count, seed=1, regime_power=1.0).item() == pytest.approx(expected.item(), abs=0.1)


@pytest.mark.parametrize("precompute", [0, 10_000])
def test_the_residual_scale_is_the_error_of_the_prior(precompute: int):
    """A training of the network alone begins with the unit of what it adds: the mean error of the mechanics where the
    network may add to them, whether transitions are precomputed or not.
    """
    data, predictor = make_data(40, 12, seed=0), fresh()
    cfg = replace(CFG, train_parts="network", precompute=precompute, optimiser=OptimiserCfg(lr=1e-30))
    train(predictor, data, None, cfg, quiet=True)
    batch = next(WindowSampler(data, 1, data.transitions, 0))
    state = batch.state[:, :-1]
    active = predictor.encode(state, batch.control, None).active
    assert active is not None
    error = predictor.prior_prediction(state, batch.control).change - predictor.target(state, batch.state[:, 1:])
    expected = error[active.squeeze(-1)].detach().abs().mean(0).clamp(min=MIN_RESIDUAL_SCALE)
    torch.testing.assert_close(predictor.residual.residual_scale, expected, rtol=1e-4, atol=1e-6)


def test_the_residual_scale_of_a_network_that_adds_something_stays():
    """A second training of the network, or one of everything, does not change the unit of what the network adds."""
    data, predictor = make_data(40, 12, seed=0), fresh()
    train(predictor, data, None, CFG, quiet=True)
    assert torch.equal(predictor.residual.residual_scale, torch.ones_like(predictor.residual.residual_scale))
    predictor = fresh()
    train(predictor, data, None, replace(CFG, train_parts="network"), quiet=True)
    scale = predictor.residual.residual_scale.clone()
    assert not torch.equal(scale, torch.ones_like(scale))
    other = make_data(40, 12, seed=5)
    train(predictor, other, None, replace(CFG, train_parts="network", precompute=200), quiet=True)
    assert torch.equal(predictor.residual.residual_scale, scale)


def test_what_cannot_be_precomputed_is_refused():
    """Precomputing needs a network without memory that learns alone, and parts need mechanics; the errors say so."""
    data = make_data(10, 12, seed=0)
    with pytest.raises(TrainingError, match="expected train_parts='network'"):
        train(fresh(), data, None, replace(CFG, precompute=10), quiet=True)
    with pytest.raises(ValueError, match="expected a single residual one"):
        train(fresh(MlpCfg(hidden=(8,))), data, None, replace(CFG, train_parts="network", precompute=10), quiet=True)
    with pytest.raises(TrainingError, match="expected a model with mechanics"):
        train(fresh(solver=False), data, None, replace(CFG, train_parts="prior"), quiet=True)
