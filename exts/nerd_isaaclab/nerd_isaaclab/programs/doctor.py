# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd doctor``: what stands between a task and a learned model of its robot, found in half a minute.

    nerd doctor --task NeRD-Isaac-Reach-Franka
    nerd doctor --task NeRD-Ant-Run --model ant --data data/ant --policy policies/NeRD-Ant-Run

Every line says what was looked at and, where something is not well, the command or override that mends it. The exit
code is 1 where there is an obstacle.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.table import Table
from rich.text import Text

from nerd_core.cli.options import read_options
from nerd_core.cli.terminal import console
from nerd_core.files.atomic import write_json
from nerd_core.files.messages import printable
from nerd_core.files.outputs import require_file
from nerd_core.files.serialization import to_plain

from ..doctor.diagnosis import Diagnosis, worst
from ..doctor.run import DoctorCfg, examine

_COLOURS = {"fine": "green", "warning": "yellow", "obstacle": "red"}


@dataclass
class Doctor:
    """Examine a task, and a model or data for it, before hours are spent."""

    cfg: Annotated[DoctorCfg, tyro.conf.arg(name="")]
    """What to examine."""
    json: Path | None = None
    """File for the findings."""


def main(argv: list[str]) -> int:
    """Examine a task, and a model or data for it, before hours are spent.

    Args:
        argv: Arguments, without the program's name.
    """
    args = read_options(Doctor, argv, "nerd doctor", __doc__)
    require_file(args.json, "--json")
    found = examine(args.cfg)
    _show(args.cfg.task, found)
    if args.json is not None:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        write_json(args.json, to_plain(found))
    return 1 if worst(found) == "obstacle" else 0


def _show(task: str, found: list[Diagnosis]) -> None:
    table = Table(title=task, show_lines=False, pad_edge=False, box=None)
    for name in ("", "", ""):
        table.add_column(name, overflow="fold")
    for each in found:
        # Names of a file may be anybody's, and text is not read as markup.
        table.add_row(Text(each.level, style=_COLOURS[each.level]), Text(each.topic), Text(printable(each.text)))
        if each.remedy:
            table.add_row("", "", Text(printable(f"-> {each.remedy}"), style="bold"))
    console().print(table)
    counts = {level: sum(each.level == level for each in found) for level in _COLOURS}
    print(f"{counts['fine']} fine, {counts['warning']} warnings, {counts['obstacle']} obstacles")
