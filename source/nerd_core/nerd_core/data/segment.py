# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""One finished HDF5 file with a batch of trajectories, sealed by a checksum.

A segment is written once and never opened for writing again, so that nothing can tear it. It is an ordinary HDF5
file, chunked by trajectory, that any HDF5 tool opens. In the *user block* (the room that HDF5 leaves at the front of a
file for the application) stands all that is needed to read the arrays without libhdf5: their shapes, where their chunks
lie, and a SHA-256 over the whole file::

    0    8    magic "NERDSEG1"
    8    8    size of the whole file [bytes]
    16   8    length of the JSON header [bytes]
    24   8    number of chunks in the table
    32   32   SHA-256 over the file with these 32 bytes taken as zero
    64   ...  JSON header (robot specification, origin, arrays), then the chunk table (offset and size, int64)
    ...  ...  zeros up to a power of two, then the HDF5 file

:func:`read_segment` uses only that. libhdf5 is a large C library with a record of memory errors on crafted files, which
no ``try`` catches. Here every number is held against the size of the file before it is used, and links, virtual data
sets, external files and exotic filters have no meaning at all.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
import stat
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from ..files.messages import printable, shortened
from ..files.safe_files import UnsafeFile, parse_json
from ..files.serialization import StructureError, from_plain
from ..robot.spec import RobotSpec, SpecError
from .fields import FIELDS, dtype_of, shape_for
from .layout import DataError, ShardMeta, Trajectories, check_trajectories

MAGIC = b"NERDSEG1"
SCHEMA = "nerd.trajectories/1"

MAX_HEADER_BYTES = 4 * 2**20
"""Largest JSON header [bytes]."""
MAX_CHUNKS = 2**22
"""Largest number of chunks in one segment."""
MAX_CHUNK_BYTES = 2**20
"""A chunk holds one trajectory, or less of it when that is more than this [bytes]."""
MAX_BODIES = 1000
"""Largest number of bodies of a robot."""
MAX_STEPS = 2**40
"""Largest number of transitions in one segment."""
MAX_DEFLATE_RATIO = 1032
"""Deflate cannot shrink anything further than by this factor: a larger claim is a lie."""
LIMIT = "NERD_MAX_SEGMENT_MB"
"""Environment variable with the largest segment that is read or written [MB]: its file, and its arrays unpacked. A
small file may unpack to a thousand times its size, so this decides before memory is taken."""
LIMIT_DEFAULT, LIMIT_MOST = 128, 2048
"""Without the variable; and what it can be raised to. Writers cut batches at a half of the former."""

FIXED = struct.Struct("<8sQQQ32s")
"""What stands first in a file: magic, sizes and seal."""
SEAL = slice(32, 64)
"""Where the seal stands."""

Compression = Literal["none", "gzip"]


@dataclass(frozen=True)
class ArrayEntry:
    """Where one array lies."""

    shape: tuple[int, ...]
    """Shape."""
    chunk_rows: int
    """Rows in one chunk; the last chunk is padded to as many."""


@dataclass(frozen=True)
class SegmentFacts:
    """Everything about a segment but its robot and its numbers."""

    schema: str
    """Name and version of this form."""
    spec_hash: str
    """Content hash of the robot specification."""
    meta: ShardMeta
    """Where the data came from."""
    shard: str
    """Name of the shard that the segment belongs to."""
    batch: int
    """Which call of the writer made it."""
    part: int
    """Which of the segments of that batch it is."""
    parts: int
    """Number of segments of that batch."""
    first_trajectory: int
    """Index in the shard of the first trajectory."""
    trajectories: int
    """Number of trajectories."""
    transitions: int
    """Number of transitions."""
    compression: Compression
    """How the chunks are packed; ``gzip`` is deflate after byte shuffling."""
    arrays: dict[str, ArrayEntry]
    """The arrays, in the order of their chunks in the table."""


@dataclass(frozen=True)
class SegmentHeader(SegmentFacts):
    """Everything about a segment but its numbers."""

    spec: RobotSpec
    """The robot."""


@dataclass(frozen=True)
class Segment:
    """A segment on disk whose seal has been verified or, for :func:`read_header`, whose header has been read."""

    path: Path
    """The file."""
    header: SegmentHeader
    """What it holds."""
    seal: str
    """SHA-256 of the file in hexadecimal; two segments with the same seal have the same content."""
    size: int
    """Size of the file [bytes]."""


def read_header(path: Path) -> Segment:
    """Reads what a segment claims to hold, without its numbers and without verifying the seal."""
    with _open(path) as file:
        size = os.fstat(file.fileno()).st_size
        front, text_bytes, chunks = _read_front(path, file, size)
        text = file.read(text_bytes)
    return Segment(path, _parse_header(path, text, size, chunks), front[4].hex(), size)


def read_segment(path: Path) -> tuple[Segment, Trajectories]:
    """Reads a segment whole and verifies its seal. Raises :class:`DataError` for anything that is not sound."""
    with _open(path) as file:
        size = os.fstat(file.fileno()).st_size
        front, text_bytes, chunks = _read_front(path, file, size)
        file.seek(0)
        content = file.read(size)
    if len(content) != size:
        raise DataError(f"{_say(path)} changed while it was read")
    digest = hashlib.sha256(content[: SEAL.start])
    digest.update(bytes(32))
    digest.update(memoryview(content)[SEAL.stop :])
    if digest.digest() != front[4]:
        raise DataError(
            f"{_say(path)} is damaged: its checksum is {digest.hexdigest()[:16]}..., it was written with "
            f"{front[4].hex()[:16]}...: restore the file from a copy, or remove it and collect its data again"
        )
    end = FIXED.size + text_bytes
    header = _parse_header(path, content[FIXED.size : end], size, chunks)
    table = np.frombuffer(content, "<i8", 2 * chunks, end).reshape(chunks, 2)
    segment = Segment(path, header, front[4].hex(), size)
    return segment, _unpack(segment, content, table)


def _open(path: Path):
    try:
        # Without O_NONBLOCK, opening a named pipe would wait for a writer for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise DataError(f"{_say(path)} cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise DataError(f"{_say(path)} is not a plain file")
    return os.fdopen(descriptor, "rb")


def _read_front(path: Path, file, size: int) -> tuple[tuple, int, int]:
    """The fixed fields, the length of the header and the number of chunks, all held against the size of the file."""
    fixed = file.read(FIXED.size)
    if len(fixed) < FIXED.size or fixed[:8] != MAGIC:
        raise DataError(f"{_say(path)} is not a file of trajectories (it does not begin with '{MAGIC.decode()}')")
    front = FIXED.unpack(fixed)
    _, claimed, text_bytes, chunks, _ = front
    if claimed != size:
        raise DataError(f"{_say(path)} has {size} bytes, it was written with {claimed}: it was cut short or changed")
    _require_small(path, "takes", size)
    if text_bytes > MAX_HEADER_BYTES or chunks > MAX_CHUNKS or FIXED.size + text_bytes + 16 * chunks > size:
        raise DataError(f"{_say(path)} is damaged: it claims a header of {text_bytes} bytes and {chunks} chunks")
    return front, text_bytes, chunks


def _parse_header(path: Path, text: bytes, size: int, chunks: int) -> SegmentHeader:
    try:
        plain = parse_json(text, path.name)
        robot = plain.pop("spec", None) if isinstance(plain, dict) else None
        facts = from_plain(SegmentFacts, plain)
        header = SegmentHeader(**vars(facts), spec=_robot(json.dumps(robot)))
    except (UnsafeFile, StructureError, SpecError, DataError) as error:
        raise DataError(f"{_say(path)} has a bad header: {printable(str(error)[:500])}") from None
    except RecursionError:
        raise DataError(f"{_say(path)} has a header that is nested too deeply") from None
    if header.schema != SCHEMA:
        raise DataError(f"{_say(path)} has schema {header.schema[:80]!r}, this version reads {SCHEMA!r}")
    if header.spec_hash != header.spec.content_hash:
        raise DataError(f"{_say(path)} contradicts itself: the hash of its robot specification does not match")
    _check_arrays(path, header, size, chunks)
    return header


@functools.lru_cache(maxsize=4)
def _robot(text: str) -> RobotSpec:
    """The robot of a header. All segments of a dataset have the same, most of their header: it is built once."""
    robot = from_plain(RobotSpec, json.loads(text), "spec")
    require_small_robot(robot)
    return robot


def require_small_robot(robot: RobotSpec) -> None:
    """Raises :class:`DataError` for a robot that would keep whoever measures its data for minutes."""
    if len(robot.bodies) > MAX_BODIES:
        raise DataError(f"got a robot of {len(robot.bodies)} bodies, segments hold robots of at most {MAX_BODIES}")


def _check_arrays(path: Path, header: SegmentHeader, size: int, chunks: int) -> None:
    """Holds what a header claims of its arrays against the robot, the size of the file and the memory to be taken."""
    missing = [name for name, field in FIELDS.items() if field.required and name not in header.arrays]
    unknown = [name for name in header.arrays if name not in FIELDS]
    if missing:
        raise DataError(f"{_say(path)} does not hold {', '.join(missing)}, which every segment has")
    if unknown:
        raise DataError(
            f"{_say(path)} holds the unknown array '{printable(unknown[0][:80])}': expected names of fields"
        )
    if not 1 <= header.trajectories <= header.transitions <= MAX_STEPS:
        raise DataError(
            f"{_say(path)} claims {header.trajectories} trajectories with {header.transitions} transitions, expected "
            f"at least one of each, and at most {MAX_STEPS}"
        )
    unpacked = count = 0
    for name, entry in header.arrays.items():
        expected = shape_for(name, header.spec, header.trajectories, header.transitions)
        if entry.shape != expected:
            raise DataError(
                f"{_say(path)} contradicts itself: '{name}' has the shape {shortened(entry.shape, 80)}, expected "
                f"{expected} for its robot, {header.trajectories} trajectories and {header.transitions} transitions"
            )
        row_bytes = dtype_of(name).itemsize * math.prod(entry.shape[1:])
        if entry.chunk_rows < 1 or row_bytes * entry.chunk_rows > max(MAX_CHUNK_BYTES, row_bytes):
            raise DataError(
                f"{_say(path)}: '{name}' has chunks of {entry.chunk_rows} rows of {row_bytes} bytes, expected at least "
                f"one row and at most {MAX_CHUNK_BYTES} bytes"
            )
        unpacked += row_bytes * entry.shape[0]
        count += _chunk_count(entry)
    if unpacked > size * (MAX_DEFLATE_RATIO if header.compression == "gzip" else 1) or count != chunks:
        raise DataError(
            f"{_say(path)} is damaged: a file of {size} bytes with {chunks} chunks cannot hold arrays of {unpacked} "
            f"bytes in {count} chunks"
        )
    _require_small(path, "unpacks to", unpacked)


def largest_segment() -> int:
    """Largest segment that is read or written: its file, and its arrays unpacked [bytes]."""
    text = os.environ.get(LIMIT, str(LIMIT_DEFAULT))
    if not (text.isascii() and text.isdecimal() and len(text) < 9 and 1 <= int(text) <= LIMIT_MOST):
        raise DataError(
            f"got {LIMIT}={printable(text[:40])}, expected a number of megabytes between 1 and {LIMIT_MOST}"
        )
    return int(text) * 10**6


def _require_small(path: Path, how: str, size: int) -> None:
    if size > largest_segment():
        needed = -(-size // 10**6)
        raise DataError(
            f"{_say(path)} {how} {needed:,} MB, a segment may have {largest_segment() // 10**6:,} MB: "
            + (
                f"if you trust where it comes from, and have several times that memory, set {LIMIT}={needed}"
                if needed <= LIMIT_MOST
                else "collect it again in smaller batches"
            )
        )


def _unpack(segment: Segment, content: bytes, table: np.ndarray) -> Trajectories:
    """All arrays of a verified file, each checked against the specification."""
    header, arrays, row = segment.header, {}, 0
    # Lengths first: they say how many rows the others must have.
    for name, entry in header.arrays.items():
        count = _chunk_count(entry)
        arrays[name] = _unpack_array(segment, name, entry, content, table[row : row + count])
        if name == "length":
            _check_lengths(segment, arrays[name])
        row += count
    batch = Trajectories(**arrays)
    check_trajectories(header.spec, batch, _say(segment.path))
    return batch


def _check_lengths(segment: Segment, length: np.ndarray) -> None:
    header = segment.header
    # No length may pass the total, so that the sum cannot overflow.
    if length.min() < 1 or length.max() > header.transitions or int(length.sum(dtype=object)) != header.transitions:
        raise DataError(
            f"{_say(segment.path)} contradicts itself: its lengths do not give {header.trajectories} trajectories with "
            f"{header.transitions} transitions"
        )


def _unpack_array(segment: Segment, name: str, entry: ArrayEntry, content: bytes, table: np.ndarray) -> np.ndarray:
    dtype = dtype_of(name)
    row_items = math.prod(entry.shape[1:])
    chunk_bytes = entry.chunk_rows * row_items * dtype.itemsize
    packed = segment.header.compression == "gzip"
    out = np.empty((entry.shape[0], row_items), dtype)
    for index, (offset, length) in enumerate(table.tolist()):
        if offset < 0 or length < 0 or offset > len(content) or length > len(content) - offset:
            raise DataError(f"{_say(segment.path)}: chunk {index} of '{name}' lies outside of the file")
        # Deflate makes nothing longer by more than this. Else many chunks that claim the whole file would take hours.
        if packed and length > chunk_bytes + chunk_bytes // 1000 + 64:
            raise DataError(f"{_say(segment.path)}: chunk {index} of '{name}' does not unpack to {chunk_bytes} bytes")
        if packed:
            chunk = _inflate(segment, name, content[offset : offset + length], chunk_bytes)
            values = np.frombuffer(np.frombuffer(chunk, "u1").reshape(dtype.itemsize, -1).T.tobytes(), dtype)
        elif length != chunk_bytes:
            raise DataError(f"{_say(segment.path)}: chunk {index} of '{name}' has {length} bytes, not {chunk_bytes}")
        else:
            values = np.frombuffer(content, dtype, entry.chunk_rows * row_items, offset)
        begin = index * entry.chunk_rows
        rows = out[begin : begin + entry.chunk_rows]
        rows[:] = values.reshape(entry.chunk_rows, row_items)[: len(rows)]
    return out.reshape(entry.shape)


def _inflate(segment: Segment, name: str, packed: bytes, expected: int) -> bytes:
    try:
        unpacker = zlib.decompressobj()
        chunk = unpacker.decompress(packed, expected + 1)
    except zlib.error as error:
        raise DataError(f"{_say(segment.path)}: a chunk of '{name}' cannot be unpacked: {error}") from None
    if len(chunk) != expected:
        raise DataError(f"{_say(segment.path)}: a chunk of '{name}' does not unpack to {expected} bytes")
    return chunk


def _chunk_count(entry: ArrayEntry) -> int:
    return 0 if 0 in entry.shape else -(-entry.shape[0] // entry.chunk_rows)


def _say(path: Path) -> str:
    return f"'{Path(path).parent.name}/{Path(path).name}'"


__all__ = [
    "ArrayEntry",
    "Compression",
    "Segment",
    "SegmentHeader",
    "largest_segment",
    "read_header",
    "read_segment",
    "require_small_robot",
]
