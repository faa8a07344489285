# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A pole that goes round and round is counted as PhysX counts it. One engine for all tests."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from nerd_core.robot.frames import wrap_to_pi
from support.seam import make_env

COUNT, STEPS, TURN = 8, 90, 2.0 * math.pi


@pytest.fixture(scope="module")
def env() -> Iterator[Any]:
    """A Cartpole task in which the pole may turn as fast as it likes, closed at the end."""

    def let_it_spin(cfg: Any) -> None:
        for name in ("pole_too_fast", "cart_too_fast", "cart_out"):
            setattr(cfg.terminations, name, None)

    env = make_env("NeRD-Cartpole", COUNT, change=let_it_spin)
    env.reset(seed=0)
    env.step(torch.zeros(COUNT, 1))
    yield env
    env.close()


def spin(env: Any) -> torch.Tensor:
    """Poles that turn at up to 30 rad/s either way, from angles of up to nearly two turns: the joint positions that
    Isaac Lab has before and after each of some steps, shape (STEPS + 1, N, J).
    """
    from nerd_isaaclab.physics.robot_state import RobotState

    env.reset(seed=0)
    scene = RobotState(env.robot, env.robot_spec, env.scene.env_origins)
    state = torch.zeros(COUNT, 4)
    state[:, 1] = torch.tensor([0.0, 3.0, -3.0, 6.2, -6.2, 0.0, 3.2, -3.2])
    state[:, 3] = torch.tensor([30.0, 25.0, -25.0, 20.0, -20.0, -30.0, -28.0, 28.0])
    scene.write(state)
    env.sim.forward()
    angles = [env.robot.data.joint_pos.torch.clone()]
    for _ in range(STEPS):
        env.step(torch.zeros(COUNT, 1))
        assert not env.reset_buf.any(), "an episode ended: the runs are no longer comparable"
        angles.append(env.robot.data.joint_pos.torch.clone())
    return torch.stack(angles)


def test_physx_counts_within_one_turn_of_either_sign(env):
    """An angle goes on beyond half a turn, and where it would leave a whole one it is counted two turns back."""
    pole = spin(env)[:, :, 1]
    jumps = pole[1:] - pole[:-1]
    jumped = jumps.abs() > 3.0
    assert (pole.abs() > math.pi + 0.5).any(dim=0).all() and pole.abs().max() < TURN + 0.6
    assert (jumps[jumped] > 0.0).any() and (jumps[jumped] < 0.0).any()
    assert (jumps[jumped].abs() - 2.0 * TURN).abs().max() < 0.6


class Wrapped:
    """Dynamics that know where a recorded run goes, and give angles in [-pi, pi) as a model does."""

    def __init__(self, angles: torch.Tensor):
        self._angles = angles
        self._step = 0
        self.held = torch.zeros(COUNT, dtype=torch.bool)

    def reset(self, env_ids: torch.Tensor | None = None) -> None:
        """It has no history."""

    def step(self, state: torch.Tensor, control: torch.Tensor) -> torch.Tensor:
        self._step += 1
        after = self._angles[self._step].clone()
        after[:, 1] = wrap_to_pi(after[:, 1])
        return torch.cat((after, state[:, 2:]), dim=-1)


@pytest.mark.parametrize("mixed", [False, True])
def test_a_models_angles_are_counted_as_those_of_physx(env, mixed: bool):
    """A model of which only the angle within a turn is asked shows the angles that PhysX shows, in each step, beyond
    half a turn and beyond a whole one, in both senses.
    """
    expected = spin(env)
    env.use_dynamics(Wrapped(expected))
    neural = torch.arange(COUNT) % 2 == 0
    env.set_nerd_mode("mixed" if mixed else "neural", neural if mixed else None)
    got = spin(env)
    env.set_nerd_mode("physx")
    torch.testing.assert_close(got[:, neural], expected[:, neural], rtol=0, atol=2e-5)
    torch.testing.assert_close(got[:, ~neural], expected[:, ~neural], rtol=0, atol=2e-5)
