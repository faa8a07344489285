# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The manifest: the list of everything in a dataset, written last and in one step.

A dataset with a manifest is complete. One without is being collected, or its collection was interrupted; what is there
can be read all the same.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from ..files.atomic import write_bytes
from ..files.messages import printable, shortened
from ..files.safe_files import UnsafeFile, parse_json, read_bytes
from ..files.serialization import StructureError, from_plain, to_plain
from ..robot.comparison import require_same_spec
from ..robot.spec import RobotSpec
from .layout import DataError
from .segment import Segment, read_header
from .shards import MANIFEST, SEGMENT_NAME, SHARD_NAME, list_segments

SCHEMA = "nerd.manifest/1"
MAX_MANIFEST_BYTES = 4 * 2**20
_ADVICE = "Restore the files from a copy, or run 'nerd data seal' to declare what is there the dataset"


class ManifestError(DataError):
    """A manifest that says something else than the segments beside it."""


@dataclass(frozen=True)
class ManifestEntry:
    """One segment."""

    file: str
    """Shard and file, ``shard-000/000000.h5``."""
    bytes: int
    """Size of the file."""
    seal: str
    """SHA-256 of the file."""
    trajectories: int
    """Number of trajectories."""
    transitions: int
    """Number of transitions."""


@dataclass(frozen=True)
class Manifest:
    """Everything in a dataset."""

    schema: str
    """Name and version of this form."""
    robot: str
    """Name of the robot."""
    spec_hash: str
    """Content hash of the robot specification."""
    dataset_hash: str
    """SHA-256 over the seals: two datasets with the same hash have the same content."""
    trajectories: int
    """Number of trajectories."""
    transitions: int
    """Number of transitions."""
    segments: tuple[ManifestEntry, ...]
    """All segments."""


@dataclass(frozen=True)
class Contents:
    """The segments of a dataset, found by :func:`find_segments`."""

    segments: tuple[Segment, ...]
    """All segments, by shard, then in the order they were written."""
    complete: bool
    """Whether a manifest says that these are all."""

    @property
    def spec(self) -> RobotSpec:
        """The robot."""
        return self.segments[0].header.spec

    @property
    def dataset_hash(self) -> str:
        """SHA-256 over the seals."""
        text = "\n".join(f"{entry.file} {entry.seal}" for entry in _entries(self))
        return hashlib.sha256(text.encode()).hexdigest()

    def manifest(self) -> Manifest:
        """What a manifest of these segments says."""
        entries = _entries(self)
        return Manifest(
            schema=SCHEMA,
            robot=self.spec.name,
            spec_hash=self.spec.content_hash,
            dataset_hash=self.dataset_hash,
            trajectories=sum(entry.trajectories for entry in entries),
            transitions=sum(entry.transitions for entry in entries),
            segments=entries,
        )


def find_segments(path: str | Path, use_manifest: bool = True) -> Contents:
    """Looks up what a dataset holds. Reads the headers of its segments and, where it has one, its manifest.

    Args:
        path: Folder of a dataset, folder of a single shard, or a single segment file.
        use_manifest: Whether a manifest has to say the same as the segments; otherwise it is not looked at.

    Raises:
        ManifestError: The manifest and the segments do not say the same.
        DataError: There is nothing, or something that cannot be read.
    """
    path = Path(path)
    if path.is_file():
        contents = Contents((read_header(path),), complete=False)
    elif not path.is_dir():
        raise DataError(f"there is no dataset at '{path}'")
    elif use_manifest and os.path.lexists(path / MANIFEST):
        contents = Contents(tuple(_scan(path)), complete=True)
    elif SHARD_NAME.fullmatch(path.resolve().name):
        contents = Contents(tuple(list_segments(path)), complete=False)
    else:
        contents = Contents(tuple(_scan(path)), complete=False)
    if not contents.segments:
        raise DataError(f"'{path}' holds no finished trajectories (no 'shard-*/*.h5')")
    for segment in contents.segments[1:]:
        if segment.header.spec_hash != contents.segments[0].header.spec_hash:
            require_same_spec(segment.header.spec, contents.spec, f"'{segment.path.parent.name}/{segment.path.name}'")
    if contents.complete:
        _require_same(read_manifest(path), contents.manifest(), path.name)
    return contents


def write_manifest(dataset: str | Path) -> Manifest:
    """Declares a dataset complete. To be called once, when all writers have finished.

    Args:
        dataset: Folder of the dataset.
    """
    dataset = Path(dataset)
    contents = find_segments(dataset, use_manifest=False)
    manifest = contents.manifest()
    text = (json.dumps(to_plain(manifest), indent=1) + "\n").encode()
    if len(text) > MAX_MANIFEST_BYTES:
        raise DataError(
            f"the dataset has {len(manifest.segments)} segments, too many for a manifest: write larger batches"
        )
    write_bytes(dataset / MANIFEST, text)
    return manifest


def read_manifest(dataset: Path) -> Manifest:
    """Reads a manifest, whose file names cannot point out of the dataset."""
    try:
        plain = parse_json(read_bytes(dataset / MANIFEST, MAX_MANIFEST_BYTES), MANIFEST)
        manifest = from_plain(Manifest, plain)
    except (UnsafeFile, StructureError) as error:
        raise ManifestError(
            f"the manifest of '{dataset.name}' cannot be read: {printable(str(error)[:500])}. {_ADVICE}"
        ) from None
    if manifest.schema != SCHEMA:
        raise ManifestError(f"the manifest has schema {manifest.schema[:80]!r}, this version reads {SCHEMA!r}")
    for entry in manifest.segments:
        shard, _, name = entry.file.partition("/")
        if not (SHARD_NAME.fullmatch(shard) and SEGMENT_NAME.fullmatch(name)):
            raise ManifestError(f"the manifest lists {entry.file[:80]!r}, expected 'shard-*/000000.h5'")
    return manifest


def _require_same(manifest: Manifest, expected: Manifest, dataset: str) -> None:
    """Raises :class:`ManifestError` with the first difference of a manifest and what the segments say."""
    listed = {entry.file: entry for entry in manifest.segments}
    there = {entry.file: entry for entry in expected.segments}
    if len(listed) != len(manifest.segments):
        raise ManifestError(f"the manifest of '{dataset}' lists a file twice. {_ADVICE}")
    for word, names in (("missing", set(listed) - set(there)), ("not in the manifest", set(there) - set(listed))):
        if names:
            raise ManifestError(
                f"the dataset '{dataset}' is not what its manifest says: {len(names)} files are {word}, the first is "
                f"'{min(names)}'. {_ADVICE}"
            )
    for name, entry in listed.items():
        if entry != there[name]:
            raise ManifestError(
                f"'{name}' is not the file that the manifest of '{dataset}' lists: got {there[name]}, expected "
                f"{shortened(entry, 500)}. {_ADVICE}"
            )
    for name in ("robot", "spec_hash", "trajectories", "transitions", "dataset_hash"):
        got, true = getattr(manifest, name), getattr(expected, name)
        if got != true:
            raise ManifestError(
                f"the manifest of '{dataset}' contradicts the segments that it lists: {name}: got "
                f"{shortened(got)}, expected {shortened(true)}. {_ADVICE}"
            )


def _scan(dataset: Path) -> list[Segment]:
    try:
        shards = sorted(name for name in os.listdir(dataset) if SHARD_NAME.fullmatch(name))
    except OSError as error:
        raise DataError(f"the dataset '{dataset}' cannot be read: {error.strerror}") from None
    return [segment for shard in shards if (dataset / shard).is_dir() for segment in list_segments(dataset / shard)]


def _entries(contents: Contents) -> tuple[ManifestEntry, ...]:
    return tuple(
        ManifestEntry(
            file=f"{segment.header.shard}/{segment.path.name}",
            bytes=segment.size,
            seal=segment.seal,
            trajectories=segment.header.trajectories,
            transitions=segment.header.transitions,
        )
        for segment in contents.segments
    )


__all__ = ["Contents", "Manifest", "ManifestEntry", "ManifestError", "find_segments", "read_manifest", "write_manifest"]
