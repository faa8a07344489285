# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The Cartpole swing-up on the real engine: the published formula, starts, ends and sizes."""

from __future__ import annotations

import math

import pytest
import torch

from support.seam import make_env

NUM_ENVS = 64


@pytest.fixture(scope="module")
def env():
    """One environment for the whole file: the engine starts once in a process."""
    env = make_env("NeRD-Cartpole", NUM_ENVS)
    env.reset()
    yield env
    env.close()


@pytest.fixture
def states(env):
    """Random states of all envs, written to the engine: x [m], th [rad], xd [m/s], thd [rad/s], each (N,)."""
    generator = torch.Generator().manual_seed(3)
    scale = torch.tensor([5.0, 7.0, 12.0, 12.0])
    x, th, xd, thd = ((2 * torch.rand(NUM_ENVS, 4, generator=generator) - 1) * scale).unbind(dim=1)
    robot = env.scene["robot"]
    assert robot.joint_names == ["slider_to_cart", "cart_to_pole"]
    robot.write_joint_state_to_sim(position=torch.stack((x, th), dim=1), velocity=torch.stack((xd, thd), dim=1))
    env.scene.update(0.0)
    return x, th, xd, thd


def wrap(angle: torch.Tensor) -> torch.Tensor:
    """Angle wrapped to [-pi, pi), written as the reference code does."""
    return angle - 2 * math.pi * torch.floor((angle + math.pi) / (2 * math.pi))


def test_sizes_and_times(env):
    """Four observations, one action, 60 control steps a second, 300 of them an episode, two physics steps each."""
    assert env.observation_manager.group_obs_dim["policy"] == (4,)
    assert env.action_manager.total_action_dim == 1
    assert env.step_dt == pytest.approx(1 / 60) and env.physics_dt == pytest.approx(1 / 120)
    assert env.max_episode_length == 300


def test_reward_is_the_published_formula(env, states):
    """The reward of a step is dt (5 - th^2 - .05 x^2 - .1 thd^2 - .1 xd^2) with the angle wrapped."""
    x, th, xd, thd = states
    expected = 5 - wrap(th) ** 2 - 0.05 * x**2 - 0.1 * thd**2 - 0.1 * xd**2
    env.termination_manager.compute()
    reward = env.reward_manager.compute(env.step_dt) / env.step_dt
    torch.testing.assert_close(reward, expected, rtol=1e-4, atol=1e-3)


def test_observation_is_the_state_with_a_wrapped_angle(env, states):
    """The policy sees (x, th, xd, thd), th in [-pi, pi]."""
    x, th, xd, thd = states
    observed = env.observation_manager.compute()["policy"]
    torch.testing.assert_close(observed, torch.stack((x, wrap(th), xd, thd), dim=1), rtol=1e-4, atol=1e-4)


def test_episode_ends_beyond_the_published_bounds(env, states):
    """An episode ends exactly when |x| > 4, |xd| > 10 or |thd| > 10."""
    x, _, xd, thd = states
    env.episode_length_buf[:] = 0
    env.termination_manager.compute()
    expected = (x.abs() > 4) | (xd.abs() > 10) | (thd.abs() > 10)
    assert expected.any() and not expected.all()
    assert torch.equal(env.termination_manager.terminated, expected)


def test_a_state_that_is_not_a_number_ends_the_episode(env, states):
    """The divergence term sees what is not finite, and only that env."""
    from nerd_isaaclab import mdp

    robot = env.scene["robot"]
    velocity = robot.data.joint_vel.torch
    velocity.zero_()
    assert not mdp.state_diverged(env).any()
    velocity[5, 1] = float("nan")
    assert mdp.state_diverged(env).nonzero().flatten().tolist() == [5]
    velocity.zero_()


def test_starts_cover_every_angle_and_actions_push_the_cart(env):
    """Episodes start at any angle and within 1 m; the same action accelerates all carts to the same side, and more
    than its full size changes nothing.
    """
    env.reset()
    start = env.scene["robot"].data.joint_pos.torch.clone()
    assert start[:, 0].abs().max() <= 1.0 and start[:, 1].abs().max() <= math.pi
    assert (start[:, 1] > 2).any() and (start[:, 1] < -2).any()
    before = env.scene["robot"].data.joint_vel.torch[:, 0].clone()
    env.step(torch.full((NUM_ENVS, 1), 7.0))
    assert (env.scene["robot"].data.joint_effort_target.torch[:, 0].max()) == pytest.approx(50.0)
    assert ((env.scene["robot"].data.joint_vel.torch[:, 0] - before) > 0.2).all()


def test_kept_policy_swings_up(env, repo_root):
    """The policy in the repository ends upright in at least 95 % of the episodes of this env."""
    from nerd_isaaclab.policies.play import play_episodes
    from nerd_isaaclab.policies.policy import Policy
    from nerd_isaaclab.tasks.swing_up.cartpole.scores import SCORES

    policy = Policy.load(repo_root / "policies" / "NeRD-Cartpole" / "policy.safetensors")
    result = play_episodes(env, policy, SCORES)
    assert result.episodes == NUM_ENVS
    assert result.scores["upright_at_end"].mean >= 0.95
