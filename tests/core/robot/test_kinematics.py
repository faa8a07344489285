# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Poses of bodies."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nerd_core.robot.frames import rotation_matrix
from nerd_core.robot.kinematics import ForwardKinematics
from support.robots import ant, cartpole, random_state, random_tree


def pinocchio_poses(spec, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions (B, 3) and rotation matrices (B, 3, 3) that pinocchio gives for one state."""
    pin = pytest.importorskip("pinocchio")
    model = pin.Model()
    at = spec.state

    def placement(pos, quat):
        return pin.SE3(pin.Quaternion(quat[3], quat[0], quat[1], quat[2]).normalized().matrix(), np.array(pos))

    # Where each body's frame is in the last joint that moves it: (joint index, placement).
    carried = {}
    for body in spec.bodies:
        if body.parent is None:
            if spec.floating_base:
                carried[body.name] = (
                    model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root"),
                    pin.SE3.Identity(),
                )
            else:
                carried[body.name] = (0, placement(spec.root_pos, spec.root_quat))
            continue
        parent, offset = carried[body.parent]
        before = offset * placement(body.parent_pos, body.parent_quat)
        after = placement(body.child_pos, body.child_quat).inverse()
        if body.joint is None:
            carried[body.name] = (parent, before * after)
            continue
        joint = spec.joints[spec.joint_names.index(body.joint)]
        unaligned = pin.JointModelRevoluteUnaligned if joint.kind == "revolute" else pin.JointModelPrismaticUnaligned
        carried[body.name] = (model.addJoint(parent, unaligned(np.array(joint.axis)), before, joint.name), after)
    q = pin.neutral(model)
    if spec.floating_base:
        q[:3], q[3:7] = state[at.root_pos], state[at.root_quat]
    for name, value in zip(spec.joint_names, state[at.joint_pos], strict=True):
        q[model.joints[model.getJointId(name)].idx_q] = value
    data = model.createData()
    pin.forwardKinematics(model, data, q)
    poses = [data.oMi[joint] * offset for joint, offset in (carried[body.name] for body in spec.bodies)]
    return np.stack([pose.translation for pose in poses]), np.stack([pose.rotation for pose in poses])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("floating", [True, False])
def test_agrees_with_pinocchio(seed, floating):
    """Random trees of hinges, slides and fixed bodies stand where pinocchio puts them."""
    spec = random_tree(seed, 14, floating)
    state = random_state(spec, 5, seed)
    poses = ForwardKinematics(spec)(state)
    for i in range(5):
        pos, rotation = pinocchio_poses(spec, state[i].double().numpy())
        np.testing.assert_allclose(poses.pos[i].numpy(), pos, atol=2e-6)
        np.testing.assert_allclose(rotation_matrix(poses.quat[i]).numpy(), rotation, atol=3e-6)


def test_leading_dimensions():
    """Any leading dimensions give what a flat batch gives, in the order of the bodies, single states included."""
    spec = ant()
    kinematics = ForwardKinematics(spec)
    state = random_state(spec, 24, 0)
    flat = kinematics(state)
    shaped = kinematics(state.view(2, 3, 4, -1))
    assert shaped.pos.shape == (2, 3, 4, 9, 3) and shaped.quat.shape == (2, 3, 4, 9, 4)
    assert torch.equal(shaped.pos.reshape(24, 9, 3), flat.pos) and torch.equal(shaped.quat.reshape(24, 9, 4), flat.quat)
    torch.testing.assert_close(kinematics(state[3]).pos, flat.pos[3])
    assert torch.equal(flat.pos[:, 0], state[:, spec.state.root_pos])


def test_fixed_robot_stands_at_its_root():
    """The root of a fixed robot is where its specification says, and a cart slides along its axis."""
    poses = ForwardKinematics(cartpole())(torch.tensor([[0.7, 0.0, 0.0, 0.0]]))
    torch.testing.assert_close(poses.pos[0], torch.tensor([[0.0, 0.0, 0.0], [0.7, 0.0, 0.0], [0.7, 0.0, 0.0]]))


def test_gradients():
    """Derivatives with respect to the state are those of finite differences."""
    spec = random_tree(3, 6)
    kinematics = ForwardKinematics(spec).double()
    state = random_state(spec, 2, 1, dtype=torch.double).requires_grad_()
    assert torch.autograd.gradcheck(lambda s: tuple(kinematics(s)), (state,))


def test_exports_without_breaks():
    """The module is captured as one graph, for any batch size."""
    spec = ant()
    kinematics = ForwardKinematics(spec)
    state = random_state(spec, 6, 2)
    program = torch.export.export(kinematics, (state,), dynamic_shapes=({0: torch.export.Dim("batch")},))
    other = random_state(spec, 9, 3)
    torch.testing.assert_close(program.module()(other).pos, kinematics(other).pos)
