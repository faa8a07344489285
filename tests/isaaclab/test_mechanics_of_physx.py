# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Mechanics steps a robot as the engine does: exactly where nothing touches it, and nearly where something does."""

from __future__ import annotations

import pytest
import torch

from nerd_core import checkpoint
from nerd_core.contact.contacts import ContactModel
from nerd_core.contact.grounds import PlaneGround
from nerd_core.mechanics.config import MechanicsCfg
from nerd_core.mechanics.step import Mechanics
from nerd_core.robot.frames import ChangeCodec
from nerd_isaaclab.checkpoints.shipped import find_checkpoint
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
            Mechanics(spec, codec, MechanicsCfg(substeps=4, hidden=0), has_contacts=False)(first, effort) - truth
        ).abs()
        moving = torch.zeros(codec.dim, dtype=torch.bool)
        for name, where in codec.slices.items():
            moving[where] = name.endswith("vel")
        assert float(miss[:, moving].median(0).values.max()) < allowed
        assert float(miss[:, ~moving].median(0).values.max()) < max(allowed * 4.0e-2, 1.0e-5)
        assert float(truth[:, moving].abs().median(0).values.max()) > 20.0 * allowed
    finally:
        env.close()


def test_the_effort_limit_of_a_joint_is_that_of_its_drive():
    """An effort beyond the limit acts as a whole; the damping of the drive does not: with its limit reached, a joint
    that is twice as fast is braked no more.
    """
    from nerd_isaaclab.collect.lean_scene import LeanScene

    env = make_env("NeRD-Ant-Run", 2)
    try:
        env.reset(seed=1)
        scene = LeanScene(env)
        spec, at = scene.spec, scene.spec.state
        robot, limit = env.scene["robot"], 0.05

        def gained(effort: float, speed: float) -> float:
            """What a control step adds to the velocity of the first joint, high above the ground [rad/s]."""
            state = torch.zeros(2, spec.state.dim)
            state[:, at.root_pos.stop - 1], state[:, at.root_quat.stop - 1] = HEIGHT, 1.0
            state[:, at.joint_pos] = torch.tensor([0.5 * (joint.lower + joint.upper) for joint in spec.joints])
            state[:, at.joint_vel.start] = speed
            scene.write(state)
            control = torch.zeros(2, spec.control_dim)
            control[:, [control.joint for control in spec.controls].index(spec.joint_names[0])] = effort
            return float(scene.step(control)[0, at.joint_vel.start]) - speed

        free = gained(0.0, 4.0), gained(0.0, 8.0)
        assert free[1] == pytest.approx(2.0 * free[0], rel=0.1), "the drive damps as its velocity is"
        robot.write_joint_effort_limit_to_sim_index(limits=torch.full((2, len(spec.joints)), limit))
        assert gained(100.0 * limit, 0.0) == pytest.approx(100.0 * gained(limit, 0.0), rel=0.1)
        braked = gained(0.0, 4.0), gained(0.0, 8.0)
        assert braked[0] == pytest.approx(-gained(limit, 0.0), rel=0.1)
        assert braked[1] == pytest.approx(braked[0], rel=0.1)
    finally:
        env.close()


def test_the_shipped_ant_meets_the_ground_as_the_engine_does():
    """Where an Ant that falls from its reset, driven or not, touches the ground, one control step of the shipped model,
    which knows where feet were put down, has the engine's velocities of the base to 4 mm/s and 15 mrad/s and of joints
    to 30 mrad/s in the median, where the step changes them by more than ten times as much.
    """
    from nerd_isaaclab.collect.lean_scene import LeanScene

    env = make_env("NeRD-Ant-Run", COUNT)
    try:
        env.reset(seed=2)
        scene = LeanScene(env)
        model = checkpoint.load(find_checkpoint("ant"), expected_spec=scene.spec)
        radius = torch.tensor([slot.radius for slot in scene.spec.slots])
        generator, codec = torch.Generator().manual_seed(0), model.codec
        misses, changes, cache = [], [], model.init_cache(COUNT)
        state = scene.read().clone()
        for number in range(90):
            effort = 3.0 * torch.randn(COUNT, scene.spec.control_dim, generator=generator)
            effort[: COUNT // 2] = 0.0
            contacts = model.contacts(state, PlaneGround.flat())
            assert contacts is not None
            with torch.no_grad():
                said = model.next_state(state, model.step(state, effort, contacts, cache))
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


def test_an_ant_that_nobody_has_trained_meets_the_ground_as_the_engine_does():
    """One physics step of an Ant that falls from its reset and touches the ground, from a state without history of
    friction, has the engine's velocities of joints to 10 mrad/s in the median and 100 in nine tenths with the engine's
    law of constraints and nothing learned, and the law that was fitted is twice as far off.
    """
    from nerd_isaaclab.collect.lean_scene import LeanScene

    env = make_env("NeRD-Ant-Run", COUNT, change=lambda cfg: setattr(cfg, "decimation", 1))
    try:
        env.reset(seed=3)
        scene = LeanScene(env)
        spec, generator = scene.spec, torch.Generator().manual_seed(0)
        at, codec, contact = spec.state, ChangeCodec(spec), ContactModel(spec)
        laws = {
            law: Mechanics(spec, codec, MechanicsCfg(substeps=4, hidden=0, constraint_law=law))
            for law in ("engine", "fitted")
        }
        radius = torch.tensor([slot.radius for slot in spec.slots])
        misses: dict[str, list[torch.Tensor]] = {law: [] for law in laws}
        state = scene.read().clone()
        for number in range(150):
            effort = 4.0 * torch.randn(COUNT, spec.control_dim, generator=generator)
            effort[: COUNT // 2] = 0.0
            if number % 6 or number < 40:
                state = scene.step(effort).clone()
                continue
            scene.write(state)
            first = scene.read().clone()
            contacts = contact(first, PlaneGround.flat())
            touches = ((contacts.distance - radius < 1e-3) & contacts.active).any(-1)
            state = scene.step(effort).clone()
            for law, mechanics in laws.items():
                with torch.no_grad():
                    said = codec.apply(first, mechanics(first, effort, contacts))
                misses[law].append((said - state)[touches][:, at.joint_vel].abs().amax(-1))
        ours, fitted = (torch.cat(misses[law]) for law in ("engine", "fitted"))
        assert len(ours) > 200
        assert float(ours.median()) < 1.0e-2 and float(ours.quantile(0.9)) < 0.1
        assert float(fitted.median()) > 2.0 * float(ours.median())
    finally:
        env.close()
