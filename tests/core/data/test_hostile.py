# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Hostile datasets: each is read or refused with a message, quickly, in little memory, and no terminal obeys."""

from __future__ import annotations

import contextlib
import io
import os
import random
import resource
import shutil
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from nerd_core.cli import main as nerd
from nerd_core.data.checks import check
from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.data.layout import DataError
from nerd_core.data.manifest import find_segments
from nerd_core.data.sampler import WindowSampler
from nerd_core.data.shards import ShardReader, ShardWriter
from nerd_core.robot.comparison import SpecMismatch
from support.hostile_data import Files, sound_datasets, write_hostile

SECONDS = 5.0
"""What one answer may take, in time of the processor: the machine may be busy."""
MEMORY = 2**30
"""What reading may take beyond what the process has [bytes]."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> list[Files]:
    """Datasets to spoil."""
    return sound_datasets(tmp_path_factory.mktemp("sound"))


def _read(root: Path, storage) -> None:
    data = TrajectoryDataset.open(root, storage=storage)
    for index in (0, -1):
        data.trajectory(index)
    next(WindowSampler(data, 1, 4))


def _shards(root: Path) -> None:
    for shard in sorted(root.glob("shard-*")):
        for _ in ShardReader(shard):
            pass


def _go_on(root: Path) -> None:
    header = find_segments(root, use_manifest=False).segments[0].header
    ShardWriter(root, header.spec, header.meta, shard=header.shard.removeprefix("shard-")).close()


def _command(*words: str) -> Callable[[Path], None]:
    def run(root: Path) -> None:
        told = io.StringIO()
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
            code = nerd(["data", words[0], str(root), *words[1:]])
        text = told.getvalue()
        assert code in (0, 1, 2) and "Traceback" not in text
        assert all(char.isprintable() or char == "\n" for char in text), f"{words}: {text!r}"
        assert len(text) < 10**6 if "--json" in words else len(text) < 3 * 10**5
        if code == 2:
            assert len(text) < 5000, text
            raise DataError(text)

    return run


CALLS: dict[str, Callable[[Path], None]] = {
    "mapped": lambda root: _read(root, "mapped"),
    "memory": lambda root: _read(root, "memory"),
    "shards": _shards,
    "check": check,  # type: ignore[dict-item]
    "info": _command("info"),
    "info --json": _command("info", "--json"),
    "stats": _command("stats", "--sample", "500"),
    "nerd check": _command("check"),
    "go on": _go_on,
    "seal": _command("seal"),
}
"""Ways to touch a dataset; the last two change it."""


def _examine(root: Path, rng: random.Random) -> dict[str, int]:
    """Touches one dataset in some ways; fails on anything but an answer."""
    count = {"read": 0, "refused": 0}
    chosen = {"mapped", *rng.sample(list(CALLS), 3)}
    for name in [name for name in CALLS if name in chosen]:
        begin = time.process_time()
        try:
            CALLS[name](root)
            count["read"] += 1
        except (DataError, SpecMismatch) as error:
            assert 0 < len(str(error)) < 5000, f"{name}: a message of {len(str(error))} characters"
            count["refused"] += 1
        assert time.process_time() - begin < SECONDS, f"{name} took {time.process_time() - begin:.1f} s"
    return count


def _in_child(folder: Path, sound: list[Files], seeds: range) -> str:
    """Examines datasets in a forked process, which may die; returns what went wrong, or its counts."""
    log = folder / f"{seeds.start}.log"
    child = os.fork()
    if child == 0:
        total = {"read": 0, "refused": 0}
        begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for seed in seeds:
            log.write_text(f"died at seed {seed}")
            root = folder / str(seed)
            try:
                write_hostile(root, seed, sound)
                for name, number in _examine(root, random.Random(seed)).items():
                    total[name] += number
                grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - begin) * 1024
                assert grown < MEMORY, f"memory grew by {grown / 2**20:.0f} MiB"
            except BaseException:
                log.write_text(f"seed {seed}: {traceback.format_exc()[-3000:]}")
                os._exit(1)
            shutil.rmtree(root, ignore_errors=True)
        log.write_text(" ".join(str(number) for number in total.values()))
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return log.read_text() + ("" if status == 0 else f" (exit status {status})")


def _examine_all(folder: Path, sound: list[Files], seeds: range, block: int) -> tuple[int, int]:
    answers = [_in_child(folder, sound, seeds[i : i + block]) for i in range(0, len(seeds), block)]
    bad = [answer for answer in answers if "seed" in answer]
    assert not bad, f"{len(bad)} of {len(answers)} blocks failed:\n" + "\n".join(bad)
    pairs = [tuple(map(int, answer.split())) for answer in answers]
    return sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)


def test_hostile_datasets(tmp_path, sound):
    """50 hostile datasets, each touched in a few ways: no crash, no traceback, little memory, no slow answer."""
    read, refused = _examine_all(tmp_path, sound, range(50), 50)
    assert read > 15 and refused > 50


@pytest.mark.long  # fifty more, with other seeds
def test_more_hostile_datasets(tmp_path, sound):
    """Another 150."""
    read, refused = _examine_all(tmp_path, sound, range(50, 200), 50)
    assert read > 45 and refused > 150


@pytest.mark.slow  # 2,600 datasets take about five minutes
@pytest.mark.timeout(3600)
def test_many_hostile_datasets(tmp_path, sound):
    """2,600 hostile datasets more."""
    read, refused = _examine_all(tmp_path, sound, range(1000, 3600), 50)
    print(f"2,600 datasets: {read} answers with data, {refused} refusals")
    assert read > 1000 and refused > 3000
