# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Mechanics that are calibrated: each number does what its name says, and training finds them again."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from nerd_core import checkpoint
from nerd_core.mechanics.compliant_solver import Compliance
from nerd_core.predictor.calibrated_mechanics import CalibratedMechanicsCfg, Calibration
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.training.metrics import open_loop, predict
from nerd_core.training.presets import PRESETS
from nerd_core.training.run import train
from support.tosses import CUBE, LEVEL, cube_model, first_states, prior_of, set_constants, tossed

DT = CUBE.control_dt


def after(model, state, steps=10):
    """States after some steps."""
    return predict(model, state, torch.zeros(len(state), steps, 0), LEVEL)[:, -1]


def test_gravity_is_added():
    """Gravity that is less by a share lets a cube in the air fall less."""
    state = first_states(8, seed=0, height=2.0)
    less = after(cube_model(gravity_z=0.5, gravity_x=0.2), state) - after(cube_model(), state)
    torch.testing.assert_close(less[:, 9], torch.full((8,), 0.5 * 10 * DT), atol=1e-5, rtol=0)
    torch.testing.assert_close(less[:, 7], torch.full((8,), 0.2 * 10 * DT), atol=1e-5, rtol=0)


def test_a_lag_moves_positions_and_no_velocity():
    """Velocities that are half a step old: the cube falls faster than they say, and they change as before."""
    state = first_states(8, seed=0, height=2.0)
    late = after(cube_model(velocity_lag=0.5), state) - after(cube_model(), state)
    torch.testing.assert_close(late[:, 2], torch.full((8,), -0.5 * DT * 9.81 * 10 * DT), atol=1e-5, rtol=0)
    torch.testing.assert_close(late[:, 7:], torch.zeros(8, 6), atol=1e-4, rtol=0)


def test_the_ground_is_offset():
    """A cube that is smaller than measured rests deeper by as much."""
    state = torch.tensor([[0.0, 0, 0.05, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]])
    deeper = after(cube_model(), state, 200) - after(cube_model(ground_offset=0.0015), state, 200)
    assert float(deeper[0, 2]) == pytest.approx(0.0015, abs=1e-5)


def test_inertia_scales_what_impacts_turn():
    """With more inertia the same impact turns a cube less."""
    state = first_states(64, seed=1)
    turned = [
        (after(cube_model(inertia=value), state, 16)[:, 10:] - state[:, 10:]).norm(dim=-1).mean()
        for value in (-0.5, 0.0, 0.5)
    ]
    assert turned[0] > turned[1] > turned[2]


def test_moments_about_each_axis_have_factors_of_their_own(tmp_path: Path):
    """Factors about x and y come beside the common one, are named, and come back with a checkpoint; without the setting
    there is one factor, and no tensor more.
    """
    cfg = PredictorCfg(network=None, prior=CalibratedMechanicsCfg(hidden=0, inertia_axes=True))
    model = Predictor(CUBE, cfg)
    prior = prior_of(model)
    set_constants(model, inertia=math.log(2.0))
    with torch.no_grad():
        prior.axes.copy_(torch.tensor([math.log(0.5), math.log(3.0)]) / Calibration.INERTIA.size)
    found = prior._calibrated(first_states(1, seed=0), None, None)[3].inertia
    assert torch.allclose(found, 8.1e-4 * torch.diag(torch.tensor([1.0, 6.0, 2.0])), rtol=1e-5)
    assert prior.calibration()["inertia_x"] == pytest.approx(math.log(0.5))
    checkpoint.save(tmp_path / "long", model)
    assert prior_of(checkpoint.load(tmp_path / "long")).calibration() == prior.calibration()
    assert "prior.axes" not in cube_model().state_dict() and "inertia_x" not in prior_of(cube_model()).calibration()


def test_a_checkpoint_keeps_the_calibration(tmp_path: Path):
    """What was found comes back with the model, to the last bit, and is named."""
    model = cube_model(gravity_z=0.2, friction_coefficient=0.31)
    data = tossed(model, 4, 20, seed=0)
    which = np.arange(len(data))
    batch = data.gather(which, 0 * which, 1)
    state = batch.state[:, :-1]
    model.update_statistics(state, batch.control, batch.state[:, 1:], model.contacts(state, LEVEL))
    model.finalise_statistics()
    set_constants(model, gravity_z=0.2)
    checkpoint.save(tmp_path / "cube", model)
    again = checkpoint.load(tmp_path / "cube")
    assert prior_of(again).calibration() == prior_of(model).calibration()
    assert prior_of(again).calibration()["gravity_z"] == pytest.approx(0.2)
    state = first_states(4, seed=5)
    assert torch.equal(after(again, state), after(model, state))


def test_flights_show_gravity_and_lag():
    """Before any training, gravity and the lag of velocities are those of the flights in the data."""
    data, model = tossed(cube_model(gravity_z=0.4, gravity_x=0.2, velocity_lag=0.4), 64, 30, seed=0), cube_model()
    which = np.arange(len(data))
    batch = data.gather(which, 0 * which, 30)
    state = batch.state[:, :-1]
    model.update_statistics(state, batch.control, batch.state[:, 1:], model.contacts(state, LEVEL))
    model.finalise_statistics()
    found = prior_of(model).calibration()
    assert found["gravity_z"] == pytest.approx(0.4, abs=0.05) and found["gravity_x"] == pytest.approx(0.2, abs=0.05)
    assert found["velocity_lag"] == pytest.approx(0.4, abs=0.05)


@pytest.mark.long
def test_known_numbers_are_found_again():
    """Trained on the tosses of a cube with other gravity, ground and friction, a fresh model comes near to them, and
    its roll-outs much nearer to the truth.
    """
    truth = cube_model(gravity_z=0.4, ground_offset=0.002, friction_coefficient=0.4)
    data, valid = tossed(truth, 24, 30, seed=0), tossed(truth, 16, 30, seed=1)
    model, preset = cube_model(), PRESETS["measured"]
    before = open_loop(model, valid, 30).at(30)
    cfg = preset.training
    rollout = replace(cfg.rollout, steps=20, first_steps=12, batch_size=48)
    optimiser = replace(cfg.optimiser, lr=0.1)
    cfg = replace(
        cfg, minutes=None, updates=40, validations=1, validation_horizons=(30,), rollout=rollout, optimiser=optimiser
    )
    train(model, data, valid, cfg, quiet=True)
    found, errors = prior_of(model).calibration(), open_loop(model, valid, 30).at(30)
    assert found["gravity_z"] == pytest.approx(0.4, abs=0.2)
    assert found["ground_offset"] == pytest.approx(0.002, abs=0.001)
    friction = float(prior_of(model).mechanics.solver.constants[Compliance.FRICTION_COEFFICIENT].exp())
    assert friction == pytest.approx(0.4, abs=0.1)
    assert errors["base_position_m"] < 0.5 * before["base_position_m"]


def test_a_fixed_base_is_refused():
    """A robot without a free root is told what to use instead."""
    with pytest.raises(ValueError, match="whose base is fixed.*--prior mechanics"):
        Predictor(replace(CUBE, floating_base=False), PRESETS["measured"].predictor)


def test_constants_can_be_set_by_name():
    """The helper of these tests writes where the model reads."""
    model = cube_model()
    set_constants(model, stiffness=1.0e4, gravity_y=-0.1)
    assert prior_of(model).calibration()["gravity_y"] == pytest.approx(-0.1)
