# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Presets are tried within the budget, and the best is taken."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.training import auto_preset
from nerd_core.training.auto_preset import WITHOUT_TRIALS, Trial, choose_preset, trial_budget
from nerd_core.training.config import TrainCfg, TrainingError
from support.testbed_cartpole import SPEC, make_data

CFG = TrainCfg(updates=2000, batch_size=16, validation_horizons=(5,), validation_trajectories=4, validation_steps=20)


def make(name):
    """One small model for every name, except that mechanics does not suit the robot."""
    if name == "mechanics":
        raise ValueError("no mechanics here")
    torch.manual_seed(0)
    return Predictor(SPEC, PredictorCfg(ResidualMlpCfg(width=8, hidden=8, layers=1), within_data=True)), CFG


@pytest.fixture
def scripted(monkeypatch):
    """Results of trials by name, instead of trainings."""

    def script(**ranks):
        def trial(name, *_):
            return ranks[name.replace("-", "_")]

        monkeypatch.setattr(auto_preset, "_try", trial)

    return script


def test_the_fewest_lost_roll_outs_win_then_the_error(scripted):
    """A preset that loses none beats one with a smaller error; of equals the first is taken; what is refused never."""
    data = make_data(8, 12, seed=0)
    scripted(
        mechanics=Trial("mechanics", refused="has springs"),
        bounded=Trial("bounded", 3, 8, 0.1, updates=120),
        bounded_mlp=Trial("bounded-mlp", 0, 8, 0.2, updates=120),
    )
    choice = choose_preset(make, data, data, CFG, say=lambda _: None)
    assert choice.preset == "bounded-mlp" and len(choice.trials) == 3
    assert choice.training is not None and choice.training.updates == 2000 - 240
    equal = Trial("bounded", 0, 8, 0.2), Trial("bounded-mlp", 0, 8, 0.2)
    scripted(mechanics=Trial("mechanics", refused="has springs"), bounded=equal[0], bounded_mlp=equal[1])
    assert choose_preset(make, data, data, CFG, say=lambda _: None).preset == "bounded"


def test_nothing_left_is_an_error(scripted):
    """If no preset can be trained the reasons are told."""
    data = make_data(8, 12, seed=0)
    scripted(**{n: Trial("bounded", refused=f"bad {n}") for n in ("mechanics", "bounded", "bounded_mlp")})
    with pytest.raises(TrainingError, match="bad bounded_mlp"):
        choose_preset(make, data, data, CFG, say=lambda _: None)


def test_small_budgets_are_not_spent_on_trials():
    """With few updates or seconds the preset that serves every robot is taken as it is."""
    data = make_data(8, 12, seed=0)
    assert trial_budget(replace(CFG, updates=500)) is None
    assert trial_budget(replace(CFG, updates=None, minutes=0.5)) is None
    found = trial_budget(replace(CFG, updates=None, minutes=5.0))
    assert found is not None and found.minutes == pytest.approx(0.3) and found.validations == 1
    choice = choose_preset(make, data, data, replace(CFG, updates=500), say=lambda _: None)
    assert choice.preset == WITHOUT_TRIALS and choice.training is None


def test_real_trials_are_a_function_of_the_seed():
    """Two choices with a budget in updates are equal to the last digit; a preset that is refused has its reason."""
    data, valid = make_data(30, 12, seed=0), make_data(6, 12, seed=1)
    first, second = (choose_preset(make, data, valid, CFG, say=lambda _: None) for _ in range(2))
    assert first == second
    assert first.trials[0].refused == "no mechanics here" and first.trials[1].updates == 120
