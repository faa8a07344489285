# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Datasets: the same numbers whatever the storage, stable splits, windows, little memory."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
import torch

from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.data.inspection import inspect
from nerd_core.data.layout import DataError, ShardMeta
from nerd_core.data.plots import plot
from nerd_core.data.shards import ShardWriter
from nerd_core.robot.comparison import SpecMismatch
from nerd_core.robot.spec import Body, RobotSpec
from support.trajectories import SPEC, make_batch, make_padded


def _write(root, shards: int = 2, batches: int = 2, count: int = 30) -> None:
    for shard in range(shards):
        with ShardWriter(root, SPEC, ShardMeta(), shard=shard) as writer:
            for index in range(writer.batches, batches):
                writer.append_trajectories(make_batch(count, 12, 100 * shard + index))


@pytest.mark.parametrize("storage", ["memory", "mapped"])
def test_windows_are_what_was_written(tmp_path, storage):
    """Every window of every trajectory, ragged, with contacts, ground and forces, equals the recorded slice."""
    padded = make_padded(7, 9)
    with ShardWriter(tmp_path, SPEC, ShardMeta()) as writer:
        writer.append(**padded)
        writer.append(**make_padded(3, 5, seed=1))
    data = TrajectoryDataset.open(tmp_path, SPEC, storage=storage, recorded=("contacts", "body_force"))
    assert len(data) == 10 and data.complete is False
    for index, steps in enumerate(padded["length"]):
        for length in range(1, steps + 1):
            starts = np.arange(steps - length + 1)
            batch = data.gather(np.full_like(starts, index), starts, length)
            for start in starts:
                cut = slice(start, start + length)
                contacts = padded["contacts"]
                active = contacts["active"][index, cut]
                assert batch.contacts is not None and batch.ground is not None and batch.body_force is not None
                assert torch.equal(batch.state[start], torch.from_numpy(padded["state"][index, start : cut.stop + 1]))
                assert torch.equal(batch.control[start], torch.from_numpy(padded["control"][index, cut]))
                assert torch.equal(batch.body_force[start], torch.from_numpy(padded["body_force"][index, cut]))
                assert torch.equal(batch.ground[start], torch.from_numpy(padded["ground"][index]))
                assert np.array_equal(batch.contacts.active[start], active)
                assert np.array_equal(batch.contacts.distance[start], contacts["distance"][index, cut] * active)
                assert np.array_equal(batch.contacts.point[start], contacts["point"][index, cut] * active[..., None])


def test_tensors_make_a_dataset_too():
    """A dataset made from tensors equals the one that went through files."""
    padded = make_padded(5, 8)
    data = TrajectoryDataset.from_tensors(
        SPEC, torch.from_numpy(padded["state"]), torch.from_numpy(padded["control"]), length=padded["length"]
    )
    whole = data.trajectory(3)
    steps = padded["length"][3]
    assert np.array_equal(whole.state[0], padded["state"][3, : steps + 1])
    assert np.array_equal(whole.control[0], padded["control"][3, :steps])
    assert whole.contacts is None and whole.ground is None
    assert torch.equal(data.to("cpu").trajectory(3).state, whole.state)


def test_a_window_cannot_pass_an_end():
    """Windows that would run into the next trajectory are refused."""
    data = TrajectoryDataset.from_tensors(SPEC, np.zeros((2, 5, SPEC.state.dim)), np.zeros((2, 4, 2)))
    with pytest.raises(DataError, match="passes the end"):
        data.gather(np.array([0]), np.array([1]), 4)
    with pytest.raises(DataError, match="passes the end"):
        data.gather(np.array([0]), np.array([-1]), 4)
    with pytest.raises(DataError, match="the longest of 2 trajectories has 4"):
        data.beginnings(5)


def test_splits_do_not_move(tmp_path):
    """Training, validation and test share no trajectory and cover all; shards and batches added later move none."""
    _write(tmp_path, shards=1, batches=1)
    fractions = (0.6, 0.2, 0.2)

    def keys(name: str) -> set[int]:
        return set(TrajectoryDataset.open(tmp_path).split(name, fractions).key.tolist())  # type: ignore[arg-type]

    before = {name: keys(name) for name in ("train", "valid", "test")}
    assert sum(map(len, before.values())) == 30 == len(set.union(*before.values()))
    _write(tmp_path, shards=3, batches=4)
    after = {name: keys(name) for name in ("train", "valid", "test")}
    assert all(before[name] <= after[name] for name in before)
    assert sum(map(len, after.values())) == 360
    assert [round(len(after[name]) / 360, 1) for name in ("train", "valid", "test")] == [0.6, 0.2, 0.2]
    with pytest.raises(DataError, match="three shares of 1"):
        TrajectoryDataset.open(tmp_path).split("train", (0.5, 0.2, 0.2))


def test_trajectories_with_nan_are_left_out():
    """A NaN or an infinity anywhere in a trajectory keeps it, and it alone, from training."""
    padded = make_padded(6, 8)
    padded["length"] = None
    padded["state"][1, 8, 3] = np.nan
    padded["control"][4, 0, 0] = np.inf
    padded["contacts"]["distance"][5, 2, 0] = np.nan
    padded["contacts"]["active"][5, 2, 0] = True
    data = TrajectoryDataset.from_tensors(SPEC, **padded)
    assert data.excluded == 3 and data.number.tolist() == [0, 2, 3]
    assert np.array_equal(data.trajectory(1).state[0], padded["state"][2])
    with pytest.raises(DataError, match="all 6 trajectories"):
        TrajectoryDataset.from_tensors(SPEC, padded["state"] * np.nan, padded["control"])


def test_another_robot_is_refused(tmp_path):
    """Data of another robot are refused with the difference in words, and so is a mixture of robots."""
    _write(tmp_path, shards=1, batches=1)
    other = dataclasses.replace(SPEC, decimation=2)
    with pytest.raises(SpecMismatch, match="decimation: got 4, expected 2"):
        TrajectoryDataset.open(tmp_path, other)
    with ShardWriter(tmp_path, other, ShardMeta(), shard=1) as writer:
        writer.append_trajectories(make_batch(2, 3))
    with pytest.raises(SpecMismatch, match="shard-001/000000.h5"):
        TrajectoryDataset.open(tmp_path)


def test_what_was_not_recorded_is_named(tmp_path):
    """Asking for contacts that a segment does not hold names the segment and the arrays."""
    with ShardWriter(tmp_path, SPEC, ShardMeta()) as writer:
        writer.append_trajectories(make_batch(2, 3, recorded=False))
    with pytest.raises(DataError, match=r"shard-000/000000.h5' does not hold \['contact_distance'"):
        TrajectoryDataset.open(tmp_path, recorded=("contacts",))
    with pytest.raises(DataError, match="there is no dataset"):
        TrajectoryDataset.open(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no finished trajectories"):
        TrajectoryDataset.open(tmp_path / "empty")


def test_a_damaged_copy_is_made_again(tmp_path):
    """The flat copy is verified: bits that rot, files cut short and copies of older data are replaced, not read."""
    _write(tmp_path, shards=1, batches=1)
    expected = TrajectoryDataset.open(tmp_path, storage="memory").arrays["state"]
    TrajectoryDataset.open(tmp_path, storage="mapped")
    (state,) = tmp_path.glob(".cache/*/state.bin")
    sound = state.read_bytes()
    for damaged in (sound[:1000] + b"\x55" + sound[1001:], sound[:-4], b""):
        state.write_bytes(damaged)
        assert torch.equal(TrajectoryDataset.open(tmp_path, storage="mapped").arrays["state"], expected)
        assert state.read_bytes() == sound
    state.with_name("index.json").write_text("{}")
    assert torch.equal(TrajectoryDataset.open(tmp_path, storage="mapped").arrays["state"], expected)
    _write(tmp_path, shards=1, batches=2)
    assert len(TrajectoryDataset.open(tmp_path, storage="mapped")) == 60


def test_mapped_data_take_no_memory(tmp_path):
    """Copying, opening and sampling 96 MB of trajectories takes less than 48 MB that the system cannot drop."""
    rng = np.random.default_rng(0)
    state = rng.standard_normal((1000, 101, SPEC.state.dim), dtype=np.float32)
    with ShardWriter(tmp_path, SPEC, ShardMeta()) as writer:
        for _ in range(12):
            writer.append(state, np.zeros((1000, 100, 2), np.float32))
    program = """
import re, resource, sys
import torch
from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.data.sampler import WindowSampler
def memory():
    return int(re.search(r"VmData:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
torch.zeros(10) + 1
resource.setrlimit(resource.RLIMIT_DATA, (memory() + 48 * 2**20,) * 2)
data = TrajectoryDataset.open(sys.argv[1], storage="mapped")
size = sum(value.nbytes for value in data.arrays.values())
sampler = WindowSampler(data, 20, 256)
total = sum(float(next(sampler).state.sum()) for _ in range(200))
print(size, total)
"""
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        capture_output=True,
        text=True,
        env={"OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin", "MALLOC_ARENA_MAX": "1"},
    )
    assert run.returncode == 0, run.stderr
    assert int(run.stdout.split()[0]) > 90e6


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_a_robot_without_controls_and_slots(tmp_path, compression):
    """A free body that nothing drives goes through files, copies, windows and statistics like any robot."""
    cube = RobotSpec("cube", True, (), (Body("cube"),), (), physics_dt=0.005, decimation=1)
    state = np.random.default_rng(0).standard_normal((5, 9, 13)).astype(np.float32)
    with ShardWriter(tmp_path, cube, ShardMeta(), compression=compression) as writer:
        writer.append(state, np.zeros((5, 8, 0)))
    for storage in ("memory", "mapped"):
        data = TrajectoryDataset.open(tmp_path, cube, storage=storage)
        batch = data.beginnings(8)
        assert np.array_equal(batch.state, state) and batch.control.shape == (5, 8, 0)
        assert inspect(data).control == ()
    plot(inspect(data), tmp_path / "page.png")
