# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The one interface behind which every network stands.

A sequence model maps tokens to outputs, causally: the output at a position depends on that token and earlier ones. It
can be evaluated in three ways that give the same numbers:

- :meth:`SequenceModel.forward` on whole sequences, for training;
- :meth:`SequenceModel.extend`, one token at a time, purely functional and differentiable, for multi-step training;
- :meth:`SequenceModel.step`, one token at a time into a preallocated cache, for running in a simulator.

Every model may be an *ensemble*: ``members`` sets of weights, kept stacked and evaluated by one batched call. A plain
model is the case of one member. Shapes below write ``E`` for the members; the dimension is left out of inputs (all
members see the same token) and, for a plain model, of outputs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

type Cache = dict[str, Tensor]
"""State of a model that is being stepped. Every tensor has shape (members or 1, batch, ...)."""

type Past = tuple[Tensor, ...]
"""What :meth:`SequenceModel.extend` carries from one token to the next. To be passed on, not to be looked into."""


class SequenceModel(nn.Module, ABC):
    """A causal map from tokens to outputs."""

    def __init__(self, in_dim: int, out_dims: Sequence[int], members: int):
        """Keeps the dimensions.

        Args:
            in_dim: Length of a token.
            out_dims: Lengths of the parts of the output; each part has a head of its own.
            members: Number of sets of weights.
        """
        super().__init__()
        if in_dim < 1 or not out_dims or min(out_dims) < 1:
            raise ValueError(f"got in_dim {in_dim} and out_dims {list(out_dims)}, expected positive lengths")
        if members < 1:
            raise ValueError(f"got {members} members, expected at least 1")
        self.in_dim = in_dim
        self.out_dims = tuple(out_dims)
        self.members = members

    @property
    def out_dim(self) -> int:
        """Length of an output."""
        return sum(self.out_dims)

    @abstractmethod
    def prefill(self, x: Tensor) -> tuple[Tensor, Past]:
        """Evaluates whole sequences and returns what :meth:`extend` needs to go on from their end.

        Args:
            x: Tokens, shape (B, T, in_dim), or (E, B, T, in_dim) when the members see different ones.

        Returns:
            Outputs, shape (B, T, out_dim) or (E, B, T, out_dim), and the past.
        """

    @abstractmethod
    def extend(self, x: Tensor, past: Past | None) -> tuple[Tensor, Past]:
        """Evaluates one more token. Changes nothing in place; gradients flow through the past.

        Args:
            x: Tokens, shape (B, in_dim) or (E, B, in_dim).
            past: What the call before returned; None at the start of the sequences.

        Returns:
            Outputs, shape (B, out_dim) or (E, B, out_dim), and the past with this token in it.
        """

    @abstractmethod
    def init_cache(
        self, batch: int, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Cache:
        """An empty cache for ``batch`` environments; by default on the device and in the type of the weights."""

    @abstractmethod
    def step(self, x: Tensor, cache: Cache) -> Tensor:
        """Evaluates one more token of every environment and updates the cache in place. Without gradients.

        No number ever leaves the device and no branch depends on one, so that a CUDA graph can hold the call.

        Args:
            x: Tokens, shape (B, in_dim) or (E, B, in_dim).
            cache: Cache of the same batch.

        Returns:
            Outputs, shape (B, out_dim) or (E, B, out_dim).
        """

    def forward(self, x: Tensor) -> Tensor:
        """Evaluates whole sequences.

        Args:
            x: Tokens, shape (B, T, in_dim), or (E, B, T, in_dim) when the members see different ones.

        Returns:
            Outputs, shape (B, T, out_dim); with more than one member (E, B, T, out_dim).
        """
        return self.prefill(x)[0]

    def reset(self, cache: Cache, envs: Tensor | None = None) -> None:
        """Empties the history of some environments in place; they are then like new, to the last bit.

        Args:
            cache: Cache to change.
            envs: Indices, shape (n,), or a mask, bool, shape (B,), of the environments; None for all.
        """
        for tensor in self._reset_targets(cache):
            clear(tensor, envs)

    def _reset_targets(self, cache: Cache) -> list[Tensor]:
        """The tensors of the cache that a reset must set to zero."""
        return list(cache.values())

    # -- checks and the dimension of the members -------------------------------------------------------------------

    def _spread(self, x: Tensor, dims: int) -> Tensor:
        """Puts the dimension of the members in front when the input, of ``dims`` dimensions without it, lacks it."""
        if x.shape[-1] != self.in_dim or x.dim() not in (dims, dims + 1):
            raise ValueError(
                f"got tokens of shape {tuple(x.shape)}, expected {dims} dimensions (or {dims + 1} with the ensemble's "
                f"in front), the last of length {self.in_dim}"
            )
        return x.expand(self.members, *x.shape) if x.dim() == dims else x

    def _spread_step(self, x: Tensor, cache: Cache) -> Tensor:
        """As :meth:`_spread` for a step, which must come with a cache of its batch."""
        batch = next(iter(cache.values())).shape[1]
        if x.dim() < 2 or x.shape[-2] != batch:
            raise ValueError(f"got tokens of shape {tuple(x.shape)}, expected the {batch} environments of the cache")
        return self._spread(x, 2)

    def _gather(self, y: Tensor) -> Tensor:
        """Takes the dimension of the members off the output of a plain model."""
        return y if self.members > 1 else y.squeeze(0)

    def _like_weights(self, device: Any, dtype: torch.dtype | None) -> dict[str, Any]:
        """Device and type for new tensors: those of the weights unless given."""
        weight = next(self.parameters())
        return {"device": device or weight.device, "dtype": dtype or weight.dtype}


def clear(tensor: Tensor, envs: Tensor | None) -> None:
    """Sets the entries of some environments to zero in place.

    Args:
        tensor: Tensor to change, shape (any, B, ...).
        envs: Indices, shape (n,), or a mask, bool, shape (B,); None for all.
    """
    if envs is None:
        tensor.zero_()
    elif envs.dtype == torch.bool:
        tensor.masked_fill_(envs.view(1, -1, *(1,) * (tensor.dim() - 2)), 0)
    else:
        tensor.index_fill_(1, envs, 0)


def last_windows(tokens: Tensor, window: int) -> Tensor:
    """Every window of a sequence, those at the beginning filled up with zeros on the left.

    Args:
        tokens: Tokens, shape (..., T, in_dim).
        window: Length of a window.

    Returns:
        Windows, oldest token first, shape (..., T, window, in_dim).
    """
    padded = nn.functional.pad(tokens, (0, 0, window - 1, 0))
    return padded.unfold(-2, window, 1).transpose(-1, -2)


__all__ = ["Cache", "Past", "SequenceModel", "clear", "last_windows"]
