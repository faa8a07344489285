# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""All trajectories of a dataset as one flat array a field, in memory or mapped from a file.

The arrays share their rows: a trajectory of ``T`` transitions takes ``T + 1`` rows, of which the last holds the last
state and zeros for what belongs to a step. One row number then addresses state, control, contacts and force alike.

Mapped arrays come from a copy of the dataset in plain binary files, made once beside it (``.cache``) by streaming one
segment at a time. It is bound to the content of the dataset by the hash of all its seals, appears in one rename, and is
verified by checksum when it is opened. The system reads its pages when they are needed and drops them when memory is
short, so the memory taken does not grow with the data.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import math
import os
import shutil
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch

from ..files.atomic import WRITING, replace_directory
from ..files.safe_files import UnsafeFile, json_bytes, parse_json, read_bytes
from ..files.serialization import StructureError, from_plain, to_plain
from .fields import FIELDS, dtype_of, named_fields
from .layout import DataError, Trajectories, require_known
from .manifest import Contents
from .segment import Segment, read_segment

SCHEMA = "nerd.flat/1"
CACHE = ".cache"
FINITE = "finite"
"""An array beside the fields: which trajectories hold no NaN and no infinity, uint8, shape (N,)."""
_MAX_INDEX_BYTES = 2**20


@dataclass(frozen=True)
class FlatEntry:
    """One array of the cache."""

    dtype: str
    """Element type."""
    shape: tuple[int, ...]
    """Shape."""
    sha256: str
    """Checksum of its file."""


@dataclass(frozen=True)
class FlatIndex:
    """What a cache holds."""

    schema: str
    """Name and version of this form."""
    dataset_hash: str
    """Content hash of the dataset that it was made from."""
    arrays: dict[str, FlatEntry]
    """The arrays."""


def wanted_fields(contents: Contents, recorded: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Names of the fields to load, in the order of the table.

    Args:
        contents: The dataset.
        recorded: Names of fields or groups that are asked for besides those that are always loaded.

    Raises:
        DataError: A segment lacks one of them.
    """
    asked = named_fields(recorded)
    require_known(asked)
    names = []
    for name, field in FIELDS.items():
        held = [name in segment.header.arrays for segment in contents.segments]
        if field.always_loaded and any(held) and not all(held):
            raise DataError(f"some segments record the {name} and others do not: read them as separate datasets")
        if field.required or name in asked or (field.always_loaded and all(held)):
            names.append(name)
    for segment in contents.segments:
        missing = [name for name in names if name not in segment.header.arrays]
        if missing:
            raise DataError(
                f"'{segment.header.shard}/{segment.path.name}' does not hold {missing}: open the dataset without them, "
                "or record them"
            )
    return tuple(names)


def flat_bytes(contents: Contents, fields: tuple[str, ...]) -> int:
    """Memory that the flat arrays take."""
    total = 0
    for segment in contents.segments:
        header = segment.header
        rows = header.transitions + header.trajectories
        for name in fields:
            count = header.trajectories if _is_per_trajectory(name) else rows
            total += count * math.prod(header.arrays[name].shape[1:]) * dtype_of(name).itemsize
    return total


def load_flat(contents: Contents, fields: tuple[str, ...]) -> dict[str, torch.Tensor]:
    """Reads the flat arrays into memory, one segment at a time."""
    arrays: dict[str, np.ndarray] = {}
    filled: dict[str, int] = {}
    headers = [segment.header for segment in contents.segments]
    trajectories = sum(header.trajectories for header in headers)
    rows = trajectories + sum(header.transitions for header in headers)
    for part in _stream(contents, fields):
        for name, value in part.items():
            if name not in arrays:
                count = trajectories if _is_per_trajectory(name) else rows
                arrays[name], filled[name] = np.empty((count, *value.shape[1:]), value.dtype), 0
            arrays[name][filled[name] : filled[name] + len(value)] = value
            filled[name] += len(value)
    if any(filled[name] != len(array) for name, array in arrays.items()):
        raise DataError("the dataset changed while it was read")
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def map_flat(
    contents: Contents, fields: tuple[str, ...], cache: Path, verify: bool = True
) -> tuple[dict[str, torch.Tensor], Path]:
    """Maps the flat arrays from the cache, which is made first when it is not there or is not sound.

    Args:
        contents: The dataset.
        fields: Names of the arrays.
        cache: Folder that holds caches.
        verify: Whether to read the cache once to compare its checksums.

    Returns:
        The arrays, which must not be written to, and where they lie.
    """
    key = hashlib.sha256(" ".join((SCHEMA, contents.dataset_hash, *fields)).encode()).hexdigest()
    place = cache / key[:32]
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _locked(cache):
            if not _is_sound(place, contents, verify):
                for stale in cache.glob(f".*{WRITING}-*"):  # of processes that were killed: we hold the lock
                    shutil.rmtree(stale, ignore_errors=True)
                with replace_directory(place) as fresh:
                    _build(contents, fields, fresh)
    except OSError as error:
        raise DataError(
            f"the flat copy of the dataset cannot be made in '{cache}': {error.strerror}. Give another place with "
            "cache=..., or read the dataset into memory with storage='memory'"
        ) from None
    index = _read_index(place)
    return {name: _map(place / f"{name}.bin", entry) for name, entry in index.arrays.items()}, place


def with_last_row(name: str, value: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Adds to an array of ``T`` rows a trajectory the row of zeros that stands beside the last state."""
    if FIELDS[name].rows != "step":
        return value
    out = np.zeros((len(value) + len(length), *value.shape[1:]), value.dtype)
    inside = np.ones(len(out), bool)
    inside[np.cumsum(length + 1) - 1] = False
    out[inside] = value
    return out


def finite_trajectories(batch: Trajectories) -> np.ndarray:
    """Which trajectories hold no NaN and no infinity: bool, shape (N,)."""
    finite = np.ones(batch.count, bool)
    for name, value in batch.arrays.items():
        if value.dtype.kind == "f" and value.size:
            # The sum of a row is finite unless an entry is not (or overflows, which no sane state does).
            sound = np.isfinite(value.reshape(len(value), -1).sum(axis=1, dtype=np.float64))
            if not sound.all():
                finite &= np.logical_and.reduceat(sound, batch.rows(name)[:-1])
    return finite


def _stream(contents: Contents, fields: tuple[str, ...]) -> Iterator[dict[str, np.ndarray]]:
    for segment in contents.segments:
        read, batch = read_segment(segment.path)
        _require_unchanged(segment, read)
        part = {name: with_last_row(name, batch.arrays[name], batch.length) for name in fields}
        yield part | {FINITE: finite_trajectories(batch).view(np.uint8)}


def _require_unchanged(before: Segment, now: Segment) -> None:
    if before.seal != now.seal:
        raise DataError(f"'{before.header.shard}/{before.path.name}' changed while the dataset was read")


def _build(contents: Contents, fields: tuple[str, ...], place: Path) -> None:
    files: dict[str, BinaryIO] = {}
    rows: dict[str, int] = {}
    hashes = {}
    tails: dict[str, tuple[int, ...]] = {}
    with contextlib.ExitStack() as stack:
        for part in _stream(contents, fields):
            for name, value in part.items():
                if name not in files:
                    files[name] = stack.enter_context(open(place / f"{name}.bin", "wb"))
                    hashes[name], rows[name], tails[name] = hashlib.sha256(), 0, value.shape[1:]
                data = memoryview(np.ascontiguousarray(value)).cast("B") if value.size else b""
                files[name].write(data)
                hashes[name].update(data)
                rows[name] += len(value)
    entries = {
        name: FlatEntry(_dtype(name).str, (rows[name], *tails[name]), hashes[name].hexdigest()) for name in files
    }
    index = FlatIndex(SCHEMA, contents.dataset_hash, entries)
    (place / "index.json").write_bytes(json_bytes(to_plain(index)))


def _is_sound(place: Path, contents: Contents, verify: bool) -> bool:
    try:
        index = _read_index(place)
    except DataError:
        return False
    if index.dataset_hash != contents.dataset_hash:
        return False
    for name, entry in index.arrays.items():
        file = place / f"{name}.bin"
        expected = math.prod(entry.shape) * _dtype(name).itemsize
        if not file.is_file() or file.stat().st_size != expected:
            return False
        if verify:
            with open(file, "rb") as stream:
                if hashlib.file_digest(stream, "sha256").hexdigest() != entry.sha256:
                    return False
    return True


def _read_index(place: Path) -> FlatIndex:
    try:
        plain = parse_json(read_bytes(place / "index.json", _MAX_INDEX_BYTES), "index.json")
        index = from_plain(FlatIndex, plain)
    except (UnsafeFile, StructureError) as error:
        raise DataError(f"the flat copy '{place}' cannot be read: {error}") from None
    for name, entry in index.arrays.items():
        known = name in FIELDS or name == FINITE
        if not known or entry.dtype != _dtype(name).str or any(n < 0 for n in entry.shape) or not entry.shape:
            raise DataError(f"the flat copy '{place}' lists the array {name[:80]!r} as {entry}")
    return index


def _dtype(name: str) -> np.dtype:
    return np.dtype("|u1") if name == FINITE else dtype_of(name)


def _is_per_trajectory(name: str) -> bool:
    return name == FINITE or FIELDS[name].rows == "trajectory"


def _map(file: Path, entry: FlatEntry) -> torch.Tensor:
    if 0 in entry.shape:
        return torch.from_numpy(np.empty(entry.shape, entry.dtype))
    with warnings.catch_warnings():
        # The map is read-only, which torch cannot express. Writing to it would end the process; nothing here does.
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(np.memmap(file, entry.dtype, mode="r", shape=entry.shape))


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Waits for other processes (ranks) that make the same cache, then keeps them waiting."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


__all__ = [
    "CACHE",
    "FINITE",
    "finite_trajectories",
    "flat_bytes",
    "load_flat",
    "map_flat",
    "wanted_fields",
    "with_last_row",
]
