# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A checkpoint by its path, or by its name if it comes with an installed package.

A package brings checkpoints by an entry point whose value is the folder that they are in, as ``module:attribute``:

.. code-block:: toml

    [project.entry-points."nerd.checkpoints"]
    my_robots = "my_robots.models:FOLDER"
"""

from __future__ import annotations

import difflib
from importlib.metadata import entry_points
from pathlib import Path

from .checkpoint import SPEC
from .files.atomic import previous

GROUP = "nerd.checkpoints"
"""Group of entry points through which packages bring checkpoints."""


class UnknownCheckpoint(ValueError):
    """Neither a directory nor the name of a checkpoint that is shipped."""


def shipped_checkpoints() -> dict[str, Path]:
    """Directories of the checkpoints of all installed packages, by name. The first package to bring a name keeps it."""
    found: dict[str, Path] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        for spec in sorted(Path(point.load()).glob(f"*/{SPEC}")):
            found.setdefault(spec.parent.name, spec.parent)
    return found


def find_checkpoint(name_or_path: str | Path) -> Path:
    """Directory of a checkpoint given by its path or by the name of a shipped one.

    Args:
        name_or_path: For instance ``runs/ant/best`` or ``ant``.

    Raises:
        UnknownCheckpoint: With the names there are.
    """
    path = Path(name_or_path)
    if path.exists() or previous(path).is_dir():
        return path
    shipped = shipped_checkpoints()
    if str(name_or_path) in shipped:
        return shipped[str(name_or_path)]
    near = difflib.get_close_matches(str(name_or_path), shipped, n=1)
    hint = (f"did you mean '{near[0]}'? " if near else "") + f"shipped are: {', '.join(shipped) or 'none'}"
    raise UnknownCheckpoint(
        f"got the model '{name_or_path}', expected a directory or the name of a shipped model; {hint}"
    )


__all__ = ["GROUP", "UnknownCheckpoint", "find_checkpoint", "shipped_checkpoints"]
