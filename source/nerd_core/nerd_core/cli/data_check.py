# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd data check``: what would harm a training, and where measurements contradict physics.

A dataset is read whole, number by number. Measurements, raw or imported, are compared with physics as well: free fall,
rest, velocities against motion, the swing of a pendulum.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from ..data.checks import Finding, check
from ..data.layout import DataError
from ..files.messages import printable
from ..files.serialization import to_plain
from ..recordings.plausibility import Measurement, PhysicsReport, check_physics, measured_dataset
from ..recordings.reading import is_recording, read_recordings
from .terminal import console


@dataclass
class Check:
    """Read every number and list what would harm a training. Exits with 1 if there are errors."""

    path: tyro.conf.Positional[Path]
    """Folder of a dataset, of a shard, a segment, or a file of measurements of a real mechanism."""
    columns: Path | None = None
    """Map of the columns, for a log that is no HDF5 file."""
    robot: Path | None = None
    """The robot of such a log: a URDF file, or a specification."""
    strict: bool = False
    """Whether warnings, too, make the command exit with 1."""
    json: bool = False
    """Print JSON for programs instead of a table for people: the findings, and what measurements say of physics."""


def check_data(command: Check) -> int:
    """Does what ``nerd data check`` was told.

    Args:
        command: What it was told.
    """
    screen = console(error=command.json)
    findings: list[Finding] = []
    if is_recording(command.path):
        physics = check_physics(read_recordings(command.path, command.columns, command.robot))
    else:
        with Progress(console=screen, transient=True) as bar:
            task = bar.add_task("reading", total=None)
            findings = check(command.path, lambda done, total: bar.update(task, completed=done, total=total))
        physics = _physics_of(command.path)
    findings = [*findings, *(physics.findings if physics else ())]
    bad = [finding for finding in findings if finding.level == "error" or command.strict]
    if command.json:
        print(json.dumps(_plain(findings, physics), indent=1))
        return int(bool(bad))
    if physics and physics.measurements:
        screen.print(_table(physics.measurements))
    _show(screen, findings)
    return int(bool(bad))


def _plain(findings: Sequence[Finding], physics: PhysicsReport | None) -> list | dict:
    """A list of findings, as ever; where there are measurements, an object with both."""
    listed = to_plain(list(findings))
    return listed if physics is None else {"findings": listed, "measurements": to_plain(list(physics.measurements))}


def _physics_of(path: Path) -> PhysicsReport | None:
    """What the trajectories of a dataset say of physics; None if they were not measured, or cannot be read."""
    try:
        recordings = measured_dataset(path)
    except DataError:
        return None  # what is wrong with it is among the findings
    return None if recordings is None else check_physics(recordings)


def _table(measurements: Sequence[Measurement]) -> Table:
    table = Table(title="measurements and physics", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.add_column("what they say")
    for name in ("value", "standard error", "expected", "runs"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in measurements:
        value = f"{each.value:.5g} {each.unit}".strip()
        shown = f"[yellow]{value}[/]" if each.deviates else value
        table.add_row(each.name, shown, f"{each.error:.2g}", f"{each.expected:.5g}", f"{each.runs:,}")
    return table


def _show(screen: Console, findings: Sequence[Finding]) -> None:
    for finding in findings:
        colour = "red" if finding.level == "error" else "yellow"
        screen.print(f"[{colour}]{finding.level}[/] [bold]{finding.count:,} {finding.what}[/]: {finding.advice}")
        screen.print(f"  first: {escape(printable(finding.first[:MOST]))}", style="dim", soft_wrap=True)
    if not findings:
        screen.print("[green]all is well[/]: every segment is whole and every number is sane")


MOST = 4000
"""Longest place of a finding that is shown [characters]."""

__all__ = ["Check", "check_data"]
