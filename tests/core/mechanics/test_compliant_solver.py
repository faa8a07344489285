# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Contacts that give way: what a spring with damping and friction does to a cube, by hand."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from nerd_core.dynamics import rollout
from nerd_core.mechanics.compliant_solver import Compliance
from nerd_core.mechanics.config import CompliantCfg
from nerd_core.mechanics.step import Mechanics
from nerd_core.robot.frames import ChangeCodec
from nerd_core.training.metrics import predict
from support.robots import ant, with_inertias
from support.tosses import CUBE, HALF, LEVEL, cube_model, first_states, prior_of

DT = CUBE.control_dt
GRAVITY = 9.81


def resting(speed: tuple[float, float, float] = (0.0, 0.0, 0.0), height: float = HALF) -> Tensor:
    """The cube flat above the ground, moving without turning, shape (1, 13)."""
    return torch.tensor([[0.0, 0.0, height, 0.0, 0.0, 0.0, 1.0, *speed, 0.0, 0.0, 0.0]])


def rolled(model, state: Tensor, steps: int) -> Tensor:
    """States of a roll-out, shape (B, steps + 1, 13)."""
    return predict(model, state, torch.zeros(len(state), steps, 0), LEVEL)


def energy(state: Tensor) -> Tensor:
    """Energy of the cube [J], without that of the springs."""
    motion = 0.37 * state[..., 7:10].square().sum(-1) + 8.1e-4 * state[..., 10:].square().sum(-1)
    return 0.5 * motion + 0.37 * GRAVITY * state[..., 2]


def test_nothing_pushes_in_the_air():
    """Far from the ground a cube falls freely, as applied forces in equal shares over the substeps carry it."""
    state = first_states(16, seed=0, height=2.0)
    after = rolled(cube_model(), state, 20)[:, -1]
    time, steps, substeps = 20 * DT, 20, 8
    within = 0.5 * GRAVITY * DT**2 * (1.0 + 1.0 / substeps)
    fallen = GRAVITY * DT**2 * steps * (steps - 1) / 2 + steps * within
    torch.testing.assert_close(after[:, 2], state[:, 2] + time * state[:, 9] - fallen, atol=1e-5, rtol=0)
    torch.testing.assert_close(after[:, 10:], state[:, 10:], atol=1e-4, rtol=0)


def test_a_cube_rests_where_four_springs_carry_it():
    """At rest four corners carry the weight: each is g / (4 k) deep, and nothing creeps."""
    model = cube_model(stiffness=2.0e4)
    states = rolled(model, resting(), 300)
    assert float(states[0, -1, 2]) == pytest.approx(HALF - GRAVITY / (4 * 2.0e4), abs=1e-5)
    assert float(states[0, -1, 7:].abs().max()) < 1e-4


@pytest.mark.parametrize("coefficient", [pytest.param(0.1, marks=pytest.mark.long), 0.3])
def test_friction_slows_a_sliding_cube_by_coulombs_law(coefficient: float):
    """A cube that slides flat loses mu g of its speed in a second, until it is at rest."""
    model = cube_model(friction_coefficient=coefficient, slip_speed=0.002)
    flat = rolled(model, resting(), 300)[:, -1]
    flat[:, 7] = 1.0
    states = rolled(model, flat, 30)
    lost = 1.0 - float(states[0, 20, 7])
    assert lost == pytest.approx(coefficient * GRAVITY * 20 * DT, rel=0.05)


@pytest.mark.parametrize("speed", [0.5, 1.5])
def test_what_comes_back_of_an_impact_falls_with_damping(speed: float):
    """A cube that lands flat leaves more slowly than it came, the more slowly the more is dissipated."""
    left = []
    for dissipation in (0.05, 0.5, 2.0):
        model = cube_model(damping=1e-3, dissipation=dissipation)
        states = rolled(model, resting((0.0, 0.0, -speed), HALF + 0.002), 12)
        left.append(float(states[0, :, 9].max()))
    assert speed > left[0] > left[1] > left[2] >= -1e-3


def test_contacts_give_no_energy():
    """Over a toss the energy never rises by more than what springs hold back."""
    states = rolled(cube_model(damping=20.0), first_states(64, seed=1), 120)
    highest = energy(states[:, 0])
    # A spring holds at most what falls into it; that comes back within a few steps, and no more of it.
    assert bool((energy(states) <= highest.unsqueeze(1) + 1e-2 * highest.unsqueeze(1)).all())
    assert float((energy(states[:, -1]) / highest).mean()) < 0.7


def test_finer_steps_change_little():
    """What a step of eight substeps gives is near what 32 finer ones give: the law is solved, not the step."""
    state, constants = first_states(64, seed=2), {"damping": 60.0}
    codec, ways = ChangeCodec(CUBE), []
    for steps, substeps in ((1, 8), (8, 16)):
        mechanics = Mechanics(CUBE, codec, CompliantCfg(hidden=0, substeps=substeps, physics_steps=steps, reach=0.05))
        with torch.no_grad():
            for name, value in constants.items():
                mechanics.solver.constants[Compliance[name.upper()]] = math.log(value)
        now = state.clone()
        now[:, 2] -= 0.06
        contacts = cube_model().contacts(now, LEVEL)
        ways.append(codec.apply(now, mechanics(now, torch.zeros(64, 0), contacts)))
    coarse, fine = ways
    changed = (fine[:, 7:10] - now[:, 7:10]).detach().norm(dim=-1)
    assert float(changed.max()) > 0.5, "some of them have to touch"
    assert float((coarse - fine)[:, 7:10].detach().norm(dim=-1).mean()) < 0.15 * float(changed.mean())


def test_gradients_reach_every_constant():
    """The position after an impact depends on all constants, smoothly."""
    model = cube_model()
    states = rollout(model, first_states(32, seed=3), torch.zeros(32, 25, 0), LEVEL)
    states[:, -1, :7].square().sum().backward()
    gradient = prior_of(model).mechanics.solver.constants.grad
    assert gradient is not None and bool(gradient.isfinite().all()) and bool((gradient != 0).all())


def test_driven_joints_are_refused():
    """A robot whose joints have stops is told to use rigid contacts."""
    spec = with_inertias(ant())
    with pytest.raises(ValueError, match="expected joints that nothing holds.*--prior mechanics"):
        Mechanics(spec, ChangeCodec(spec), CompliantCfg())
