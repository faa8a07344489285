# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd evaluate`` without a task."""

from __future__ import annotations

import pytest

from nerd_core import checkpoint
from nerd_core.checkpoint_names import find_checkpoint, shipped_checkpoints
from nerd_isaaclab.demo.recipes_measured import MEASURED
from nerd_isaaclab.evaluation.open_loop import default_task
from nerd_isaaclab.robots.registry import all_robots

IDENTIFIED = {"dfki-pendulum", "ibm-pendulum"}
"""Shipped models of real mechanisms that ``nerd identify`` made."""


def test_shipped_models_need_no_task():
    """Every shipped model of a simulated robot has a task that it is judged on when none is named."""
    tasks = {robot.default_task for robot in all_robots()}
    for name in sorted(set(shipped_checkpoints()) - set(MEASURED) - IDENTIFIED):
        assert default_task(checkpoint.load(find_checkpoint(name)).spec.name) in tasks


def test_a_robot_without_a_default_says_what_to_do():
    """A model of a robot from elsewhere asks for --task, and names the robots that need none."""
    with pytest.raises(ValueError, match=r"'my_robot'.*--task.*NeRD-Cartpole"):
        default_task("my_robot")
