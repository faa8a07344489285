# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Contacts between the bodies of a robot are the engine's: an ANYmal C in the air, whose legs thrash about."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from nerd_core.contact.contacts import ContactModel
from nerd_core.contact.grounds import PlaneGround
from nerd_core.mechanics.config import MechanicsCfg
from nerd_core.mechanics.step import Mechanics
from nerd_core.robot.frames import ChangeCodec
from nerd_core.robot.spec import RobotSpec
from support.seam import make_env

COUNT, STEPS, HELD, HEIGHT, SWING = 64, 60, 10, 3.0, 1.8
"""Robots, control steps, steps for which they hold targets, where they start [m], and how far targets go [rad]."""


def thrash() -> tuple[RobotSpec, Tensor, Tensor, Tensor]:
    """The robot, and states, targets and next states of PhysX, the robots' bodies hitting each other."""
    from nerd_isaaclab.collect.lean_scene import LeanScene

    def bodies_collide(cfg: Any) -> None:
        cfg.scene.robot.spawn.articulation_props[0].enabled_self_collisions = True

    env = make_env("NeRD-Velocity-AnymalC", COUNT, bodies_collide)
    try:
        env.reset(seed=1)
        scene, generator = LeanScene(env), torch.Generator().manual_seed(0)
        state, seen = scene.read().clone(), []
        for step in range(STEPS):
            if step % HELD == 0:
                state[:, scene.spec.state.root_pos] = torch.tensor([0.0, 0.0, HEIGHT])
                scene.write(state)
                state = scene.read().clone()
                control = SWING * (2.0 * torch.rand(COUNT, scene.spec.control_dim, generator=generator) - 1.0)
            after = scene.step(control).clone()
            seen.append((state, control, after))
            state = after.clone()
        before, targets, later = (torch.cat(each) for each in zip(*seen, strict=True))
        return scene.spec, before, targets, later
    finally:
        env.close()


def test_bodies_meet_where_and_as_in_the_engine():
    """Where mechanics sees no bodies meet, PhysX moves joints as it does to a thousandth of a rad/s in nine tenths of
    the steps. Where it does, what it misses of joint velocities falls to less than a twentieth in the median of steps.
    """
    spec, state, control, after = thrash()
    contacts = ContactModel(spec)(state, PlaneGround.flat(height=-10.0))
    errors, said = [], []
    for most in (0, 6):
        mechanics = Mechanics(spec, ChangeCodec(spec), MechanicsCfg(hidden=0, self_contacts=most))
        with torch.no_grad():
            found = mechanics.codec.apply(state, mechanics(state, control, contacts))
        said.append(found)
        errors.append((found - after)[:, spec.state.joint_vel].abs().amax(-1))
    meets = (said[0] - said[1]).abs().amax(-1) > 1.0e-3
    assert int(meets.sum()) > 300
    assert float(errors[1][~meets].quantile(0.9)) < 1.0e-3
    without, within = (float(each[meets].median()) for each in errors)
    assert without > 2.0 and within < 0.05 * without, (without, within)
