# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd data``: look at datasets of trajectories, measure, check and draw them.

.. code-block:: bash

    nerd data info data/ant
    nerd data stats data/ant
    nerd data check data/ant
    nerd data plot data/ant --out ant.png
    nerd data seal data/ant
    nerd data import cube.h5 --split train --out data/cube
    nerd data teach data/ant --teacher ant --out data/taught
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich import box
from rich.markup import escape
from rich.table import Table

from ..data.dataset import TrajectoryDataset
from ..data.flat import flat_bytes, wanted_fields
from ..data.inspection import Coverage, DatasetStats, inspect
from ..data.manifest import Contents, find_segments, write_manifest
from ..data.plots import plot
from ..files.bounds import bounded, check_bounds
from ..files.messages import printable
from ..files.outputs import PICTURES, require_file
from ..files.serialization import to_plain
from .data_check import Check, check_data
from .data_import import Import, import_recordings
from .data_teach import Teach, teach_data
from .options import read_options
from .terminal import console, say

MOST = 4000
"""Longest line of a dataset that is shown [characters]."""


@dataclass
class Info:
    """Show what a dataset holds and where it came from, without reading its numbers."""

    path: tyro.conf.Positional[Path]
    """Folder of a dataset, of one of its shards, or a segment."""
    json: bool = False
    """Print JSON for programs instead of tables for people."""


@dataclass
class Stats:
    """Measure coverage, contacts, saturation and sizes of steps."""

    path: tyro.conf.Positional[Path]
    """Folder of a dataset, of one of its shards, or a segment."""
    sample: int = bounded(200_000, at_least=1)
    """Number of transitions to look at, spread evenly over the dataset."""
    json: bool = False
    """Print JSON for programs (histograms included) instead of tables for people."""

    def __post_init__(self):
        check_bounds(self)


@dataclass
class Plot:
    """Draw a page that shows what a dataset covers."""

    path: tyro.conf.Positional[Path]
    """Folder of a dataset, of one of its shards, or a segment."""
    out: Path = Path("data.png")
    """File to write: PNG, PDF or SVG by its ending."""
    sample: int = bounded(200_000, at_least=1)
    """Number of transitions to look at, spread evenly over the dataset."""

    def __post_init__(self):
        check_bounds(self)


@dataclass
class Seal:
    """Declare a dataset complete: write its manifest. Collectors do it themselves when they finish."""

    path: tyro.conf.Positional[Path]
    """Folder of a dataset."""


Command = (
    Annotated[Info, tyro.conf.subcommand("info")]
    | Annotated[Stats, tyro.conf.subcommand("stats")]
    | Annotated[Check, tyro.conf.subcommand("check")]
    | Annotated[Plot, tyro.conf.subcommand("plot")]
    | Annotated[Seal, tyro.conf.subcommand("seal")]
    | Annotated[Import, tyro.conf.subcommand("import")]
    | Annotated[Teach, tyro.conf.subcommand("teach")]
)


def main(argv: list[str] | None = None) -> int:
    """Look at datasets of trajectories: measure, check and draw them."""
    command = read_options(Command, sys.argv[1:] if argv is None else argv, "nerd data", __doc__)
    does = {Info: _info, Stats: _stats, Check: check_data, Plot: _plot, Seal: _seal}
    does |= {Import: import_recordings, Teach: teach_data}
    return does[type(command)](command)


def _info(command: Info) -> int:
    contents = find_segments(command.path)
    if command.json:
        print(json.dumps(_describe(contents), indent=1))
        return 0
    screen = console()
    facts = _describe(contents)
    facts["hash"] = facts["hash"][:16]
    facts["complete"] = "yes" if facts["complete"] else "no manifest: being collected, or interrupted"
    table = Table.grid(padding=(0, 2))
    for key in ("robot", "complete", "trajectories", "transitions", "duration_s", "arrays", "bytes", "hash"):
        table.add_row(f"[bold]{key.replace('_s', ' [s]')}[/]", _text(_human(facts[key])))
    screen.print(table)
    shards = _table("shards", "shard", ("trajectories", "transitions", "segments", "MB", "seed"))
    origins: dict[str, list[str]] = {}
    for shard in facts["shards"]:
        counts = (f"{shard[key]:,}" for key in ("trajectories", "transitions", "segments"))
        seed = str(shard["meta"].pop("seed"))
        shards.add_row(_text(shard["name"]), *counts, f"{shard['bytes'] / 1e6:,.1f}", seed)
        lines = "\n".join(f"  {key}: {_human(value)}" for key, value in shard["meta"].items() if value)
        origins.setdefault(lines, []).append(shard["name"])
    screen.print(shards)
    for lines, names in origins.items():
        screen.print(f"[bold]origin of {_text(_human(names))}[/]\n{_text(lines)}", highlight=False)
    return 0


def _stats(command: Stats) -> int:
    stats = inspect(_open(command.path), command.sample)
    if command.json:
        print(json.dumps(to_plain(stats), indent=1))
        return 0
    screen = console()
    rate = stats.excluded / (stats.trajectories + stats.excluded)
    screen.print(
        f"[bold]{_text(stats.robot)}[/]: {stats.trajectories:,} trajectories of {stats.length[0]} to "
        f"{stats.length[2]} steps, {stats.transitions:,} transitions, {stats.duration:,.0f} s",
        f"{stats.excluded} trajectories with NaN ({rate:.2%}); from {stats.sampled:,} sampled transitions:",
        sep="\n",
    )
    screen.print(_coverage_table("state", stats.state))
    screen.print(_coverage_table("control", stats.control))
    if stats.slots:
        screen.print(_slot_table(stats))
    screen.print(_step_table(stats))
    return 0


def _plot(command: Plot) -> int:
    require_file(command.out, "--out", PICTURES)
    plot(inspect(_open(command.path), command.sample), command.out)
    say(f"wrote {command.out}")
    return 0


def _seal(command: Seal) -> int:
    manifest = write_manifest(command.path)
    say(f"{manifest.trajectories:,} trajectories, {manifest.transitions:,} transitions: {manifest.dataset_hash}")
    return 0


def _open(path: Path) -> TrajectoryDataset:
    recorded = all("contact_distance" in segment.header.arrays for segment in find_segments(path).segments)
    return TrajectoryDataset.open(path, recorded=("contacts",) if recorded else ())


def _describe(contents: Contents) -> dict:
    shards: dict[str, dict] = {}
    for segment in contents.segments:
        header = segment.header
        shard = shards.setdefault(
            header.shard,
            {"name": header.shard, "trajectories": 0, "transitions": 0, "bytes": 0, "segments": 0},
        )
        shard["trajectories"] += header.trajectories
        shard["transitions"] += header.transitions
        shard["bytes"] += segment.size
        shard["segments"] += 1
        shard["compression"] = header.compression
        shard["meta"] = to_plain(header.meta)
    transitions = sum(shard["transitions"] for shard in shards.values())
    spec = contents.spec
    return {
        "robot": spec.name,
        "spec_hash": spec.content_hash,
        "complete": contents.complete,
        "trajectories": sum(shard["trajectories"] for shard in shards.values()),
        "transitions": transitions,
        "control_dt_s": spec.control_dt,
        "duration_s": transitions * spec.control_dt,
        "arrays": sorted(set.intersection(*(set(segment.header.arrays) for segment in contents.segments))),
        "bytes": sum(shard["bytes"] for shard in shards.values()),
        "bytes_to_train": flat_bytes(contents, wanted_fields(contents)),
        "hash": contents.dataset_hash,
        "shards": list(shards.values()),
    }


def _coverage_table(title: str, coverages: Iterable[Coverage]) -> Table:
    columns = ("min", "5 %", "median", "95 %", "max", "std", "limits", "beyond", "covered", "at extremes")
    table = _table(title, "coordinate", columns)
    for row in coverages:
        low, p5, median, p95, high = (row.quantiles[i] for i in (0, 2, 4, 6, 8))
        limits = "" if row.lower == -float("inf") else f"{row.lower:.3g} .. {row.upper:.3g}"
        table.add_row(
            _text(f"{row.name} [{row.unit}]" if row.unit else row.name),
            *(f"{value:.4g}" for value in (low, p5, median, p95, high, row.std)),
            limits,
            f"{row.beyond:.2%}" if row.beyond else "",
            f"{row.covered:.0%}",
            f"{row.saturated:.2%}",
        )
    return table


def _slot_table(stats: DatasetStats) -> Table:
    table = _table(f"contact slots ({stats.contact_source})", "slot", ("near", "touching"))
    for slot in stats.slots:
        table.add_row(_text(slot.name), f"{slot.active:.2%}", f"{slot.touching:.2%}")
    return table


def _step_table(stats: DatasetStats) -> Table:
    table = _table("change of state over one step", "coordinate", ("sigma", "largest / sigma"))
    for step in stats.steps:
        table.add_row(_text(step.name), f"{step.sigma:.4g}", f"{step.largest:.1f}")
    return table


def _table(title: str, first: str, numbers: Iterable[str]) -> Table:
    table = Table(title=f"\n{title}", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(first)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _text(words: str) -> str:
    """Words of a dataset, which anybody may have written, for rich's markup."""
    return escape(printable("\n".join(line[:MOST] for line in words.split("\n"))))


def _human(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    if isinstance(value, (int, float)):
        return f"{value:,.6g}" if isinstance(value, float) else f"{value:,}"
    return str(value)


if __name__ == "__main__":
    raise SystemExit(main())
