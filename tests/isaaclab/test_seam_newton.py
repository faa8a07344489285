# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The same seam on another physics backend: Newton, on the CPU."""

import pytest

from support.seam import run_oracle_test


@pytest.mark.long  # another engine, compiled at first; its twin with PhysX is test_seam_oracle_cartpole
def test_oracle_reproduces_newton_through_330_steps_of_cartpole():
    """With a model that knows Newton's next state, neural env steps say what Newton said, resets included."""
    run_oracle_test("NeRD-Cartpole", num_envs=8, steps=330, tolerance=1e-3, physics="newton_mjwarp")
