# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Writing files and directories that are either whole or not there.

New content is written under another name beside the final one, brought to the disk, and renamed. So a process may be
killed at any moment: under the final name stands the old content or the new one, never a part of it.

One writer at a time for a path, unless ``many_writers`` is set: a temporary file that a killed writer has left is
overwritten by the next one.
"""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import shutil
from collections.abc import Buffer, Iterable, Iterator
from pathlib import Path
from typing import Any

from .safe_files import UnsafeFile, json_bytes

WRITING = ".writing"
"""What a temporary file has at the end of its name."""


def write_files(files: Iterable[tuple[Path, Buffer]]) -> None:
    """Writes several files of one directory. All are on the disk before the first one gets its name.

    Args:
        files: Path and content of each. Contents may be made one at a time, to save memory.
    """
    ready = []
    for path, content in files:
        waiting = _beside(path)
        with open(waiting, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        ready.append((waiting, path))
    for waiting, path in ready:
        waiting.rename(path)
    for folder in dict.fromkeys(path.parent for _, path in ready):
        _flush(folder)


def write_bytes(path: str | Path, content: Buffer, *, many_writers: bool = False) -> None:
    """Writes a file.

    Args:
        path: Where to.
        content: The content.
        many_writers: Whether several processes may write this file at the same time; the last one wins.
    """
    with replace_file(path, many_writers=many_writers) as waiting:
        waiting.write_bytes(content)


def write_text(path: str | Path, text: str, *, many_writers: bool = False) -> None:
    """Writes a text file, UTF-8; see :func:`write_bytes`."""
    write_bytes(path, text.encode(), many_writers=many_writers)


def write_json(path: str | Path, value: Any, *, many_writers: bool = False) -> None:
    """Writes plain values as a JSON file, indented for people; see :func:`write_bytes`.

    Raises:
        ValueError: There is a NaN or an infinity, which JSON does not have, or too much to be read back.
    """
    write_bytes(path, json_bytes(value), many_writers=many_writers)


@contextlib.contextmanager
def replace_file(path: str | Path, *, many_writers: bool = False) -> Iterator[Path]:
    """Gives the name of a file to write; when the block ends well, that file takes the place of ``path``.

    Args:
        path: File to replace, or to make.
        many_writers: Whether several processes may write this file at the same time; the last one wins.
    """
    path = Path(path)
    waiting = _beside(path, f"-{secrets.token_hex(4)}" if many_writers else "")
    try:
        yield waiting
        _flush(waiting)
        waiting.rename(path)
        _flush(path.parent)
    finally:
        waiting.unlink(missing_ok=True)


@contextlib.contextmanager
def replace_directory(path: str | Path) -> Iterator[Path]:
    """Gives an empty directory to fill; when the block ends well it takes the place of ``path``, old content and all.

    One writer at a time for a path.

    A crash at any moment leaves either the old or the new content: under ``path``, or, between two renames, the old
    one under :func:`previous`.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise UnsafeFile(f"'{path}' exists and is not a directory: choose another place")
    for left_behind in path.parent.glob(f".{glob.escape(path.name)}{WRITING}-*"):
        shutil.rmtree(left_behind, ignore_errors=True)  # by a writer that was killed
    fresh = path.with_name(f".{path.name}{WRITING}-{secrets.token_hex(4)}")
    fresh.mkdir()
    try:
        yield fresh
        for file in sorted(fresh.rglob("*")):
            _flush(file)
        _flush(fresh)
        if path.exists():
            shutil.rmtree(previous(path), ignore_errors=True)
            path.rename(previous(path))
        fresh.rename(path)
        _flush(path.parent)
        shutil.rmtree(previous(path), ignore_errors=True)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def remove_file(path: str | Path) -> None:
    """Removes a file if it is there. When this returns it is gone from the disk, and no power cut brings it back."""
    path = Path(path)
    path.unlink(missing_ok=True)
    _flush(path.parent)


def previous(path: Path) -> Path:
    """Where the old content of a directory waits while :func:`replace_directory` puts the new one in its place."""
    return path.with_name(f".{path.name}.previous")


def recover_directory(path: Path) -> None:
    """Brings a directory in order whose writer was killed between two renames. Not while another one may be writing.

    Args:
        path: What :func:`replace_directory` was called with.
    """
    old = previous(path)
    if not old.is_dir():
        return
    if path.is_dir():
        shutil.rmtree(old)
    else:
        old.rename(path)


def _beside(path: Path, ending: str = "") -> Path:
    """Name of the temporary file of a path."""
    return path.with_name(path.name + WRITING + ending)


def _flush(path: Path) -> None:
    """Asks the system to bring a file or the entries of a directory to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


__all__ = [
    "WRITING",
    "previous",
    "recover_directory",
    "remove_file",
    "replace_directory",
    "replace_file",
    "write_bytes",
    "write_files",
    "write_json",
    "write_text",
]
