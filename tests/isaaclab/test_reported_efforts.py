# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What position drives report after a control step of a model is what they report after the same motion in PhysX."""

from __future__ import annotations

import pytest
import torch

from support.seam import Oracle, RecordingPhysics, make_env

STEPS, ENVS = 40, 8


def _efforts(env, actions: torch.Tensor) -> torch.Tensor:
    """Efforts that the actuators say they have applied [N m], after each step from a seeded reset."""
    env.reset(seed=0)
    found = []
    for action in actions:
        env.step(action)
        found.append(env.robot.data.applied_torque.torch.clone())
    return torch.stack(found)


@pytest.mark.parametrize("task", ["NeRD-Velocity-AnymalC", "NeRD-Velocity-AnymalC-DC-Motor"])
def test_efforts_are_those_of_the_last_physics_step(task: str):
    """With four physics steps a control step the sum of squared efforts, which rewards read, is PhysX's within two per
    cent, for drives of the engine and for motors outside of it. What is said before the first physics step is not.
    """
    env = make_env(task, ENVS, change=lambda cfg: setattr(cfg.events, "push_robot", None))
    try:
        shape = (STEPS, ENVS, env.action_manager.total_action_dim)
        actions = torch.rand(shape, generator=torch.Generator().manual_seed(1)) * 2.0 - 1.0
        env.reset(seed=0)
        env.step(actions[0])
        recording, stock = RecordingPhysics(env), env.sim.physics_manager
        env.sim.physics_manager = recording
        expected = _efforts(env, actions)
        env.sim.physics_manager = stock
        env.use_dynamics(Oracle(recording))
        env.set_nerd_mode("neural")
        got = _efforts(env, actions)
        squares = expected.square().mean()
        assert abs(float(got.square().mean() / squares) - 1.0) < 0.02
        error = float((got - expected).square().mean() / squares)
        assert error < 0.06
        env.use_dynamics(Oracle(recording))
        env.set_nerd_mode("neural")
        env._neural._efforts = None
        first = _efforts(env, actions)
        assert float(first.square().mean() / squares) > 1.1
        assert float((first - expected).square().mean() / squares) > 3.0 * error
    finally:
        env.close()
