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

import h5py
import numpy as np

from ..files.safe_files import UnsafeFile, parse_json
from ..files.serialization import StructureError, from_plain, to_plain
from ..robot.spec import RobotSpec, SpecError
from .fields import FIELDS, dtype_of, shape_of
from .layout import DataError, ShardMeta, Trajectories, check_trajectories

MAGIC = b"NERDSEG1"
SCHEMA = "nerd.trajectories/1"

MAX_FILE_BYTES = 2**31
"""Largest segment that is read [bytes]."""
MAX_HEADER_BYTES = 4 * 2**20
"""Largest JSON header [bytes]."""
MAX_CHUNKS = 2**22
"""Largest number of chunks in one segment."""
MAX_CHUNK_BYTES = 2**20
"""A chunk holds one trajectory, or less of it when that is more than this [bytes]."""
MAX_ARRAY_BYTES = 2**31
"""Largest size of all arrays of one segment together, unpacked [bytes]."""
MAX_DEFLATE_RATIO = 1032
"""Deflate cannot shrink anything further than by this factor: a larger claim is a lie."""

_FIXED = struct.Struct("<8sQQQ32s")
_SEAL = slice(32, 64)

Compression = Literal["none", "gzip"]


@dataclass(frozen=True)
class ArrayEntry:
    """Where one array lies."""

    shape: tuple[int, ...]
    """Shape."""
    chunk_rows: int
    """Rows in one chunk; the last chunk is padded to as many."""


@dataclass(frozen=True)
class SegmentHeader:
    """Everything about a segment but its numbers."""

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


# -- writing ---------------------------------------------------------------------------------------------------


def segment_bytes(
    spec: RobotSpec,
    meta: ShardMeta,
    batch: Trajectories,
    *,
    shard: str,
    first_trajectory: int,
    batch_index: int,
    part: int = 0,
    parts: int = 1,
    compression: Compression = "none",
    level: int = 4,
) -> bytearray:
    """The content of a segment file. The same arguments give the same bytes.

    Args:
        spec: The robot.
        meta: Where the data came from.
        batch: The trajectories.
        shard: Name of the shard.
        first_trajectory: Index in the shard of the first trajectory.
        batch_index: Which call of the writer this is.
        part: Which segment of the batch.
        parts: Number of segments of the batch.
        compression: How to pack the chunks.
        level: Effort of the packing, 1 to 9.
    """
    check_trajectories(spec, batch, "the trajectories")
    arrays = batch.arrays
    if sum(value.nbytes for value in arrays.values()) > MAX_ARRAY_BYTES // 2:
        raise DataError(f"a segment of more than {MAX_ARRAY_BYTES // 2} bytes was asked for: write smaller batches")
    entries = {
        name: ArrayEntry(tuple(value.shape), _chunk_rows(name, value, batch.length)) for name, value in arrays.items()
    }
    header = SegmentHeader(
        schema=SCHEMA,
        spec_hash=spec.content_hash,
        meta=meta,
        shard=shard,
        batch=batch_index,
        part=part,
        parts=parts,
        first_trajectory=first_trajectory,
        trajectories=batch.count,
        transitions=batch.transitions,
        compression=compression,
        arrays=entries,
        spec=spec,
    )
    image, table = _hdf5_image(spec, header, arrays, level)
    text = _json(to_plain(header))
    if len(text) > MAX_HEADER_BYTES or len(table) > MAX_CHUNKS:
        raise DataError(
            f"the batch has {len(table)} chunks and {len(text)} bytes of header, at most {MAX_CHUNKS} and "
            f"{MAX_HEADER_BYTES} are possible: write smaller batches"
        )
    needed = _FIXED.size + len(text) + table.nbytes
    block = max(512, 1 << (needed - 1).bit_length())
    content = bytearray(block + len(image))
    table[:, 0] += block
    _FIXED.pack_into(content, 0, MAGIC, len(content), len(text), len(table), bytes(32))
    content[_FIXED.size : _FIXED.size + len(text)] = text
    content[_FIXED.size + len(text) : needed] = table.tobytes()
    content[block:] = image
    content[_SEAL] = hashlib.sha256(content).digest()
    return content


def _hdf5_image(
    spec: RobotSpec, header: SegmentHeader, arrays: dict[str, np.ndarray], level: int
) -> tuple[bytes, np.ndarray]:
    """An HDF5 file in memory, and offset and size of every chunk in it."""
    total = sum(value.nbytes for value in arrays.values())
    with h5py.File("segment", "w", driver="core", backing_store=False, block_size=max(2**16, total // 4)) as file:
        file.attrs["schema"] = SCHEMA
        file.attrs["spec_hash"] = header.spec_hash
        file.attrs["shard"] = header.shard
        file.attrs["trajectories"] = header.trajectories
        file.attrs["transitions"] = header.transitions
        # As data sets, not attributes: an attribute holds at most 64 KB.
        file.create_dataset("spec_json", data=np.bytes_(spec.to_json()))
        file.create_dataset("meta_json", data=np.bytes_(_json(to_plain(header.meta))))
        for name, value in arrays.items():
            if value.size:
                chunks = (header.arrays[name].chunk_rows, *value.shape[1:])
                if header.compression == "gzip":
                    _write_packed(file, name, value, chunks, level)
                else:
                    file.create_dataset(_hdf5_name(name), data=value, chunks=chunks)
        file.flush()
        tables = [_chunk_table(file, name) for name, value in arrays.items() if value.size]
        return file.id.get_file_image(), np.concatenate(tables)


def _write_packed(file: h5py.File, name: str, value: np.ndarray, chunks: tuple[int, ...], level: int) -> None:
    """Writes chunks as HDF5's shuffle and deflate filters would.

    HDF5 stores a chunk as it is when deflate makes it longer, and says so where only libhdf5 can see it. Packed here,
    every chunk is deflated.
    """
    dataset = file.create_dataset(
        _hdf5_name(name),
        shape=value.shape,
        dtype=value.dtype,
        chunks=chunks,
        compression="gzip",
        compression_opts=level,
        shuffle=True,
    )
    for begin in range(0, len(value), chunks[0]):
        chunk = np.zeros(chunks, value.dtype)
        rows = value[begin : begin + chunks[0]]
        chunk[: len(rows)] = rows
        shuffled = chunk.view("u1").reshape(-1, value.dtype.itemsize).T.tobytes()
        dataset.id.write_direct_chunk((begin, *(0 for _ in chunks[1:])), zlib.compress(shuffled, level))


def _chunk_table(file: h5py.File, name: str) -> np.ndarray:
    """Offset in the file and size of each chunk, in the order of the rows: int64, shape (chunks, 2)."""
    found: list = []
    dataset = file[_hdf5_name(name)]
    assert isinstance(dataset, h5py.Dataset)
    dataset.id.chunk_iter(found.append)
    found.sort(key=lambda info: info.chunk_offset[0])
    return np.array([(info.byte_offset, info.size) for info in found], dtype="<i8").reshape(-1, 2)


def _chunk_rows(name: str, value: np.ndarray, length: np.ndarray) -> int:
    """Rows of one chunk: those of the longest trajectory, as long as that is no giant."""
    row_bytes = max(1, value.nbytes // max(1, len(value)))
    rows = FIELDS[name].rows
    longest = len(value) if rows == "trajectory" else int(length.max()) + (rows == "state")
    return max(1, min(longest, len(value), MAX_CHUNK_BYTES // row_bytes))


def _hdf5_name(name: str) -> str:
    field = FIELDS[name]
    return f"{field.group}/{field.member}" if field.group else name


def _json(plain: object) -> bytes:
    return json.dumps(plain, separators=(",", ":"), allow_nan=False).encode()


# -- reading ---------------------------------------------------------------------------------------------------


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
    digest = hashlib.sha256(content[: _SEAL.start])
    digest.update(bytes(32))
    digest.update(memoryview(content)[_SEAL.stop :])
    if digest.digest() != front[4]:
        raise DataError(
            f"{_say(path)} is damaged: its checksum is {digest.hexdigest()[:16]}..., it was written with "
            f"{front[4].hex()[:16]}...: restore the file from a copy, or remove it and collect its data again"
        )
    end = _FIXED.size + text_bytes
    header = _parse_header(path, content[_FIXED.size : end], size, chunks)
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
    fixed = file.read(_FIXED.size)
    if len(fixed) < _FIXED.size or fixed[:8] != MAGIC:
        raise DataError(f"{_say(path)} is not a file of trajectories (it does not begin with '{MAGIC.decode()}')")
    front = _FIXED.unpack(fixed)
    _, claimed, text_bytes, chunks, _ = front
    if claimed != size:
        raise DataError(f"{_say(path)} has {size} bytes, it was written with {claimed}: it was cut short or changed")
    if size > MAX_FILE_BYTES:
        raise DataError(f"{_say(path)} has {size} bytes, at most {MAX_FILE_BYTES} are read")
    if text_bytes > MAX_HEADER_BYTES or chunks > MAX_CHUNKS or _FIXED.size + text_bytes + 16 * chunks > size:
        raise DataError(f"{_say(path)} is damaged: it claims a header of {text_bytes} bytes and {chunks} chunks")
    return front, text_bytes, chunks


def _parse_header(path: Path, text: bytes, size: int, chunks: int) -> SegmentHeader:
    try:
        header = from_plain(SegmentHeader, parse_json(text, path.name))
    except (UnsafeFile, StructureError, SpecError) as error:
        raise DataError(f"{_say(path)} has a bad header: {error}") from None
    except RecursionError:
        raise DataError(f"{_say(path)} has a header that is nested too deeply") from None
    if header.schema != SCHEMA:
        raise DataError(f"{_say(path)} has schema {header.schema[:80]!r}, this version reads {SCHEMA!r}")
    if header.spec_hash != header.spec.content_hash:
        raise DataError(f"{_say(path)} contradicts itself: the hash of its robot specification does not match")
    required = [name for name, field in FIELDS.items() if field.required]
    if not set(required) <= set(header.arrays):
        raise DataError(f"{_say(path)} holds {sorted(header.arrays)}, expected at least {', '.join(required)}")
    unpacked = 0
    count = 0
    for name, entry in header.arrays.items():
        if name not in FIELDS:
            raise DataError(f"{_say(path)} holds the unknown array {name[:80]!r}")
        if not 1 <= len(entry.shape) <= 3 or min(entry.shape) < 0 or max(entry.shape) > 2**40 or entry.chunk_rows < 1:
            raise DataError(f"{_say(path)}: '{name}' has the shape {entry.shape} in chunks of {entry.chunk_rows} rows")
        row_bytes = dtype_of(name).itemsize * math.prod(entry.shape[1:])
        unpacked += row_bytes * entry.shape[0]
        count += _chunk_count(entry)
        if row_bytes * entry.chunk_rows > max(MAX_CHUNK_BYTES, row_bytes):
            raise DataError(f"{_say(path)}: '{name}' has chunks of {row_bytes * entry.chunk_rows} bytes, too large")
    possible = size * (MAX_DEFLATE_RATIO if header.compression == "gzip" else 1)
    if unpacked > min(MAX_ARRAY_BYTES, possible) or count != chunks:
        raise DataError(
            f"{_say(path)} is damaged: a file of {size} bytes with {chunks} chunks cannot hold arrays of {unpacked} "
            f"bytes in {count} chunks"
        )
    return header


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
    wrong = [
        f"{name} {arrays[name].shape} instead of {expected}"
        for name in arrays
        if arrays[name].shape != (expected := shape_of(name, header.spec, arrays["length"]))
    ]
    if wrong:
        raise DataError(f"{_say(segment.path)} contradicts its robot specification: {', '.join(wrong)}")
    batch = Trajectories(**arrays)
    check_trajectories(header.spec, batch, _say(segment.path))
    return batch


def _check_lengths(segment: Segment, length: np.ndarray) -> None:
    header = segment.header
    sound = length.ndim == 1 and len(length) == header.trajectories and len(length) > 0
    if not sound or length.min() < 1 or length.max() > 2**40 or int(length.sum()) != header.transitions:
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


__all__ = ["ArrayEntry", "Compression", "Segment", "SegmentHeader", "read_header", "read_segment", "segment_bytes"]
