# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Which shape of a body is solved first: the one that touched first.

PhysX solves the contacts of a body shape by shape, and the order of these shapes is no property of the robot. It keeps
a list of what touches the ground: a shape comes to its end when it comes within reach, those that come in the same
physics step in the order in which they begin along the first axis of the world, and leaves it when it goes out of
reach. In each step a copy of the list is sorted by bodies, so that these take turns as they should. It matters where
two shapes of a body bear: a foot of two capsules, with stiff drives behind it and few iterations. Here each body has a
list of its own.

The list is part of the memory of friction (:mod:`nerd_core.mechanics.friction_anchors`): each slot has the place of its
shape in the list, from one on, zero where the shape does not touch or has the body for itself. A new memory is an empty
list; in a step without memory every physics step begins with one.

Example::

    order = TouchOrder(bodies=[0, 0, 1, 1], shapes=[0, 0, 1, 2])
    places = order.listed(before, in_reach, begins)
    chosen = order.sorted(chosen, places)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor, nn

LAST = 100_000
"""More than any place in a list."""


class TouchOrder(nn.Module):
    """The order of the shapes of one robot. Has no parameters."""

    is_needed: bool
    """Whether any body has several shapes."""
    has_rivals: list[bool]
    """Whether the body of each slot has several shapes."""
    _first: Tensor
    _shape_of_slot: Tensor
    _belongs: Tensor
    _body: Tensor
    _listed_before: Tensor
    _is_rival: Tensor

    def __init__(self, bodies: Sequence[int], shapes: Sequence[int]):
        """Looks up which slots are one shape.

        Args:
            bodies: Place of the body of each slot in the order in which the solver comes to bodies.
            shapes: Numbers of their shapes; slots of a shape follow each other.
        """
        super().__init__()
        numbers: dict[int, int] = {}
        first: list[int] = []
        for slot, shape in enumerate(shapes):
            if shape not in numbers:
                numbers[shape] = len(first)
                first.append(slot)
        of_slot = torch.tensor([numbers[shape] for shape in shapes], dtype=torch.long)
        body_of_shape = [bodies[slot] for slot in first]  # tensors are laid out without numbers, too
        shapes_of_body = Counter(body_of_shape)
        self.has_rivals = [shapes_of_body[body] > 1 for body in bodies]
        self.is_needed = any(self.has_rivals)
        shared = torch.tensor([shapes_of_body[body] > 1 for body in body_of_shape], dtype=torch.bool)
        of_shapes = torch.tensor(body_of_shape, dtype=torch.long)
        buffers = {
            "_first": torch.tensor(first, dtype=torch.long),
            "_shape_of_slot": of_slot,
            "_belongs": (torch.arange(len(first)).unsqueeze(1) == of_slot).unsqueeze(2),
            "_listed_before": torch.ones(len(first), len(first), dtype=torch.bool).tril(-1).unsqueeze(2),
            "_is_rival": ((of_shapes.unsqueeze(1) == of_shapes) & shared).unsqueeze(2),
            "_body": torch.tensor(bodies, dtype=torch.long).unsqueeze(1),
        }
        for name, value in buffers.items():
            self.register_buffer(name, value, persistent=False)

    def listed(self, before: Tensor | None, in_reach: Tensor, begins: Tensor) -> Tensor:
        """Places of the slots' shapes in the lists of their bodies, zero for one that does not touch, and where a body
        has one shape only; shape (K, M). Has no derivative.

        Args:
            before: Those of the physics step before, shape (K, M); None for an empty list.
            in_reach: Which slots are within reach of the ground, shape (M, K).
            begins: Where each slot begins along the first axis of the world [m], shape (M, K).
        """
        begins, in_reach = begins.detach().t(), in_reach.t()
        touches = (self._belongs & in_reach).any(1)
        begin = torch.where(self._belongs, begins, torch.inf).amin(1)
        place = torch.zeros_like(begin) if before is None else before.detach()[self._first]
        place = torch.where(place > 0.0, place, LAST)
        earlier = (begin.unsqueeze(0) == begin.unsqueeze(1)) & self._listed_before
        earlier = earlier | (begin.unsqueeze(0) < begin.unsqueeze(1))
        earlier = earlier & (place.unsqueeze(0) == place.unsqueeze(1))
        earlier = earlier | (place.unsqueeze(0) < place.unsqueeze(1))
        found = 1 + (earlier & touches.unsqueeze(0) & self._is_rival).sum(1)
        is_listed = touches & self._is_rival.any(1)
        return torch.where(is_listed, found, 0).to(begins.dtype)[self._shape_of_slot]

    def sorted(self, chosen: Tensor, places: Tensor) -> Tensor:
        """Numbers of slots in the order of the solver: by bodies, and those of a body by the places of their shapes.

        Args:
            chosen: Numbers of some slots, ascending, shape (P, M).
            places: What :meth:`listed` gave.
        """
        count = len(self._shape_of_slot)
        rank = self._body * (count + 1) + places.long()
        rank = rank.gather(0, chosen) * count + chosen  # all different
        return chosen.gather(0, rank.argsort(0))


def needed_order(bodies: Sequence[int], shapes: Sequence[int]) -> TouchOrder | None:
    """The order of the shapes of a robot, arguments as of :class:`TouchOrder`; None where every body has one shape."""
    order = TouchOrder(bodies, shapes)
    return order if order.is_needed else None


__all__ = ["LAST", "TouchOrder", "needed_order"]
