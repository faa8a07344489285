# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Collections that are ended from outside, by signals and by full disks: what was finished stays, and what goes on ends
as if nothing had happened.

The collector, the writer and the manifest are the real ones; only the engine is not: its trajectories are made up, and
depend on the number of the batch alone, as the engine's do. ``pytest -s --slow`` prints the table of
docs/robustness-data.md.
"""

from __future__ import annotations

import builtins
import contextlib
import errno
import io
import json
import os
import pathlib
import random
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nerd_core.data.layout import ShardMeta
from nerd_core.data.manifest import find_segments, write_manifest
from nerd_core.data.shards import ShardReader, ShardWriter
from nerd_core.files.atomic import write_json
from nerd_isaaclab.collect.collect_cfg import CollectCfg
from nerd_isaaclab.collect.collector import Collector
from nerd_isaaclab.collect.run import REPORT
from support.trajectories import SPEC, make_batch, same

pytestmark = pytest.mark.unit

SHARDS, BATCHES = 2, 4
EXPECTED = {
    (shard, number): make_batch(20, 60, 100 * shard + number) for shard in range(2) for number in range(BATCHES)
}


class MadeUp(Collector):
    """A collector whose solver is a table."""

    def __init__(self, out: Path, shard: int):
        self._cfg, self._shard, self._spec = CollectCfg("NeRD-Cartpole").resolved(), shard, SPEC
        self._writer = ShardWriter(out, SPEC, ShardMeta(task="made up"), shard=shard, compression="gzip")
        self._report_file = self._writer.path / "report.json"
        self.report = self._resume()

    def _roll(self, number: int, attempt: int):
        return EXPECTED[self._shard, number]


def _collect(out: Path, told: Callable[[], None] = lambda: None) -> None:
    """What ``nerd generate`` does, one worker after the other."""
    for shard in range(SHARDS):
        goal = sum(EXPECTED[shard, number].transitions for number in range(BATCHES))
        MadeUp(out, shard).run(goal, lambda report: told())
    write_json(out / REPORT, {"transitions": write_manifest(out).transitions})


def _in_child(out: Path, prepare: Callable[[], None], kill: tuple[int, float] | None = None) -> tuple[int, int]:
    """Collects in a forked process; returns how many batches it said were finished, and its exit status."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        with contextlib.suppress(BaseException):
            prepare()
            _collect(out, lambda: os.write(write, b".") and None)
            os._exit(0)
        os._exit(1)
    os.close(write)
    if kill is not None:
        time.sleep(kill[1])
        os.kill(child, kill[0])
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    told = len(os.read(read, 4096))
    os.close(read)
    return told, status


def _content(out: Path) -> dict[str, bytes]:
    """All files but those that a killed writer may leave for the next one to remove."""
    files = {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    return {name: content for name, content in files.items() if not name.endswith(".writing")}


class Trials:
    """Counts what was tried, and judges it."""

    def __init__(self, untouched: dict[str, bytes]):
        self.untouched = untouched
        self.rows: dict[str, list[int]] = {}

    def judge(self, out: Path, what: str, told: int, before: int) -> int:
        """Judges what an ended collection left, and returns how many batches it had finished.

        Args:
            out: The dataset.
            what: How it was ended.
            told: Batches that it said were finished.
            before: Batches that were finished when it began.
        """
        segments = {name: content for name, content in _content(out).items() if name.endswith(".h5")}
        assert all(self.untouched[name] == content for name, content in segments.items()), "a segment is another one"
        assert len(segments) >= before + told, "a finished batch was lost"
        for shard in {name.split("/")[0] for name in segments}:
            for number, batch in enumerate(ShardReader(out / shard)):
                assert same(batch, EXPECTED[int(shard[-3:]), number])
        if segments:
            assert find_segments(out).complete == (
                len(segments) == SHARDS * BATCHES and (out / "manifest.json").exists()
            )
        row = self.rows.setdefault(what, [0, 0, 0])
        row[0] += 1
        row[1] += len(segments)
        return len(segments)

    def finish(self, out: Path, what: str) -> None:
        """Goes on without disturbance, and compares every byte."""
        _, status = _in_child(out, lambda: None)
        assert status == 0 and _content(out) == self.untouched
        assert not list(out.rglob("*.writing"))
        self.rows[what][2] += 1

    def print(self) -> None:
        """The table."""
        print("\n| ended by | times | batches finished by then | went on to the bytes of an undisturbed run |")
        print("|---|---|---|---|")
        for what, (times, batches, finished) in self.rows.items():
            print(f"| {what} | {times} | {batches} | {finished} of {finished} |")


@pytest.fixture(scope="module")
def untouched(tmp_path_factory) -> tuple[dict[str, bytes], float]:
    """Files of a collection that nothing disturbed, and how long it took [s]."""
    for name in ("first", "second"):  # the first one warms up
        out, begin = tmp_path_factory.mktemp(name), time.perf_counter()
        assert _in_child(out, lambda: None) == (SHARDS * BATCHES, 0)
    return _content(out), time.perf_counter() - begin


def _fail_at(number: int, fail: Callable[[], None], torn: bool) -> None:
    """Makes the ``number``-th open for writing, sync, rename or removal of this process from here on fail.

    Args:
        number: Which one.
        fail: What happens in its place; raises or does not return.
        torn: Whether only files that are opened count, of which the ``number``-th is written to the half.
    """
    count = 0

    class Torn(io.FileIO):
        """A file of which only the first half is written."""

        def write(self, data) -> int:
            super().write(memoryview(data)[: len(data) // 2])
            fail()
            return 0

    def counted(function: Callable, opens: bool = False) -> Callable:
        def wrapper(*args, **kwargs):
            nonlocal count
            if opens and "w" not in "".join(str(word) for word in (*args[1:2], kwargs.get("mode", ""))):
                return function(*args, **kwargs)
            count += 1
            if count != number:
                return function(*args, **kwargs)
            return Torn(args[0], "wb") if opens and torn else fail()

        return wrapper

    builtins.open = io.open = counted(builtins.open, opens=True)  # type: ignore[assignment]
    if torn:
        return
    os.fsync = counted(os.fsync)  # type: ignore[assignment]
    for name in ("rename", "unlink"):
        setattr(pathlib.Path, name, counted(getattr(pathlib.Path, name)))


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _no_room() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _try_all(untouched: tuple[dict[str, bytes], float], root: Path, signals: int, every: int) -> Trials:
    """Ends collections in every way.

    Args:
        untouched: See the fixture.
        root: An empty folder.
        signals: How often each signal is sent at a random moment.
        every: How many points of failure to pass over, less one.
    """
    expected, duration = untouched
    trials, rng = Trials(expected), random.Random(0)
    for sign in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        what, out, before = f"{sign.name} at a random moment", root / f"{sign.name}-0", 0
        sent = 0
        while sent < signals:
            told, status = _in_child(out, lambda: None, (sign, rng.uniform(0, duration)))
            before = trials.judge(out, what, told, before) if out.exists() else 0
            if status == 0:
                trials.rows[what][0] -= 1  # it was faster
                assert _content(out) == expected
                out, before = root / f"{sign.name}-{sent}-{rng.random()}", 0
            else:
                sent += 1
        trials.finish(out, what)
    ways = {
        "SIGKILL before an open, a sync, a rename or a removal": (_die, False),
        "SIGKILL in the middle of a write": (_die, True),
        "disk full at an open, a sync, a rename or a removal": (_no_room, False),
        "disk full in the middle of a write": (_no_room, True),
    }
    for what, (fail, torn) in ways.items():
        for number in range(1, 1000, every):
            out = root / f"{fail.__name__}-{torn}-{number}"
            told, status = _in_child(out, lambda number=number, fail=fail, torn=torn: _fail_at(number, fail, torn))
            if status == 0:
                break
            trials.judge(out, what, told, 0)
            trials.finish(out, what)
        assert number > 2 * SHARDS * BATCHES
    what = "a limit of the system on the size of files"
    for size in (0, 100, 4096, max(map(len, expected.values())) - 1):
        out = root / f"limit-{size}"

        def limit(size: int = size) -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

        told, status = _in_child(out, limit)
        assert status == 1
        trials.judge(out, what, told, 0)
        trials.finish(out, what)
    return trials


def test_ended_now_and_then(tmp_path, untouched):
    """Each signal, and failures at some operations on files: nothing that was finished is lost."""
    trials = _try_all(untouched, tmp_path, signals=1, every=29)
    assert sum(row[0] for row in trials.rows.values()) > 12


@pytest.mark.slow  # several hundred collections: two minutes
@pytest.mark.timeout(1800)
def test_ended_everywhere(tmp_path, untouched):
    """Each signal twenty times, and a failure at every single operation on files, each followed by going on."""
    trials = _try_all(untouched, tmp_path, signals=20, every=1)
    trials.print()
    assert sum(row[0] for row in trials.rows.values()) > 200


def test_reports_go_on(tmp_path, untouched):
    """A report that was torn or is missing never stops a collection, and counts what the shard holds."""
    expected, _ = untouched
    MadeUp(tmp_path, 0).run(1, lambda report: None)
    for content in (b"", b"{", b"[]", b'{"batches": "x"}', b"\xff"):
        (tmp_path / "shard-000" / "report.json").write_bytes(content)
        report = MadeUp(tmp_path, 0)
        report._writer.close()
        assert report.report.transitions == EXPECTED[0, 0].transitions
    _in_child(tmp_path, lambda: None)
    assert _content(tmp_path) == expected
    assert json.loads((tmp_path / REPORT).read_text())["transitions"] == find_segments(tmp_path).manifest().transitions
