# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a collection compares with a dataset that is there already, before it starts an engine."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from nerd_core.data.manifest import ManifestError, find_segments, write_manifest
from nerd_core.data.shards import MANIFEST, ShardWriter
from nerd_isaaclab.collect import run
from nerd_isaaclab.collect.collect_cfg import CollectCfg
from nerd_isaaclab.collect.messages import CollectReport
from nerd_isaaclab.collect.origin import origin_of, require_same_origin
from support.trajectories import SPEC, make_batch

pytestmark = pytest.mark.unit


def _begun(folder: Path, cfg: CollectCfg, shard: int = 0) -> None:
    """One shard as a collection writes it, with made-up motion."""
    with ShardWriter(folder, SPEC, origin_of(cfg.resolved()), shard=shard) as writer:
        writer.append_trajectories(make_batch(3, 5, shard))


@pytest.mark.parametrize(
    ("begun", "goes_on", "words"),
    [
        (("env.scene.env_spacing=5",), (), r"env.scene.env_spacing is not set, was 5"),
        ((), ("env.scene.env_spacing=5",), r"env.scene.env_spacing is 5, was not set"),
        (
            ("env.sim.dt=0.01", "env.a=1"),
            ("env.a=1", "env.sim.dt=0.02"),
            r"begun with other settings: env.sim.dt is 0.02, was 0.01\.",
        ),
    ],
)
def test_a_dataset_goes_on_with_the_same_changes_of_the_task_only(tmp_path, monkeypatch, begun, goes_on, words):
    """Changes of the task (env.*) are part of a dataset's origin: other ones are refused by name, in any shard, before
    an engine starts, and the manifest stays.
    """
    cfg = CollectCfg("NeRD-Cartpole", overrides=begun)
    _begun(tmp_path, cfg)
    _begun(tmp_path, cfg, shard=1)
    write_manifest(tmp_path)
    monkeypatch.setattr(run, "_Worker", None)
    with pytest.raises(ValueError, match=words):
        run.collect(dataclasses.replace(cfg, overrides=goes_on), tmp_path, quiet=True)
    assert (tmp_path / MANIFEST).exists()
    assert find_segments(tmp_path).segments[0].header.meta.notes.get("env.a") == ("1" if "env.a=1" in begun else None)


def test_the_same_changes_in_another_order_go_on(tmp_path):
    """Of two words for one field the last one counts, their order means nothing else, and no folder is stored."""
    words = ("env.b=0", "env.a=/somewhere/plane.usd", "env.b=2")
    cfg = CollectCfg("NeRD-Cartpole", overrides=words).resolved()
    assert origin_of(cfg).notes["env.a"] == "plane.usd" and origin_of(cfg).notes["env.b"] == "2"
    require_same_origin(tmp_path, cfg)
    _begun(tmp_path, cfg)
    require_same_origin(tmp_path, dataclasses.replace(cfg, overrides=("env.b=2", words[1])))


def test_a_segment_that_the_manifest_does_not_list_is_not_taken_in(tmp_path):
    """A collection does not go on with a dataset that is not what its manifest says."""
    cfg = CollectCfg("NeRD-Cartpole").resolved()
    _begun(tmp_path, cfg)
    write_manifest(tmp_path)
    manifest = (tmp_path / MANIFEST).read_bytes()
    _begun(tmp_path, cfg, shard=1)
    (tmp_path / MANIFEST).write_bytes(manifest)
    with pytest.raises(ManifestError, match="not in the manifest.*shard-001/000000.h5"):
        require_same_origin(tmp_path, cfg)


def test_shards_of_more_workers_are_told_about(tmp_path, monkeypatch):
    """Going on with fewer workers keeps the other shards, and the result says how much they hold."""
    cfg = CollectCfg("NeRD-Cartpole")
    for shard in range(2):
        _begun(tmp_path, cfg, shard)
    first, second = (segment.header.transitions for segment in find_segments(tmp_path).segments)

    class Done:
        """A worker whose shard is full already."""

        code, begun_at, begun_with, transitions = 0, 0.0, first, first
        report = CollectReport(batches=1, transitions=first, trajectories=3)

        def __init__(self, order: object):
            self.process = self

        def stop(self) -> None:
            """Nothing runs."""

    monkeypatch.setattr(run, "_Worker", Done)
    result = run.collect(cfg, tmp_path, transitions=first, workers=1, quiet=True)
    assert result.transitions == first and f"holds {second} transitions more" in result.warnings[0]
