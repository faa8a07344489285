# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Poses and velocities of bodies in one launch, beside the kinematics of the core; no engine."""

from __future__ import annotations

import pytest
import torch
import warp as wp

from nerd_core.robot.frames import quat_from_rotvec, quat_mul, quat_normalize, quat_rotate
from nerd_core.robot.kinematics import ForwardKinematics
from nerd_core.robot.spec import RobotSpec
from nerd_isaaclab.physics.link_kinematics import LinkKinematics
from support.robots import ant, cartpole, random_state, random_tree

pytestmark = pytest.mark.unit
wp.init()

N, STEP = 6, 1.0e-5


@pytest.fixture(params=[ant(), cartpole(), random_tree(0)], ids=["ant", "cartpole", "tree"])
def spec(request: pytest.FixtureRequest) -> RobotSpec:
    """A robot that floats, one that slides and turns on a base that does not, and one whose frames are all turned."""
    return request.param


def _placed(spec: RobotSpec) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, LinkKinematics]:
    """Random states, the places of centres of mass, velocities of the root's frame, and what was evaluated of them."""
    numbers, at = torch.Generator().manual_seed(0), spec.state
    state, centres = random_state(spec, N, seed=2), torch.zeros(N, len(spec.bodies), 7)
    centres[..., :3] = torch.randn(N, len(spec.bodies), 3, generator=numbers)
    centres[..., 6] = 1.0
    pose, moved = torch.tensor([*spec.root_pos, *spec.root_quat]).repeat(N, 1), torch.zeros(N, 6)
    if spec.floating_base:
        pose = torch.cat((state[:, at.root_pos], quat_normalize(state[:, at.root_quat])), -1)
        moved = torch.cat((state[:, at.root_lin_vel], state[:, at.root_ang_vel]), -1)
    velocity = moved.clone()
    velocity[:, :3] += torch.linalg.cross(moved[:, 3:], quat_rotate(pose[:, 3:], centres[:, 0, :3]))
    joints = state[:, at.joint_pos].contiguous(), state[:, at.joint_vel].contiguous()
    kinematics = LinkKinematics(spec, (pose, velocity), joints)
    kinematics.evaluate(wp.from_torch(centres, dtype=wp.transformf))
    return state, centres, moved, kinematics


def test_bodies_stand_where_the_core_places_them(spec: RobotSpec):
    """Positions and orientations are those of the core's forward kinematics, the sign of a quaternion aside."""
    state, _, _, kinematics = _placed(spec)
    expected = ForwardKinematics(spec)(state)
    torch.testing.assert_close(kinematics.poses[..., :3], expected.pos, rtol=0, atol=1e-5)
    along = (kinematics.poses[..., 3:] * expected.quat).sum(-1).abs()
    torch.testing.assert_close(along, torch.ones_like(along), rtol=0, atol=1e-5)


def test_velocities_are_the_change_of_poses(spec: RobotSpec):
    """Velocities of centres of mass, and angular ones, are central differences of where bodies are, by every joint and
    by the root.
    """
    state, centres, moved, kinematics = _placed(spec)
    at, place = spec.state, ForwardKinematics(spec).double()

    def after(time: float) -> tuple[torch.Tensor, torch.Tensor]:
        later = state.double()
        later[:, at.joint_pos] += time * later[:, at.joint_vel]
        if spec.floating_base:
            later[:, at.root_pos] += time * moved[:, :3]
            later[:, at.root_quat] = quat_mul(quat_from_rotvec(time * moved[:, 3:].double()), later[:, at.root_quat])
        poses = place(later)
        return poses.pos + quat_rotate(poses.quat, centres[..., :3].double()), poses.quat

    (ahead, turned), (behind, before) = after(STEP), after(-STEP)
    linear = (ahead - behind) / (2.0 * STEP)
    conjugate = before * torch.tensor([-1.0, -1.0, -1.0, 1.0], dtype=torch.double)
    angular = quat_mul(turned, conjugate)[..., :3] / STEP
    torch.testing.assert_close(kinematics.velocities[..., :3].double(), linear, rtol=1e-4, atol=1e-3)
    torch.testing.assert_close(kinematics.velocities[..., 3:].double(), angular, rtol=1e-4, atol=1e-3)
