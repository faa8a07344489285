# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Models whose memory is a window: their output is a function of the last few tokens, joined."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import override

import torch
from torch import Tensor, nn

from .base import Cache, Past, SequenceModel, last_windows


class WindowedModel(SequenceModel):
    """A function of the last tokens, which a subclass gives as :meth:`_evaluate`."""

    def __init__(self, window: int, in_dim: int, out_dims: Sequence[int], members: int):
        """Keeps the dimensions.

        Args:
            window: Tokens that are joined, the newest last; zeros stand for those before the beginning.
            in_dim: Length of a token.
            out_dims: Lengths of the parts of the output.
            members: Number of sets of weights.
        """
        super().__init__(in_dim, out_dims, members)
        self.window = window

    @abstractmethod
    def _evaluate(self, x: Tensor) -> Tensor:
        """Outputs (E, ..., out_dim) of joined tokens (E, ..., window * in_dim)."""

    @override
    def prefill(self, x: Tensor) -> tuple[Tensor, Past]:
        x = self._spread(x, 3)
        joined = x if self.window == 1 else last_windows(x, self.window).flatten(-2)
        return self._gather(self._evaluate(joined)), (x[..., max(0, x.shape[-2] - self.window + 1) :, :],)

    @override
    def extend(self, x: Tensor, past: Past | None) -> tuple[Tensor, Past]:
        x = self._spread(x, 2)
        if self.window == 1:
            return self._gather(self._evaluate(x)), ()
        tokens = x.unsqueeze(-2) if past is None else torch.cat((past[0], x.unsqueeze(-2)), -2)
        joined = nn.functional.pad(tokens, (0, 0, self.window - tokens.shape[-2], 0)).flatten(-2)
        return self._gather(self._evaluate(joined)), (tokens[..., max(0, tokens.shape[-2] - self.window + 1) :, :],)

    @override
    def init_cache(
        self, batch: int, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Cache:
        kind = self._like_weights(device, dtype)
        return {"tokens": torch.zeros(self.members, batch, self.window, self.in_dim, **kind)}

    @override
    @torch.no_grad()
    def step(self, x: Tensor, cache: Cache) -> Tensor:
        x, tokens = self._spread_step(x, cache), cache["tokens"]
        if self.window == 1:
            return self._gather(self._evaluate(x))
        tokens.copy_(torch.cat((tokens[:, :, 1:], x.unsqueeze(2).to(tokens.dtype)), 2))
        return self._gather(self._evaluate(tokens.flatten(-2).to(x.dtype)))


__all__ = ["WindowedModel"]
