# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Makes the content of a segment: an HDF5 file in memory, with what :mod:`nerd_core.data.segment` reads in front."""

from __future__ import annotations

import hashlib
import json
import zlib

import h5py
import numpy as np

from ..files.serialization import to_plain
from ..robot.spec import RobotSpec
from .fields import FIELDS
from .layout import DataError, ShardMeta, Trajectories, check_trajectories
from .segment import (
    FIXED,
    LIMIT,
    MAGIC,
    MAX_CHUNK_BYTES,
    MAX_CHUNKS,
    MAX_HEADER_BYTES,
    SCHEMA,
    SEAL,
    ArrayEntry,
    Compression,
    SegmentHeader,
    largest_segment,
    require_small_robot,
)


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
    require_small_robot(spec)
    arrays = batch.arrays
    _require_readable(sum(value.nbytes for value in arrays.values()))
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
    needed = FIXED.size + len(text) + table.nbytes
    block = max(512, 1 << (needed - 1).bit_length())
    _require_readable(block + len(image))
    content = bytearray(block + len(image))
    table[:, 0] += block
    FIXED.pack_into(content, 0, MAGIC, len(content), len(text), len(table), bytes(32))
    content[FIXED.size : FIXED.size + len(text)] = text
    content[FIXED.size + len(text) : needed] = table.tobytes()
    content[block:] = image
    content[SEAL] = hashlib.sha256(content).digest()
    return content


def _require_readable(size: int) -> None:
    if size > largest_segment():
        raise DataError(
            f"got a segment of {-(-size // 10**6):,} MB, at most {largest_segment() // 10**6:,} MB are read again: "
            f"write shorter trajectories, or set {LIMIT} for writers and readers"
        )


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


__all__ = ["segment_bytes"]
