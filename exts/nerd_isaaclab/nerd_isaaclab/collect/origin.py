# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Where a collection comes from, as far as its settings say, and whether a dataset was begun with the same."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from nerd_core.data.layout import ShardMeta, host_name
from nerd_core.data.manifest import find_segments
from nerd_core.data.shards import origin_differences
from nerd_core.files.provenance import file_digest, without_folder

from .collect_cfg import CollectCfg, CollectError


def origin_of(cfg: CollectCfg) -> ShardMeta:
    """The origin that a collection writes into its segments, without what only a running engine knows.

    Args:
        cfg: What to collect, resolved.
    """
    notes = {
        "initial": cfg.initial,
        "ranges": json.dumps(cfg.ranges, sort_keys=True),
        "num_envs": str(cfg.num_envs),
        "steps": str(cfg.steps),
        "managers": str(cfg.managers).lower(),
        "ground": cfg.ground,
        "contacts": cfg.contacts,
        "action_reach": "of the task's agent" if cfg.action_reach is None else f"{cfg.action_reach:g}",
        "randomised": str(cfg.randomised).lower(),
    }
    if cfg.visited is not None:
        notes |= {
            "visited": file_digest(Path(cfg.visited) / "manifest.json"),
            "visited_steps": str(cfg.visited_steps),
        }
    if cfg.policy is not None:
        from ..policies.load import load_policy  # loads PyTorch

        notes |= {"policy": load_policy(cfg.policy).digest(), "policy_noise": f"{cfg.policy_noise:g}"}
    for word in cfg.overrides:
        path, _, value = without_folder(word).partition("=")
        notes[path] = value  # of two for the same field the last one counts
    return ShardMeta(
        task=cfg.task,
        seed=cfg.seed,
        teacher_mode=cfg.teacher_mode,
        excitation=", ".join(f"{kind} {share:g}" for kind, share in sorted(cfg.shares.items())),
        host=host_name(),
        notes=notes,
    )


def require_same_origin(out: Path, cfg: CollectCfg) -> None:
    """Raises an error unless a dataset is empty, or was begun with these settings and is what its manifest says.

    Each worker compares its own shard again, with what its engine knows. This looks at all shards before any engine
    starts, so that a dataset of two origins cannot come about.

    Args:
        out: Folder of the dataset.
        cfg: What to collect, resolved.

    Raises:
        CollectError: The settings differ.
        DataError: The dataset cannot be read, or its manifest says something else.
    """
    if not any(out.glob("shard-*/*.h5")):
        return
    expected = origin_of(cfg)
    for segment in find_segments(out).segments:
        found = segment.header.meta
        same = {name: getattr(found, name) for name in ("teacher", "contact_source", "versions")}
        differences = origin_differences(dataclasses.replace(expected, **same), found)
        if differences:
            raise CollectError(
                f"'{out}' was begun with other settings: {differences}. Continue it with the same settings, or write "
                "to another folder"
            )
