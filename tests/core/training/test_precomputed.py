# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Training in parts: the solver first, then the network on transitions that are looked at once."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from nerd_core.contact_solver import ContactSolverCfg
from nerd_core.data.sampler import WindowSampler
from nerd_core.losses import pace_weight, regime_loss
from nerd_core.models import MlpCfg, ModelCfg, ResidualMlpCfg
from nerd_core.predictor import FreeMotionCfg, Predictor, PredictorCfg
from nerd_core.regimes import Regimes
from nerd_core.remembered import Remembered
from nerd_core.tokens import TokenCfg
from nerd_core.training import TrainCfg, TrainingError, train
from support.robots import with_inertias
from support.testbed_cartpole import SPEC, make_data

ROBOT = replace(
    SPEC,
    bodies=with_inertias(SPEC).bodies,
    joints=(replace(SPEC.joints[0], lower=-1.0, upper=1.0), *SPEC.joints[1:]),
)
SMALL = ResidualMlpCfg(width=8, hidden=8, layers=1)
CFG = TrainCfg(updates=5, batch=32, validations=1, horizons=(5,), trajectories=4)


def fresh(model: ModelCfg = SMALL, solver: bool = True) -> Predictor:
    """A predictor with mechanics and a solver of stops, or with free motion, with the same weights at every call."""
    torch.manual_seed(0)
    cfg = PredictorCfg(
        model=model,
        token=TokenCfg(limits=True),
        free=None if solver else FreeMotionCfg(SMALL, TokenCfg(contacts=False)),
        solver=ContactSolverCfg(substeps=4 if solver else 0, hidden=4),
    )
    return Predictor(ROBOT, cfg)


def state_of(module: torch.nn.Module) -> list[torch.Tensor]:
    """Copies of all parameters."""
    return [param.detach().clone() for param in module.parameters()]


def differs(module: torch.nn.Module, before: list[torch.Tensor]) -> bool:
    """Whether any parameter is another than before."""
    return any(not torch.equal(*pair) for pair in zip(state_of(module), before, strict=True))


@pytest.mark.parametrize("remember", [0, 200])
def test_each_part_learns_alone(remember: int):
    """With parts='solver' nothing but the solver's rules change, with parts='network' nothing but the network."""
    data, predictor = make_data(40, 12, seed=0), fresh()
    assert predictor.mechanics is not None
    solver, network = state_of(predictor.mechanics), state_of(predictor.model)
    train(predictor, data, None, replace(CFG, parts="solver"), quiet=True)
    assert differs(predictor.mechanics, solver) and not differs(predictor.model, network)
    solver = state_of(predictor.mechanics)
    train(predictor, data, None, replace(CFG, parts="network", remember=remember), quiet=True)
    assert differs(predictor.model, network) and not differs(predictor.mechanics, solver)


def test_a_remembered_loss_is_that_of_the_predictor():
    """What is remembered gives the loss that the predictor itself has on transitions in which its network speaks."""
    data, predictor = make_data(40, 12, seed=0), fresh()
    with torch.no_grad():
        for param in predictor.parameters():
            param.add_(0.1 * torch.randn_like(param))
    regimes, count = Regimes(ROBOT), 100_000
    remembered = Remembered(predictor, WindowSampler(data, 1, data.transitions, 0), 1, regimes, pace=0.5)
    batch = next(WindowSampler(data, 1, data.transitions, 0))
    state, next_state = batch.state[:, :-1], batch.state[:, 1:]
    speaks = predictor.see(state, batch.control, None).near
    assert speaks is not None and 0 < remembered.count == int(speaks.sum()) < len(state)
    error = predictor(state, batch.control).change - predictor.target(state, next_state)
    error = (error * pace_weight(regimes, state, 0.5))[speaks.flatten()]
    expected = regime_loss(error, regimes(state, None)[speaks.flatten()], regimes.count, 1.0)
    assert remembered.loss(count, seed=1, power=1.0).item() == pytest.approx(expected.item(), abs=0.1)


def test_what_a_network_adds_has_the_unit_of_what_is_missing():
    """Remembering sets the unit of the network's output to the mean error of what is known, once, before it speaks."""
    data, predictor = make_data(40, 12, seed=0), fresh()
    regimes = Regimes(ROBOT)
    Remembered(predictor, WindowSampler(data, 1, data.transitions, 0), 1, regimes, pace=0.0)
    unit = predictor.missing.clone()
    assert not torch.equal(unit, torch.ones_like(unit)) and bool((unit > 0).all())
    torch.nn.init.ones_(predictor.model.head.weight)
    Remembered(predictor, WindowSampler(data, 1, data.transitions, 3), 1, regimes, pace=0.0)
    assert torch.equal(unit, predictor.missing)


def test_what_cannot_be_remembered_is_refused():
    """Memory needs a network without memory that learns alone, and parts need a solver; the errors say so."""
    data = make_data(10, 12, seed=0)
    with pytest.raises(TrainingError, match="expected parts='network'"):
        train(fresh(), data, None, replace(CFG, remember=10), quiet=True)
    with pytest.raises(ValueError, match="expected a single residual one"):
        train(fresh(MlpCfg(hidden=(8,))), data, None, replace(CFG, parts="network", remember=10), quiet=True)
    with pytest.raises(TrainingError, match="without a solver of contacts"):
        train(fresh(solver=False), data, None, replace(CFG, parts="solver"), quiet=True)
