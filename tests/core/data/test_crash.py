# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Writers that are killed: nothing that was finished is lost or changed, whenever the signal comes."""

from __future__ import annotations

import builtins
import contextlib
import os
import pathlib
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nerd_core.data import shards as shards_module
from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.data.layout import ShardMeta
from nerd_core.data.manifest import find_segments, write_manifest
from nerd_core.data.shards import ShardReader, ShardWriter
from support.trajectories import SPEC, make_batch, same

META = ShardMeta(task="hop")
BATCHES = 4
EXPECTED = [make_batch(3, 12, seed) for seed in range(BATCHES)]


def _write_all(root: Path, report: Callable[[int], None]) -> None:
    """A generator of data as it should be: batch k depends on k alone, and a restart goes on at the next one."""
    with ShardWriter(root, SPEC, META, compression="gzip") as writer:
        for index in range(writer.batches, BATCHES):
            writer.append_trajectories(EXPECTED[index])
            report(writer.batches)
    write_manifest(root)
    report(BATCHES + 1)


def _in_child(task: Callable[[Callable[[int], None]], None], kill_after: float | None = None) -> tuple[int, int]:
    """Runs a task in a forked process, kills it after some seconds; returns its last report and its exit status."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            task(lambda number: os.write(write, bytes([number])) and None)
            os._exit(0)
        os._exit(1)
    os.close(write)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    reports = os.read(read, 4096)
    os.close(read)
    return (reports[-1] if reports else 0), status


def _finished(root: Path) -> int:
    """Number of batches on the disk, each compared with what was meant."""
    if not list(root.glob("shard-*/*.h5")):
        return 0
    batches = list(ShardReader(root / "shard-000"))
    assert all(same(got, expected) for got, expected in zip(batches, EXPECTED, strict=False))
    return len(batches)


def _files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def untouched(tmp_path_factory) -> tuple[dict[str, bytes], float]:
    """Files of a run that was not killed, and how long it took [s]."""
    root = tmp_path_factory.mktemp("untouched")
    _in_child(lambda report: _write_all(root, report))
    begin = time.perf_counter()
    for path in sorted(root.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    assert _in_child(lambda report: _write_all(root, report)) == (BATCHES + 1, 0)
    return _files(root), time.perf_counter() - begin


def test_killed_at_random_moments(tmp_path, untouched):
    """A writer killed 16 times at random and started again each time loses only batches in flight, and the dataset it
    ends with has the bytes of one that was never disturbed.
    """
    expected, duration = untouched
    rng = random.Random(0)
    killed = 0
    root, before = tmp_path / "0", 0
    for attempt in range(200):
        reported, status = _in_child(lambda report, root=root: _write_all(root, report), rng.uniform(0, duration))
        after = _finished(root)
        assert after >= max(before, min(reported, BATCHES)), "a finished batch was lost"
        before = after
        killed += status == -signal.SIGKILL
        if status == 0:
            assert _files(root) == expected
            root, before = tmp_path / str(attempt + 1), 0
        if killed >= 16 and status == 0:
            break
    assert killed >= 16


def test_killed_at_every_step(tmp_path, untouched):
    """A writer that dies before its n-th file operation, for every n, leaves whole batches, and a restart completes
    the dataset to the same bytes: no moment between opening, writing, syncing, renaming and the manifest is special.
    """
    expected, _ = untouched
    for step in range(1, 200):
        root = tmp_path / str(step)

        def doomed(report: Callable[[int], None], step: int = step, root: Path = root) -> None:
            _die_before_operation(step)
            _write_all(root, report)

        reported, status = _in_child(doomed)
        assert _finished(root) >= min(reported, BATCHES)
        if status == 0:
            break
        assert status == -signal.SIGKILL
        if step % 5 == 0:  # restarting is the slow part: every fifth is enough to meet each kind of operation
            assert _in_child(lambda report, root=root: _write_all(root, report)) == (BATCHES + 1, 0)
            assert _files(root) == expected
    assert BATCHES * 4 < step < 199


def _die_before_operation(number: int) -> None:
    """From here on this process kills itself before its ``number``-th open, write, sync, rename, mkdir or unlink."""
    count = 0

    def counted(function: Callable) -> Callable:
        def wrapper(*args, **kwargs):
            nonlocal count
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*args, **kwargs)

        return wrapper

    shards_module.os.fsync = counted(os.fsync)  # type: ignore[assignment]
    builtins.open = counted(builtins.open)  # type: ignore[assignment]
    for name in ("rename", "mkdir", "unlink"):
        setattr(pathlib.Path, name, counted(getattr(pathlib.Path, name)))


def test_a_torn_write_is_not_read(tmp_path):
    """A half-written file under the temporary name is no part of the data, and the next writer removes it."""
    with ShardWriter(tmp_path, SPEC, META) as writer:
        writer.append_trajectories(EXPECTED[0])
    whole = (tmp_path / "shard-000" / "000000.h5").read_bytes()
    torn = tmp_path / "shard-000" / "000001.h5.writing"
    torn.write_bytes(whole[: len(whole) // 2])
    assert len(find_segments(tmp_path).segments) == 1
    assert len(TrajectoryDataset.open(tmp_path)) == 3
    ShardWriter(tmp_path, SPEC, META).close()
    assert not torn.exists()


def test_a_killed_reader_leaves_no_broken_copy(tmp_path):
    """A process killed while it makes the flat copy leaves nothing that a later one would take for whole."""
    with ShardWriter(tmp_path, SPEC, META) as writer:
        for batch in EXPECTED:
            writer.append_trajectories(batch)
    expected = TrajectoryDataset.open(tmp_path, storage="memory")

    def doomed(report: Callable[[int], None], step: int) -> None:
        _die_before_operation(step)
        TrajectoryDataset.open(tmp_path, storage="mapped")

    for step in range(1, 20):
        _, status = _in_child(lambda report, step=step: doomed(report, step))
        if status == 0:
            break
    assert step > 5
    mapped = TrajectoryDataset.open(tmp_path, storage="mapped")
    assert all(bool((mapped.arrays[name] == value).all()) for name, value in expected.arrays.items())
    assert not list((tmp_path / ".cache").glob(".*writing*"))
