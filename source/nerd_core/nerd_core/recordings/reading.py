# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Opening a file of recordings, whatever its format.

Example::

    recordings = read_recordings("cube.h5").of_split("val")
    print(recordings.spec.name, len(recordings.recordings), recordings.recordings[0].duration)
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from ..files.safe_files import UnsafeFile, read_bytes
from .hdf5 import MAX_FILE_BYTES
from .recording import RecordingError, RecordingSet
from .schemas import read_schema

HDF5 = (".h5", ".hdf5")
"""Endings of HDF5 files."""


def read_recordings(path: str | Path) -> RecordingSet:
    """The recordings of a file. Raises :class:`RecordingError` with what is wrong with it.

    Args:
        path: The file.
    """
    path = Path(path)
    if path.suffix.lower() in HDF5:
        return read_schema(path)
    raise RecordingError(f"got '{path.name}', expected a file that ends with {', '.join(HDF5)}")


def is_recording(path: str | Path) -> bool:
    """Whether a path is a file of recordings, by its name, and not a dataset of trajectories."""
    path = Path(path)
    return path.is_file() and path.suffix.lower() in HDF5 and not path.parent.name.startswith("shard-")


def file_digest(path: str | Path) -> str:
    """SHA-256 of a file in hexadecimal.

    Args:
        path: The file.
    """
    try:
        return hashlib.sha256(read_bytes(Path(path), MAX_FILE_BYTES)).hexdigest()
    except UnsafeFile as error:
        raise RecordingError(str(error)) from None


__all__ = ["file_digest", "is_recording", "read_recordings"]
