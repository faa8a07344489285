# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The benchmarks of agreement and of costs judge what they say they judge."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import torch

from nerd_core.contact.grounds import PlaneGround
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.training.metrics import predict
from support.robots import ant, random_state, with_inertias

pytestmark = pytest.mark.unit


@pytest.fixture
def load(repo_root: Path, monkeypatch: pytest.MonkeyPatch):
    """Imports a program as it is when it runs."""

    def named(name: str) -> ModuleType:
        monkeypatch.syspath_prepend(str(repo_root / "benchmarks"))
        return importlib.import_module(name)

    return named


@pytest.fixture
def model() -> Predictor:
    """Mechanics of a robot whose joints have stops."""
    spec = with_inertias(ant())
    joints = tuple(replace(joint, lower=-1.0, upper=1.0, wraps=False) for joint in spec.joints)
    cfg = PredictorCfg(network=None, prior=MechanicsPriorCfg(substeps=2, hidden=0))
    return Predictor(replace(spec, joints=joints), cfg).eval()


def _states(model: Predictor) -> torch.Tensor:
    """Three states high above the ground with joints in the middle of their ranges."""
    state = random_state(model.spec, 3, seed=0, spread=0.1)
    state[:, model.spec.state.root_pos] = torch.tensor([0.0, 0.0, 9.0])
    return state


def test_regimes_are_told_apart(load, model):
    """A joint that is at its stop before or after the step makes it a stop, a slot near the ground makes it a contact
    whatever the joints do, and all else is air.
    """
    program, spec = load("agreement"), model.spec
    state = _states(model)
    after = state.clone()
    after[1, spec.state.joint_pos.start] = 1.0
    state[2, spec.state.joint_pos.start], state[2, 2] = -1.0, 0.0
    regime = program.regimes_of(spec, state, after, model.contacts(state, PlaneGround.flat()))
    assert [program.REGIMES[number] for number in regime.tolist()] == ["air", "stop", "contact"]


def test_errors_of_steps_are_those_beside_the_engine(load, model):
    """What the engine made differently is the error, in the regime of its step, with the largest part of each state."""
    program, spec, ground = load("agreement"), model.spec, PlaneGround.flat()
    state, control = _states(model), torch.zeros(3, model.spec.control_dim)
    after = predict(model, state, control[:, None], ground)[:, 1]
    rows = program.step_rows(model, state, control, after, ground)
    assert set(rows) == {"air"} and rows["air"]["share"] == 1.0 and rows["air"]["joint_vel"] < 1e-4
    joint_vel = spec.state.joint_vel.start
    after[:, joint_vel] += torch.tensor([0.25, 0.5, 1.0])
    row = program.step_rows(model, state, control, after, ground)["air"]
    assert row["joint_vel"] == pytest.approx(0.5, abs=1e-3) and row["q90_joint_vel"] == pytest.approx(0.9, abs=1e-3)
    assert row["root_lin_vel"] < 1e-4 and row["change_joint_vel"] > 0.0


def test_a_motion_is_judged_beside_the_floor(load, model):
    """Errors of the model are those of its motion; those of the floor of the other motion of the engine."""
    program, ground = load("agreement"), PlaneGround.flat()
    control = torch.zeros(3, 4, model.spec.control_dim)
    truth = predict(model, _states(model), control, ground)
    other = truth.clone()
    other[:, 1:, 0] += 0.125
    row = program.motion_row(model, truth, other, control, ground)
    assert row["base_position_m"] < 1e-5 and row["floor_base_position_m"] == pytest.approx(0.125, abs=1e-5)
    assert set(row) >= {"base_orientation_rad", "joint_rad", "floor_base_orientation_rad", "floor_joint_rad"}


def test_each_mode_has_its_best_setting(load):
    """The number of threads is that with the smaller median, and the ratio that of turns that follow each other."""
    program = load("step_cost")
    turns = {("physx", 1): [4.0, 4.0, 90.0], ("physx", 2): [5.0, 5.0, 5.0], ("neural", 1): [3.0, 9.0, 9.0]}
    turns |= {("neural", 2): [2.0, 2.0, 40.0]}
    assert program.best_setting(turns, "physx") == 1 and program.best_setting(turns, "neural") == 2
    assert program.ratio_of(turns["physx", 1], turns["neural", 2]) == pytest.approx(0.5)


def test_every_robot_of_the_issue_is_measured(load):
    """Robots with drives, motors and efforts are in the table of agreement, and four are in that of costs."""
    assert {"double_pendulum", "franka", "franka_effort", "anymal_c", "anymal_dc", "go2", "ant", "g1"} <= set(
        load("agreement").ROBOTS
    )
    assert set(load("step_cost").TASKS) == {"ant", "cartpole", "anymal", "franka"}
