# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A multi-layer perceptron over one token or a few, the simplest of the published ablations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, override

from torch import Tensor, nn

from ...files.bounds import bounded, check_bounds
from ..config import NetworkCfg
from .layers import Heads, Linear
from .windowed import WindowedModel


@dataclass(frozen=True)
class MlpCfg(NetworkCfg):
    """Shape of a multi-layer perceptron. The defaults are those of the paper's ablation."""

    kind: Literal["mlp"] = "mlp"
    """Names the network in files."""
    hidden: tuple[int, ...] = bounded((512, 256, 128), at_least=1)
    """Widths of the hidden layers before the head."""
    head_hidden: int = bounded(64, at_least=0)
    """Width of the hidden layer of each output head; 0 for a linear head."""
    window: int = bounded(1, at_least=1)
    """Tokens that the network sees, joined, the newest last; zeros stand for those before the beginning."""

    def __post_init__(self):
        check_bounds(self)

    @property
    @override
    def has_memory(self) -> bool:
        return self.window > 1

    @override
    def build(self, in_dim: int, out_dims: Sequence[int], members: int = 1) -> Mlp:
        return Mlp(self, in_dim, out_dims, members)


class Mlp(WindowedModel):
    """Multi-layer perceptron over the last tokens."""

    def __init__(self, cfg: MlpCfg, in_dim: int, out_dims: Sequence[int], members: int = 1):
        """Makes the weights.

        Args:
            cfg: Shape of the perceptron.
            in_dim: Length of a token.
            out_dims: Lengths of the parts of the output; each has its own head.
            members: Number of sets of weights (an ensemble when more than one).
        """
        super().__init__(cfg.window, in_dim, out_dims, members)
        self.cfg = cfg
        widths = (in_dim * cfg.window, *cfg.hidden)
        layers = []
        for i, width in enumerate(cfg.hidden):
            layers += [Linear(widths[i], width, members=members), nn.ReLU()]
        self.body = nn.Sequential(*layers)
        self.heads = Heads(widths[-1], cfg.head_hidden, out_dims, members)

    @override
    def _evaluate(self, x: Tensor) -> Tensor:
        return self.heads(self.body(x))


__all__ = ["Mlp", "MlpCfg"]
