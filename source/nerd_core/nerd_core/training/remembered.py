# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Training with what a prior remembers beside the state, as where feet were put down.

Shuffled transitions do not say it, but they are pieces of trajectories. So before the first update the prior goes along
some whole trajectories once, from recorded state to recorded state with the recorded controls, and what it remembers at
the beginning of each transition is kept. From then on that is part of the data: gradients do not flow through it. The
prior that goes along is an untrained one of the same kind, so that a run that goes on from a save has the same data.

Example::

    data = remembered(predictor, data, 200_000, seed=0)
    batch = data.gather(np.array([3]), np.array([40]), 1)  # batch.memory: before the one transition of the window
"""

from __future__ import annotations

import logging
from typing import override

import numpy as np
import torch
from torch import Tensor

from ..data.dataset import TrajectoryBatch, TrajectoryDataset
from ..predictor.predictor import Predictor
from ..predictor.prior import Prior
from .losses import ground_of

logger = logging.getLogger(__name__)

TOGETHER = 1024
"""Trajectories along which the prior goes at a time. Bounds the memory taken."""


class RememberedTrajectories(TrajectoryDataset):
    """Trajectories with what a prior remembers at the beginning of each transition. Kept is what is not zero."""

    first_transition: np.ndarray
    """Number of the first transition of each trajectory of this view, int64, shape (n,)."""

    def __init__(self, data: TrajectoryDataset, predictor: Predictor, prior: Prior):
        """Goes along all trajectories.

        Args:
            data: Trajectories of one robot.
            predictor: Model that finds contacts.
            prior: What remembers.
        """
        self.__dict__.update(data.__dict__)
        self.first_transition = np.cumsum(data.length) - data.length
        empty = prior.new_memory(1)
        assert empty is not None  # remembered() has looked
        self._shape = empty.shape[1:]
        pieces = _along(data, predictor, prior)
        counts = torch.zeros(int(data.length.sum()), dtype=torch.long)
        owners = torch.cat([owner for owner, _, _ in pieces])
        order = owners.argsort(stable=True)
        counts.index_add_(0, owners, torch.ones_like(owners))
        self._entry = torch.cat([entry for _, entry, _ in pieces])[order]
        self._values = torch.cat([values for _, _, values in pieces])[order]
        self._counts, self._begins = counts, counts.cumsum(0) - counts

    @override
    def gather(self, trajectory: np.ndarray, start: np.ndarray, length: int) -> TrajectoryBatch:
        batch = super().gather(trajectory, start, length)
        first = torch.from_numpy(self.first_transition[trajectory] + start)
        batch.memory = self._memory(first.unsqueeze(1) + torch.arange(length)).to(batch.state.device)
        return batch

    def _memory(self, transition: Tensor) -> Tensor:
        """What is remembered before transitions by number, shape (B, L, ...)."""
        flat = transition.flatten()
        counts = self._counts[flat]
        owner = torch.arange(len(flat)).repeat_interleave(counts)
        within = torch.arange(len(owner)) - (counts.cumsum(0) - counts)[owner]
        kept = self._begins[flat][owner] + within
        memory = self._values.new_zeros(len(flat), *self._shape)
        memory[owner, self._entry[kept]] = self._values[kept]
        return memory.unflatten(0, transition.shape)


def remembered(
    predictor: Predictor, data: TrajectoryDataset, count: int, seed: int, use: str = "learned from"
) -> TrajectoryDataset:
    """Some whole trajectories with what the prior remembers along them; all data for a prior that remembers nothing.

    Args:
        predictor: The model.
        data: Trajectories to learn from.
        count: Transitions at most; 0 for all data, with nothing remembered.
        seed: Decides which trajectories.
        use: What is done with them, for the message that says how many are left out.
    """
    if not count or predictor.new_memory(1) is None:
        return data
    order = np.random.default_rng(seed).permutation(len(data))
    enough = int(np.searchsorted(np.cumsum(data.length[order]), count, side="right"))
    with torch.random.fork_rng(devices=[]):
        prior = Predictor(predictor.spec, predictor.cfg).to(predictor.device).prior
    assert prior is not None  # it has a memory
    chosen = data.select(np.sort(order[: max(1, enough)]))
    if len(chosen) < len(data):
        logger.warning(
            "'%s': %s of %s transitions are %s, those along which mechanics remember where feet were put down: "
            "--remembered N for more, 0 for all without that memory",
            data.spec.name,
            f"{chosen.transitions:,}",
            f"{data.transitions:,}",
            use,
        )
    return RememberedTrajectories(chosen, predictor, prior)


@torch.no_grad()
def _along(data: TrajectoryDataset, predictor: Predictor, prior: Prior) -> list[tuple[Tensor, Tensor, Tensor]]:
    """What is remembered along trajectories: numbers of transitions, entries of a memory that are not zero, and what
    they are.
    """
    found: list[tuple[Tensor, Tensor, Tensor]] = []
    longest_first = np.argsort(-data.length, kind="stable")
    begins = np.cumsum(data.length) - data.length
    for first in range(0, len(data), TOGETHER):
        which = longest_first[first : first + TOGETHER]
        memory = prior.new_memory(len(which), predictor.device)
        assert memory is not None  # remembered() has looked
        for step in range(int(data.length[which].max())):
            going = which[data.length[which] > step]
            now = memory[: len(going)]
            row, entry = now.flatten(2).any(-1).nonzero(as_tuple=True)
            found.append((torch.from_numpy(begins[going] + step)[row.cpu()], entry.cpu(), now[row, entry].cpu()))
            batch = data.gather(going, np.full_like(going, step), 1).to(predictor.device)
            state, contacts = batch.state[:, 0], batch.contacts
            if contacts is None:
                contacts = predictor.contacts(state, ground_of(batch))
            else:
                contacts = contacts.map(lambda each: each[:, 0])
            prior.remembering(state, batch.control[:, 0], contacts, now)
    return found


__all__ = ["RememberedTrajectories", "remembered"]
