# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""All trajectories of a dataset as one flat array a field, in memory or mapped from a file.

The arrays share their rows: a trajectory of ``T`` transitions takes ``T + 1`` rows, of which the last holds the last
state and zeros for what belongs to a step. One row number then addresses state, control, contacts and force alike.

Mapped arrays come from a copy of the dataset in plain binary files, made once beside it (``.cache``) by streaming one
segment at a time. It is bound to the content of the dataset by the hash of all its seals, appears in one rename, and is
verified by checksum when it is opened. A copy may have come with the dataset from anywhere, so its checksums alone
prove nothing: its shapes are those that the segments say, its lengths are compared with theirs, and each file has to be
the very one that was written here, by its number and time of change, which no archive and no copying brings along. What
fails is made anew. The system reads its pages when they are needed and drops them when memory is
short, so the memory taken does not grow with the data.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import math
import os
import shutil
import stat
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from ..files.atomic import WRITING, replace_directory
from ..files.provenance import file_digest
from ..files.safe_files import UnsafeFile, json_bytes, parse_json, read_bytes
from ..files.serialization import StructureError, from_plain, to_plain
from .fields import FIELDS, dtype_of, named_fields
from .layout import DataError, Trajectories, require_known
from .manifest import Contents
from .segment import Segment, read_segment

SCHEMA = "nerd.flat/2"
CACHE = ".cache"
FINITE = "finite"
"""An array beside the fields: which trajectories hold no NaN and no infinity, uint8, shape (N,)."""
_MAX_INDEX_BYTES = 2**20


@dataclass(frozen=True)
class FlatEntry:
    """One array of the cache."""

    sha256: str
    """Checksum of its file."""
    inode: int
    """Number of its file."""
    changed_ns: int
    """When its file was changed last, content or attributes [ns]; programs cannot choose this time."""


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
    return sum(_bytes(name, shape) for name, shape in _shapes(contents, fields).items())


def load_flat(contents: Contents, fields: tuple[str, ...]) -> dict[str, torch.Tensor]:
    """Reads the flat arrays into memory, one segment at a time."""
    try:
        arrays = {name: np.empty(shape, _dtype(name)) for name, shape in _shapes(contents, fields).items()}
    except MemoryError:
        raise DataError(
            f"the dataset takes {flat_bytes(contents, fields) / 1e6:,.0f} MB of memory, which is not there: read it "
            "with storage='mapped'"
        ) from None
    filled = dict.fromkeys(arrays, 0)
    for part in _stream(contents, fields):
        for name, value in part.items():
            arrays[name][filled[name] : filled[name] + len(value)] = value
            filled[name] += len(value)
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
    shapes = _shapes(contents, fields)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _locked(cache):
            if not _is_sound(place, contents, shapes, verify):
                for stale in cache.glob(f".*{WRITING}-*"):  # of processes that were killed: we hold the lock
                    shutil.rmtree(stale, ignore_errors=True)
                _require_room(cache, flat_bytes(contents, fields))
                with replace_directory(place) as fresh:
                    _build(contents, fields, fresh)
        return {name: _map(place / f"{name}.bin", name, shape) for name, shape in shapes.items()}, place
    except OSError as error:
        raise DataError(
            f"the flat copy of the dataset cannot be made in '{cache}': {error.strerror}. Give another place with "
            "cache=..., or read the dataset into memory with storage='memory'"
        ) from None
    except UnsafeFile as error:
        raise DataError(f"the flat copy of the dataset cannot be made: {error}") from None


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
        require_unchanged(segment, read)
        part = {name: with_last_row(name, batch.arrays[name], batch.length) for name in fields}
        yield part | {FINITE: finite_trajectories(batch).view(np.uint8)}


def require_unchanged(before: Segment, now: Segment) -> None:
    """Raises :class:`DataError` unless a segment is still the one that was listed."""
    if before.seal != now.seal:
        raise DataError(f"'{before.header.shard}/{before.path.name}' changed while the dataset was read")


def _shapes(contents: Contents, fields: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
    """Shape of each flat array, by the headers of the segments."""
    trajectories = sum(segment.header.trajectories for segment in contents.segments)
    rows = trajectories + sum(segment.header.transitions for segment in contents.segments)
    shapes: dict[str, tuple[int, ...]] = {}
    for name in fields:
        count = trajectories if FIELDS[name].rows == "trajectory" else rows
        shapes[name] = (count, *FIELDS[name].shape(contents.spec))
    return shapes | {FINITE: (trajectories,)}


def _require_room(cache: Path, size: int) -> None:
    """Raises :class:`DataError` unless a folder has room for a flat copy."""
    free = shutil.disk_usage(cache).free
    if size > free:
        raise DataError(
            f"the flat copy of the dataset takes {size / 1e6:,.1f} MB, and the disk of '{cache}' has "
            f"{free / 1e6:,.1f} MB free: make room, or give another place with cache=..."
        )


def _build(contents: Contents, fields: tuple[str, ...], place: Path) -> None:
    entries = {}
    with contextlib.ExitStack() as stack:
        names = (*fields, FINITE)
        files = {name: stack.enter_context(open(place / f"{name}.bin", "wb")) for name in names}
        hashes = {name: hashlib.sha256() for name in names}
        for part in _stream(contents, fields):
            for name, value in part.items():
                data = memoryview(np.ascontiguousarray(value)).cast("B") if value.size else b""
                files[name].write(data)
                hashes[name].update(data)
        for name, file in files.items():
            file.flush()
            os.fsync(file.fileno())  # so that nothing changes the file, and its time of change, any more
            status = os.fstat(file.fileno())
            entries[name] = FlatEntry(hashes[name].hexdigest(), status.st_ino, status.st_ctime_ns)
    index = FlatIndex(SCHEMA, contents.dataset_hash, entries)
    (place / "index.json").write_bytes(json_bytes(to_plain(index)))


def _is_sound(place: Path, contents: Contents, shapes: dict[str, tuple[int, ...]], verify: bool) -> bool:
    """Whether a flat copy was made here from these segments, and is whole."""
    try:
        index = from_plain(FlatIndex, parse_json(read_bytes(place / "index.json", _MAX_INDEX_BYTES), "index.json"))
        if (index.schema, index.dataset_hash, set(index.arrays)) != (SCHEMA, contents.dataset_hash, set(shapes)):
            return False
        for name, entry in index.arrays.items():
            file = place / f"{name}.bin"
            status = file.lstat()
            identity = (status.st_size, status.st_ino, status.st_ctime_ns)
            if identity != (_bytes(name, shapes[name]), entry.inode, entry.changed_ns):
                return False
            if not stat.S_ISREG(status.st_mode) or (verify and file_digest(file) != entry.sha256):
                return False
        return _fits(contents, _map(place / "length.bin", "length", shapes["length"]).numpy())
    except (OSError, UnsafeFile, StructureError):
        return False


def _fits(contents: Contents, length: np.ndarray) -> bool:
    """Whether lengths are those of the segments, as far as their headers tell."""
    totals = np.array([segment.header.transitions for segment in contents.segments])
    begins = np.cumsum([0, *(segment.header.trajectories for segment in contents.segments[:-1])])
    sums = np.add.reduceat(length, begins)
    return bool(length.min() >= 1 and length.max() <= totals.max() and (sums == totals).all())


def _dtype(name: str) -> np.dtype:
    return np.dtype("|u1") if name == FINITE else dtype_of(name)


def _bytes(name: str, shape: tuple[int, ...]) -> int:
    return math.prod(shape) * _dtype(name).itemsize


def _map(file: Path, name: str, shape: tuple[int, ...]) -> torch.Tensor:
    if 0 in shape:
        return torch.from_numpy(np.empty(shape, _dtype(name)))
    with warnings.catch_warnings():
        # The map is read-only, which torch cannot express. Writing to it would end the process; nothing here does.
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(np.memmap(file, _dtype(name), mode="r", shape=shape))


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
    "require_unchanged",
    "wanted_fields",
    "with_last_row",
]
