# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Shards: exact round trips, equal bytes for equal commands, resume, several writers, the manifest."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nerd_core.data import shards as shards_module
from nerd_core.data.layout import DataError, ShardMeta, command_line
from nerd_core.data.manifest import find_segments, write_manifest
from nerd_core.data.shards import ShardReader, ShardWriter
from nerd_core.robot.comparison import SpecMismatch
from nerd_core.robot.spec import Body, RobotSpec
from support.trajectories import SPEC, make_batch, make_padded, same

META = ShardMeta(task="hop", seed=3, teacher="random", excitation="uniform", contact_source="geometry")


def _bytes(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


@settings(deadline=None, max_examples=30)
@given(
    count=st.integers(1, 12),
    steps=st.integers(1, 30),
    seed=st.integers(0, 1000),
    recorded=st.booleans(),
    compression=st.sampled_from(["none", "gzip"]),
)
def test_what_is_written_is_read(tmp_path_factory, count, steps, seed, recorded, compression):
    """Any batch, ragged or not, packed or not, with contacts or not, comes back to the last bit."""
    root = tmp_path_factory.mktemp("data")
    batch = make_batch(count, steps, seed, recorded)
    with ShardWriter(root, SPEC, META, compression=compression) as writer:
        writer.append_trajectories(batch)
    (back,) = ShardReader(root / "shard-000")
    assert same(batch, back)


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_any_hdf5_tool_reads_it(tmp_path, compression):
    """A segment is an HDF5 file whose arrays, chunked by trajectory, and description are plain to see."""
    batch = make_padded(6, 10)
    batch["length"] = None
    with ShardWriter(tmp_path, SPEC, META, compression=compression) as writer:
        writer.append(**batch)
    with h5py.File(tmp_path / "shard-000" / "000000.h5") as file:
        state = file["state"]
        assert isinstance(state, h5py.Dataset)
        assert state.chunks == (11, SPEC.state.dim)
        assert np.array_equal(state[...].reshape(6, 11, -1), batch["state"])
        assert np.array_equal(file["control"][...].reshape(6, 10, -1), batch["control"])
        active = batch["contacts"]["active"].reshape(60, -1)
        assert np.array_equal(file["contacts/active"][...].astype(bool), active)
        expected = np.where(active[..., None], batch["contacts"]["normal"].reshape(60, -1, 3), 0)
        assert np.array_equal(file["contacts/normal"][...], expected)
        assert type(SPEC).from_json(file["spec_json"][()].decode()) == SPEC
        assert file.attrs["spec_hash"] == SPEC.content_hash


def test_equal_commands_give_equal_bytes(tmp_path):
    """Writing the same trajectories twice gives the same files, manifest included."""
    for name in ("one", "two"):
        for shard in range(2):
            with ShardWriter(tmp_path / name, SPEC, META, shard=shard, compression="gzip") as writer:
                writer.append_trajectories(make_batch(5, 8, shard))
        write_manifest(tmp_path / name)
    assert _bytes(tmp_path / "one") == _bytes(tmp_path / "two")


def test_resume_continues_where_it_stopped(tmp_path):
    """A writer that is opened again knows what is finished and goes on to the same bytes as one that never stopped."""
    with ShardWriter(tmp_path / "whole", SPEC, META) as writer:
        for index in range(4):
            writer.append_trajectories(make_batch(3, 6, index))
    for begin in (0, 2):
        with ShardWriter(tmp_path / "parts", SPEC, META) as writer:
            assert (writer.batches, writer.trajectories) == (begin, 3 * begin)
            assert writer.transitions == sum(make_batch(3, 6, index).transitions for index in range(begin))
            for index in range(begin, begin + 2):
                writer.append_trajectories(make_batch(3, 6, index))
    assert _bytes(tmp_path / "whole") == _bytes(tmp_path / "parts")


def test_a_large_batch_becomes_several_segments(tmp_path, monkeypatch):
    """A batch beyond the size of a segment is cut between trajectories and counts as one batch."""
    monkeypatch.setattr(shards_module, "SEGMENT_BYTES", 4000)
    batch = make_batch(20, 10)
    with ShardWriter(tmp_path, SPEC, META) as writer:
        writer.append_trajectories(batch)
        assert writer.segments > 3 and writer.batches == 1
    parts = list(ShardReader(tmp_path / "shard-000"))
    assert np.array_equal(np.concatenate([part.state for part in parts]), batch.state)
    last = tmp_path / "shard-000" / f"{writer.segments - 1:06d}.h5"
    last.unlink()  # as a kill between two renames would leave it
    with ShardWriter(tmp_path, SPEC, META) as writer:
        assert (writer.batches, writer.trajectories, writer.segments) == (0, 0, 0)


def test_one_writer_a_shard(tmp_path):
    """A shard takes one writer at a time; another shard of the same dataset is free, and so is one that was closed."""
    with ShardWriter(tmp_path, SPEC, META):
        with pytest.raises(DataError, match="being written by another process"):
            ShardWriter(tmp_path, SPEC, META)
        ShardWriter(tmp_path, SPEC, META, shard=1).close()
    ShardWriter(tmp_path, SPEC, META).close()


def test_a_shard_holds_one_robot_and_one_origin(tmp_path):
    """A shard is not continued for another robot or with other settings; the message says what differs."""
    with ShardWriter(tmp_path, SPEC, META) as writer:
        writer.append_trajectories(make_batch(2, 4))
    with pytest.raises(SpecMismatch, match="physics_dt"):
        ShardWriter(tmp_path, dataclasses.replace(SPEC, physics_dt=0.01), META)
    with pytest.raises(DataError, match="seed is 4, was 3"):
        ShardWriter(tmp_path, SPEC, dataclasses.replace(META, seed=4))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"state": np.zeros((2, 5, 3))}, "state"),
        ({"control": np.zeros((2, 5, 2))}, r"\(N, T \+ 1, S\)"),
        ({"length": np.array([0, 4])}, "lengths"),
        ({"length": np.array([5, 4])}, "lengths"),
        ({"ground": np.zeros((3, 4))}, "ground"),
        ({"body_force": np.zeros((2, 4, 9, 3))}, "body_force"),
        ({"contacts": {name: np.zeros((2, 4, 9)) for name in ("distance", "normal", "point", "active")}}, "contact"),
    ],
)
def test_wrong_shapes_are_refused(tmp_path, change, message):
    """What does not fit the robot is refused by name before anything is written."""
    batch = {"state": np.zeros((2, 5, SPEC.state.dim)), "control": np.zeros((2, 4, 2))} | change
    with ShardWriter(tmp_path, SPEC, META) as writer, pytest.raises(DataError, match=message):
        writer.append(**batch)
    assert not list(tmp_path.glob("*/*.h5*"))


def test_a_robot_of_thousands_of_bodies_is_refused(tmp_path):
    """Reading, kinematics and pages of such a robot take minutes: a writer says so at once."""
    bodies = (Body("root"), *(Body(f"b{index}", parent="root") for index in range(1000)))
    spec = RobotSpec("giant", True, (), bodies, (), physics_dt=0.005, decimation=1)
    with ShardWriter(tmp_path, spec, META) as writer, pytest.raises(DataError, match="1001 bodies.*at most 1000"):
        writer.append(np.zeros((1, 2, 13)), np.zeros((1, 1, 0)))


def test_the_manifest_says_what_there_is(tmp_path):
    """A manifest makes a dataset complete; a missing, added or exchanged file is noticed; a new writer revokes it."""
    for shard in range(2):
        with ShardWriter(tmp_path, SPEC, META, shard=shard) as writer:
            writer.append_trajectories(make_batch(3, 4, shard))
            writer.append_trajectories(make_batch(3, 4, shard + 5))
    assert not find_segments(tmp_path).complete
    manifest = write_manifest(tmp_path)
    contents = find_segments(tmp_path)
    assert contents.complete and manifest.trajectories == 12 and manifest.dataset_hash == contents.dataset_hash
    keep = tmp_path / "keep.h5"
    target = tmp_path / "shard-001" / "000001.h5"
    target.rename(keep)
    with pytest.raises(DataError, match=r"missing.*shard-001/000001.h5"):
        find_segments(tmp_path)
    shutil.copy(tmp_path / "shard-001" / "000000.h5", target)
    with pytest.raises(DataError, match="incomplete or mixed"):
        find_segments(tmp_path)
    keep.replace(target)
    assert find_segments(tmp_path).complete
    ShardWriter(tmp_path, SPEC, META, shard=2).close()
    assert not find_segments(tmp_path).complete


def test_a_manifest_cannot_point_elsewhere(tmp_path):
    """File names in a manifest are names of segments, not paths."""
    with ShardWriter(tmp_path / "data", SPEC, META) as writer:
        writer.append_trajectories(make_batch(1, 2))
    write_manifest(tmp_path / "data")
    manifest = tmp_path / "data" / "manifest.json"
    manifest.write_text(manifest.read_text().replace("shard-000/000000.h5", "../../etc/passwd"))
    with pytest.raises(DataError, match="expected 'shard-"):
        find_segments(tmp_path / "data")


def test_a_command_is_stored_without_paths():
    """The recorded command keeps its options and loses the folders of the machine."""
    words = ["/some/where/bin/nerd", "collect", "--task=Ant", "--out=/data/x/ant", "~/secret/file", "logs/run"]
    assert command_line(words) == "nerd collect --task=Ant --out=ant file logs/run"
