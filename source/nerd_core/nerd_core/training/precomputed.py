# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a network is given for some transitions, computed once.

Free motion and a solver of contacts take ten times as long as the network that stands behind them. Where neither learns
any more, what they say of a transition never changes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .data.sampler import WindowSampler
from .losses import ground_of, pace_weight, regime_loss
from .models.residual import ResidualMlp
from .predictor import Predictor, Seen
from .regimes import Regimes

CHUNK = 4096
"""Transitions that are looked at in one go."""


LEAST = 1.0e-5
"""Smallest unit of what a network adds, beside the usual change."""


class Remembered:
    """Transitions as the network of a predictor sees them."""

    @torch.no_grad()
    def __init__(self, predictor: Predictor, sampler: WindowSampler, count: int, regimes: Regimes, pace: float):
        """Looks at transitions.

        Args:
            predictor: The model, whose network has no memory and neither heads nor members.
            sampler: Where to take windows of one transition.
            count: Number of transitions to keep; those in which the network has nothing to say are left out.
            regimes: What tells regimes apart.
            pace: Speed from which on an error counts beside the speed of the robot [m/s]; 0 for never.
        """
        cfg, device = predictor.cfg, predictor.force_scale.device
        model = predictor.model
        if not isinstance(model, ResidualMlp) or model.cfg.window > 1 or model.members > 1 or len(model.out_dims) > 1:
            raise ValueError(
                f"got a '{cfg.model.kind}' network to remember transitions for, expected a single residual one without "
                "memory and without heads for forces or variances"
            )
        self._predictor, self._regimes = predictor, regimes
        kept: list[tuple[Tensor, ...]] = []
        total = 0
        for _ in range(4 * count // sampler.batch + 1):
            if total >= count:
                break
            batch = next(sampler).to(device)
            state, next_state, contacts = batch.state[:, :-1], batch.state[:, 1:], batch.contacts
            if contacts is None:
                contacts = predictor.contacts(state, ground_of(batch))
            seen = predictor.see(state, batch.control, contacts)
            parts = [seen.tokens, predictor.target(state, next_state), pace_weight(regimes, state, pace)]
            parts += [
                regimes(state, contacts),
                *(part for part in (seen.free, seen.size, seen.view) if part is not None),
            ]
            speaks = torch.ones_like(parts[3], dtype=torch.bool) if seen.near is None else seen.near.squeeze(-1)
            kept.append(tuple(part[speaks] for part in parts))
            total += int(speaks.sum())
        self._names = [name for name in ("free", "size", "view") if getattr(seen, name) is not None]
        self._parts = [torch.cat(column).unsqueeze(1) for column in zip(*kept, strict=True)]
        self.count = total
        """Number of transitions kept."""
        if predictor.mechanics is not None and not bool(model.head.weight.any()):
            target, free = self._parts[1], self._parts[4]
            predictor.missing.copy_((target - predictor.change_normaliser(free)).abs().mean((0, 1)).clamp(min=LEAST))

    def loss(self, size: int, seed: int, power: float) -> Tensor:
        """The one-step loss of some of them, see :func:`nerd_core.losses.one_step_loss`.

        Args:
            size: Number of transitions.
            seed: Decides which.
            power: Exponent of a regime's share of the data in its weight.
        """
        generator = torch.Generator().manual_seed(seed)
        picked = torch.randint(self.count, (size,), generator=generator).to(self._parts[0].device)
        tokens, target, weight, regime, *others = (part.index_select(0, picked) for part in self._parts)
        seen = Seen(tokens, **dict(zip(self._names, others, strict=True)))
        said = self._predictor.say(seen, target)
        error = (said.change - target) * weight
        error = error if seen.size is None else error / seen.size
        return regime_loss(error, regime, self._regimes.count, power)


__all__ = ["Remembered"]
