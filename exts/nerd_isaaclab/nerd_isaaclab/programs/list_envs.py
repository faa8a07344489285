# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd list-envs``: list the tasks that ``isaaclab train``, ``nerd rl train`` and the others know.

    nerd list-envs
    nerd list-envs --keyword Ant
    nerd list-envs --keyword NeRD --show_presets

Without --show_presets no simulator and no task is imported: the list is there at once. Only where a package computes
the ids of its tasks they are imported, which takes seconds; one line says so.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from ..launch.task_ids import TaskId, computing_packages, find_tasks, registered_tasks


@dataclass
class ListEnvs:
    """List the registered tasks, their configurations and agents."""

    keyword: str | None = None
    """Show the ids that contain this; upper and lower case are one."""
    all: bool = False
    """Show every task: the default, accepted because Isaac Lab's list has it."""
    show_presets: bool = False
    """Also show the presets; slow, since it imports every task."""


def main(argv: list[str]) -> int:
    """List the registered tasks, their configurations and agents.

    Args:
        argv: Arguments, without the program's name.
    """
    args = _parse(argv) if argv else ListEnvs()
    if args.all and args.keyword is not None:
        raise ValueError(f"got --all and --keyword {args.keyword}, expected one of them")
    if args.show_presets:
        return _with_presets(args.keyword)
    keyword = (args.keyword or "").lower()
    found = [task for task in _tasks() if keyword in task.id.lower()]
    if not found:
        raise ValueError(f"no task id contains '{args.keyword}': leave --keyword out to see all")
    print(_table(found))
    return 0


def _tasks() -> list[TaskId]:
    """All tasks: those that the sources name, and those of packages that compute ids."""
    tasks = find_tasks()
    if packages := computing_packages():
        print(f"{', '.join(packages)} computes ids of tasks: importing it to see them", file=sys.stderr, flush=True)
        known = {task.id for task in tasks}
        tasks += [task for task in registered_tasks() if task.id not in known]
    return tasks


def _parse(argv: list[str]) -> ListEnvs:
    """Reads the arguments; where there are none, tyro need not be imported for it."""
    from nerd_core.cli.options import read_options

    return read_options(ListEnvs, argv, "nerd list-envs", __doc__)


def _with_presets(keyword: str | None) -> int:
    """Hand over to Isaac Lab's own program, which loads every configuration."""
    from isaaclab.cli.commands.list_envs import command_list_envs

    command_list_envs([*(["--keyword", keyword] if keyword else ["--all"]), "--show_presets"])
    return 0


def _table(tasks: list[TaskId]) -> str:
    rows = [("Task", "Agents", "Configuration"), *((task.id, ", ".join(task.libraries), task.config) for task in tasks)]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    lines = [f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}".rstrip() for row in rows]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:], f"{len(tasks)} tasks"])
