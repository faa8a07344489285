# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Damaged and hostile segments: an error that says what is wrong, or a correct load. Never a crash, a hang, or a gulp.

The files are read in this very process: a segmentation fault would end the test run.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import struct
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from nerd_core.data.checks import check
from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.data.layout import DataError, ShardMeta, Trajectories, check_trajectories
from nerd_core.data.manifest import write_manifest
from nerd_core.data.segment import LIMIT, read_segment
from nerd_core.data.shards import ShardWriter
from support.trajectories import SPEC, make_batch, same

SECONDS = 5.0
"""No single file may take longer (it takes milliseconds; the machine may be busy)."""
GULP = 256 * 2**20
"""No file of some KB may make the process grow further than this [bytes]."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> list[tuple[bytes, Trajectories]]:
    """Segments of every kind, and what they hold."""
    found = []
    for compression in ("none", "gzip"):
        for recorded in (False, True):
            root = tmp_path_factory.mktemp("sound")
            batch = make_batch(6, 9, len(found), recorded)
            with ShardWriter(root, SPEC, ShardMeta(), compression=compression) as writer:
                writer.append_trajectories(batch)
            found.append(((root / "shard-000" / "000000.h5").read_bytes(), batch))
    return found


def seal(content: bytearray) -> bytearray:
    """Makes the checksum right again, as an attacker would."""
    content[32:64] = bytes(32)
    content[32:64] = hashlib.sha256(content).digest()
    return content


def edit_header(content: bytes, change: Callable[[dict], None]) -> bytearray:
    """Rewrites the JSON header, keeping the chunk table behind it and everything after the user block."""
    (length, chunks) = struct.unpack_from("<QQ", content, 16)
    plain = json.loads(content[64 : 64 + length])
    change(plain)
    text = json.dumps(plain, separators=(",", ":")).encode()
    block = content.index(b"\x89HDF\r\n")
    front = content[:16] + struct.pack("<Q", len(text)) + content[24:64] + text
    table = np.frombuffer(content, "<i8", 2 * chunks, 64 + length).reshape(chunks, 2).copy()
    room = max(block, 1 << (len(front) + table.nbytes - 1).bit_length())
    table[:, 0] += room - block
    out = bytearray((front + table.tobytes()).ljust(room, b"\0") + content[block:])
    struct.pack_into("<Q", out, 8, len(out))
    return out


def damage(content: bytes, rng: np.random.Generator) -> bytearray:
    """One of the things that happen to files."""
    out = bytearray(content)
    kind = rng.integers(8)
    at = int(rng.integers(len(out)))
    if kind == 0:
        for position in rng.integers(len(out), size=int(rng.integers(1, 9))):
            out[position] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        del out[at:]
    elif kind == 2:
        out += rng.bytes(int(rng.integers(1, 4096)))
    elif kind == 3:
        size = int(rng.integers(1, 2048))
        out[at : at + size] = bytes(len(out[at : at + size]))
    elif kind == 4:
        one, two, size = (int(n) for n in rng.integers(len(out) // 2, size=3))
        size = min(size, 4096)
        first, second = out[one : one + size], out[two + len(out) // 2 :][:size]
        out[one : one + len(second)] = second
        out[two + len(out) // 2 :][:size] = first
    elif kind == 5:
        field = int(rng.choice([8, 16, 24]))
        struct.pack_into("<Q", out, field, [0, 1, 2**20, 2**31, 2**40, 2**63, 2**64 - 1][rng.integers(7)])
    elif kind == 6:
        (length,) = struct.unpack_from("<Q", content, 16)
        chunks = struct.unpack_from("<Q", content, 24)[0]
        where = 64 + length + 8 * int(rng.integers(2 * chunks))
        struct.pack_into("<q", out, where, int(rng.choice([-1, 0, 7, 2**31, 2**62, -(2**62), len(out) - 3])))
    else:
        (length,) = struct.unpack_from("<Q", content, 16)
        digits = [i for i in range(64, 64 + length) if chr(out[i]).isdigit()]
        for position in rng.choice(digits, size=int(rng.integers(1, 6))):
            out[position] = ord("0") + int(rng.integers(10))
    return out


def read_damaged(path: Path, content: bytes, original: bytes, batch: Trajectories, sealed: bool) -> str:
    """Reads a damaged file; returns what happened, and fails on anything but a clear error or a correct load."""
    path.write_bytes(content)
    begin = time.perf_counter()
    try:
        segment, got = read_segment(path)
    except DataError as error:
        assert "000000.h5" in str(error) and len(str(error)) < 2000
        outcome = "refused"
    else:
        # Without the seal made right again, only the untouched file may pass.
        assert sealed or content == original
        check_trajectories(segment.header.spec, got, "what was read")
        outcome = "same" if same(got, batch) else "other"
    assert time.perf_counter() - begin < SECONDS
    return outcome


def fuzz(folder: Path, sound: list[tuple[bytes, Trajectories]], count: int, seed: int) -> dict[str, int]:
    """Reads ``count`` damaged files, half of them with the seal made right again."""
    rng = np.random.default_rng(seed)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    outcomes = {"refused": 0, "same": 0, "other": 0}
    for index in range(count):
        original, batch = sound[index % len(sound)]
        content = damage(original, rng)
        sealed = bool(index // len(sound) % 2) and len(content) > 64
        content = seal(content) if sealed else content
        outcomes[read_damaged(folder / "000000.h5", bytes(content), original, batch, sealed)] += 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - peak < GULP
    return outcomes


def test_damaged_files(tmp_path, sound):
    """600 damaged files, half of them re-sealed: each is refused with a message or read correctly."""
    outcomes = fuzz(tmp_path, sound, 600, seed=0)
    assert outcomes["refused"] > 300 and sum(outcomes.values()) == 600


@pytest.mark.slow
def test_many_damaged_files(tmp_path, sound):
    """5,000 damaged files more."""
    outcomes = fuzz(tmp_path, sound, 5000, seed=1)
    assert outcomes["refused"] > 2500 and sum(outcomes.values()) == 5000


def _set(plain: dict, path: str, value: object) -> None:
    *folders, name = path.split("/")
    for folder in folders:
        plain = plain[folder]
    plain[name] = value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("arrays/state/shape", [2**40, 17]),
        ("arrays/state/shape", [1, 2**40]),
        ("arrays/state/shape", [-1, 17]),
        ("arrays/state/shape", []),
        ("arrays/state/shape", [17]),
        ("arrays/state/shape", [10**400, 17]),
        ("arrays/state/chunk_rows", 0),
        ("arrays/state/chunk_rows", 2**60),
        ("arrays", {}),
        ("trajectories", 2**60),
        ("trajectories", 10**400),
        ("transitions", 10**4000),
        ("arrays/state/chunk_rows", 10**4000),
        ("batch", 10**4000),
        ("first_trajectory", 10**4000),
        ("meta/seed", 10**4000),
        ("spec/decimation", 10**4000),
        ("spec/physics_dt", 10**4000),
        ("compression", "x" * 10**6),
        ("spec/name", "\x1b" * 10**6),
        ("transitions", -1),
        ("compression", "szip"),
        ("spec_hash", ""),
        ("spec/decimation", 5),
        ("schema", "nerd.trajectories/9"),
        ("meta", None),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_absurd_headers(tmp_path, sound, path, value):
    """A header with absurd sizes or contradictions, rightly sealed, is refused before memory is taken for it."""
    for original, _ in sound:
        content = seal(edit_header(original, lambda plain: _set(plain, path, value)))
        (tmp_path / "000000.h5").write_bytes(content)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(DataError, match="000000.h5") as refused:
            read_segment(tmp_path / "000000.h5")
        assert len(str(refused.value)) < 1000 and "\x1b" not in str(refused.value)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 64 * 1024


def test_a_bomb_is_refused(tmp_path, sound):
    """A chunk that unpacks to more than it should is given up at the size it should have."""
    original, _ = sound[2]
    (length,) = struct.unpack_from("<Q", original, 16)
    content = bytearray(original)
    bomb = zlib.compress(bytes(64 * 2**20), 9)
    struct.pack_into("<qq", content, 64 + length + 16, len(content), len(bomb))
    content += bomb
    struct.pack_into("<Q", content, 8, len(content))
    (tmp_path / "000000.h5").write_bytes(seal(content))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DataError, match="does not unpack"):
        read_segment(tmp_path / "000000.h5")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 32 * 1024


def test_what_unpacks_to_too_much_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    """A file of some hundred KB that unpacks to 200 MB of zeros is refused by its header alone, whoever opens it, with
    what was got, the limit, and how to raise it; once raised it is read.
    """
    monkeypatch.setenv(LIMIT, "200")
    steps = 2_000_000
    with ShardWriter(tmp_path, SPEC, ShardMeta(), compression="gzip") as writer:
        writer.append(np.zeros((1, steps + 1, SPEC.state.dim), "<f4"), np.zeros((1, steps, SPEC.control_dim), "<f4"))
    path = tmp_path / "shard-000" / "000000.h5"
    assert path.stat().st_size < 10**6
    assert read_segment(path)[1].transitions == steps
    monkeypatch.delenv(LIMIT)
    for call in (read_segment, TrajectoryDataset.open, check, write_manifest):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(DataError, match=f"unpacks to 1.. MB.*may have 128 MB.*{LIMIT}=1.."):
            call(path if call in (read_segment, check) else tmp_path)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 8 * 1024
    monkeypatch.setenv(LIMIT, "many")
    with pytest.raises(DataError, match=f"{LIMIT}=many, expected a number"):
        read_segment(path)


def test_many_chunks_that_claim_the_whole_file_cost_no_time(tmp_path):
    """Each chunk is as long as deflate may make it at most: else a table of many would keep a reader for hours."""
    rng = np.random.default_rng(0)
    with ShardWriter(tmp_path, SPEC, ShardMeta(), compression="gzip") as writer:
        writer.append(rng.random((20000, 2, SPEC.state.dim), "<f4"), rng.random((20000, 1, SPEC.control_dim), "<f4"))
    path = tmp_path / "shard-000" / "000000.h5"
    content = bytearray(path.read_bytes())
    length, chunks = struct.unpack_from("<QQ", content, 16)
    table = np.frombuffer(content, "<i8", 2 * chunks, 64 + length).reshape(-1, 2).copy()
    table[:, 1] = len(content) - table[:, 0]
    content[64 + length : 64 + length + table.nbytes] = table.tobytes()
    path.write_bytes(seal(content))
    begin = time.perf_counter()
    with pytest.raises(DataError, match="does not unpack to"):
        read_segment(path)
    assert time.perf_counter() - begin < 1.0


def test_swapped_arrays_are_refused(tmp_path, sound):
    """A header that exchanges two arrays does not fit the robot, nor do chunks of another array."""
    original, batch = sound[1]

    def swap(plain: dict) -> None:
        arrays = plain["arrays"]
        arrays["state"], arrays["control"] = arrays["control"], arrays["state"]

    (tmp_path / "000000.h5").write_bytes(seal(edit_header(original, swap)))
    with pytest.raises(DataError):
        read_segment(tmp_path / "000000.h5")


def test_files_that_are_not_ours(tmp_path):
    """Foreign HDF5 files, with whatever links and filters, other files, folders, pipes and devices are refused."""
    place = tmp_path / "shard-000"
    place.mkdir()
    path = place / "000000.h5"
    with h5py.File(path, "w") as file:
        file["state"] = h5py.ExternalLink("/etc/passwd", "/x")
        file["control"] = h5py.SoftLink("/state")
    for content in (path.read_bytes(), b"", b"NERDSEG1", b"NERDSEG1" + bytes(56), os.urandom(5000)):
        path.write_bytes(content)
        with pytest.raises(DataError, match="000000.h5"):
            TrajectoryDataset.open(tmp_path)
    for make in (Path.mkdir, os.mkfifo, lambda target: target.symlink_to("/dev/zero")):
        path.unlink()
        make(path)
        with pytest.raises(DataError, match="000000.h5"):
            TrajectoryDataset.open(tmp_path)
        if path.is_dir():
            path.rmdir()
            path.touch()


def test_edited_with_an_hdf5_tool(tmp_path):
    """A segment changed by another program is noticed: new links, resized or replaced data sets break the seal."""
    with ShardWriter(tmp_path, SPEC, ShardMeta()) as writer:
        writer.append_trajectories(make_batch(2, 5))
    path = tmp_path / "shard-000" / "000000.h5"
    original = path.read_bytes()

    def link(file: h5py.File) -> None:
        del file["state"]
        file["state"] = h5py.ExternalLink("other.h5", "/state")

    def overwrite(file: h5py.File) -> None:
        file["state"][0, 0] = 1e9

    def virtual(file: h5py.File) -> None:
        layout = h5py.VirtualLayout(shape=(2**40, 17), dtype="<f4")
        del file["state"]
        file.create_virtual_dataset("state", layout)

    for change in (link, overwrite, virtual):
        path.write_bytes(original)
        with h5py.File(path, "r+") as file:
            change(file)
        with pytest.raises(DataError, match="damaged|cut short or changed"):
            TrajectoryDataset.open(tmp_path)
