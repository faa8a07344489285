# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""'nerd models init' on the real engine: a model that saw no data steps the task's robot as PhysX does."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from nerd_core import checkpoint
from nerd_isaaclab.models.untrained import InitModelCfg, init_model
from support.seam import make_env

TASK, NUM_ENVS, TOLERANCE = "NeRD-Cartpole", 16, 1e-3


@pytest.mark.long  # two engines; twins: test_models_untrained, and an untrained model in test_mechanics_of_physx
def test_an_untrained_model_steps_the_cartpole_as_physx_does(tmp_path: Path):
    """From the same reset and with the same actions, the states after one control step agree to a thousandth of a rad,
    m, rad/s and m/s, though the robots have moved by far more.
    """
    from nerd_isaaclab.physics.robot_state import RobotState

    path = init_model(InitModelCfg(TASK, device="cpu"), tmp_path / "model")
    env = make_env(TASK, NUM_ENVS)
    try:
        assert checkpoint.load(path).spec == env.robot_spec
        reader = RobotState(env.robot, env.robot_spec, env.scene.env_origins)
        env.reset(seed=0)
        env.step(torch.zeros(NUM_ENVS, 1))  # Isaac Lab sets velocities to zero in the first reset of its life
        action = torch.linspace(-1.0, 1.0, NUM_ENVS)[:, None]
        after = {}
        env.load_nerd_checkpoint(str(path))
        for mode in ("physx", "neural"):
            env.set_nerd_mode(mode)
            env.reset(seed=0)
            before = reader.read().clone()
            env.step(action)
            assert env.nerd_mode == mode
            after[mode] = reader.read().clone()
        assert (after["physx"] - before).abs().amax() > 20 * TOLERANCE
        torch.testing.assert_close(after["neural"], after["physx"], atol=TOLERANCE, rtol=0.0)
    finally:
        env.close()
