# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a network of free motion is told of a fall (``--prior free_fall``) holds for the engine's robot."""

from __future__ import annotations

import torch

from nerd_core.robot.frames import quat_normalize
from support.robots import move_state
from support.seam import make_env

COUNT, HEIGHT = 16, 6.0


def test_an_ant_in_the_air_moves_in_itself_as_if_it_hung_in_space():
    """Turned in space and thrown at another speed, an Ant under the same efforts moves its joints as before, to a tenth
    of a milliradian in ten steps where they meet no stops; one that nothing drives falls and does nothing else.
    """
    from nerd_isaaclab.collect.lean_scene import LeanScene

    env = make_env("NeRD-Ant-Run", 3 * COUNT)
    try:
        env.reset(seed=1)
        scene = LeanScene(env)
        spec, generator = scene.spec, torch.Generator().manual_seed(0)
        at = spec.state
        driven = scene.read()[:COUNT].clone()
        driven[:, at.root_pos] = torch.tensor([0.0, 0.0, HEIGHT])
        for where in (at.joint_vel, at.root_ang_vel, at.root_lin_vel):
            driven[:, where] = torch.randn(COUNT, driven[:, where].shape[1], generator=generator)
        still = driven.clone()
        still[:, at.joint_pos] = torch.tensor([0.5 * (joint.lower + joint.upper) for joint in spec.joints])
        for where in (at.joint_vel, at.root_ang_vel):
            still[:, where] = 0.0
        turned = move_state(spec, driven, quat_normalize(torch.randn(4, generator=generator)), torch.zeros(3))
        turned[:, at.root_pos], turned[:, at.root_lin_vel] = driven[:, at.root_pos], driven[:, at.root_lin_vel] + 1.5
        scene.write(torch.cat((driven, turned, still)))
        first = scene.read().clone()
        for _ in range(10):
            control = 5.0 * torch.randn(COUNT, spec.control_dim, generator=generator)
            last = scene.step(torch.cat((control, control, torch.zeros_like(control)))).clone()
        driven, turned, still = last.split(COUNT)
        assert (driven - first[:COUNT])[:, at.joint_pos].abs().mean() > 0.05
        apart = (turned - driven)[:, at.joint_pos].abs()
        assert float((apart < 1e-4).float().mean()) > 0.95 and float(apart.max()) < 0.01  # a stop magnifies rounding
        gained = still[:, at.root_lin_vel] - first[2 * COUNT :, at.root_lin_vel]
        fall = 10 * spec.control_dt * torch.tensor(spec.gravity)
        torch.testing.assert_close(gained, fall.expand_as(gained), rtol=0, atol=1e-5)
        for where in (at.joint_vel, at.root_ang_vel):
            assert float(still[:, where].abs().max()) < 1e-5
    finally:
        env.close()
