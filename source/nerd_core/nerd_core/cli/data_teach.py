# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd data teach``: a model, as mechanics, makes data for another one.

.. code-block:: bash

    nerd data teach data/anymal --teacher anymal --out data/taught --transitions 2000000
    nerd data teach data/anymal --teacher anymal --visited runs/network/best --out data/taught-2
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated

import tyro
from tqdm import tqdm

from .. import checkpoint
from ..checkpoint_names import find_checkpoint
from ..files.outputs import require_folder
from ..files.provenance import file_digest
from ..training.config import TrainingError
from ..training.taught import TeachCfg, teach
from .terminal import say
from .train_data import joined


@dataclass
class Teach:
    """Let a model, as mechanics, make data for another one: from recorded states, or from those another one visits."""

    data: tyro.conf.Positional[tuple[Path, ...]]
    """Folders of datasets whose states, controls and grounds are begun with."""
    teacher: str
    """Model that moves the robot: a directory, or the name of a shipped one."""
    out: Path
    """Folder of the new dataset; one that is there is continued."""
    visited: str | None = None
    """Model whose own roll-outs, begun and driven as the recorded ones, give the first states instead."""
    cfg: Annotated[TeachCfg, tyro.conf.arg(name="")] = field(default_factory=TeachCfg)
    """What the teacher is asked for."""


def teach_data(command: Teach) -> int:
    """Does what ``nerd data teach`` was told.

    Args:
        command: What it was told.
    """
    require_folder(command.out, "--out")
    if not command.data:
        raise TrainingError("got no dataset, expected at least one folder")
    if command.out.resolve() in {path.resolve() for path in command.data}:
        raise TrainingError(f"got --out '{command.out.name}', which is begun with: expected a folder of its own")
    starts = joined(command.data, (), leads=True)
    path = find_checkpoint(command.teacher)
    teacher, student = checkpoint.load(path, expected_spec=starts.spec), None
    models = {"teacher": file_digest(path / "manifest.json")}
    if command.visited is not None:
        visited = find_checkpoint(command.visited)
        student = checkpoint.load(visited, expected_spec=starts.spec)
        models["student"] = file_digest(visited / "manifest.json")
    with tqdm(total=command.cfg.transitions, unit=" transitions", unit_scale=True) as bar:
        shown = partial(_show, bar)
        manifest = teach(teacher, starts, command.cfg, command.out, path.name, student, shown, models)
    say(f"{manifest.trajectories:,} trajectories, {manifest.transitions:,} transitions in {command.out}")
    return 0


def _show(bar: tqdm, done: int) -> None:
    bar.update(min(done, bar.total) - bar.n)


__all__ = ["Teach", "teach_data"]
