# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A multi-layer perceptron over one token or a few, the simplest of the published ablations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, override

import torch
from torch import Tensor, nn

from .base import Cache, Past, SequenceModel, last_windows
from .layers import Heads, Linear


@dataclass(frozen=True)
class MlpCfg:
    """Shape of a multi-layer perceptron. The defaults are those of the paper's ablation."""

    kind: Literal["mlp"] = "mlp"
    """Names the model in files."""
    hidden: tuple[int, ...] = (512, 256, 128)
    """Widths of the hidden layers before the head."""
    head_hidden: int = 64
    """Width of the hidden layer of each output head; 0 for a linear head."""
    window: int = 1
    """Tokens that the network sees, joined, the newest last; zeros stand for those before the beginning."""

    def __post_init__(self):
        if min((*self.hidden, self.window)) < 1 or self.head_hidden < 0:
            raise ValueError(f"got {self}, expected positive sizes")


class Mlp(SequenceModel):
    """Multi-layer perceptron over the last tokens."""

    def __init__(self, cfg: MlpCfg, in_dim: int, out_dims: Sequence[int], members: int = 1):
        """Makes the weights.

        Args:
            cfg: Shape of the perceptron.
            in_dim: Length of a token.
            out_dims: Lengths of the parts of the output; each has its own head.
            members: Number of sets of weights (an ensemble when more than one).
        """
        super().__init__(in_dim, out_dims, members)
        self.cfg = cfg
        widths = (in_dim * cfg.window, *cfg.hidden)
        layers = []
        for i, width in enumerate(cfg.hidden):
            layers += [Linear(widths[i], width, members=members), nn.ReLU()]
        self.body = nn.Sequential(*layers)
        self.heads = Heads(widths[-1], cfg.head_hidden, out_dims, members)

    @override
    def prefill(self, x: Tensor) -> tuple[Tensor, Past]:
        x = self._spread(x, 3)
        y = self.heads(self.body(last_windows(x, self.cfg.window).flatten(-2)))
        return self._gather(y), (x[..., max(0, x.shape[-2] - self.cfg.window + 1) :, :],)

    @override
    def extend(self, x: Tensor, past: Past | None) -> tuple[Tensor, Past]:
        x = self._spread(x, 2).unsqueeze(-2)
        window = self.cfg.window
        tokens = x if past is None else torch.cat((past[0], x), -2)
        missing = window - tokens.shape[-2]
        y = self.heads(self.body(nn.functional.pad(tokens, (0, 0, missing, 0)).flatten(-2)))
        return self._gather(y), (tokens[..., max(0, tokens.shape[-2] - window + 1) :, :],)

    @override
    def init_cache(
        self, batch: int, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Cache:
        kind = self._like_weights(device, dtype)
        return {"tokens": torch.zeros(self.members, batch, self.cfg.window, self.in_dim, **kind)}

    @override
    @torch.no_grad()
    def step(self, x: Tensor, cache: Cache) -> Tensor:
        x, tokens = self._spread_step(x, cache), cache["tokens"]
        tokens.copy_(torch.cat((tokens[:, :, 1:], x.unsqueeze(2).to(tokens.dtype)), 2))
        return self._gather(self.heads(self.body(tokens.flatten(-2).to(x.dtype))))


__all__ = ["Mlp", "MlpCfg"]
