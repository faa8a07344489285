# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Trajectories on disk and in memory.

``fields`` is the table of all that can be recorded; a new quantity is one row there. ``layout`` packs and checks
batches, ``segment`` and ``shards`` write them so that a kill loses nothing that was finished, ``manifest`` declares a
dataset complete. ``dataset`` opens one, in memory or through the flat copy of ``flat``, and ``sampler`` cuts random
windows. ``inspection``, ``checks`` and ``plots`` are what ``nerd data`` shows. The format is in docs/data-format.md.

Example::

    from nerd_core.data.dataset import TrajectoryDataset
    from nerd_core.data.layout import ShardMeta
    from nerd_core.data.sampler import WindowSampler
    from nerd_core.data.shards import ShardWriter

    with ShardWriter(folder / "data", spec, ShardMeta(task="walk")) as writer:
        writer.append(states, controls)  # (N, T + 1, S) and (N, T, C)
    batch = next(WindowSampler(TrajectoryDataset.open(folder / "data"), length=4, batch=16))
"""
