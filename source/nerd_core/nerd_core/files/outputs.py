# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Whether what a command will write can be written, found out before its work begins. Nothing is left behind.

Example::

    require_file(args.json, "--json")
    require_file(args.plot, "--plot", PICTURES)
    require_folder(args.out, "--out")
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp")
"""Endings of pictures. The help names the first three."""


class UnwritableOutput(ValueError):
    """A place where nothing can be written."""


def require_file(path: str | Path | None, option: str, endings: tuple[str, ...] = ()) -> None:
    """Raises :class:`UnwritableOutput` if no file can be written at a path.

    Args:
        path: The file, which may be there, as may its folders; None asks for none.
        option: What named it, for the message.
        endings: Endings of its name that are understood; empty for all.
    """
    if path is None:
        return
    path = Path(path)
    if endings and path.suffix.lower() not in endings:
        raise UnwritableOutput(f"got {option} {path}, expected a name that ends with {', '.join(endings[:3])}")
    if path.is_dir():
        raise UnwritableOutput(f"got {option} {path}, which is a folder: expected a file, such as {path / 'result'}")
    if path.exists() and not os.access(path, os.W_OK):
        raise UnwritableOutput(f"got {option} {path}, which may not be changed: choose another name")
    _require_place(path.parent, f"{option} {path}")


def require_folder(path: str | Path | None, option: str) -> None:
    """Raises :class:`UnwritableOutput` if a path is no folder in which files can be written, nor can become one.

    Args:
        path: The folder; None asks for none.
        option: What named it, for the message.
    """
    if path is not None:
        _require_place(Path(path), f"{option} {path}")


def _require_place(folder: Path, named: str) -> None:
    """Raises unless a file can be made in the folder, or in the nearest one above it that is there."""
    here = next(each for each in (folder, *folder.parents) if each.exists() or each.is_symlink())
    if not here.is_dir():
        raise UnwritableOutput(f"got {named}, but '{here}' is no folder: choose another place")
    try:
        with tempfile.TemporaryFile(dir=here):
            pass
    except OSError as error:
        raise UnwritableOutput(
            f"got {named}, but nothing can be written in '{here}' ({error.strerror}): choose another place"
        ) from None


__all__ = ["PICTURES", "UnwritableOutput", "require_file", "require_folder"]
