# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Gated recurrent networks, GRU and LSTM, as in the published ablations.

The cells are written out, with the gates of ``torch.nn.GRU`` and ``torch.nn.LSTM``, so that an ensemble is one batched
product and one cell serves training, roll-outs and stepping. What depends on the tokens alone is computed for a whole
sequence at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast, override

import torch
from torch import Tensor, nn

from ...files.bounds import bounded, check_bounds
from ..config import NetworkCfg
from .base import Cache, Past, SequenceModel
from .layers import Heads, Linear


@dataclass(frozen=True)
class RecurrentCfg(NetworkCfg):
    """Shape of a recurrent network."""

    kind: Literal["recurrent"] = "recurrent"
    """Names the network in files."""
    cell: Literal["gru", "lstm"] = "gru"
    """Kind of cell."""
    hidden: int = bounded(256, at_least=1)
    """Width of the hidden state."""
    layers: int = bounded(2, at_least=1)
    """Number of layers."""
    head_hidden: int = bounded(64, at_least=0)
    """Width of the hidden layer of each output head; 0 for a linear head."""

    def __post_init__(self):
        if self.cell not in ("gru", "lstm"):
            raise ValueError(f"got the cell '{self.cell}', expected 'gru' or 'lstm'")
        check_bounds(self)

    @override
    def build(self, in_dim: int, out_dims: Sequence[int], members: int = 1) -> Recurrent:
        return Recurrent(self, in_dim, out_dims, members)


class Cell(nn.Module):
    """One recurrent layer. Its state is the hidden vector, for an LSTM joined with the memory."""

    def __init__(self, cfg: RecurrentCfg, in_dim: int, members: int):
        """Makes the weights.

        Args:
            cfg: Shape of the network.
            in_dim: Number of input features.
            members: Number of sets of weights.
        """
        super().__init__()
        self.kind, self.hidden = cfg.cell, cfg.hidden
        gates = 3 if cfg.cell == "gru" else 4
        self.from_input = Linear(in_dim, gates * cfg.hidden, members=members)
        self.from_hidden = Linear(cfg.hidden, gates * cfg.hidden, members=members)
        self.state_dim = cfg.hidden if cfg.cell == "gru" else 2 * cfg.hidden

    def forward(self, driven: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """One step.

        Args:
            driven: Gates as the input drives them, shape (E, B, gates * hidden).
            state: State before, shape (E, B, state_dim).

        Returns:
            Hidden vector, shape (E, B, hidden), and the state after.
        """
        if self.kind == "gru":
            reset_x, update_x, new_x = driven.chunk(3, -1)
            reset_h, update_h, new_h = self.from_hidden(state).chunk(3, -1)
            new = torch.tanh(new_x + torch.sigmoid(reset_x + reset_h) * new_h)
            hidden = torch.lerp(new, state, torch.sigmoid(update_x + update_h))
            return hidden, hidden
        hidden, memory = state.split(self.hidden, -1)
        enter, forget, new, leave = (driven + self.from_hidden(hidden)).chunk(4, -1)
        memory = torch.sigmoid(forget) * memory + torch.sigmoid(enter) * torch.tanh(new)
        hidden = torch.sigmoid(leave) * torch.tanh(memory)
        return hidden, torch.cat((hidden, memory), -1)


class Recurrent(SequenceModel):
    """Stacked recurrent layers. Their memory has no end: only a reset ends it."""

    def __init__(self, cfg: RecurrentCfg, in_dim: int, out_dims: Sequence[int], members: int = 1):
        """Makes the weights.

        Args:
            cfg: Shape of the network.
            in_dim: Length of a token.
            out_dims: Lengths of the parts of the output; each has its own head.
            members: Number of sets of weights (an ensemble when more than one).
        """
        super().__init__(in_dim, out_dims, members)
        self.cfg = cfg
        cells = (Cell(cfg, cfg.hidden if i else in_dim, members) for i in range(cfg.layers))
        self.cells = cast("list[Cell]", nn.ModuleList(cells))
        self.heads = Heads(cfg.hidden, cfg.head_hidden, out_dims, members)

    @override
    def prefill(self, x: Tensor) -> tuple[Tensor, Past]:
        features = self._spread(x, 3)
        past = []
        for cell in self.cells:
            driven = cell.from_input(features)
            state = driven.new_zeros(*driven.shape[:2], cell.state_dim)
            outputs = []
            for moment in driven.unbind(-2):
                hidden, state = cell(moment, state)
                outputs.append(hidden)
            features = torch.stack(outputs, -2)
            past.append(state)
        return self._gather(self.heads(features)), tuple(past)

    @override
    def extend(self, x: Tensor, past: Past | None) -> tuple[Tensor, Past]:
        features = self._spread(x, 2)
        after = []
        for i, cell in enumerate(self.cells):
            driven = cell.from_input(features)
            state = driven.new_zeros(*driven.shape[:2], cell.state_dim) if past is None else past[i]
            features, state = cell(driven, state)
            after.append(state)
        return self._gather(self.heads(features)), tuple(after)

    @override
    def init_cache(
        self, batch: int, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Cache:
        kind = self._like_weights(device, dtype)
        return {
            f"state{i}": torch.zeros(self.members, batch, cell.state_dim, **kind) for i, cell in enumerate(self.cells)
        }

    @override
    @torch.no_grad()
    def step(self, x: Tensor, cache: Cache) -> Tensor:
        x = self._spread_step(x, cache)
        y, after = self.extend(x, tuple(state.to(x.dtype) for state in cache.values()))
        for state, new in zip(cache.values(), after, strict=True):
            state.copy_(new)
        return y


__all__ = ["Recurrent", "RecurrentCfg"]
