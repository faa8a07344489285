# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Reaching with the Franka on the real engine: sizes, the published reward, targets, the controller's torques."""

from __future__ import annotations

import pytest
import torch
from isaaclab.utils.math import quat_apply

from support.seam import make_env

NUM_ENVS = 16


@pytest.fixture(scope="module")
def env():
    """The position task: the engine starts once in a process."""
    env = make_env("NeRD-Franka-Reach-Position", NUM_ENVS)
    env.reset()
    yield env
    env.close()


def tool(env) -> torch.Tensor:
    """Where the tool is, relative to the origins, from the pose of the last link, shape (N, 3)."""
    data = env.robot.data
    link = env.robot.body_names.index("panda_link7")
    pose = data.body_link_pose_w.torch[:, link]
    offset = torch.tensor([0.0, 0.0, 0.21207]).expand(NUM_ENVS, 3)
    return pose[:, :3] + quat_apply(pose[:, 3:], offset) - env.scene.env_origins


def test_sizes_and_times(env):
    """20 observations, seven actions, 120 control steps a second of one physics step each, 256 of them an episode."""
    assert env.observation_manager.group_obs_dim["policy"] == (20,)
    assert env.action_manager.total_action_dim == 7
    assert env.step_dt == pytest.approx(1 / 120) and env.physics_dt == pytest.approx(1 / 120)
    assert env.max_episode_length == 256


def test_model_sees_torques(env):
    """The controls are the torques of the seven joints of the arm: one model serves both tasks."""
    controls = [(control.joint, control.kind) for control in env.robot_spec.controls]
    assert controls == [(f"panda_joint{number}", "effort") for number in range(1, 8)]


def test_reward_is_the_published_formula(env):
    """Of the distance d: -d + sum over 50 and 300 of 1 / (exp(a d) + 1e-4 + exp(-a d)), which is 1 on the target."""
    distance = (tool(env) - env.command_manager.get_command("target")).norm(dim=-1)
    expected = -distance
    for a in (50.0, 300.0):
        expected = expected + 1.0 / ((a * distance).exp() + 1e-4 + (-a * distance).exp())
    found = env.reward_manager.compute(env.step_dt) / env.step_dt
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    command = env.command_manager.get_term("target")
    kept = command.command.clone()
    command.command[:] = tool(env)
    on_target = env.reward_manager.compute(env.step_dt) / env.step_dt
    torch.testing.assert_close(on_target, torch.ones(NUM_ENVS), atol=1e-3, rtol=0.0)
    command.command[:] = kept


def test_targets_are_drawn_in_the_published_box(env):
    """Targets lie in the box, differ, and change with the episode."""
    first = env.command_manager.get_command("target").clone()
    low, high = torch.tensor([0.3, -0.35, 0.05]), torch.tensor([0.7, 0.35, 0.45])
    assert (first >= low).all() and (first <= high).all()
    assert len(first.unique(dim=0)) == NUM_ENVS
    env.reset()
    assert not torch.equal(first, env.command_manager.get_command("target"))


def test_action_becomes_the_torque_of_the_controller_once_a_step(env):
    """Stiffness times 1/32 rad less damping times velocity, of the state before the step, within the limits."""
    env.reset()
    for _ in range(5):
        env.step(2.0 * torch.rand(NUM_ENVS, 7) - 1.0)
    velocity = env.robot.data.joint_vel.torch[:, :7].clone()
    action = 2.0 * torch.rand(NUM_ENVS, 7) - 1.0
    stiffness = torch.tensor([600.0] * 4 + [250.0, 150.0, 50.0])
    damping = torch.tensor([5.0] * 4 + [3.0, 2.5, 1.5])
    limit = torch.tensor([87.0] * 4 + [12.0] * 3)
    expected = (stiffness * action / 32.0 - damping * velocity).clamp(-limit, limit)
    env.step(action)
    torch.testing.assert_close(env.robot.data.joint_effort_target.torch[:, :7], expected, rtol=1e-4, atol=1e-3)


def test_resting_arm_stays_where_it_is(env):
    """Without gravity and with actions of zero nothing moves."""
    env.reset()
    before = env.robot.data.joint_pos.torch.clone()
    for _ in range(20):
        env.step(torch.zeros(NUM_ENVS, 7))
    torch.testing.assert_close(env.robot.data.joint_pos.torch[:, :7], before[:, :7], rtol=0.0, atol=1e-4)
