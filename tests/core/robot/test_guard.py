# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The guard of states."""

from __future__ import annotations

import torch

from nerd_core.robot.guard import StateGuard
from support.robots import ant, cartpole


def test_guard_knows_each_bound():
    """The guard refuses each kind of excess, accepts a state just inside all bounds and lets wrapping angles turn."""
    spec = ant()
    guard, at = StateGuard(spec), spec.state
    good = guard.neutral.repeat(8, 1)
    good[:, at.joint_pos] = torch.tensor([joint.upper + 0.99 for joint in spec.joints])
    good[:, at.root_lin_vel] = torch.tensor([57.0, 57.0, 57.0])
    assert guard(good).all()
    bad = good.clone()
    bad[0, at.root_pos] = torch.tensor([0.0, 1.1e4, 0.0])
    bad[1, at.root_quat] = torch.tensor([0.0, 0.0, 0.0, 1.1])
    bad[2, at.joint_pos.start] = spec.joints[0].upper + 1.01
    bad[3, at.joint_pos.start] = spec.joints[0].lower - 1.01
    bad[4, at.root_lin_vel] = torch.tensor([58.0, 58.0, 58.0])
    bad[5, at.root_ang_vel] = torch.tensor([0.0, 0.0, -201.0])
    bad[6, at.joint_vel.stop - 1] = 201.0
    bad[7, at.joint_vel.start] = torch.nan
    assert not guard(bad).any()
    slide = StateGuard(cartpole())
    assert slide(torch.tensor([[0.0, 1000.0, 0.0, 0.0]])).all()
    assert not slide(torch.tensor([[5.1, 0.0, 0.0, 0.0], [0.0, 0.0, 101.0, 0.0]])).any()
