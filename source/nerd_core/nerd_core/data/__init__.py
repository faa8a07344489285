# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Trajectories on disk and in memory: crash-safe shards, datasets, samplers of windows, inspection."""

from .dataset import TrajectoryBatch, TrajectoryDataset
from .layout import DataError, ShardMeta, Trajectories, command_line, host_name, pack_trajectories
from .manifest import find_segments, write_manifest
from .sampler import Prefetcher, WindowSampler
from .shards import ShardReader, ShardWriter

__all__ = [
    "DataError",
    "Prefetcher",
    "ShardMeta",
    "ShardReader",
    "ShardWriter",
    "Trajectories",
    "TrajectoryBatch",
    "TrajectoryDataset",
    "WindowSampler",
    "command_line",
    "find_segments",
    "host_name",
    "pack_trajectories",
    "write_manifest",
]
