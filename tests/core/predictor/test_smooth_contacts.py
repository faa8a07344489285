# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Smooth contacts for optimisation: gradients over 32 steps stay bounded, and the motion stays near."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from nerd_core.contact.grounds import PlaneGround
from nerd_core.dynamics import rollout
from nerd_core.mechanics.kernel import verification
from nerd_core.network.architectures.mlp import MlpCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg, smoothed
from nerd_core.predictor.predictor import Predictor
from support.robots import ant, with_inertias

ENVS, STEPS = 8, 32


@pytest.fixture(autouse=True)
def _without_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(verification.SWITCH, "0")


def falling(predictor: Predictor) -> tuple[Tensor, Tensor]:
    """Ants that fall onto their feet, and efforts."""
    spec, generator = predictor.spec, torch.Generator().manual_seed(3)
    state = torch.zeros(ENVS, spec.state.dim)
    state[:, spec.state.root_quat.stop - 1] = 1.0
    state[:, 2] = torch.linspace(0.35, 0.6, ENVS)
    state[:, spec.state.joint_pos] = 0.3 * torch.randn(ENVS, len(spec.joints), generator=generator)
    state[:, spec.state.root_lin_vel] = torch.tensor([0.3, 0.2, -1.0])
    return state, torch.randn(ENVS, STEPS, spec.control_dim, generator=generator)


def gradient(predictor: Predictor) -> tuple[Tensor, Tensor]:
    """Last states, and sizes of the gradient of some number of them by the first ones, by environment."""
    state, controls = falling(predictor)
    state.requires_grad_()
    last = rollout(predictor, state, controls, PlaneGround.flat())[:, -1]
    weights = torch.randn(last.shape[-1], generator=torch.Generator().manual_seed(0))
    (found,) = torch.autograd.grad((last * weights).sum(), state)
    return last.detach(), found.norm(dim=-1)


def model() -> Predictor:
    """Mechanics with the constants of the beginning."""
    cfg = PredictorCfg(network=None, prior=MechanicsPriorCfg(substeps=4, hidden=0, slots=5))
    return Predictor(with_inertias(ant()), cfg).eval()


def test_smooth_contacts_bound_gradients_over_32_steps():
    """With contacts that take .02 s gradients through landings stay below three thousand, a tenth of what they are
    otherwise at most, and the robot ends within two decimetres of where it would have.
    """
    predictor = model()
    (last, hard), (near, soft) = gradient(predictor), gradient(smoothed(predictor, 0.02))
    assert soft.isfinite().all() and soft.max() < 3.0e3
    assert hard.max() > 10.0 * soft.max()
    assert (near - last)[:, :3].norm(dim=-1).median() < 0.2


def test_smooth_models_share_weights_and_leave_the_model_as_it_is():
    """Learned constants are the same parameters, the model goes on as before, and no time at all is no change."""
    predictor = model()
    soft = smoothed(predictor, 0.05)
    assert {id(each) for each in soft.parameters()} == {id(each) for each in predictor.parameters()}
    assert predictor.prior.mechanics.solver.smooth_share == 1.0 > soft.prior.mechanics.solver.smooth_share
    state, controls = falling(predictor)
    contacts = predictor.contacts(state, PlaneGround.flat())
    said, again = (each.prior_prediction(state, controls[:, 0], contacts) for each in (predictor, smoothed(soft, 0.0)))
    assert torch.equal(said.change, again.change)
    cfg = PredictorCfg(network=None, prior=MechanicsPriorCfg(substeps=4, hidden=0, slots=5, smoothing_time=0.05))
    made = Predictor(predictor.spec, cfg)
    assert made.prior.mechanics.solver.smooth_share == soft.prior.mechanics.solver.smooth_share


def test_what_cannot_be_smooth_says_so():
    """A model without mechanics, and a time that is none, are refused."""
    alone = Predictor(with_inertias(ant()), PredictorCfg(network=MlpCfg(hidden=(8,), window=1)))
    with pytest.raises(ValueError, match="without mechanics, expected one"):
        smoothed(alone, 0.02)
    with pytest.raises(ValueError, match="expected a finite number >= 0"):
        smoothed(model(), math.nan)
