# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The Ant tasks on the real engine: the published formulas, sizes and ends."""

from __future__ import annotations

import pytest
import torch

from support.seam import make_env

NUM_ENVS = 32


@pytest.fixture(scope="module")
def env():
    """One environment for the whole file: the engine starts once in a process."""
    env = make_env("NeRD-Ant-Run", NUM_ENVS)
    env.reset()
    yield env
    env.close()


@pytest.fixture
def root(env):
    """Random root states, written to the engine: position [m] from the env origin, quaternion (x, y, z, w), linear
    [m/s] and angular [rad/s] velocity in world axes.
    """
    generator = torch.Generator().manual_seed(5)
    pos = torch.rand(NUM_ENVS, 3, generator=generator)
    quat = torch.nn.functional.normalize(torch.randn(NUM_ENVS, 4, generator=generator), dim=1)
    velocity = 3 * torch.randn(NUM_ENVS, 6, generator=generator)
    robot = env.scene["robot"]
    robot.write_root_pose_to_sim(torch.cat((pos + env.scene.env_origins, quat), dim=1))
    robot.write_root_link_velocity_to_sim(velocity)
    env.scene.update(0.0)
    return pos, quat, velocity[:, :3], velocity[:, 3:]


def axis(quat: torch.Tensor, which: int) -> torch.Tensor:
    """A column of the rotation matrix of (x, y, z, w), written out from its definition, (N, 3)."""
    x, y, z, w = quat.unbind(dim=1)
    columns = (
        (1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)),
        (2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)),
        (2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)),
    )
    return torch.stack(columns[which], dim=1)


def total(env, rewards) -> torch.Tensor:
    """Weighted sum of the terms of a reward configuration in the present state, (N,)."""
    terms = [getattr(rewards, name) for name in rewards.__dataclass_fields__]
    return sum(term.weight * term.func(env, **term.params) for term in terms)


def test_sizes_and_times(env):
    """29 observations, eight actions, 60 control steps a second, 500 of them an episode, no sensor in the scene."""
    assert env.observation_manager.group_obs_dim["policy"] == (29,)
    assert env.action_manager.total_action_dim == 8
    assert env.step_dt == pytest.approx(1 / 60) and env.physics_dt == pytest.approx(1 / 120)
    assert env.max_episode_length == 500
    assert not env.scene.sensors


def test_run_reward_is_the_published_formula(env, root):
    """The reward of a step is dt (v_x + .1 up + heading), also as the reward manager computes it."""
    _, quat, lin_vel, _ = root
    expected = lin_vel[:, 0] + 0.1 * axis(quat, 2)[:, 2] + axis(quat, 0)[:, 0]
    torch.testing.assert_close(total(env, env.cfg.rewards), expected, rtol=1e-4, atol=1e-3)
    torch.testing.assert_close(env.reward_manager.compute(env.step_dt) / env.step_dt, expected, rtol=1e-4, atol=1e-3)


def test_spin_rewards_are_the_published_formulas(env, root):
    """Spin is w_z + up; spin-track is 5 exp(-(w_z - 5)^2 - .1 w_x^2 - .1 w_y^2) + .1 up (z being up here)."""
    from nerd_isaaclab.tasks.locomotion.locomotion_env_cfg import SpinRewardsCfg, SpinTrackRewardsCfg

    _, quat, _, rate = root
    up = axis(quat, 2)[:, 2]
    torch.testing.assert_close(total(env, SpinRewardsCfg()), rate[:, 2] + up, rtol=1e-4, atol=1e-3)
    tracking = torch.exp(-((rate[:, 2] - 5) ** 2) - 0.1 * rate[:, 0] ** 2 - 0.1 * rate[:, 1] ** 2)
    torch.testing.assert_close(total(env, SpinTrackRewardsCfg()), 5 * tracking + 0.1 * up, rtol=1e-4, atol=1e-3)


def test_observation_is_the_published_one(env, root):
    """In this order: height, quaternion with w >= 0, velocities in world axes, joints, up, heading."""
    pos, quat, lin_vel, ang_vel = root
    data = env.scene["robot"].data
    unique = torch.where(quat[:, 3:] < 0, -quat, quat)
    expected = torch.cat(
        (
            *(pos[:, 2:], unique, lin_vel, ang_vel, data.joint_pos.torch, data.joint_vel.torch),
            *(axis(quat, 2)[:, 2:], axis(quat, 0)[:, :1]),
        ),
        dim=1,
    )
    observed = env.observation_manager.compute()["policy"]
    torch.testing.assert_close(observed, expected, rtol=1e-3, atol=1e-3)


def test_every_start_is_clear_of_the_ground(env):
    """No reset puts a part of an Ant into the ground, from where the solver would throw it up."""
    from nerd_core.contact.contacts import ContactModel
    from nerd_core.contact.grounds import PlaneGround
    from nerd_isaaclab.physics.robot_state import RobotState

    spec = env.robot_spec
    state = RobotState(env.robot, spec, env.scene.env_origins)
    radius = torch.tensor([slot.radius for slot in spec.slots])
    gaps = []
    for seed in range(8):
        env.reset(seed=seed)
        found = ContactModel(spec)(state.read().clone(), PlaneGround.flat())
        gaps.append(torch.where(found.active, found.distance - radius, torch.inf).amin())
    assert 0.0 < min(gaps) < 0.3


def test_episode_ends_below_the_published_height(env, root):
    """An episode ends exactly when the root is lower than 0.3 m."""
    height = root[0][:, 2]
    env.episode_length_buf[:] = 0
    env.termination_manager.compute()
    assert torch.equal(env.termination_manager.terminated, height < 0.3)
    assert (height < 0.3).any() and not (height < 0.3).all()


def test_kept_policy_runs(env, repo_root):
    """The policy in the repository runs forward at more than half a metre a second."""
    from nerd_isaaclab.policies.play import play_episodes
    from nerd_isaaclab.policies.policy import Policy
    from nerd_isaaclab.tasks.locomotion.scores import RUN

    policy = Policy.load(repo_root / "policies" / "NeRD-Ant-Run" / "policy.safetensors")
    env.reset()
    result = play_episodes(env, policy, RUN)
    assert result.scores["forward_speed"].mean > 0.5
