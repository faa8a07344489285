# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Causal attention over whole sequences with a sliding window."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

SHORT = 32
"""Length up to which two sequences side by side are one problem for plain matrix products on the CPU."""


def attend_sequences(query: Tensor, key: Tensor, value: Tensor, window: int) -> Tensor:
    """Attention of every token over the last ``window`` tokens of its sequence, its own included.

    The fused kernel of torch is made for long sequences. For windows of a dozen tokens on the CPU plain products of two
    sequences at a time, with a mask between them, take half its time forward and backward: rows of twenty scores fill
    the vector units, rows of ten do not.

    Args:
        query: Queries, shape (E, B, T, heads, head_dim).
        key: Keys, same shape.
        value: Values, same shape.
        window: Number of tokens that a token sees.

    Returns:
        Weighted values, shape (E, B, T, heads * head_dim).
    """
    members, batch, length, heads, features = query.shape
    shape = (members, batch, length, heads * features)
    short = query.device.type == "cpu" and query.dtype == torch.float32 and 2 * length <= SHORT
    if not short or members * batch % 2:
        band = None if length <= window else _band(length, window, 1, query.device)
        parts = (part.flatten(0, 1).transpose(1, 2) for part in (query, key, value))
        attended = functional.scaled_dot_product_attention(*parts, attn_mask=band, is_causal=band is None)
        return attended.transpose(1, 2).reshape(shape)
    pairs, both = members * batch // 2, 2 * length
    hidden = ~_band(length, window, 2, query.device)
    mask = torch.zeros(both, both).masked_fill_(hidden, float("-inf"))
    query, key, value = (
        part.reshape(pairs, both, heads, features).transpose(1, 2).reshape(-1, both, features)
        for part in (query * features**-0.5, key, value)
    )
    attended = torch.baddbmm(mask, query, key.mT).softmax(-1) @ value
    return attended.view(pairs, heads, both, features).transpose(1, 2).reshape(shape)


def _band(length: int, window: int, sequences: int, device: torch.device) -> Tensor:
    """Which tokens (columns) each token (rows) sees when ``sequences`` of them stand side by side, bool."""
    place = torch.arange(sequences * length, device=device)
    age, sequence = place[:, None] - place, place // length
    return (age >= 0) & (age < window) & (sequence[:, None] == sequence)


__all__ = ["attend_sequences"]
