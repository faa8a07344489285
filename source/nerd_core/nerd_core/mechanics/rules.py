# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Rules of contacts and stops: a small network, the same for all, that changes how the solver treats each of them.

Its features and answers are named in :mod:`nerd_core.mechanics.constants`. With ``s`` for the features and ``a`` for
each of the feature scales, ``factors = exp(clip(W2 relu(W1 [s / sqrt(s^2 + a^2), traits] + b1) + b2))``, with a soft
clip; the relaxations are ``2 sigmoid(...)`` instead of ``exp(...)``.

Example::

    factors = Rules(hidden=16, feature_scales=(0.02, 0.5, 5.0))(features, traits)
    friction = factors[Factor.FRICTION_COEFFICIENT]
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .constants import FACTORS, FEATURES, MAX_LOG_FACTOR, RELAXATIONS, TRAITS


class Rules(nn.Module):
    """A small network from features of one contact or stop to factors of what the solver does with it."""

    def __init__(self, hidden: int, feature_scales: tuple[float, ...]):
        """Makes the weights; all factors begin at one.

        Args:
            hidden: Hidden features.
            feature_scales: Where features begin to saturate [m/s or rad/s].
        """
        super().__init__()
        self.feature_scales = feature_scales
        self.inner = nn.Linear(FEATURES * len(feature_scales) + TRAITS, hidden)
        self.outer = nn.Linear(hidden, FACTORS)
        nn.init.zeros_(self.outer.weight)
        nn.init.zeros_(self.outer.bias)

    def forward(self, features: Tensor, traits: Tensor) -> Tensor:
        """Factors by :class:`~nerd_core.mechanics.constants.Factor`, shape (FACTORS, P, M).

        Args:
            features: By :class:`~nerd_core.mechanics.constants.Feature` [m/s or rad/s], shape (FEATURES, P, M).
            traits: By :class:`~nerd_core.mechanics.constants.Trait`, shape (TRAITS, P, M).
        """
        squares = features.square()
        parts = [features * (squares + scale * scale).rsqrt() for scale in self.feature_scales]
        x = torch.cat((*parts, traits)).flatten(1)
        x = torch.addmm(self.inner.bias.unsqueeze(-1), self.inner.weight, x).relu()
        x = torch.addmm(self.outer.bias.unsqueeze(-1), self.outer.weight, x)
        x = (x / torch.add(1.0, x.abs(), alpha=1.0 / MAX_LOG_FACTOR)).unflatten(1, features.shape[1:])
        return torch.cat((2.0 * x[:RELAXATIONS].sigmoid(), x[RELAXATIONS:].exp()))


__all__ = ["Rules"]
