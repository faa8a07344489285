# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A spinning robot whose root is heavy on one side: the engine has velocities of centres of mass, a state those of
frames. One engine for all tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from nerd_core.mechanics.config import MechanicsCfg
from nerd_core.mechanics.step import Mechanics
from nerd_core.robot.frames import ChangeCodec, quat_normalize, quat_rotate
from support.lopsided import COM, HEIGHT, make_lopsided_env

COUNT = 32


@pytest.fixture(scope="module")
def env(tmp_path_factory) -> Iterator[Any]:
    """The task, closed at the end."""
    env = make_lopsided_env(tmp_path_factory.mktemp("robot"), COUNT)
    env.reset(seed=0)
    env.step(torch.zeros(COUNT, 2))
    yield env
    env.close()


@pytest.fixture
def scene(env):
    """The robot, stepped by the solver."""
    from nerd_isaaclab.collect.lean_scene import LeanScene

    return LeanScene(env)


def spinning(spec: Any) -> torch.Tensor:
    """States high in the air, turned anyhow, spinning at some 4 rad/s."""
    generator, at = torch.Generator().manual_seed(0), spec.state
    state = torch.randn(COUNT, at.dim, generator=generator)
    state[:, at.root_pos] = torch.tensor([0.0, 0.0, HEIGHT])
    state[:, at.root_quat] = quat_normalize(state[:, at.root_quat])
    state[:, at.root_ang_vel] *= 4.0
    return state


def lever(spec: Any, state: torch.Tensor) -> torch.Tensor:
    """What turning adds to the velocity of the root's centre of mass [m/s], shape (N, 3)."""
    away = quat_rotate(state[:, spec.state.root_quat], torch.tensor(COM).expand(len(state), 3))
    return torch.linalg.cross(state[:, spec.state.root_ang_vel], away)


def test_the_robot_is_lopsided(env):
    """The engine has the centre of mass where the test wants it, and the specification says so."""
    centre = env.robot.data.body_com_pose_b.torch[0, 0, :3]
    torch.testing.assert_close(centre, torch.tensor(COM), rtol=0, atol=1e-6)
    assert env.robot_spec.floating_base and env.robot_spec.bodies[0].inertia.centre == pytest.approx(COM, abs=1e-6)


def test_what_is_written_is_read_back(env, scene):
    """A state of velocities of the root's frame is read back as it was written, to the rounding of single precision,
    and the engine has the velocity of the centre of mass that belongs to it.
    """
    at, state = scene.spec.state, spinning(scene.spec)
    scene.write(state)
    assert lever(scene.spec, state).norm(dim=-1).mean() > 0.5, "the lever must matter to prove anything"
    torch.testing.assert_close(scene.read(), state, rtol=0, atol=5e-6)
    scene._state.advance_clock(env.physics_dt)  # so that everything is fetched from the engine anew
    torch.testing.assert_close(scene.read(), state, rtol=0, atol=5e-6)
    expected = state[:, at.root_lin_vel] + lever(scene.spec, state)
    torch.testing.assert_close(env.robot.data.root_com_vel_w.torch[:, :3], expected, rtol=0, atol=5e-6)


def test_the_velocity_that_is_read_is_that_of_the_frame(env, scene):
    """What is read after steps of the solver is how fast the origin of the root's frame moves, to what one physics step
    changes; the velocity of the centre of mass is ten times as far from it.
    """
    at = scene.spec.state
    scene.write(spinning(scene.spec))
    states = [scene.read().clone()] + [scene.step(torch.zeros(COUNT, 2)).clone() for _ in range(10)]
    moved = (states[-1] - states[-3])[:, at.root_pos] / (2.0 * scene.spec.control_dt)
    middle = states[-2]
    apart = (middle[:, at.root_lin_vel] - moved).norm(dim=-1).mean()
    other = (middle[:, at.root_lin_vel] + lever(scene.spec, middle) - moved).norm(dim=-1).mean()
    assert apart < 0.1 * other


class Exact:
    """Free motion computed from masses and lengths, without anything learned."""

    def __init__(self, spec: Any):
        self._codec = ChangeCodec(spec)
        self._mechanics = Mechanics(spec, self._codec, MechanicsCfg(substeps=4, hidden=0), has_contacts=False)
        self.held = torch.zeros(COUNT, dtype=torch.bool)

    def reset(self, env_ids: torch.Tensor | None = None) -> None:
        """It has no history."""

    def step(self, state: torch.Tensor, control: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return self._codec.apply(state, self._mechanics(state, control))


def test_a_neural_step_of_free_motion_is_one_of_the_engine(env, scene):
    """From the same spinning states, under the same efforts, a step of mechanics leaves the engine with the numbers
    that its own step gives it: velocities to .5 mm/s and mrad/s in the median, where a step changes some by a thousand
    times that; places to .2 mm, for the engine moves centres of mass on straight lines, mechanics the root's origin.
    """
    spec, state = scene.spec, spinning(scene.spec)
    actions = torch.rand(COUNT, 2, generator=torch.Generator().manual_seed(1)) * 2.0 - 1.0
    after = []
    for mode in ("physx", "neural"):
        if mode == "neural":
            env.use_dynamics(Exact(spec))
        env.set_nerd_mode(mode)
        env.reset(seed=0)
        scene.write(state)
        before = scene._state.read_engine()
        env.step(actions)
        assert not env.reset_buf.any()
        after.append(scene._state.read_engine())
    env.set_nerd_mode("physx")
    joints = len(spec.joints)
    moving = torch.zeros(after[0].shape[1], dtype=torch.bool)
    moving[joints : 2 * joints] = moving[2 * joints + 7 :] = True
    miss, change = (after[1] - after[0]).abs(), (after[0] - before).abs()
    assert float(miss[:, moving].median(0).values.max()) < 5.0e-4
    assert float(miss[:, ~moving].median(0).values.max()) < 2.0e-4
    assert float(change[:, moving].median(0).values.max()) > 0.5
