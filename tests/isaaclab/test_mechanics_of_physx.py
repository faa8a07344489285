# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Mechanics steps a robot that nothing touches as the engine does."""

from __future__ import annotations

import pytest
import torch

from nerd_core.frames import ChangeCodec
from nerd_core.mechanics import Mechanics
from support.seam import make_env

COUNT, HEIGHT = 64, 6.0


@pytest.mark.parametrize(
    ("task", "speed", "allowed"),
    [
        pytest.param("NeRD-Ant-Run", 0.0, 1.0e-3, id="ant-pushed-from-rest"),
        pytest.param("NeRD-Ant-Run", 2.0, 4.0e-3, id="ant-in-full-motion"),
        pytest.param("NeRD-Cartpole", 2.0, 1.0e-4, id="cartpole"),
    ],
)
def test_free_motion_is_that_of_the_engine(task: str, speed: float, allowed: float):
    """From any pose away from its stops, at rest or in full motion, under any effort, a robot has after a control step
    the velocities that the engine gives it, to ``allowed`` [m/s, rad/s] in the median, where the step changes
    some by more than twenty times as much; and its places, to two hundredths of that [m, rad].
    """
    from nerd_isaaclab.collect.lean_scene import LeanScene

    env = make_env(task, COUNT)
    try:
        env.reset(seed=1)
        scene = LeanScene(env)
        spec, generator = scene.spec, torch.Generator().manual_seed(0)
        at, codec = spec.state, ChangeCodec(spec)
        first = scene.read().clone()
        middle = torch.tensor([0.0 if joint.wraps else 0.5 * (joint.lower + joint.upper) for joint in spec.joints])
        first[:, at.joint_pos] = middle + 0.3 * torch.randn(COUNT, len(spec.joints), generator=generator).clamp(-1, 1)
        velocities = [at.joint_vel]
        if spec.floating_base:
            first[:, at.root_pos] = torch.tensor([0.0, 0.0, HEIGHT])
            velocities += [at.root_lin_vel, at.root_ang_vel]
        for where in velocities:
            first[:, where] = speed * torch.randn(COUNT, where.stop - where.start, generator=generator)
        scene.write(first)
        first = scene.read().clone()
        effort = torch.randn(COUNT, spec.control_dim, generator=generator)
        truth = codec.encode(first, scene.step(effort).clone())
        miss = (Mechanics(spec, codec, None)(first, effort) - truth).abs()
        moving = torch.zeros(codec.dim, dtype=torch.bool)
        for name, where in codec.slices.items():
            moving[where] = name.endswith("vel")
        assert float(miss[:, moving].median(0).values.max()) < allowed
        assert float(miss[:, ~moving].median(0).values.max()) < max(allowed * 2.0e-2, 1.0e-5)
        assert float(truth[:, moving].abs().median(0).values.max()) > 20.0 * allowed
    finally:
        env.close()
