# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Batches of windows without a list of windows.

All windows of a dataset are numbered by cumulative sums over the trajectories. An epoch visits every number once, in
an order given by a keyed bijection of ``0 ... n - 1`` that is computed where it is needed. So batch ``k`` is a pure
function of the seed and ``k``: nothing is shuffled or stored, resuming is exact, and the ranks of a distributed run
read disjoint parts of the same stream.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..files.messages import shortened
from .dataset import TrajectoryBatch, TrajectoryDataset, mix
from .layout import DataError

_ROUNDS = 6


class WindowSampler:
    """An endless stream of batches in which every window appears once an epoch, in random order."""

    def __init__(
        self, dataset: TrajectoryDataset, length: int, batch: int, seed: int = 0, *, rank: int = 0, world: int = 1
    ):
        """Numbers the windows.

        Args:
            dataset: Where to cut windows.
            length: Number of transitions of a window. Trajectories that are shorter are not used.
            batch: Number of windows of a batch, on each rank.
            seed: Seed of the order.
            rank: Which of the processes this is.
            world: Number of processes that share the stream.
        """
        if length < 1 or batch < 1 or not 0 <= rank < world:
            raise DataError(f"got length {length}, batch {batch}, rank {rank} of {world}, expected positive numbers")
        self.dataset, self.length, self.batch, self.seed = dataset, length, batch, seed
        self.rank, self.world = rank, world
        self.step = 0
        """Number of the next batch."""
        counts = np.maximum(dataset.length - length + 1, 0)
        self._ends = np.cumsum(counts)
        self._begins = self._ends - counts
        self.windows = int(self._ends[-1]) if len(counts) else 0
        """Number of windows of the dataset."""
        if not self.windows:
            longest = int(dataset.length.max(initial=0))
            raise DataError(
                f"got windows of {length} transitions, the longest of {len(dataset)} trajectories has {longest}: "
                "use shorter windows or longer trajectories"
            )

    @property
    def epoch(self) -> float:
        """How often every window has been seen."""
        return self.step * self.batch * self.world / self.windows

    def batch_at(self, step: int) -> TrajectoryBatch:
        """The batch with a given number, on this rank."""
        trajectory, start = self.locate(self.window_numbers(step))
        return self.dataset.gather(trajectory, start, self.length)

    def window_numbers(self, step: int) -> np.ndarray:
        """Numbers of the windows of a batch, int64, shape (batch,)."""
        first = (step * self.world + self.rank) * self.batch
        position = np.arange(first, first + self.batch, dtype=np.int64)
        epoch = position // self.windows
        numbers = np.empty_like(position)
        for one in np.unique(epoch):
            here = epoch == one
            numbers[here] = permute(position[here] - one * self.windows, self.windows, self.seed, int(one))
        return numbers

    def locate(self, window: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Trajectory and first step of windows given by number."""
        trajectory = np.searchsorted(self._ends, window, side="right")
        return trajectory, window - self._begins[trajectory]

    def __iter__(self) -> Iterator[TrajectoryBatch]:
        return self

    def __next__(self) -> TrajectoryBatch:
        batch = self.batch_at(self.step)
        self.step += 1
        return batch

    def state_dict(self) -> dict[str, int]:
        """What is needed to go on with the next batch, in another process."""
        return {"step": self.step, **self._identity()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on where :meth:`state_dict` was taken. Raises when the stream would be another one."""
        expected = self._identity()
        other = {key: (state.get(key), value) for key, value in expected.items() if state.get(key) != value}
        if other:
            words = ", ".join(f"{key}: got {shortened(got)}, expected {value}" for key, (got, value) in other.items())
            raise DataError(f"the saved position belongs to another stream of windows ({words})")
        step = state.get("step")
        if not isinstance(step, int) or isinstance(step, bool) or step < 0:
            raise DataError(f"got the position {shortened(step)}, expected a number of batches")
        self.step = step

    def _identity(self) -> dict[str, int]:
        return {
            "seed": self.seed,
            "length": self.length,
            "batch": self.batch,
            "world": self.world,
            "windows": self.windows,
        }


class Prefetcher:
    """Reads batches ahead in a thread. The stream and the state are those of the sampler."""

    def __init__(self, sampler: WindowSampler, depth: int = 2, pin_memory: bool = False):
        """Starts to read.

        Args:
            sampler: Where the batches come from; not to be used by others meanwhile.
            depth: Number of batches that wait at most.
            pin_memory: Whether to bring batches into page-locked memory.
        """
        self.sampler = sampler
        self._pin = pin_memory
        self._ready: queue.Queue = queue.Queue(maxsize=max(1, depth))
        self._stop = threading.Event()
        self._next = sampler.step
        self._thread = threading.Thread(target=self._run, name="nerd-prefetch", daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[TrajectoryBatch]:
        return self

    def __next__(self) -> TrajectoryBatch:
        if self._stop.is_set():
            raise StopIteration
        batch = self._ready.get()
        if isinstance(batch, BaseException):
            self.close()
            raise batch
        self.sampler.step += 1
        return batch

    def state_dict(self) -> dict[str, int]:
        """Position after the last batch that was handed out, whatever was read ahead."""
        return self.sampler.state_dict()

    def close(self) -> None:
        """Ends the thread."""
        self._stop.set()
        while self._thread.is_alive():
            with self._ready.mutex:
                self._ready.queue.clear()
                self._ready.not_full.notify_all()
            self._thread.join(0.01)

    def __enter__(self) -> Prefetcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                batch = self.sampler.batch_at(self._next)
                self._ready.put(batch.pin_memory() if self._pin else batch)
            except BaseException as error:  # handed to the thread that waits for the batch
                self._ready.put(error)
                return
            self._next += 1


def permute(position: np.ndarray, count: int, seed: int, epoch: int) -> np.ndarray:
    """A keyed bijection of ``0 ... count - 1``: a Feistel network on the next power of two, repeated until inside.

    Args:
        position: Numbers below ``count``, int64, any shape.
        count: How many numbers there are.
        seed: First part of the key.
        epoch: Second part of the key.
    """
    bits = max(2, (count - 1).bit_length())
    left_bits, right_bits = bits // 2, bits - bits // 2
    base = mix(np.array([seed % 2**64], np.uint64)) + np.uint64(epoch)
    keys = mix(base + np.arange(1, _ROUNDS + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    value = position.astype(np.uint64)
    outside = np.ones(value.shape, bool)
    while outside.any():
        value[outside] = _feistel(value[outside], keys, left_bits, right_bits)
        outside = value >= np.uint64(count)
    return value.astype(np.int64)


def _feistel(value: np.ndarray, keys: np.ndarray, left_bits: int, right_bits: int) -> np.ndarray:
    left, right = value >> np.uint64(right_bits), value & np.uint64((1 << right_bits) - 1)
    for key in keys:
        # The halves swap places and widths; after an even number of rounds they are back.
        left, right = right, left ^ (mix(right + key) & np.uint64((1 << left_bits) - 1))
        left_bits, right_bits = right_bits, left_bits
    return (left << np.uint64(right_bits)) | right


__all__ = ["Prefetcher", "WindowSampler", "permute"]
