# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The table of fields: one row is enough for a new quantity, and datasets written before the table read the same."""

from __future__ import annotations

import hashlib
import json
import tarfile
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.data.fields import FIELDS, Field
from nerd_core.data.layout import DataError, ShardMeta, Trajectories
from nerd_core.data.manifest import write_manifest
from nerd_core.data.sampler import WindowSampler
from nerd_core.data.shards import ShardReader, ShardWriter
from support.trajectories import SPEC, make_padded

OLD = Path(__file__).parent / "fixtures" / "datasets_before_fields.tar.gz"
"""Three datasets, and what they hold, written by the version before the table (gzip with everything; states alone;
states and ground)."""

META = ShardMeta(
    task="old",
    seed=3,
    teacher="physx",
    teacher_mode="rewritten",
    excitation="uniform",
    contact_source="geometry",
    command="nerd generate",
    host="host",
    versions={"torch": "2"},
    notes={"k": "v"},
)
"""The origin that stands in the old datasets."""


@pytest.fixture(scope="module")
def old(tmp_path_factory) -> Path:
    """Folder with the three old datasets."""
    folder = tmp_path_factory.mktemp("old")
    with tarfile.open(OLD) as archive:
        archive.extractall(folder, filter="data")
    return folder


def _digest(value: torch.Tensor) -> str:
    return hashlib.sha256(value.numpy().tobytes()).hexdigest()


@pytest.mark.parametrize("storage", ["memory", "mapped"])
@pytest.mark.parametrize("name", ["everything", "states", "ground"])
def test_old_datasets_read_to_the_same_bits(old: Path, tmp_path: Path, name: str, storage):
    """Arrays, split keys, lengths and the hash of a dataset written before are what they were then."""
    expected = json.loads((old / "expected.json").read_text())[name]
    recorded = ("contacts", "body_force") if name == "everything" else ()
    data = TrajectoryDataset.open(old / name, SPEC, recorded=recorded, storage=storage, cache=tmp_path)
    assert {key: _digest(value) for key, value in data.arrays.items()} == expected["arrays"]
    assert data.dataset_hash == expected["hash"] and data.length.tolist() == expected["length"]
    assert hashlib.sha256(data.key.tobytes()).hexdigest() == expected["key"]
    assert data.meta == (META,) and data.complete


@pytest.mark.parametrize("storage", ["memory", "mapped"])
@pytest.mark.parametrize("rows", ["step", "state", "trajectory"])
def test_a_new_quantity_is_one_row(tmp_path, monkeypatch, storage, rows):
    """With a row more in the table a made-up quantity is packed, checked, written, read, cached, cut and joined."""
    monkeypatch.setitem(FIELDS, "warmth", Field("made up", "K", lambda spec: (len(spec.joints), 2), rows))
    padded = make_padded(6, 5, recorded=False)
    length = padded["length"] = np.full(6, 5)
    lead = {"step": (6, 5), "state": (6, 6), "trajectory": (6,)}[rows]
    warmth = np.random.default_rng(0).standard_normal((*lead, 2, 2)).astype(np.float32)
    with ShardWriter(tmp_path, SPEC, META) as writer:
        writer.append(**padded, warmth=torch.from_numpy(warmth))
        with pytest.raises(DataError, match="warmth"):
            writer.append(**padded, warmth=warmth[..., :1])
    write_manifest(tmp_path)
    (batch,) = ShardReader(tmp_path / "shard-000")
    assert np.array_equal(batch.warmth.reshape(warmth.shape), warmth)
    with h5py.File(tmp_path / "shard-000" / "000000.h5") as file:
        assert file["warmth"].shape == (int(batch.rows("warmth")[-1]), 2, 2)  # type: ignore[union-attr]
    data = TrajectoryDataset.open(tmp_path, recorded=("warmth",), storage=storage)
    windows = WindowSampler(data, 3, 4).batch_at(0).to("cpu")
    assert windows.warmth.shape == {"step": (4, 3, 2, 2), "state": (4, 4, 2, 2), "trajectory": (4, 2, 2)}[rows]
    whole = TrajectoryDataset.join([data, data]).trajectory(7)
    assert np.array_equal(whole.warmth[0].numpy(), warmth[1])
    memory = TrajectoryDataset.from_tensors(SPEC, padded["state"], padded["control"], length=length, warmth=warmth)
    assert np.array_equal(memory.trajectory(1).warmth[0].numpy(), warmth[1])
    assert TrajectoryDataset.open(tmp_path).trajectory(0).warmth is None
    monkeypatch.undo()
    with pytest.raises(DataError, match="unknown array 'warmth'"):
        TrajectoryDataset.open(tmp_path)


def test_what_is_not_in_the_table_is_refused(tmp_path):
    """A name without a row is an error in each place that takes fields by name."""
    padded = make_padded(2, 3, recorded=False)
    with pytest.raises(DataError, match=r"unknown fields \['warmth'\]"), ShardWriter(tmp_path, SPEC, META) as writer:
        writer.append(**padded, warmth=np.zeros((2, 3)))
    with pytest.raises(DataError, match=r"unknown fields \['warmth'\]"):
        TrajectoryDataset.from_tensors(SPEC, **padded, warmth=np.zeros((2, 3)))
    zeros = np.zeros(1)
    with pytest.raises(DataError, match=r"unknown fields \['warmth'\]"):
        Trajectories(length=zeros, state=zeros, control=zeros, warmth=zeros)
    with ShardWriter(tmp_path, SPEC, META) as writer:
        writer.append(**padded)
    with pytest.raises(DataError, match=r"unknown fields \['warmth'\]"):
        TrajectoryDataset.open(tmp_path, recorded=("warmth",))


def test_the_page_on_the_format_names_every_field(repo_root: Path):
    """Each row of the table stands in docs/data-format.md, under its name in the file."""
    page = (repo_root / "docs" / "data-format.md").read_text()
    for name, field in FIELDS.items():
        assert f"`{field.group}/{field.member}`" in page or f"`{name}`" in page, name
