# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""An oracle in the place of the network reproduces PhysX through the whole environment of the Cartpole."""

from support.seam import run_oracle_test


def test_oracle_reproduces_physx_through_500_steps_of_cartpole():
    """With a model that knows PhysX's next state, 500 neural env steps say what PhysX said, resets included."""
    run_oracle_test("NeRD-Cartpole", num_envs=32, steps=500)
