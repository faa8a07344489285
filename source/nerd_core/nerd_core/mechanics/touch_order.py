# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Which shape of a body is solved first: the one that touched first.

PhysX solves the contacts of a body shape by shape, and the order of these shapes is no property of the robot. It keeps
a list of what touches the ground: a shape comes to its end when it comes within reach, those that come in the same
physics step in the order in which they begin along the first axis of the world, and leaves it when it goes out of
reach. In each step it sorts a copy of the list by bodies, so that the bodies take turns as they should; but a sort by
selection, which small lists get, may exchange shapes of a body where those of several bodies are mixed. It matters
where two shapes of a body bear: a foot of two capsules, with stiff drives behind it and few iterations.

The list is part of the memory of friction (:mod:`nerd_core.mechanics.friction_anchors`): each slot has the place of its
shape in the list, from one on, zero where the shape does not touch. A new memory is an empty list, and a step without
memory begins with one.

Example::

    order = TouchOrder(bodies=[0, 0, 1, 1], shapes=[0, 0, 1, 2], turns=[0, 0, 1, 1])
    places = order.listed(before, in_reach, begins)     # of the slots' shapes in the list
    rank = order.ranks(places)                          # of the slots in the solver
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

SELECTED = 5
"""Lists of at most so many shapes are sorted by selection, PhysX's number; longer ones are taken to keep the order of
the shapes of a body."""

LAST = 100_000
"""More than any place in a list."""


class TouchOrder(nn.Module):
    """The order of the shapes of one robot. Has no parameters."""

    is_needed: bool
    """Whether any body has several shapes."""
    _first: Tensor
    _shape_of_slot: Tensor
    _belongs: Tensor
    _bodies: Tensor
    _turn: Tensor
    _row: Tensor
    _listed_before: Tensor

    def __init__(self, bodies: Sequence[int], shapes: Sequence[int], turn_of_body: Sequence[int]):
        """Looks up which slots are one shape.

        Args:
            bodies: Numbers of the slots' bodies, in the order of the solver.
            shapes: Numbers of their shapes; slots of a shape follow each other.
            turn_of_body: When the solver comes to each body of the robot.
        """
        super().__init__()
        first = [slot for slot, shape in enumerate(shapes) if shape not in shapes[:slot]]
        of_slot = [[shapes[slot] for slot in first].index(shape) for shape in shapes]
        self._bodies_count = len(turn_of_body)
        self.is_needed = len({bodies[slot] for slot in first}) < len(first)
        belongs = [[of_slot[slot] == shape for slot in range(len(shapes))] for shape in range(len(first))]
        buffers = {
            "_first": torch.tensor(first, dtype=torch.long),
            "_shape_of_slot": torch.tensor(of_slot, dtype=torch.long),
            "_belongs": torch.tensor(belongs, dtype=torch.bool).reshape(len(first), len(shapes), 1),
            "_bodies": torch.tensor([bodies[slot] for slot in first], dtype=torch.long).unsqueeze(1),
            "_turn": torch.tensor([turn_of_body[body] for body in bodies], dtype=torch.long).unsqueeze(1),
            "_row": torch.arange(len(shapes)).unsqueeze(1),
            "_listed_before": torch.ones(len(first), len(first), dtype=torch.bool).tril(-1).unsqueeze(2),
        }
        for name, value in buffers.items():
            self.register_buffer(name, value, persistent=False)

    def listed(self, before: Tensor | None, in_reach: Tensor, begins: Tensor) -> Tensor:
        """Places of the slots' shapes in the list, shape (K, M).

        Args:
            before: Those of the physics step before, shape (K, M); None for an empty list.
            in_reach: Which slots are within reach of the ground, shape (K, M).
            begins: Where each slot begins along the first axis of the world [m], shape (K, M).
        """
        touches = (self._belongs & in_reach).any(1)
        begin = torch.where(self._belongs, begins.detach(), torch.inf).amin(1)
        place = torch.zeros_like(begin) if before is None else before.detach()[self._first]
        place = torch.where(place > 0.0, place, LAST)
        earlier = (place.unsqueeze(0) < place.unsqueeze(1)) | (
            (place.unsqueeze(0) == place.unsqueeze(1)) & self._is_before(begin)
        )
        found = 1 + (earlier & touches.unsqueeze(0)).sum(1)
        return torch.where(touches, found, 0).to(begins.dtype)[self._shape_of_slot]

    def ranks(self, places: Tensor) -> Tensor:
        """By what slots are to be sorted to be in the order of the solver, shape (K, M), all different.

        Args:
            places: What :meth:`listed` gave.
        """
        place = self._selected(places[self._first].long())[self._shape_of_slot]
        return (self._turn * (len(self._first) + 1) + place) * len(self._row) + self._row

    def _is_before(self, begin: Tensor) -> Tensor:
        """Whether a shape (second place) begins before another (first place), shape (S, S, M)."""
        less = begin.unsqueeze(0) < begin.unsqueeze(1)
        return less | ((begin.unsqueeze(0) == begin.unsqueeze(1)) & self._listed_before)

    def _selected(self, place: Tensor) -> Tensor:
        """Places of shapes after a list of few has been sorted by their bodies, by selection; else as they are."""
        count = len(self._first)
        shape = torch.arange(count, device=place.device).unsqueeze(1)
        code, none = self._bodies * count + shape, count * self._bodies_count
        entries = [torch.where(place == position + 1, code, none).amin(0) for position in range(SELECTED)]
        for begin in range(SELECTED - 1):
            best, at = entries[begin], torch.full_like(entries[begin], begin)
            for position in range(begin + 1, SELECTED):
                is_less = entries[position] // count < best // count
                best, at = torch.where(is_less, entries[position], best), torch.where(is_less, position, at)
            for position in range(begin + 1, SELECTED):
                entries[position] = torch.where(at == position, entries[begin], entries[position])
            entries[begin] = best
        found = sum(torch.where(entry == code, position + 1, 0) for position, entry in enumerate(entries))
        return torch.where((place > 0).sum(0) <= SELECTED, found, place)


__all__ = ["LAST", "SELECTED", "TouchOrder"]
