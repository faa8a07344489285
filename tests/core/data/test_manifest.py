# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Manifests: what they claim is compared with what is there, and nothing is taken in without a word."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from nerd_core.cli import main as nerd
from nerd_core.data.checks import check
from nerd_core.data.layout import DataError, ShardMeta
from nerd_core.data.manifest import ManifestError, find_segments, write_manifest
from nerd_core.data.shards import MANIFEST, ShardWriter
from support.trajectories import SPEC, make_batch


@pytest.fixture
def dataset(tmp_path) -> Path:
    """A complete dataset of two segments."""
    with ShardWriter(tmp_path, SPEC, ShardMeta()) as writer:
        for seed in range(2):
            writer.append_trajectories(make_batch(3, 5, seed))
    write_manifest(tmp_path)
    return tmp_path


def _edit(dataset: Path, **changes: object) -> None:
    plain = json.loads((dataset / MANIFEST).read_text())
    (dataset / MANIFEST).write_text(json.dumps(plain | changes))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("trajectories", 7),
        ("transitions", 10**6),
        ("dataset_hash", "0" * 64),
        ("robot", "ant"),
        ("spec_hash", "0" * 64),
    ],
)
def test_what_a_manifest_claims_is_compared(dataset, field, value):
    """Totals, hash or robot other than those of the segments are refused by name when a dataset is opened, and are one
    error of the whole check, which goes on with the segments.
    """
    _edit(dataset, **{field: value})
    with pytest.raises(DataError, match=f"{field}: got .*, expected .*nerd data seal"):
        find_segments(dataset)
    found = {finding.what: finding for finding in check(dataset)}
    assert found["wrong manifest"].level == "error" and field in found["wrong manifest"].first
    assert "unreadable segments" not in found


def test_a_segment_that_the_manifest_does_not_list_is_told_about(dataset, capsys):
    """Under a manifest an unlisted sealed segment is refused, with what to do; sealing again takes it in."""
    manifest = (dataset / MANIFEST).read_bytes()
    with ShardWriter(dataset, SPEC, ShardMeta()) as writer:
        writer.append_trajectories(make_batch(3, 5, 2))
    (dataset / MANIFEST).write_bytes(manifest)
    with pytest.raises(DataError, match=r"not in the manifest.*shard-000/000002.h5.*nerd data seal"):
        find_segments(dataset)
    assert nerd(["data", "check", str(dataset)]) == 1
    assert "wrong manifest" in capsys.readouterr().out
    assert nerd(["data", "seal", str(dataset)]) == 0
    assert find_segments(dataset).complete and len(find_segments(dataset).segments) == 3


def test_a_crash_between_sealing_and_listing_is_told_about_and_loses_nothing(dataset, capsys):
    """A writer revokes the manifest before its first segment: what a crash then leaves is read, and called incomplete
    by 'info', by 'check' and by a training.
    """
    with ShardWriter(dataset, SPEC, ShardMeta()) as writer:
        writer.append_trajectories(make_batch(3, 5, 2))
    contents = find_segments(dataset)
    assert len(contents.segments) == 3 and not contents.complete
    nerd(["data", "info", str(dataset)])
    assert "no manifest" in capsys.readouterr().out
    assert [finding.what for finding in check(dataset)].count("no manifest") == 1
    nerd(
        ["train", str(dataset), "--out", str(dataset / "run"), "--updates", "1", "--free-motion", str(dataset / "none")]
    )
    assert f"'{dataset.name}' has no manifest" in capsys.readouterr().err


def test_the_manifest_is_gone_from_the_disk_before_the_first_segment(dataset, monkeypatch):
    """The folder is synced between removing the manifest and writing a segment, so that no power cut brings it back
    beside segments that it does not list.
    """
    events = []
    sync, names = os.fsync, {}

    def noted(descriptor: int) -> None:
        name = os.readlink(f"/proc/self/fd/{descriptor}")
        names[name] = (dataset / MANIFEST).exists()
        events.append((Path(name).name, (dataset / MANIFEST).exists()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    with ShardWriter(dataset, SPEC, ShardMeta()) as writer:
        assert (dataset.name, False) in events
        assert not any(".h5" in name for name, _ in events)
        writer.append_trajectories(make_batch(3, 5, 2))
    assert any(".h5" in name for name, _ in events)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_a_manifest_that_is_no_plain_file_is_refused(dataset, make):
    """A folder, a pipe or a link in the place of a manifest gives a message at once."""
    (dataset / MANIFEST).unlink()
    make(dataset / MANIFEST)
    with pytest.raises(ManifestError, match="not a plain file|is a link"):
        find_segments(dataset)
    assert "wrong manifest" in [finding.what for finding in check(dataset)]
