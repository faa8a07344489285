# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A robot has one specification, wherever it stands."""

from __future__ import annotations

import pytest
import torch

from nerd_isaaclab.physics.robot_description import place_in_env


@pytest.mark.parametrize("away", [0.0, 7.5, 27.5, 53.3])
def test_the_size_of_the_scene_does_not_change_where_a_robot_stands(away: float):
    """A Franka of 512 environments was a micrometre off that of 128, and its model was refused the others' data."""
    origin = torch.tensor([away, -away, 0.0])
    noisy = origin + torch.tensor([0.3, 0.0, 0.5]) + torch.tensor([1.0e-6, -2.0e-6, 0.0])
    assert place_in_env(noisy, origin) == (0.3, 0.0, 0.5)
