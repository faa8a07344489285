# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Shards: folders of sealed segments, each filled by one writer.

A segment appears under its final name only when it is whole and on the disk (written under another name, synced,
renamed). So a writer may be killed at any moment: what :meth:`ShardWriter.append` returned for is safe, the batch in
flight is lost, and nothing that was finished is touched.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from ..files.atomic import WRITING, remove_file, write_files
from ..robot.comparison import require_same_spec
from ..robot.spec import RobotSpec
from .layout import DataError, ShardMeta, Trajectories, pack_trajectories
from .segment import Compression, Segment, read_header, read_segment
from .segment_writing import segment_bytes

MANIFEST = "manifest.json"
SHARD_NAME = re.compile(r"shard-[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
SEGMENT_NAME = re.compile(r"[0-9]{6}\.h5")

SEGMENT_BYTES = 64 * 2**20
"""A batch larger than this is stored as several segments [bytes]; it bounds the memory of readers."""


class ShardWriter:
    """Appends batches of trajectories to one shard of a dataset.

    Opening a shard that exists continues it: :attr:`batches`, :attr:`trajectories` and :attr:`transitions` say what is
    already finished, so that a generator whose batch ``k`` depends only on its seed and ``k`` can go on at
    :attr:`batches` and write, byte for byte, what an uninterrupted run would have written.
    """

    def __init__(
        self,
        dataset: str | Path,
        spec: RobotSpec,
        meta: ShardMeta,
        *,
        shard: int | str = 0,
        compression: Compression = "none",
        level: int = 4,
    ):
        """Opens or continues a shard.

        Args:
            dataset: Folder of the dataset; made when it is not there.
            spec: The robot.
            meta: Where the data come from. A continued shard must have been written with the same.
            shard: Number or name of the shard. Each writer needs its own.
            compression: ``gzip`` makes files of motion data a little smaller and much slower to write.
            level: Effort of ``gzip``, 1 to 9.
        """
        if compression not in ("none", "gzip") or level not in range(1, 10):
            raise DataError(f"got compression '{compression}' at level {level}, expected none or gzip and 1 to 9")
        self.name = f"shard-{shard:03d}" if isinstance(shard, int) else f"shard-{shard}"
        if not SHARD_NAME.fullmatch(self.name):
            raise DataError(f"got the shard name '{self.name}', expected letters, digits, '.', '_' and '-'")
        self.spec, self.meta = spec, meta
        self._compression: Compression = compression
        self._level = level
        self.path = Path(dataset) / self.name
        self.path.mkdir(parents=True, exist_ok=True)
        self._lock = _lock(self.path)
        try:
            self._resume(Path(dataset))
        except BaseException:
            self.close()
            raise

    def append(self, state: Any, control: Any, *, length: Any = None, **recorded: Any) -> None:
        """Writes a batch; when it returns, the batch is on the disk.

        Args:
            state: States, shape (N, T + 1, S).
            control: Controls held during each step, shape (N, T, C).
            length: Number of transitions of each trajectory, shape (N,); all ``T`` when left out.
            recorded: Other fields by name, for instance ``ground``; see
                :func:`~nerd_core.data.layout.pack_trajectories`.
        """
        self.append_trajectories(pack_trajectories(self.spec, state, control, length=length, **recorded))

    def append_trajectories(self, batch: Trajectories) -> None:
        """Writes a flat batch; see :meth:`append`."""
        if self._lock is None:
            raise DataError(f"the writer of '{self.name}' is closed")
        cuts = _cuts(batch)
        write_files(self._segments(batch, cuts))
        self.segments += len(cuts)
        self.batches += 1
        self.trajectories += batch.count
        self.transitions += batch.transitions

    def close(self) -> None:
        """Gives the shard free for another writer."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _segments(self, batch: Trajectories, cuts: list[tuple[int, int]]) -> Iterator[tuple[Path, bytearray]]:
        """Files of the segments of a batch, each made when it is asked for."""
        for part, (begin, end) in enumerate(cuts):
            path = self.path / f"{self.segments + part:06d}.h5"
            if not SEGMENT_NAME.fullmatch(path.name):
                raise DataError(f"'{self.name}' is full: open another shard, or write larger batches")
            content = segment_bytes(
                self.spec,
                self.meta,
                batch.part(begin, end),
                shard=self.name,
                first_trajectory=self.trajectories + begin,
                batch_index=self.batches,
                part=part,
                parts=len(cuts),
                compression=self._compression,
                level=self._level,
            )
            yield path, content

    def _resume(self, dataset: Path) -> None:
        """Removes what a killed writer left unfinished and counts what it finished."""
        for waiting in self.path.glob(f"*.h5{WRITING}"):
            waiting.unlink()
        found = list_segments(self.path)
        while found and found[-1].header.part + 1 != found[-1].header.parts:
            found.pop().path.unlink()  # the tail of a batch in flight
        for segment in found:
            header = segment.header
            require_same_spec(header.spec, self.spec, f"the shard '{self.name}'")
            if header.meta != self.meta:
                differences = origin_differences(self.meta, header.meta)
                raise DataError(
                    f"the shard '{self.name}' was begun with another origin: {differences}. "
                    "Continue it with the same settings, or write to another folder or shard"
                )
        self.segments = len(found)
        self.batches = found[-1].header.batch + 1 if found else 0
        self.trajectories = sum(segment.header.trajectories for segment in found)
        self.transitions = sum(segment.header.transitions for segment in found)
        # A manifest says that the dataset is complete, which from now on is not so. A power cut must not bring it back
        # beside segments that it does not list.
        remove_file(dataset / MANIFEST)


class ShardReader:
    """Reads the finished segments of one shard, verifying each, in the order they were written."""

    def __init__(self, path: str | Path):
        """Looks at a shard.

        Args:
            path: Folder of the shard.
        """
        self.path = Path(path)
        self.segments = list_segments(self.path)
        if not self.segments:
            raise DataError(f"'{self.path.name}' holds no finished trajectories")

    @property
    def spec(self) -> RobotSpec:
        """The robot."""
        return self.segments[0].header.spec

    @property
    def meta(self) -> ShardMeta:
        """Where the data came from."""
        return self.segments[0].header.meta

    @property
    def trajectories(self) -> int:
        """Number of finished trajectories."""
        return sum(segment.header.trajectories for segment in self.segments)

    def __iter__(self) -> Iterator[Trajectories]:
        for segment in self.segments:
            yield read_segment(segment.path)[1]


def list_segments(shard: Path) -> list[Segment]:
    """Headers of the finished segments of a shard, checked to follow each other without a gap."""
    try:
        names = sorted(name for name in os.listdir(shard) if SEGMENT_NAME.fullmatch(name))
    except OSError as error:
        raise DataError(f"the shard '{shard.name}' cannot be read: {error.strerror}") from None
    segments: list[Segment] = []
    trajectories = 0
    for index, name in enumerate(names):
        segment = read_header(shard / name)
        header = segment.header
        if name != f"{index:06d}.h5" or header.shard != shard.name or header.first_trajectory != trajectories:
            raise DataError(
                f"the shard '{shard.name}' is incomplete or mixed: '{name}' belongs to '{header.shard[:80]}' from "
                f"trajectory {header.first_trajectory} on, expected '{index:06d}.h5' from trajectory {trajectories} on"
            )
        trajectories += header.trajectories
        segments.append(segment)
    return segments


def origin_differences(got: ShardMeta, has: ShardMeta) -> str:
    """What differs between two origins, in words; empty when they are the same.

    Args:
        got: The origin of what is to be written.
        has: The origin of what is there.
    """
    parts = []
    for item in fields(ShardMeta):
        mine, theirs = getattr(got, item.name), getattr(has, item.name)
        if isinstance(mine, dict):
            names = sorted(name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name))
            parts += [f"{name} is {mine.get(name, 'not set')}, was {theirs.get(name, 'not set')}" for name in names]
        elif mine != theirs:
            parts.append(f"{item.name} is {mine}, was {theirs}")
    return "; ".join(parts)


def _cuts(batch: Trajectories) -> list[tuple[int, int]]:
    """Ranges of trajectories, each of which makes a segment of at most about :data:`SEGMENT_BYTES`."""
    size = sum(value.nbytes for value in batch.arrays.values())
    # The share of each trajectory in the bytes of the batch is that of its length, near enough.
    ends = ((batch.length.cumsum() * size) // max(1, batch.transitions) - 1) // SEGMENT_BYTES
    borders = [0, *(int(i) for i in (ends[1:] != ends[:-1]).nonzero()[0] + 1), batch.count]
    return list(zip(borders[:-1], borders[1:], strict=True))


def _lock(path: Path) -> int:
    """Locks a folder against a second writer. The system frees the lock of a process that dies."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise DataError(
            f"the shard '{path.name}' is being written by another process: wait for its end, or choose another shard"
        ) from None
    return descriptor


__all__ = ["MANIFEST", "ShardReader", "ShardWriter", "list_segments", "origin_differences"]
