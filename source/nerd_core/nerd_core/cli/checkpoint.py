# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd checkpoint``: look at trained models, compare, check and export them.

.. code-block:: bash

    nerd checkpoint info runs/ant/best
    nerd checkpoint diff runs/ant/best runs/ant-long/best
    nerd checkpoint verify runs/*/best
    nerd checkpoint export runs/ant/best --out exported/ant --format onnx
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
import tyro
from rich.markup import escape
from rich.table import Table

from .. import checkpoint
from ..checkpoint_names import UnknownCheckpoint, find_checkpoint
from ..files.bounds import bounded, check_bounds
from ..files.outputs import require_folder
from ..files.serialization import to_plain
from ..robot.comparison import diff_specs
from .options import read_options
from .terminal import console, say

MAX_ROWS = 500
"""Most facts or differences of a section that are shown: a file may hold any number."""

MAX_KEY = 120
"""Longest name of a fact that is shown [characters]."""


@dataclass
class Info:
    """Show what a checkpoint holds: robot, model, training, origin, errors."""

    path: tyro.conf.Positional[Path]
    """Directory of the checkpoint, or the name of a shipped one."""
    json: bool = False
    """Print JSON for programs instead of a table for people."""


@dataclass
class Diff:
    """Compare two checkpoints: robots, settings, weights. Exits with 1 if they differ."""

    first: tyro.conf.Positional[Path]
    """Directory of a checkpoint, or the name of a shipped one."""
    second: tyro.conf.Positional[Path]
    """Directory of the one to compare with."""


@dataclass
class Verify:
    """Check checkpoints completely: sizes, digests, names, shapes, finite numbers, training state."""

    paths: tyro.conf.Positional[tuple[Path, ...]]
    """Directories of checkpoints, or names of shipped ones."""

    def __post_init__(self):
        if not self.paths:
            raise ValueError("got no checkpoint to verify, expected one directory or more")


@dataclass
class Export:
    """Export the cached single step, for programs without this library, and check that it gives the same numbers."""

    path: tyro.conf.Positional[Path]
    """Directory of the checkpoint, or the name of a shipped one."""
    out: Path
    """Directory to write."""
    format: tuple[Literal["torch", "onnx"], ...] = ("torch", "onnx")
    """What to write: a torch.export program, an ONNX model, or both."""
    check_steps: int = bounded(200, at_least=1)
    """Steps over which the exported models are compared with this library, resets included."""
    overwrite: bool = False
    """Whether an earlier export at the same place may be replaced."""

    def __post_init__(self):
        check_bounds(self)


Command = (
    Annotated[Info, tyro.conf.subcommand("info")]
    | Annotated[Diff, tyro.conf.subcommand("diff")]
    | Annotated[Verify, tyro.conf.subcommand("verify")]
    | Annotated[Export, tyro.conf.subcommand("export")]
)


def main(argv: list[str]) -> int:
    """Show, compare, verify and export trained models."""
    command = read_options(Command, argv, "nerd checkpoint", __doc__)
    return {Info: _info, Diff: _diff, Verify: _verify, Export: _export}[type(command)](command)


def _info(command: Info) -> int:
    facts = describe(checkpoint.read(find_checkpoint(command.path)))
    if command.json:
        print(json.dumps(facts, indent=1))
        return 0
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for section, rows in facts.items():
        table.add_row(f"[bold]{section}[/bold]", "")
        for name, value in itertools.islice(_flat(rows), MAX_ROWS):
            table.add_row(escape(f"  {name[:MAX_KEY]}"), escape(_show(value)))
        more = sum(1 for _ in _flat(rows)) - MAX_ROWS
        if more > 0:
            table.add_row(f"  ... and {more} more", "--json shows all")
    console(highlight=False).print(table)
    return 0


def _diff(command: Diff) -> int:
    first, second = (checkpoint.read(find_checkpoint(path)) for path in (command.first, command.second))
    sections = {
        "robot": diff_specs(first.spec, second.spec),
        "settings": list(_differences(to_plain(first.config), to_plain(second.config))),
        "weights": list(_weight_differences(first.tensors, second.tensors)),
    }
    say(f"got {command.first}, expected {command.second}")
    for name, lines in sections.items():
        say(f"{name}: " + ("the same" if not lines else f"{len(lines)} differences"))
        for line in lines[:MAX_ROWS]:
            say(f"  {line}")
        if len(lines) > MAX_ROWS:
            say(f"  ... and {len(lines) - MAX_ROWS} more")
    return 1 if any(sections.values()) else 0


def _verify(command: Verify) -> int:
    failures = 0
    for path in command.paths:
        try:
            place = find_checkpoint(path)
            found = checkpoint.read(place)
            checkpoint.load(place)
            if found.has_training_state:
                checkpoint.load_training_state(place)
        except UnknownCheckpoint as error:
            failures += 1
            say(f"unknown  {path}: {error}", error=True)
        except (ValueError, OSError) as error:
            failures += 1
            say(f"damaged  {path}: {error}", error=True)
        else:
            say(f"sound    {path}: {found.spec.name}, {_count(found.tensors):,} numbers")
    return 1 if failures else 0


def _export(command: Export) -> int:
    from ..export import export

    require_folder(command.out, "--out")
    report = export(
        checkpoint.load(find_checkpoint(command.path)),
        command.out,
        formats=command.format,
        check_steps=command.check_steps,
        overwrite=command.overwrite,
    )
    for name, error in report.items():
        say(f"{command.out / name}: differs by at most {error:.2e} over {command.check_steps} steps")
    return 0


def describe(found: checkpoint.Checkpoint) -> dict[str, Any]:
    """What a checkpoint holds, as plain values in sections.

    Args:
        found: What :func:`nerd_core.checkpoint.read` gave.
    """
    spec, config = found.spec, found.config
    return {
        "checkpoint": {
            "path": str(found.path),
            "format": found.schema,
            "size": f"{sum(file.stat().st_size for file in found.path.rglob('*') if file.is_file()) / 2**20:.2f} MiB",
            "training can go on": found.has_training_state,
        },
        "robot": {
            "name": spec.name,
            "specification": spec.content_hash,
            "base": "floating" if spec.floating_base else "fixed",
            "joints": len(spec.joints),
            "bodies": len(spec.bodies),
            "controls": [f"{control.joint}.{control.kind}" for control in spec.controls],
            "contact slots": len(spec.slots),
            "state": spec.state.dim,
            "step [s]": spec.control_dt,
        },
        "model": {**to_plain(config.predictor), "numbers": _count(found.tensors)},
        "training": config.training or {},
        "origin": {**config.provenance, "versions": config.versions},
        "results": config.results,
    }


def _differences(got: Any, expected: Any, path: str = "") -> Iterator[str]:
    """Differences of two plain structures, one readable line each."""
    if isinstance(got, dict) and isinstance(expected, dict):
        for key in [*expected, *(key for key in got if key not in expected)]:
            yield from _differences(got.get(key), expected.get(key), f"{path}.{key}" if path else key)
    elif got != expected:
        yield f"{path[:MAX_KEY]}: got {_show(got)}, expected {_show(expected)}"


def _weight_differences(got: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> Iterator[str]:
    """Differences of two sets of tensors, one readable line each."""
    for name in [*expected, *(name for name in got if name not in expected)]:
        if name not in got or name not in expected:
            yield f"{name}: only in the {'second' if name not in got else 'first'}"
        elif got[name].shape != expected[name].shape or got[name].dtype != expected[name].dtype:
            yield (
                f"{name}: got {list(got[name].shape)} of {got[name].dtype}, "
                f"expected {list(expected[name].shape)} of {expected[name].dtype}"
            )
        elif not torch.equal(got[name], expected[name]):
            change = (got[name].double() - expected[name].double()).norm().item()
            size = expected[name].double().norm().item()
            yield f"{name}: differs by {change / size:.2%} of its norm" if size else f"{name}: differs by {change:.3g}"


def _flat(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Leaves of a nested dict with dotted names."""
    for key, item in value.items():
        if isinstance(item, dict) and item:
            yield from _flat(item, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", item


def _show(value: Any) -> str:
    """A plain value on one line. Text with control characters is quoted, so that it cannot steer the terminal."""
    text = value if isinstance(value, str) and value.isprintable() else json.dumps(value)
    return text if len(text) <= 400 else text[:397] + "..."


def _count(tensors: dict[str, torch.Tensor]) -> int:
    return sum(math.prod(tensor.shape) for tensor in tensors.values())


__all__ = ["describe", "main"]
