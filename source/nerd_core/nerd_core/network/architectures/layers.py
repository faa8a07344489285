# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Layers that hold the weights of all members of an ensemble, stacked.

Activations carry the members in front: shape (E, ..., features). With one member the weights have the usual shapes and
the usual kernels run; with more, one batched matrix product serves all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional


class Linear(nn.Module):
    """Affine map, initialised as ``torch.nn.Linear`` is, each member by itself."""

    def __init__(self, in_dim: int, out_dim: int, bias: bool = True, members: int = 1):
        """Makes the weights.

        Args:
            in_dim: Number of input features.
            out_dim: Number of output features.
            bias: Whether to add a constant.
            members: Number of sets of weights.
        """
        super().__init__()
        self.members = members
        lead = (members,) if members > 1 else ()
        bound = 1.0 / math.sqrt(in_dim)
        self.weight = nn.Parameter(torch.empty(*lead, out_dim, in_dim).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(*lead, out_dim).uniform_(-bound, bound)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Maps features of shape (E, ..., in_dim) to (E, ..., out_dim)."""
        if self.members == 1:
            return functional.linear(x, self.weight, self.bias)
        rows = x.reshape(self.members, -1, x.shape[-1])
        if self.bias is None:
            y = torch.bmm(rows, self.weight.mT)
        else:
            y = torch.baddbmm(self.bias.unsqueeze(1), rows, self.weight.mT)
        return y.view(*x.shape[:-1], y.shape[-1])


class LayerNorm(nn.Module):
    """Layer normalisation with a scale and without a shift."""

    def __init__(self, dim: int, members: int = 1, eps: float = 1e-5):
        """Makes the scale.

        Args:
            dim: Number of features.
            members: Number of sets of weights.
            eps: Added to the variance.
        """
        super().__init__()
        self.members = members
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(*((members,) if members > 1 else ()), dim))

    def forward(self, x: Tensor) -> Tensor:
        """Normalises features of shape (E, ..., dim)."""
        if self.members == 1:
            return functional.layer_norm(x, self.weight.shape, self.weight, None, self.eps)
        scale = self.weight.view(self.members, *(1,) * (x.dim() - 2), -1)
        return functional.layer_norm(x, x.shape[-1:], None, None, self.eps) * scale


class Heads(nn.Module):
    """One small network for each part of the output: linear, ReLU, linear (as published); the parts are joined."""

    def __init__(self, in_dim: int, hidden: int, out_dims: Sequence[int], members: int = 1):
        """Makes the networks.

        Args:
            in_dim: Number of input features.
            hidden: Width of the hidden layer; 0 for a single linear layer.
            out_dims: Lengths of the parts.
            members: Number of sets of weights.
        """
        super().__init__()
        self.parts = nn.ModuleList()
        for dim in out_dims:
            if hidden:
                layers = [Linear(in_dim, hidden, members=members), nn.ReLU(), Linear(hidden, dim, members=members)]
            else:
                layers = [Linear(in_dim, dim, members=members)]
            self.parts.append(nn.Sequential(*layers))

    def forward(self, x: Tensor) -> Tensor:
        """Maps features of shape (E, ..., in_dim) to (E, ..., sum of the lengths)."""
        outputs = [part(x) for part in self.parts]
        return outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=-1)


__all__ = ["Heads", "LayerNorm", "Linear"]
