# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Finds a checkpoint by its path, or by its name if it comes with the extension."""

from __future__ import annotations

import difflib
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent


class UnknownCheckpoint(ValueError):
    """Neither a directory nor the name of a checkpoint that is shipped."""


def shipped_checkpoints() -> dict[str, Path]:
    """Directories of the shipped checkpoints, by name."""
    return {path.parent.name: path.parent for path in sorted(_FOLDER.glob("*/spec.json"))}


def find_checkpoint(name_or_path: str | Path) -> Path:
    """Directory of a checkpoint given by its path or by the name of a shipped one.

    Args:
        name_or_path: For instance ``runs/ant/best`` or ``ant``.

    Raises:
        UnknownCheckpoint: With the names there are.
    """
    path = Path(name_or_path)
    if path.is_dir():
        return path
    shipped = shipped_checkpoints()
    if str(name_or_path) in shipped:
        return shipped[str(name_or_path)]
    near = difflib.get_close_matches(str(name_or_path), shipped, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"shipped are: {', '.join(shipped) or 'none'}"
    raise UnknownCheckpoint(
        f"got the model '{name_or_path}', expected a directory or the name of a shipped model; {hint}"
    )
