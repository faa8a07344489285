# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""ANYmal's velocity task on the real engine: it stands, its actions are joint positions, a fall ends an episode."""

from __future__ import annotations

import pytest
import torch

from support.seam import make_env

NUM_ENVS = 16


@pytest.fixture(scope="module")
def env():
    """One environment for the whole file: the engine starts once in a process."""
    env = make_env("NeRD-Velocity-AnymalC", NUM_ENVS)
    yield env
    env.close()


def test_sizes_and_times(env):
    """48 observations, twelve actions, 50 control steps a second, 20 s an episode; only the ground is scanned for."""
    assert env.observation_manager.group_obs_dim["policy"] == (48,)
    assert env.action_manager.total_action_dim == 12
    assert env.step_dt == pytest.approx(0.02) and env.max_episode_length == 1000
    assert list(env.scene.sensors) == ["contact_forces"]


def test_model_sees_positions_and_gains(env):
    """The specification has twelve position targets, and drives with the published gains and limit of torque."""
    spec = env.robot_spec
    assert [control.kind for control in spec.controls] == ["position"] * 12
    assert {(joint.stiffness, joint.damping, joint.effort_limit) for joint in spec.joints} == {(85.0, 2.0, 80.0)}


def test_every_robot_is_the_same(env):
    """No event gives an environment other masses: a model of the dynamics is a model of one robot."""
    mass = env.robot.data.body_mass.torch
    assert torch.equal(mass, mass[:1].expand_as(mass))


def test_it_stands_on_its_default_pose(env):
    """With actions of zero it stands for two seconds, its base half a metre high, and no episode ends."""
    env.reset()
    for _ in range(100):
        *_, terminated, truncated, _ = env.step(torch.zeros(NUM_ENVS, 12))
        assert not terminated.any() and not truncated.any()
    height = env.robot.data.root_link_pose_w.torch[:, 2]
    assert float(height.min()) > 0.45 and float(height.max()) < 0.6


def test_action_moves_a_joint_by_half_a_radian(env):
    """A full action asks for half a radian from the default position."""
    env.reset()
    action = torch.zeros(NUM_ENVS, 12)
    action[:, 3] = 1.0
    env.step(action)
    target = env.robot.data.joint_pos_target.torch - env.robot.data.default_joint_pos.torch
    torch.testing.assert_close(target, 0.5 * action)


def test_base_on_the_ground_ends_an_episode(env):
    """A robot that lies on its back with the base on the ground is done, the others go on."""
    env.reset()
    pose = env.robot.data.root_link_pose_w.torch.clone()
    pose[0, 2], pose[0, 3:] = 0.12, torch.tensor([1.0, 0.0, 0.0, 0.0])
    env.robot.write_root_link_pose_to_sim_index(root_pose=pose)
    ended = torch.zeros(NUM_ENVS, dtype=torch.bool)
    for _ in range(5):
        ended |= env.step(torch.zeros(NUM_ENVS, 12))[2]
    assert ended.tolist() == [True] + [False] * (NUM_ENVS - 1)
