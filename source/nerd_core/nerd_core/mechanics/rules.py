# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What is learned of contacts and stops beside a few constants: a network that bends them, the same for all."""

from __future__ import annotations

import torch
from torch import Tensor, nn

STRONGEST = 4.0
"""Largest logarithm by which a rule departs from one."""

SEEN, TRAITS, ANSWERS = 7, 4, 6
"""Features of a constraint that change from substep to substep, those that do not, and what the rules say about it."""


class Rules(nn.Module):
    """A small network from features of one contact or stop to factors of its answers."""

    def __init__(self, hidden: int, scales: tuple[float, ...]):
        """Makes the weights; all factors begin at one.

        Args:
            hidden: Hidden features.
            scales: Where features begin to saturate.
        """
        super().__init__()
        self.scales = scales
        self.inner = nn.Linear(SEEN * len(scales) + TRAITS, hidden)
        self.outer = nn.Linear(hidden, ANSWERS)
        nn.init.zeros_(self.outer.weight)
        nn.init.zeros_(self.outer.bias)

    def forward(self, seen: Tensor, traits: Tensor) -> Tensor:
        """Factors, shape (:data:`ANSWERS`, P, M). The first two, shares of a mending, are below two.

        Args:
            seen: Velocities, and gaps over a physics step [m/s or rad/s], shape (:data:`SEEN`, P, M).
            traits: Further features, of size one, shape (:data:`TRAITS`, P, M).
        """
        squares = seen.square()
        parts = [seen * (squares + scale * scale).rsqrt() for scale in self.scales]
        x = torch.cat((*parts, traits)).flatten(1)
        x = torch.addmm(self.inner.bias.unsqueeze(-1), self.inner.weight, x).relu()
        x = torch.addmm(self.outer.bias.unsqueeze(-1), self.outer.weight, x)
        x = (x / torch.add(1.0, x.abs(), alpha=1.0 / STRONGEST)).unflatten(1, seen.shape[1:])
        return torch.cat((2.0 * x[:2].sigmoid(), x[2:].exp()))


__all__ = ["Rules"]
