# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Mechanics steps a robot as the engine does: exactly where nothing touches it, and nearly where something does."""

from __future__ import annotations

import pytest
import torch

from nerd_core import checkpoint
from nerd_core.contact_solver import ContactSolverCfg
from nerd_core.frames import ChangeCodec
from nerd_core.grounds import PlaneGround
from nerd_core.mechanics import Mechanics
from nerd_isaaclab.models import find_model
from support.seam import make_env

COUNT, HEIGHT = 64, 6.0


@pytest.mark.parametrize(
    ("task", "speed", "allowed"),
    [
        pytest.param("NeRD-Ant-Run", 0.0, 2.0e-4, id="ant-pushed-from-rest"),
        pytest.param("NeRD-Ant-Run", 2.0, 5.0e-4, id="ant-in-full-motion"),
        pytest.param("NeRD-Cartpole", 2.0, 1.0e-4, id="cartpole"),
    ],
)
def test_free_motion_is_that_of_the_engine(task: str, speed: float, allowed: float):
    """From any pose away from its stops, at rest or in full motion, under any effort, a robot has after a control step
    the velocities that the engine gives it, to ``allowed`` [m/s, rad/s] in the median, where the step changes
    some by more than twenty times as much; and its places, to four hundredths of that [m, rad].
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
        miss = (
            Mechanics(spec, codec, ContactSolverCfg(substeps=4, hidden=0), touches=False)(first, effort) - truth
        ).abs()
        moving = torch.zeros(codec.dim, dtype=torch.bool)
        for name, where in codec.slices.items():
            moving[where] = name.endswith("vel")
        assert float(miss[:, moving].median(0).values.max()) < allowed
        assert float(miss[:, ~moving].median(0).values.max()) < max(allowed * 4.0e-2, 1.0e-5)
        assert float(truth[:, moving].abs().median(0).values.max()) > 20.0 * allowed
    finally:
        env.close()


def test_the_shipped_ant_meets_the_ground_as_the_engine_does():
    """Where an Ant that falls from its reset, driven or not, touches the ground, one control step of the shipped model
    has the engine's velocities of the base to 4 mm/s and 15 mrad/s and of joints to 30 mrad/s in the median, where the
    step changes them by more than ten times as much.
    """
    from nerd_isaaclab.collect.lean_scene import LeanScene

    env = make_env("NeRD-Ant-Run", COUNT)
    try:
        env.reset(seed=2)
        scene = LeanScene(env)
        model = checkpoint.load(find_model("ant"), expected_spec=scene.spec)
        radius = torch.tensor([slot.radius for slot in scene.spec.slots])
        generator, codec = torch.Generator().manual_seed(0), model.codec
        misses, changes = [], []
        state = scene.read().clone()
        for number in range(90):
            effort = 3.0 * torch.randn(COUNT, scene.spec.control_dim, generator=generator)
            effort[: COUNT // 2] = 0.0
            contacts = model.contacts(state, PlaneGround.flat())
            assert contacts is not None
            with torch.no_grad():
                said = model.next_state(state, model.extend(state, effort, contacts)[0])
            after = scene.step(effort).clone()
            touches = ((contacts.distance - radius < 1e-3) & contacts.active).any(-1)
            if number % 3 == 0:
                misses.append((codec.encode(state, said) - codec.encode(state, after))[touches])
                changes.append(codec.encode(state, after)[touches])
            state = after
        miss, change = torch.cat(misses), torch.cat(changes)
        assert len(miss) > 300
        for name, allowed in (("root_lin_vel", 4e-3), ("root_ang_vel", 1.5e-2), ("joint_vel", 3e-2)):
            where = codec.slices[name]
            assert float(miss[:, where].norm(dim=-1).median()) < allowed
            assert float(change[:, where].norm(dim=-1).median()) > 10.0 * allowed
    finally:
        env.close()
