# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""No network at all, for robots of which free motion and a solver of contacts already say enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, override

import torch
from torch import Tensor

from .base import Cache, Past, SequenceModel


@dataclass(frozen=True)
class NoNetworkCfg:
    """No network. What is known without one is the prediction."""

    kind: Literal["none"] = "none"
    """Names the model in files."""
    window: int = 1
    """Tokens that it would see."""

    def __post_init__(self):
        if self.window != 1:
            raise ValueError(f"got {self}, expected a window of 1: nothing is looked at")


class NoNetwork(SequenceModel):
    """Says zero, whatever it is given. Has no weights."""

    _here: Tensor

    def __init__(self, cfg: NoNetworkCfg, out_dims: Sequence[int]):
        """Keeps the lengths.

        Args:
            cfg: Says that there is nothing.
            out_dims: Lengths of the parts of the output.
        """
        super().__init__(1, out_dims, 1)
        self.cfg = cfg
        self.register_buffer("_here", torch.zeros(0), persistent=False)

    @override
    def prefill(self, x: Tensor) -> tuple[Tensor, Past]:
        return x.new_zeros(()).expand(*x.shape[:-1], self.out_dim), ()

    @override
    def extend(self, x: Tensor, past: Past | None) -> tuple[Tensor, Past]:
        return self.prefill(x)

    @override
    def init_cache(
        self, batch: int, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Cache:
        return {"tokens": torch.zeros(1, batch, 0, device=device or self._here.device, dtype=dtype)}

    @override
    @torch.no_grad()
    def step(self, x: Tensor, cache: Cache) -> Tensor:
        return self.prefill(x)[0]


__all__ = ["NoNetwork", "NoNetworkCfg"]
