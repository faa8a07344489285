# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Gated residual perceptron over one token or a few, for dynamics without memory.

A block adds ``C (silu(A x) * B x)`` to its input, and if asked to rectified features ``relu(D x)`` beside the products.
Products of two linear maps are what equations of motion are full of (velocities times velocities, forces times
cosines), rectifiers are what stops and contacts are. What both are worth is in the laboratory notebook. Nothing is
normalised inside: a robot's accelerations grow with its inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast, override

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...files.bounds import bounded, check_bounds
from ..config import NetworkCfg
from .layers import Linear
from .windowed import WindowedModel


@dataclass(frozen=True)
class ResidualMlpCfg(NetworkCfg):
    """Shape of a gated residual perceptron."""

    kind: Literal["residual"] = "residual"
    """Names the network in files."""
    width: int = bounded(96, at_least=1)
    """Features that the blocks pass on."""
    hidden: int = bounded(128, at_least=1)
    """Features inside a block."""
    kinks: int = bounded(0, at_least=0)
    """Rectified features inside a block, beside the products. A smooth network needs large weights for a kink as sharp
    as that of a hard stop or contact; a rectifier has it."""
    layers: int = bounded(3, at_least=1)
    """Number of blocks."""
    window: int = bounded(1, at_least=1)
    """Tokens that the network sees, joined, the newest last; zeros stand for those before the beginning."""

    def __post_init__(self):
        check_bounds(self)

    @property
    @override
    def has_memory(self) -> bool:
        return self.window > 1

    @override
    def build(self, in_dim: int, out_dims: Sequence[int], members: int = 1) -> ResidualMlp:
        return ResidualMlp(self, in_dim, out_dims, members)


class GatedBlock(nn.Module):
    """Adds a product of two linear maps of the input, one of them through SiLU."""

    def __init__(self, width: int, hidden: int, kinks: int, members: int):
        """Makes the weights.

        Args:
            width: Features in and out.
            hidden: Features of the product.
            kinks: Rectified features.
            members: Number of sets of weights.
        """
        super().__init__()
        self.gate = Linear(width, hidden, members=members)
        self.value = Linear(width, hidden, members=members)
        self.kink = Linear(width, kinks, members=members) if kinks else None
        self.out = Linear(hidden + kinks, width, members=members)

    def forward(self, x: Tensor) -> Tensor:
        """Features of shape (E, ..., width), in and out."""
        inside = functional.silu(self.gate(x)) * self.value(x)
        if self.kink is not None:
            inside = torch.cat((inside, self.kink(x).relu()), -1)
        return x + self.out(inside)


class ResidualMlp(WindowedModel):
    """Gated residual perceptron over the last tokens."""

    def __init__(self, cfg: ResidualMlpCfg, in_dim: int, out_dims: Sequence[int], members: int = 1):
        """Makes the weights. The last layer starts at zero: the first prediction is the mean change.

        Args:
            cfg: Shape of the perceptron.
            in_dim: Length of a token.
            out_dims: Lengths of the parts of the output; they share all layers.
            members: Number of sets of weights (an ensemble when more than one).
        """
        super().__init__(cfg.window, in_dim, out_dims, members)
        self.cfg = cfg
        self.embed = Linear(in_dim * cfg.window, cfg.width, members=members)
        self.blocks = cast(
            "list[GatedBlock]",
            nn.ModuleList(GatedBlock(cfg.width, cfg.hidden, cfg.kinks, members) for _ in range(cfg.layers)),
        )
        self.head = Linear(cfg.width, sum(out_dims), members=members)
        for param in self.head.parameters():
            nn.init.zeros_(param)

    @override
    def _evaluate(self, x: Tensor) -> Tensor:
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


__all__ = ["ResidualMlp", "ResidualMlpCfg"]
