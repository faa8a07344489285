# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Flat copies: one that did not grow here, from these very segments, is made anew and can never end the process."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.data.flat import map_flat, wanted_fields
from nerd_core.data.layout import DataError, ShardMeta
from nerd_core.data.manifest import find_segments, write_manifest
from nerd_core.data.shards import ShardWriter
from support.trajectories import SPEC, make_batch


@pytest.fixture
def dataset(tmp_path) -> Path:
    """A complete dataset with a flat copy."""
    root = tmp_path / "data"
    with ShardWriter(root, SPEC, ShardMeta()) as writer:
        for seed in range(2):
            writer.append_trajectories(make_batch(5, 9, seed))
    write_manifest(root)
    TrajectoryDataset.open(root, storage="mapped")
    return root


def _place(dataset: Path) -> Path:
    (place,) = (dataset / ".cache").iterdir()
    return place


def forge(place: Path, name: str, change: Callable[[np.ndarray], np.ndarray], identity: bool = True) -> None:
    """Changes an array of a flat copy as an attacker would: the checksum is made right, and if wanted the identity."""
    file, index = place / f"{name}.bin", place / "index.json"
    plain = json.loads(index.read_text())
    dtype = np.dtype({"length": "<i8", "finite": "u1"}.get(name, "<f4"))
    file.write_bytes(change(np.fromfile(file, dtype)).astype(dtype).tobytes())
    entry = plain["arrays"][name]
    entry["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    if identity and "inode" in entry:
        status = file.stat()
        entry["inode"], entry["changed_ns"] = status.st_ino, status.st_ctime_ns
    index.write_text(json.dumps(plain))


def _huge(values: np.ndarray) -> np.ndarray:
    return np.full_like(values, 10**6)


def _negative(values: np.ndarray) -> np.ndarray:
    return np.concatenate((values[:-1], [values.sum() + 10**6], [-(10**6)]))[: len(values)]


def _moved(values: np.ndarray) -> np.ndarray:
    return (
        values + np.where(np.arange(len(values)) == 0, 1, 0) - np.where(np.arange(len(values)) == len(values) - 1, 1, 0)
    )


@pytest.mark.parametrize(
    "change", [_huge, _negative, _moved, np.zeros_like, lambda v: v[:-1], lambda v: np.repeat(v, 2)]
)
def test_lengths_are_compared_with_the_segments(dataset, change):
    """A copy whose lengths are not those of the segments is made anew, although its checksums are right. (In a process
    of its own: these lengths used to read out of bounds.)
    """
    expected = TrajectoryDataset.open(dataset, storage="memory")
    sums = [float(expected.trajectory(i).state.sum()) for i in range(len(expected))]
    forge(_place(dataset), "length", change)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            data = TrajectoryDataset.open(dataset, storage="mapped")
            code = int([float(data.trajectory(i).state.sum()) for i in range(len(data))] != sums)
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_copy_from_elsewhere_is_made_anew(dataset, tmp_path):
    """Numbers that were put into a copy do not reach a training when the dataset is copied, archived or moved in: a
    copy counts only as the very files that this program wrote.
    """
    expected = TrajectoryDataset.open(dataset, storage="memory").arrays["state"]
    forge(_place(dataset), "state", lambda values: values * 0 + 7, identity=False)
    assert torch.equal(TrajectoryDataset.open(dataset, storage="mapped").arrays["state"], expected)
    forge(_place(dataset), "state", lambda values: values * 0 + 7)
    copied = tmp_path / "copied"
    shutil.copytree(dataset, copied)
    assert torch.equal(TrajectoryDataset.open(copied, storage="mapped").arrays["state"], expected)


def test_a_copy_made_here_is_used_again(dataset):
    """Opening twice makes the copy once, also after the dataset was renamed."""
    before = (_place(dataset) / "state.bin").stat()
    moved = dataset.rename(dataset.with_name("moved"))
    TrajectoryDataset.open(moved, storage="mapped")
    after = (_place(moved) / "state.bin").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_plain_file_is_made_anew(dataset, make):
    """A folder, a pipe or a link in the place of an array is replaced, and nothing waits for it."""
    expected = TrajectoryDataset.open(dataset, storage="memory").arrays["state"]
    (_place(dataset) / "state.bin").unlink()
    make(_place(dataset) / "state.bin")
    assert torch.equal(TrajectoryDataset.open(dataset, storage="mapped").arrays["state"], expected)


def test_a_link_in_the_place_of_the_cache_is_refused(dataset, tmp_path):
    """A dataset cannot make its reader write into another folder of the machine; a chosen cache may be anywhere."""
    shutil.rmtree(dataset / ".cache")
    target = tmp_path / "target"
    target.mkdir()
    (dataset / ".cache").symlink_to(target)
    with pytest.raises(DataError, match="is a link.*remove it"):
        TrajectoryDataset.open(dataset, storage="mapped")
    assert not list(target.iterdir())
    assert len(TrajectoryDataset.open(dataset, storage="mapped", cache=target)) == 10


def test_a_full_disk_is_noticed_before_the_copy_is_made(dataset, tmp_path, monkeypatch):
    """Where the copy does not fit, the message says how much it takes, what is free, and how to take another place."""
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(100, 90, 10))
    with pytest.raises(DataError, match=r"takes \S+ MB.*free.*cache="):
        TrajectoryDataset.open(dataset, storage="mapped", cache=tmp_path / "other")
    contents = find_segments(dataset)
    map_flat(contents, wanted_fields(contents), dataset / ".cache")  # one that is there already needs no room
