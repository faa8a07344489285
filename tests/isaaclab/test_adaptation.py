# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The model as a shadow of PhysX finds out what has changed of the robots, and leaves them alone."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from nerd_core.adaptation.config import AdaptCfg
from nerd_core.dynamics import NeuralDynamics
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import Predictor
from support.adapting_arm import adapting_arm
from support.seam import make_env

COUNT = 8
LOADED = torch.arange(COUNT // 2, COUNT)
"""Environments whose last link gets heavier."""
SHARE = 0.2
"""What is added to them, as a share of the robot's mass."""


@pytest.fixture(scope="module")
def env() -> Iterator[Any]:
    """Eight double pendulums above the ground, with a shadow that follows their payload."""

    def change(cfg: Any) -> None:
        cfg.scene.robot.init_state.pos = (0.0, 0.0, 8.0)
        cfg.nerd.adapt, cfg.nerd.adapt_every, cfg.nerd.neural_share = "payload", 1, 0.0
        cfg.nerd.adapt_budget = 10.0
        cfg.episode_length_s = 1.0e6

    from nerd_isaaclab.physics.ground import find_ground

    env = make_env("NeRD-Double-Pendulum", COUNT, change=change)
    env.reset(seed=0)
    predictor = Predictor(env.robot_spec, PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0))).eval()
    env.use_dynamics(NeuralDynamics(predictor, COUNT, ground=find_ground(env)))
    yield env
    env.close()


@pytest.mark.unit
def test_the_follower_has_the_settings_of_the_task():
    """What is followed, how often and for how much is what a task's ``nerd`` says; nothing without a word."""
    from nerd_isaaclab.envs.nerd_env import NerdEnv

    arm, asked = adapting_arm(), SimpleNamespace(adapt="payload+motors", adapt_every=7, adapt_budget=0.125)
    env: Any = SimpleNamespace(nerd_cfg=asked, num_envs=3)
    made = NerdEnv._follower(env, arm, None)
    assert made is not None and made.predictor is arm and made.num_envs == 3
    assert made.cfg == AdaptCfg(("payload", "motors"), every=7, budget=0.125)
    asked.adapt = None
    assert NerdEnv._follower(env, arm, None) is None
    asked.adapt = "payload"
    with pytest.raises(ValueError, match="with dynamics of your own, expected a checkpoint's model"):
        NerdEnv._follower(env, object(), None)


def play(env: Any, mode: str, steps: int) -> torch.Tensor:
    """States of the joints after steps with random actions from the same start."""
    generator = torch.Generator().manual_seed(1)
    env.set_nerd_mode(mode)
    env.reset(seed=0)
    states = []
    for _ in range(steps):
        env.step(2.0 * torch.rand(COUNT, env.action_manager.total_action_dim, generator=generator) - 1.0)
        states.append(env.robot.data.joint_pos.torch.clone())
    return torch.stack(states)


def test_a_shadow_leaves_the_robots_alone(env: Any):
    """With no neural environment the solver's motion is that of physx mode, to the last bit; the model's error of a
    step is logged.
    """
    assert torch.equal(play(env, "mixed", 20), play(env, "physx", 20))
    play(env, "mixed", 2)
    assert float(env.extras["log"]["Metrics/nerd_error_joint_vel"]) < 1e-2


def test_a_payload_is_found_and_kept_over_a_reset(env: Any):
    """Robots that get a payload are told from those that do not, without being told, and a reset keeps that."""
    play(env, "mixed", 60)
    follower = env.nerd.adaptation
    assert not follower.used.any()
    mass = env.robot.data.body_mass.torch.reshape(COUNT, -1)[LOADED].clone()
    total = float(mass[0].sum())
    mass[:, -1] += SHARE * total
    env.robot.set_masses_index(masses=mass, body_ids=list(range(env.robot.num_bodies)), env_ids=LOADED.int())
    play(env, "mixed", 100)  # begins with a reset
    found = follower.estimate[:, 0]
    mass[:, -1] -= SHARE * total
    env.robot.set_masses_index(masses=mass, body_ids=list(range(env.robot.num_bodies)), env_ids=LOADED.int())
    assert follower.used.tolist() == [False] * (COUNT // 2) + [True] * (COUNT // 2)
    assert (found[LOADED] - SHARE).abs().max() < 0.02, found.tolist()
    assert float(env.extras["log"]["Metrics/nerd_adapted"]) == pytest.approx(0.5)


def test_a_policy_sees_the_estimate(env: Any):
    """The term of observations gives the estimates, and refuses another number of them."""
    from nerd_isaaclab import mdp

    assert torch.equal(mdp.adapted_numbers(env, 1), env.nerd.adaptation.estimate)
    with pytest.raises(ValueError, match="got 1 numbers of env.nerd.adapt, expected 3"):
        mdp.adapted_numbers(env, 3)


def test_neural_mode_is_refused(env: Any):
    """Where the model steps everything nothing is measured."""
    with pytest.raises(ValueError, match="where nothing is measured"):
        env.set_nerd_mode("neural")
