# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The seam on other backends and devices: what a machine with only a CPU and the kit-less engine cannot show."""

import pytest
import torch

from support.seam import make_env, run_oracle_test, untrained_predictor, use_predictor


@pytest.mark.gpu
def test_oracle_reproduces_physx_on_a_gpu():
    """As on the CPU, with the state on the device. GPU physics is not bit-exact between two runs, the oracle is."""
    run_oracle_test("NeRD-Cartpole", num_envs=64, steps=100, tolerance=1e-4, device="cuda:0")


@pytest.mark.gpu
def test_no_number_leaves_the_gpu_in_a_neural_step():
    """Physics step of the neural mode with PyTorch set to refuse every synchronising call."""
    env = make_env("NeRD-Ant-Run", 64, device="cuda:0")
    use_predictor(env, untrained_predictor(env).to("cuda:0"))
    env.step(torch.zeros(64, env.action_manager.total_action_dim, device="cuda:0"))
    torch.cuda.set_sync_debug_mode("error")
    try:
        env.sim.physics_manager.step()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    env.close()


@pytest.mark.isaacsim
def test_oracle_reproduces_physx_inside_isaac_sim():
    """The same code on the PhysX of Kit."""
    run_oracle_test("NeRD-Cartpole", num_envs=16, steps=100, tolerance=1e-4, device="cuda:0", physics="isaacsim_physx")
