# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The humanoid's velocity task on the real engine: it begins on its soles, stands, and a fall ends an episode."""

from __future__ import annotations

import pytest
import torch

from nerd_isaaclab.robots import g1
from support.seam import make_env

NUM_ENVS = 8


@pytest.fixture(scope="module")
def env():
    """One environment for the whole file: the engine starts once in a process."""
    env = make_env("NeRD-Velocity-G1", NUM_ENVS)
    yield env
    env.close()


def test_model_sees_positions_gains_and_limits(env):
    """The specification has 29 position targets and drives, whose limits of effort are those of the URDF."""
    spec = env.robot_spec
    assert [control.kind for control in spec.controls] == ["position"] * 29
    assert all(joint.stiffness > 0.0 and joint.armature == pytest.approx(g1.ARMATURE) for joint in spec.joints)
    limits = {joint.name: joint.effort_limit for joint in spec.joints}
    assert (limits["left_knee_joint"], limits["right_ankle_roll_joint"], limits["left_wrist_yaw_joint"]) == (139, 35, 5)


def test_feet_have_four_contact_slots_each(env):
    """Twenty slots, of which eight are the ends of the feet's edges."""
    bodies = [slot.body for slot in env.robot_spec.slots]
    assert len(bodies) == 20
    assert bodies.count("left_ankle_roll_link") == bodies.count("right_ankle_roll_link") == 4


def test_it_begins_on_its_soles_and_stands(env):
    """It begins within a centimetre above the ground; with actions of zero it stands for two seconds and no episode
    ends.
    """
    env.reset()
    ankles = [env.robot.body_names.index(f"{side}_ankle_roll_link") for side in ("left", "right")]
    soles = env.robot.data.body_link_pose_w.torch[:, ankles, 2] + g1.SOLE
    assert float(soles.min()) > -0.001 and float(soles.max()) < 0.01
    for _ in range(100):
        *_, terminated, truncated, _ = env.step(torch.zeros(NUM_ENVS, 29))
        assert not terminated.any() and not truncated.any()
    assert float(env.robot.data.root_link_pose_w.torch[:, 2].min()) > 0.79


def test_torso_on_the_ground_ends_an_episode(env):
    """A robot that lies on its back is done, the others go on."""
    env.reset()
    pose = env.robot.data.root_link_pose_w.torch.clone()
    pose[0, 2], pose[0, 3:] = 0.1, torch.tensor([0.0, -0.7071068, 0.0, 0.7071068])
    env.robot.write_root_link_pose_to_sim_index(root_pose=pose)
    ended = torch.zeros(NUM_ENVS, dtype=torch.bool)
    for _ in range(10):
        ended |= env.step(torch.zeros(NUM_ENVS, 29))[2]
    assert ended.tolist() == [True] + [False] * (NUM_ENVS - 1)
