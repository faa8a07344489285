# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Several datasets as one."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.data.layout import DataError
from nerd_core.data.sampler import WindowSampler
from nerd_core.robot.comparison import SpecMismatch
from support.robots import ant, cartpole


def make(count: int, steps: int, seed: int, broken: int = 0) -> TrajectoryDataset:
    """Random trajectories, the first ones with a NaN."""
    generator = torch.Generator().manual_seed(seed)
    state = torch.randn(count, steps + 1, 4, generator=generator)
    state[:broken, 0] = torch.nan
    return TrajectoryDataset.from_tensors(cartpole(), state, torch.randn(count, steps, 2, generator=generator))


@settings(deadline=None, max_examples=30)
@given(counts=st.lists(st.integers(2, 5), min_size=1, max_size=4), broken=st.integers(0, 1), seed=st.integers(0, 99))
def test_every_trajectory_is_there_once(counts, broken, seed):
    """A join has all trajectories of its parts in order, number by number, whatever their lengths and exclusions."""
    parts = [make(count, 3 + index, seed + index, broken) for index, count in enumerate(counts)]
    joined = TrajectoryDataset.join(parts)
    assert joined.transitions == sum(part.transitions for part in parts)
    assert joined.excluded == sum(part.excluded for part in parts)
    expected = [part.trajectory(index) for part in parts for index in range(len(part))]
    found = [joined.trajectory(index) for index in range(len(joined))]
    for one, other in zip(found, expected, strict=True):
        assert torch.equal(one.state, other.state) and torch.equal(one.control, other.control)


def test_shards_of_one_name_are_split_apart():
    """Two datasets whose shards have the same names do not send the same trajectories to training and validation."""
    parts = [make(400, 2, seed) for seed in (0, 1)]
    joined = TrajectoryDataset.join(parts)
    assert len(np.unique(joined.key)) == len(joined)
    valid = joined.split("valid", (0.5, 0.5, 0.0)).number
    assert set(valid[valid < 400]) != set(valid[valid >= 400] - 400)


def test_windows_of_a_join_stay_inside_their_trajectories():
    """The sampler sees each window of each part exactly once in an epoch."""
    joined = TrajectoryDataset.join([make(3, 4, 0), make(2, 7, 1, broken=1)])
    sampler = WindowSampler(joined, 2, 1)
    windows = {tuple(next(sampler).state.flatten().tolist()) for _ in range(sampler.windows)}
    assert len(windows) == sampler.windows == 3 * 3 + 1 * 6


def test_what_does_not_go_together_is_refused():
    """Another robot, or data with other fields, is named."""
    spec = ant()
    state = torch.zeros(2, 3, spec.state.dim)
    other = TrajectoryDataset.from_tensors(spec, state, torch.zeros(2, 2, spec.control_dim))
    with pytest.raises(SpecMismatch):
        TrajectoryDataset.join([make(2, 2, 0), other])
    grounded = TrajectoryDataset.from_tensors(
        cartpole(), torch.zeros(2, 3, 4), torch.zeros(2, 2, 2), ground=torch.tensor([0.0, 0.0, 1.0, 0.0])
    )
    with pytest.raises(DataError, match="same .*--ground"):
        TrajectoryDataset.join([make(2, 2, 0), grounded])
