# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The DFKI's double pendulum as a task: the engine has the identified robot, logs of the real one fit it, and mechanics
moves as the engine does.
"""

from __future__ import annotations

import pytest
import torch

from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.recordings.fitting import require_fitting
from nerd_core.recordings.reading import read_recordings
from nerd_isaaclab.robots import dfki_pendulum
from support.recorded_files import driven_pendulum_file
from support.seam import make_env

NUM_ENVS = 8


@pytest.fixture(scope="module")
def env():
    """The pendubot."""
    env = make_env("NeRD-DFKI-Pendubot", NUM_ENVS)
    env.reset()
    yield env
    env.close()


def test_the_engine_has_the_identified_robot(env):
    """Masses, centres, moments about the hinges, rotors and friction of the engine are those of the robot's file."""
    for number, name in enumerate(("upper_link", "lower_link")):
        inertia = next(body.inertia for body in env.robot_spec.bodies if body.name == name)
        assert inertia.mass == pytest.approx(dfki_pendulum.MASSES[number])
        assert inertia.centre[2] == pytest.approx(-dfki_pendulum.CENTRES[number])
        assert inertia.moments[1] == pytest.approx(dfki_pendulum.MOMENTS[number])
    for joint in env.robot_spec.joints:
        assert joint.armature == pytest.approx(dfki_pendulum.ARMATURES[joint.name])
        assert joint.friction == joint.dynamic_friction == pytest.approx(dfki_pendulum.FRICTIONS[joint.name])
        assert joint.viscous_friction == pytest.approx(dfki_pendulum.VISCOUS_FRICTIONS[joint.name])


def test_logs_of_the_real_pendulum_fit_the_task(env, tmp_path):
    """A model of the task's specification has the states and efforts of the recordings."""
    require_fitting(read_recordings(driven_pendulum_file(tmp_path / "arm.h5")).spec, env.robot_spec)


def test_mechanics_moves_as_the_engine_does(env):
    """Untrained mechanics of the task's robot stays within .01 rad of the engine over ten driven steps."""
    env.reset()
    spec, data = env.robot_spec, env.scene["robot"].data
    model = Predictor(spec, PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0))).eval()
    state = torch.cat((data.joint_pos.torch, data.joint_vel.torch), dim=-1).clone()
    action = 2.0 * torch.rand(NUM_ENVS, 2, generator=torch.Generator().manual_seed(0)) - 1.0
    control = action * torch.tensor([5.0, 0.5])
    for _ in range(10):
        env.step(action)
        prediction, _ = model.extend(state, control, None, None, None)
        state = model.next_state(state, prediction)
    apart = torch.remainder(state[:, :2] - data.joint_pos.torch + torch.pi, 2 * torch.pi) - torch.pi
    assert apart.abs().max() < 0.01


def test_only_one_motor_swings_up(env):
    """A full action is 5 N m on the shoulder and .5 N m on the elbow, which makes up for its friction alone."""
    env.reset()
    env.step(torch.ones(NUM_ENVS, 2))
    given = env.scene["robot"].data.joint_effort_target.torch
    assert torch.allclose(given, torch.tensor([5.0, 0.5]).expand(NUM_ENVS, 2))
