# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""List the tasks that ``isaaclab train``, ``nerd rl train`` and the others know.

    nerd list-envs
    nerd list-envs --keyword Ant
    nerd list-envs --keyword NeRD --show_presets

Without ``--show_presets`` no simulator and no task is imported: the list is there at once.
"""

from __future__ import annotations

import argparse

from .task_ids import TaskId, find_tasks


def main(argv: list[str]) -> int:
    """List the registered tasks, their configurations and agents."""
    parser = argparse.ArgumentParser(
        prog="nerd list-envs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--keyword", help="show the ids that contain this (upper and lower case are one)")
    group.add_argument("--all", action="store_true", help="show every task; the default, accepted as upstream's flag")
    parser.add_argument("--show_presets", action="store_true", help="also show the presets (slow: imports every task)")
    arguments = parser.parse_args(argv)
    if arguments.show_presets:
        return _with_presets(arguments.keyword)
    keyword = (arguments.keyword or "").lower()
    found = [task for task in find_tasks() if keyword in task.id.lower()]
    if not found:
        raise ValueError(f"no task id contains '{arguments.keyword}': leave --keyword out to see all")
    print(_table(found))
    return 0


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
