# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Run a task with an agent that needs no training: zero or random actions.

nerd zero-agent --task NeRD-Cartpole --num_envs 16 --max_steps 300
nerd random-agent --task NeRD-Ant-Run --viz viser
"""

from __future__ import annotations

from ..launch.isaaclab_programs import run_isaaclab_program


def zero_agent(argv: list[str]) -> int:
    """Run a task with zero actions."""
    return run_isaaclab_program("zero_agent", argv, "run_zero_agent_cli")


def random_agent(argv: list[str]) -> int:
    """Run a task with random actions."""
    return run_isaaclab_program("random_agent", argv, "run_random_agent_cli")
