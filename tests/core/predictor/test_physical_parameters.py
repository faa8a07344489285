# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Physical parameters reach the mechanics of a predictor, and are refused by one that would not follow them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from nerd_core.contact.grounds import PlaneGround
from nerd_core.dynamics import NeuralDynamics, rollout
from nerd_core.network.token_config import TokenCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.free_fall import FreeFallCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.physical_parameters import PhysicalParameters, specification_with, specified
from support.robots import ant, random_state, with_inertias

ENVS = 4


def predictor_of(spec) -> Predictor:
    """Mechanics without a network, and without a memory, which only the stepper has."""
    return Predictor(spec, PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0, friction_memory=False)))


def situation(spec) -> tuple[torch.Tensor, torch.Tensor]:
    """States above and in the ground, and controls of three steps."""
    state = random_state(spec, ENVS, seed=1, spread=0.3)
    state[:, 2] = torch.linspace(0.1, 0.6, ENVS)
    state[:, spec.state.joint_pos] += torch.tensor([0.5 * (joint.lower + joint.upper) for joint in spec.joints])
    return state, torch.randn(ENVS, 3, spec.control_dim, generator=torch.Generator().manual_seed(1))


def masses(spec) -> torch.Tensor:
    """Masses of each environment, between half and one and a half of the specification's, shape (ENVS, B)."""
    own = specified(spec).mass
    assert own is not None
    return own * torch.linspace(0.5, 1.5, ENVS).unsqueeze(-1)


def test_a_roll_out_follows_the_parameters_of_each_environment():
    """Each environment of a roll-out moves as a model whose specification has its masses, and gradients reach them."""
    spec, ground = with_inertias(ant()), PlaneGround.flat().double()
    state, controls = (each.double() for each in situation(spec))
    mass = masses(spec).double().requires_grad_()
    states = rollout(predictor_of(spec).double(), state, controls, ground, parameters=PhysicalParameters(mass=mass))
    for env in range(ENVS):
        other = specification_with(spec, PhysicalParameters(mass=mass[env]))
        alone = rollout(predictor_of(other).double(), state[env : env + 1], controls[env : env + 1], ground)
        assert torch.allclose(alone[0], states[env], atol=1e-4)
    assert not torch.allclose(states, rollout(predictor_of(spec).double(), state, controls, ground), atol=1e-3)
    (gradient,) = torch.autograd.grad(states.square().sum(), mass)
    assert gradient.isfinite().all() and (gradient != 0).any(-1).all()


def test_the_stepper_and_whole_sequences_take_them_too():
    """One step of the stepper, and a sequence predicted at once, follow the parameters of each environment."""
    spec, ground = with_inertias(ant()), PlaneGround.flat().double()
    state, controls = (each.double() for each in situation(spec))
    parameters, predictor = PhysicalParameters(mass=masses(spec).double()), predictor_of(spec).double()
    motion = rollout(predictor, state, controls, ground, parameters=parameters).detach()
    stepper = NeuralDynamics(predictor, ENVS, ground=ground)
    assert torch.allclose(stepper.step(state, controls[:, 0], parameters=parameters), motion[:, 1], atol=1e-6)
    before = motion[:, :-1]
    said = predictor(before, controls, predictor.contacts(before, ground), parameters)
    assert torch.allclose(predictor.next_state(before, said), motion[:, 1:], atol=1e-6)


@pytest.mark.parametrize("prior", [None, "free_fall"])
def test_a_predictor_that_would_not_follow_them_refuses(prior: str | None):
    """A network that has seen one set of masses does not know others: they are refused by name, with what to do. No
    parameters, or an empty set of them, are none.
    """
    spec = with_inertias(ant())
    spec = replace(spec, joints=tuple(replace(joint, damping=0.0) for joint in spec.joints))
    cfg = PredictorCfg(prior=FreeFallCfg() if prior else None, token=TokenCfg(contacts=prior is None))
    predictor = Predictor(spec, cfg)
    state, controls = situation(spec)
    contacts = predictor.contacts(state, PlaneGround.flat())
    sequence = state.unsqueeze(1), controls[:, :1], None if contacts is None else contacts.map(lambda x: x.unsqueeze(1))
    predictor(*sequence, PhysicalParameters())
    assert not predictor.takes_parameters
    with pytest.raises(ValueError, match="other values of mass, gravity than the specification's.*mechanics"):
        predictor(*sequence, PhysicalParameters(mass=masses(spec), gravity=torch.zeros(3)))
