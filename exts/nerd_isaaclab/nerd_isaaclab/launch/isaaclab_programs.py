# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Runs one of Isaac Lab's programs with a checked command line.

Before Isaac Lab's program starts, the task and the physics are checked, what the machine needs is installed
(:mod:`nerd_isaaclab.tasks`), and the arguments are completed where there is no CUDA.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from .task_ids import check_task


def run_isaaclab_program(program: str, argv: list[str], run: str) -> int:
    """Run one of Isaac Lab's programs.

    Args:
        program: Name of the program: train, play, zero_agent or random_agent.
        argv: Its arguments. ``--task`` is checked, all others are its own business.
        run: Name of the function of ``isaaclab_rl.entrypoints`` that takes the arguments.

    Returns:
        Exit code.
    """
    from ..compat import refusals
    from ..compat.no_cuda import complete_arguments, option

    asked_for_help = any(word in ("-h", "--help") for word in argv)
    task = option(argv, "--task")
    if not asked_for_help or task is not None:
        check_task(task)

    import nerd_isaaclab.tasks  # noqa: F401  (pinned memory, assets, registration: before any other Isaac Lab import)

    if task is not None:
        check_physics(task, argv)
    argv = [*argv, *complete_arguments(program, argv)]

    from isaaclab_rl import entrypoints

    function: Callable[[list[str]], int] = getattr(entrypoints, run)
    # Isaac Lab's help reads the task from the arguments of the process, to list that task's presets.
    refusals.note_program(["isaaclab", program])
    typed = f"rl {program}" if program in ("train", "play") else program.replace("_", "-")
    original, sys.argv = sys.argv, [f"nerd {typed}", *argv]
    try:
        return function(argv)
    finally:
        sys.argv = original


def check_physics(task: str, argv: list[str]) -> None:
    """Raise an error in words if a task cannot run on the physics that ``physics=NAME`` asks for, or on any.

    Args:
        task: Id of a registered task.
        argv: Arguments among which ``physics=NAME`` may stand.
    """
    from ..compat.no_cuda import has_cuda
    from ..compat.physics_presets import physics_problem

    if has_cuda() and not any(word.startswith("physics=") for word in argv):
        return  # Kit may have to start before the task's configuration is imported
    if problem := physics_problem(task, argv):
        raise ValueError(problem)
