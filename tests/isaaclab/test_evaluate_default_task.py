# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd evaluate`` without a task."""

from __future__ import annotations

import pytest

from nerd_core import checkpoint
from nerd_isaaclab.models import find_model, shipped_models
from nerd_isaaclab.programs.evaluate import TASKS, default_task


def test_shipped_models_need_no_task():
    """Every shipped model has a task that it is judged on when none is named."""
    for name in shipped_models():
        assert default_task(checkpoint.load(find_model(name)).spec.name) in TASKS.values()


def test_a_robot_without_a_default_says_what_to_do():
    """A model of a robot from elsewhere asks for --task, and names the robots that need none."""
    with pytest.raises(ValueError, match=r"'my_robot'.*--task.*NeRD-Cartpole"):
        default_task("my_robot")
