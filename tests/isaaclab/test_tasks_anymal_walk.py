# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""ANYmal's published walking tasks on the real engine: sizes, the reward, the controller, the ends of an episode."""

from __future__ import annotations

import pytest
import torch

from support.seam import make_env

NUM_ENVS = 16


@pytest.fixture(scope="module")
def env():
    """The sideways task: the engine starts once in a process."""
    env = make_env("NeRD-AnymalC-Sideways", NUM_ENVS)
    env.reset()
    yield env
    env.close()


def test_sizes_and_times(env):
    """37 observations, twelve actions, 60 control steps a second, 1,000 of them an episode, no sensor in the scene."""
    assert env.observation_manager.group_obs_dim["policy"] == (37,)
    assert env.action_manager.total_action_dim == 12
    assert env.step_dt == pytest.approx(1 / 60) and env.max_episode_length == 1000
    assert not env.scene.sensors


def test_model_sees_torques(env):
    """The controls are twelve torques, and no drive of the engine acts."""
    spec = env.robot_spec
    assert [control.kind for control in spec.controls] == ["effort"] * 12
    assert all(joint.stiffness == joint.damping == 0.0 for joint in spec.joints)


def test_reward_is_the_published_formula(env):
    """max(0, exp(-|v_xy - (0, 1)|^2) + .5 exp(-w_z^2) - 2.5e-5 sum tau^2), also where torques make it negative."""
    env.reset()
    generator = torch.Generator().manual_seed(3)
    velocity = 0.7 * torch.randn(NUM_ENVS, 6, generator=generator)
    env.step(2.0 * torch.rand(NUM_ENVS, 12, generator=generator) - 1.0)
    env.robot.write_root_link_velocity_to_sim(velocity)
    env.scene.update(0.0)
    torque = env.robot.data.joint_effort_target.torch
    off = velocity[:, 0].square() + (velocity[:, 1] - 1.0).square()
    expected = torch.exp(-off) + 0.5 * torch.exp(-velocity[:, 5].square()) - 2.5e-5 * torque.square().sum(-1)
    found = env.reward_manager.compute(env.step_dt) / env.step_dt
    torch.testing.assert_close(found, expected.clamp(min=0.0), rtol=1e-4, atol=1e-4)
    torque.mul_(20.0)
    assert (env.reward_manager.compute(env.step_dt) == 0.0).all()


def test_action_becomes_a_torque_once_a_step(env):
    """85 (default + a / 2 - q) - 2 qd of the state before the step."""
    env.reset()
    data = env.robot.data
    joint_pos, joint_vel = data.joint_pos.torch.clone(), data.joint_vel.torch.clone()
    action = 2.0 * torch.rand(NUM_ENVS, 12) - 1.0
    expected = 85.0 * (data.default_joint_pos.torch + 0.5 * action - joint_pos) - 2.0 * joint_vel
    env.step(action)
    torch.testing.assert_close(data.joint_effort_target.torch, expected.clamp(-80.0, 80.0), rtol=1e-4, atol=1e-2)


def test_starts_are_the_published_ones(env):
    """0.7 m high and level, joints at half to one and a half times the stance, up to .1 rad/s."""
    env.reset()
    data = env.robot.data
    torch.testing.assert_close(data.root_link_pos_w.torch[:, 2], torch.full((NUM_ENVS,), 0.7), rtol=0, atol=1e-3)
    share = data.joint_pos.torch / data.default_joint_pos.torch
    assert share.min() > 0.5 - 1e-4 and share.max() < 1.5 + 1e-4 and share.std() > 0.1
    assert data.joint_vel.torch.abs().max() <= 0.1 and data.joint_vel.torch.abs().max() > 0.05


def test_it_stands_with_actions_of_zero(env):
    """The controller alone holds it up for a second in nearly all environments."""
    env.reset()
    ended = torch.zeros(NUM_ENVS, dtype=torch.bool)
    for _ in range(60):
        ended |= env.step(torch.zeros(NUM_ENVS, 12))[2]
    assert ended.float().mean() <= 0.2


@pytest.mark.parametrize(
    ("height", "term"),
    # 11 cm is what the base must not be below, its capsule lying level through the origin; at 40 cm it has fallen
    [(0.39, "fallen"), (0.105, "base_down")],
)
def test_low_base_ends_the_episode(env, height: float, term: str):
    """A base below .4 m ends an episode, and so does one whose ends are within a centimetre of the ground."""
    env.reset()
    pose = env.robot.data.root_link_pose_w.torch.clone()
    pose[0, 2] = height
    env.robot.write_root_link_pose_to_sim_index(root_pose=pose)
    env.scene.update(0.0)
    env.termination_manager.compute()
    found = env.termination_manager.get_term(term)
    assert bool(found[0]) and not bool(env.termination_manager.get_term("base_down")[1:].any())


def test_low_knee_ends_the_episode(env):
    """A knee within a centimetre of the ground ends an episode, wherever the base is."""
    env.reset()
    pose = env.robot.data.root_link_pose_w.torch.clone()
    knees = [env.robot.body_names.index(name) for name in env.robot.body_names if name.endswith("SHANK")]
    drop = env.robot.data.body_link_pose_w.torch[0, knees, 2].min() - 0.065
    pose[0, 2] -= drop
    env.robot.write_root_link_pose_to_sim_index(root_pose=pose)
    env.scene.update(0.0)
    env.termination_manager.compute()
    assert bool(env.termination_manager.get_term("knee_down")[0])
    assert not bool(env.termination_manager.get_term("knee_down")[1:].any())
