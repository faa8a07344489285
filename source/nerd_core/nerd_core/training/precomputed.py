# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a network is given for some transitions, computed once.

A prior takes ten times as long as the network behind it. Where the prior does not learn any more, what it predicts for
a transition never changes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..data.sampler import WindowSampler
from ..network.architectures.residual import ResidualMlp
from ..predictor.prediction import Encoded
from ..predictor.predictor import Predictor
from .losses import ground_of, regime_loss, speed_weights
from .regimes import Regimes

CHUNK = 4096
"""Transitions that are encoded in one go."""

OPTIONAL = ("prior_change", "drive_scale", "view")
"""Parts of what a predictor encodes that it may leave out."""


class PrecomputedTransitions:
    """Transitions as the network of a predictor sees them."""

    target: Tensor
    """Normalised changes of state that perfect predictions would hold, shape (N, 1, D)."""
    regime: Tensor
    """Regime of each transition, shape (N, 1)."""
    weight: Tensor
    """Weight of its error, shape (N, 1, 1), see :func:`~nerd_core.training.losses.speed_weights`."""

    @torch.no_grad()
    def __init__(
        self, predictor: Predictor, sampler: WindowSampler, count: int, regimes: Regimes, speed_weighting: float = 0.0
    ):
        """Encodes transitions.

        Args:
            predictor: The model.
            sampler: Where to take windows of one transition.
            count: Number of transitions to keep; those in which the network has nothing to add are left out.
            regimes: What tells regimes apart.
            speed_weighting: Speed above which an error counts relative to the speed of the robot [m/s]; 0 for
                never.
        """
        device = predictor.device
        self._predictor, self._regimes = predictor, regimes
        kept: list[dict[str, Tensor]] = []
        self.count = 0
        """Number of transitions kept."""
        for _ in range(4 * count // sampler.batch + 1):
            if self.count >= count:
                break
            batch = next(sampler).to(device)
            state, next_state, contacts = batch.state[:, :-1], batch.state[:, 1:], batch.contacts
            if contacts is None:
                contacts = predictor.contacts(state, ground_of(batch))
            encoded = predictor.encode(state, batch.control, contacts, memory=batch.memory)
            parts = {
                "tokens": encoded.tokens,
                "target": predictor.target(state, next_state),
                "weight": speed_weights(regimes, state, speed_weighting),
                "regime": regimes(state, contacts),
            }
            parts |= {name: part for name in OPTIONAL if (part := getattr(encoded, name)) is not None}
            everywhere = torch.ones_like(parts["regime"], dtype=torch.bool)
            active = everywhere if encoded.active is None else encoded.active.squeeze(-1)
            kept.append({name: part[active] for name, part in parts.items()})
            self.count += int(active.sum())
        columns = {name: torch.cat([part[name] for part in kept]).unsqueeze(1) for name in kept[0]}
        self.target, self.regime, self.weight = (columns.pop(name) for name in ("target", "regime", "weight"))
        self._encoded = Encoded(**columns)

    @property
    def encoded(self) -> Encoded:
        """What the predictor encodes, leading dimensions (N, 1)."""
        return self._encoded

    def loss(self, size: int, seed: int, regime_power: float) -> Tensor:
        """The one-step loss of some of them, see :func:`nerd_core.training.losses.one_step_loss`.

        Args:
            size: Number of transitions.
            seed: Decides which.
            regime_power: Exponent of a regime's share of the data in its weight.
        """
        generator = torch.Generator().manual_seed(seed)
        picked = torch.randint(self.count, (size,), generator=generator).to(self.target.device)
        parts = {name: part for name, part in self._encoded._asdict().items() if part is not None}
        encoded = Encoded(**{name: part.index_select(0, picked) for name, part in parts.items()})
        target, weight, regime = (x.index_select(0, picked) for x in (self.target, self.weight, self.regime))
        error = (self._predictor.decode(encoded, target).change - target) * weight
        error = error if encoded.drive_scale is None else error / encoded.drive_scale
        return regime_loss(error, regime, self._regimes.count, regime_power)


def require_single_steps(predictor: Predictor) -> None:
    """Refuses networks whose loss takes more than single transitions: with memory, members or further heads."""
    network = predictor.network
    single = isinstance(network, ResidualMlp) and network.cfg.window == 1
    if not single or network.members > 1 or len(network.out_dims) > 1:
        raise ValueError(
            f"got {predictor.cfg.network} as the network to precompute transitions for, expected a single residual one "
            "without memory and without heads for forces or variances"
        )


__all__ = ["CHUNK", "PrecomputedTransitions", "require_single_steps"]
