# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The sampler: every window once an epoch, in a random order that a seed and a number fix."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.data.layout import DataError
from nerd_core.data.sampler import Prefetcher, WindowSampler, permute
from support.trajectories import SPEC, make_padded


def _data(count: int = 20, steps: int = 15) -> TrajectoryDataset:
    padded = make_padded(count, steps)
    return TrajectoryDataset.from_tensors(SPEC, padded["state"], padded["control"], length=padded["length"])


@settings(deadline=None, max_examples=60)
@given(count=st.integers(1, 5000), seed=st.integers(-(2**40), 2**40), epoch=st.integers(0, 1000))
def test_the_order_is_a_permutation(count, seed, epoch):
    """For any number of windows, seed and epoch the order visits each number exactly once."""
    assert np.array_equal(np.sort(permute(np.arange(count), count, seed, epoch)), np.arange(count))


def test_the_order_looks_random():
    """Orders of different seeds and epochs, neighbours and positions are uncorrelated."""
    count = 4096
    base = np.arange(count)
    orders = [permute(base, count, seed, epoch) for seed in range(4) for epoch in range(4)]
    bound = 5 / np.sqrt(count)
    for i, order in enumerate(orders):
        assert abs(np.corrcoef(order, base)[0, 1]) < bound
        assert abs(np.corrcoef(order[1:], order[:-1])[0, 1]) < bound
        assert all(abs(np.corrcoef(order, other)[0, 1]) < bound for other in orders[:i])
    first = permute(np.zeros(1, np.int64), count, 0, 0)
    firsts = np.concatenate([permute(np.zeros(1, np.int64), count, seed, 0) for seed in range(400)])
    assert firsts[0] == first[0] and abs(firsts.mean() / count - 0.5) < 0.08


@settings(deadline=None, max_examples=25)
@given(length=st.integers(1, 15), batch=st.integers(1, 64))
def test_an_epoch_has_every_window_once(length, batch):
    """Over one epoch each window of each trajectory long enough appears once, and none crosses an end."""
    data = _data()
    expected = {(i, s) for i, steps in enumerate(data.length) for s in range(steps - length + 1)}
    if not expected:
        return
    sampler = WindowSampler(data, length, batch, seed=5)
    assert sampler.windows == len(expected)
    steps = -(-sampler.windows // batch)
    numbers = np.concatenate([sampler.window_numbers(step) for step in range(steps)])[: sampler.windows]
    assert set(zip(*(part.tolist() for part in sampler.locate(numbers)), strict=True)) == expected


def test_resume_is_exact():
    """A sampler that takes over the state of another goes on with the same batches; another stream is refused."""
    one = WindowSampler(_data(), 4, 16, seed=2)
    for _ in range(7):
        next(one)
    state = one.state_dict()
    other = WindowSampler(_data(), 4, 16, seed=2)
    other.load_state_dict(state)
    for _ in range(20):
        left, right = next(one), next(other)
        assert torch.equal(left.state, right.state) and torch.equal(left.control, right.control)
    with pytest.raises(DataError, match="seed: got 2, expected 3"):
        WindowSampler(_data(), 4, 16, seed=3).load_state_dict(state)
    with pytest.raises(DataError, match="windows"):
        WindowSampler(_data(19), 4, 16, seed=2).load_state_dict(state)
    with pytest.raises(DataError, match="position"):
        other.load_state_dict(state | {"step": -1})


def test_ranks_share_one_stream():
    """The batches of the ranks of a distributed run, one after another, are those of a single process."""
    alone = WindowSampler(_data(), 4, 24, seed=1)
    ranks = [WindowSampler(_data(), 4, 8, seed=1, rank=rank, world=3) for rank in range(3)]
    for step in range(10):
        together = np.concatenate([rank.window_numbers(step) for rank in ranks])
        assert np.array_equal(together, alone.window_numbers(step))
    assert alone.epoch == ranks[0].epoch == 0


def test_prefetching_changes_nothing():
    """Reading ahead gives the same batches, and its state is that after the last batch handed out."""
    plain = WindowSampler(_data(), 4, 16)
    with Prefetcher(WindowSampler(_data(), 4, 16), depth=3) as ahead:
        for _ in range(9):
            assert torch.equal(next(plain).state, next(ahead).state)
        assert ahead.state_dict() == plain.state_dict()
    with pytest.raises(StopIteration):
        next(ahead)


def test_an_error_in_the_thread_is_raised():
    """What goes wrong while reading ahead reaches the one who waits."""
    sampler = WindowSampler(_data(), 4, 16)
    sampler.dataset.arrays["state"] = None  # type: ignore[assignment]
    with Prefetcher(sampler) as ahead, pytest.raises(AttributeError):
        next(ahead)


def test_no_window_is_an_error():
    """Windows longer than every trajectory are refused with the longest one's length."""
    with pytest.raises(DataError, match="longest of 20 trajectories"):
        WindowSampler(_data(), 16, 4)
