# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The causal transformer of NeRD, with attention over a sliding window.

Layout and initialisation are the published ones (pre-norm blocks without biases, GELU, a linear layer before a small
head); with ``rotary=False`` so are the learned absolute positions, and the parameter counts match exactly.

By default positions are rotary instead. Attention then depends on the distance between tokens only, so that keys and
values stay valid as the window slides, and a step costs one token instead of a window. Training on sequences longer
than the window uses the same band of attention: both give the same numbers. As in every sliding-window transformer
information travels further than one window through the layers, at most ``layers * (window - 1)`` tokens back.

Absolute positions shift at every step once the window is full, and with them every key and value. That variant
therefore keeps the tokens and evaluates the window anew in each step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, cast, override

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...files.bounds import bounded, check_bounds
from ..config import NetworkCfg
from .attention import attend_sequences
from .base import Cache, Past, SequenceModel, last_windows
from .layers import Heads, LayerNorm, Linear


@dataclass(frozen=True)
class TransformerCfg(NetworkCfg):
    """Shape of a causal transformer."""

    kind: Literal["transformer"] = "transformer"
    """Names the network in files."""
    width: int = bounded(192, at_least=1)
    """Features of a token inside the network; the paper uses 192 and 384."""
    layers: int = bounded(6, at_least=1)
    """Number of blocks."""
    heads: int = bounded(12, at_least=1)
    """Attention heads in a block; must divide the width."""
    window: int = bounded(10, at_least=1)
    """Tokens that a token attends to, itself included."""
    head_hidden: int = bounded(64, at_least=0)
    """Width of the hidden layer of each output head."""
    mlp_ratio: int = bounded(4, at_least=1)
    """Hidden width of a block's two-layer network, in widths."""
    rotary: bool = True
    """Rotary positions, with which a step costs one token; otherwise learned absolute ones, as published."""
    rotary_base: float = bounded(100.0, above=0.0)
    """Ratio of the slowest to the fastest rotation. Small, because windows are short."""
    block_size: int = bounded(32, at_least=1)
    """Number of learned absolute positions. Unused with rotary ones."""

    def __post_init__(self):
        check_bounds(self)
        if self.width % self.heads or (self.rotary and self.width // self.heads % 2):
            need = "a multiple of twice the heads" if self.rotary else "a multiple of the heads"
            raise ValueError(f"got width {self.width} with {self.heads} heads, expected {need}")
        if not self.rotary and self.window > self.block_size:
            raise ValueError(f"got window {self.window} with {self.block_size} positions, expected at most as many")

    @property
    @override
    def has_memory(self) -> bool:
        return self.window > 1

    @override
    def build(self, in_dim: int, out_dims: Sequence[int], members: int = 1) -> Transformer:
        return Transformer(self, in_dim, out_dims, members)


PRESETS: dict[str, TransformerCfg] = {
    "tiny": TransformerCfg(width=64, layers=2, heads=4),
    "small": TransformerCfg(width=128, layers=4, heads=4),
    "paper-192": TransformerCfg(width=192, layers=6, heads=12),
    "paper-384": TransformerCfg(width=384, layers=6, heads=12),
}
"""Ready shapes. The last two have the published numbers of layers and heads."""


class Turn(NamedTuple):
    """Cosines and sines that turn the pairs of features of queries and keys."""

    cos: Tensor
    """Cosines, twice in a row, shape (..., head_dim)."""
    sin: Tensor
    """Sines, negated in the first half, shape (..., head_dim)."""

    @classmethod
    def at(cls, position: Tensor, head_dim: int, base: float, dtype: torch.dtype) -> Turn:
        """The turn at each position. In double precision up to the sine, for positions in the millions are fine.

        Args:
            position: Positions in steps, shape (...).
            head_dim: Features of one head.
            base: Ratio of the slowest to the fastest rotation.
            dtype: Type of the result.
        """
        half = head_dim // 2
        exponent = torch.arange(half, device=position.device, dtype=torch.float64) / half
        angle = position.to(torch.float64).unsqueeze(-1) * base**-exponent
        cos, sin = angle.cos().to(dtype), angle.sin().to(dtype)
        return cls(torch.cat((cos, cos), -1), torch.cat((-sin, sin), -1))

    def __call__(self, x: Tensor) -> Tensor:
        """Turns features; the i-th of the first half pairs with the i-th of the second."""
        return torch.addcmul(x * self.cos, x.roll(x.shape[-1] // 2, -1), self.sin).to(x.dtype)


class Block(nn.Module):
    """Attention and a two-layer network, each normalised before and added to its input."""

    def __init__(self, cfg: TransformerCfg, members: int):
        """Makes the weights.

        Args:
            cfg: Shape of the transformer.
            members: Number of sets of weights.
        """
        super().__init__()
        width = cfg.width
        self.heads = cfg.heads
        self.attn_norm = LayerNorm(width, members)
        self.qkv = Linear(width, 3 * width, bias=False, members=members)
        self.attn_out = Linear(width, width, bias=False, members=members)
        self.mlp_norm = LayerNorm(width, members)
        self.mlp_in = Linear(width, cfg.mlp_ratio * width, bias=False, members=members)
        self.mlp_out = Linear(cfg.mlp_ratio * width, width, bias=False, members=members)

    def project(self, x: Tensor, turn: Turn | None) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of tokens.

        Args:
            x: Features, shape (E, ..., width).
            turn: Turn of queries and keys, shape (..., heads, head_dim); None with absolute positions.

        Returns:
            Three tensors of shape (E, ..., heads, head_dim).
        """
        # Unbound rather than sliced: the gradient of each slice would be a tensor of zeros as large as all three.
        query, key, value = self.qkv(self.attn_norm(x)).unflatten(-1, (3, self.heads, -1)).unbind(-3)
        if turn is not None:
            query, key = turn(query), turn(key)
        return query, key, value

    def finish(self, x: Tensor, attended: Tensor) -> Tensor:
        """Adds what attention found, shape (E, ..., width), then the two-layer network."""
        x = x + self.attn_out(attended)
        return x + self.mlp_out(functional.gelu(self.mlp_in(self.mlp_norm(x))))


class Transformer(SequenceModel):
    """Causal transformer over tokens."""

    def __init__(self, cfg: TransformerCfg, in_dim: int, out_dims: Sequence[int], members: int = 1):
        """Makes and initialises the weights.

        Args:
            cfg: Shape of the transformer.
            in_dim: Length of a token.
            out_dims: Lengths of the parts of the output; each has its own head.
            members: Number of sets of weights (an ensemble when more than one).
        """
        super().__init__(in_dim, out_dims, members)
        self.cfg = cfg
        width = cfg.width
        self.embed = Linear(in_dim, width, members=members)
        self.blocks = cast("list[Block]", nn.ModuleList(Block(cfg, members) for _ in range(cfg.layers)))
        self.norm = LayerNorm(width, members)
        self.mix = Linear(width, width, bias=False, members=members)
        self.heads = Heads(width, cfg.head_hidden, out_dims, members)
        self.position = None
        if not cfg.rotary:
            self.position = nn.Parameter(torch.empty(*((members,) if members > 1 else ()), cfg.block_size, width))
        self._initialise()

    def _initialise(self) -> None:
        """The published initialisation: N(0, 0.02), smaller where a residual path ends; the heads keep their own."""
        small = 0.02 / math.sqrt(2 * self.cfg.layers)
        for name, parameter in self.named_parameters():
            if name.startswith("heads."):
                continue
            if name == "embed.bias":
                nn.init.zeros_(parameter)
            elif name.endswith(("attn_out.weight", "mlp_out.weight")):
                nn.init.normal_(parameter, std=small)
            elif not name.endswith("norm.weight"):
                nn.init.normal_(parameter, std=0.02)

    # -- whole sequences -------------------------------------------------------------------------------------------

    @override
    def prefill(self, x: Tensor) -> tuple[Tensor, Past]:
        x = self._spread(x, 3)
        window, length = self.cfg.window, x.shape[-2]
        if not self.cfg.rotary:
            return self._gather(self._windowed(x)), (x[..., max(0, length - window + 1) :, :],)
        features, keys, values = self._sequence(x)
        kept = slice(max(0, length - window + 1), length)
        position = torch.full((), length, dtype=torch.int64, device=x.device)
        past = (position, *(key[:, :, kept] for key in keys), *(value[:, :, kept] for value in values))
        return self._gather(self._output(features)), past

    def _sequence(self, x: Tensor) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """Features of every token of (E, B, T, in_dim), and the keys and values (E, B, T, heads, head_dim) by layer."""
        cfg, length = self.cfg, x.shape[-2]
        x = self.embed(x)
        turn = None
        if self.position is not None:
            x = x + self.position[..., :length, :].view(-1, 1, length, cfg.width)
        else:
            places = torch.arange(length, device=x.device)
            turn = self._turn(places, x.dtype)
        keys, values = [], []
        for block in self.blocks:
            query, key, value = block.project(x, turn)
            x = block.finish(x, attend_sequences(query, key, value, cfg.window))
            keys.append(key)
            values.append(value)
        return x, keys, values

    def _output(self, features: Tensor) -> Tensor:
        """Outputs from the features that the last block gave."""
        return self.heads(self.mix(self.norm(features)))

    def _turn(self, position: Tensor, dtype: torch.dtype) -> Turn:
        """The turn at each position, shape (..., heads, head_dim).

        Laid out for every head, though it is the same for all: long runs of memory are multiplied several times faster
        than many of one head's length.
        """
        cfg = self.cfg
        turn = Turn.at(position.unsqueeze(-1), cfg.width // cfg.heads, cfg.rotary_base, _at_least_single(dtype))
        return Turn(*(part.expand(*position.shape, cfg.heads, -1).contiguous() for part in turn))

    # -- one token, functional -------------------------------------------------------------------------------------

    @override
    def extend(self, x: Tensor, past: Past | None) -> tuple[Tensor, Past]:
        x = self._spread(x, 2)
        cfg, count = self.cfg, self.cfg.layers
        if not cfg.rotary:
            tokens = x.unsqueeze(-2) if past is None else torch.cat((past[0], x.unsqueeze(-2)), -2)
            features, _, _ = self._sequence(tokens)
            kept = tokens[..., max(0, tokens.shape[-2] - cfg.window + 1) :, :]
            return self._gather(self._output(features[..., -1, :])), (kept,)
        position = torch.zeros((), dtype=torch.int64, device=x.device) if past is None else past[0]
        turn = self._turn(position, x.dtype)
        features = self.embed(x)
        keys, values = [], []
        for i, block in enumerate(self.blocks):
            query, key, value = block.project(features, turn)
            key, value = key.unsqueeze(2), value.unsqueeze(2)
            if past is not None:
                key = torch.cat((past[1 + i], key), 2)
                value = torch.cat((past[1 + count + i], value), 2)
            features = block.finish(features, attend(query, key, value))
            first = max(0, key.shape[2] - cfg.window + 1)
            keys.append(key[:, :, first:])
            values.append(value[:, :, first:])
        return self._gather(self._output(features)), (position + 1, *keys, *values)

    # -- one token, cached -----------------------------------------------------------------------------------------

    @override
    def init_cache(
        self, batch: int, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Cache:
        cfg, kind = self.cfg, self._like_weights(device, dtype)
        cache = {"age": torch.zeros(1, batch, dtype=torch.int64, device=kind["device"])}
        if not cfg.rotary:
            cache["tokens"] = torch.zeros(self.members, batch, cfg.window, self.in_dim, **kind)
            return cache
        shape = (self.members, batch, cfg.window, 2, cfg.heads, cfg.width // cfg.heads)
        for i in range(cfg.layers):
            cache[f"ring{i}"] = torch.zeros(shape, **kind)
        return cache

    @override
    @torch.no_grad()
    def step(self, x: Tensor, cache: Cache) -> Tensor:
        x = self._spread_step(x, cache)
        if not self.cfg.rotary:
            return self._gather(self._step_window(x, cache))
        cfg, age = self.cfg, cache["age"][0]
        # An environment writes to the slot of its own age, not to one that all share: what a slot holds, and with it
        # the order in which sums are taken, then depends on its own history alone.
        envs, slot = torch.arange(age.shape[0], device=age.device), age % cfg.window
        empty = (torch.arange(cfg.window, device=age.device) > age[:, None]).view(1, -1, cfg.window, 1)
        turn = self._turn(age, x.dtype)
        features = self.embed(x)
        for i, block in enumerate(self.blocks):
            query, key, value = block.project(features, turn)
            ring = cache[f"ring{i}"]
            # A number that is not finite would outlive the reset: empty slots weigh nothing, but zero times NaN is NaN.
            ring[:, envs, slot] = torch.stack((key, value.nan_to_num()), 2).to(ring.dtype)
            features = block.finish(features, attend(query, ring[:, :, :, 0], ring[:, :, :, 1], empty))
        age += 1
        return self._gather(self._output(features))

    @override
    def _reset_targets(self, cache: Cache) -> list[Tensor]:
        # Slots beyond the age are never looked at, so that the keys and values need not be touched.
        return [cache["age"]] if self.cfg.rotary else list(cache.values())

    # -- absolute positions: the window anew -----------------------------------------------------------------------

    def _windowed(self, x: Tensor) -> Tensor:
        """Outputs for (E, B, T, in_dim), each from its own window, its first token at position 0."""
        window = self.cfg.window
        start = self._output(self._sequence(x[..., :window, :])[0])
        if x.shape[-2] <= window:
            return start
        windows = last_windows(x, window)[..., window:, :, :]
        features, _, _ = self._sequence(windows.flatten(1, 2))
        rest = self._output(features[..., -1, :]).unflatten(1, windows.shape[1:3])
        return torch.cat((start, rest), -2)

    def _step_window(self, x: Tensor, cache: Cache) -> Tensor:
        window, age, tokens = self.cfg.window, cache["age"][0], cache["tokens"]
        full = (age >= window).view(1, -1, 1, 1)
        tokens.copy_(torch.where(full, tokens.roll(-1, 2), tokens))
        envs, slot = torch.arange(age.shape[0], device=age.device), age.clamp(max=window - 1)
        tokens[:, envs, slot] = x.to(tokens.dtype)
        age += 1
        # Attention is causal: what stands behind an environment's last token does not matter.
        features, _, _ = self._sequence(tokens.to(x.dtype))
        return self._output(features[:, envs, slot])


def attend(query: Tensor, key: Tensor, value: Tensor, empty: Tensor | None = None) -> Tensor:
    """Attention of one query over some keys.

    Products and sums instead of batched matrix products: with a dozen keys of a few features each the latter cost
    several times more, on the CPU, and a compiler fuses these.

    Args:
        query: Queries, shape (E, B, heads, head_dim).
        key: Keys, shape (E, B, keys, heads, head_dim).
        value: Values, same shape.
        empty: Keys to leave out, bool, shape (1, B, keys, 1); None for none.

    Returns:
        Weighted values, shape (E, B, heads * head_dim).
    """
    score = (query.unsqueeze(2) * key).sum(-1) * query.shape[-1] ** -0.5
    if empty is not None:
        score = score.masked_fill(empty, -math.inf)
    return (score.softmax(2).unsqueeze(-1) * value).sum(2).flatten(-2)


def _at_least_single(dtype: torch.dtype) -> torch.dtype:
    """Turns are kept in single precision even for models in half precision."""
    return torch.float32 if dtype in (torch.bfloat16, torch.float16) else dtype


def transformer_cfg(preset: str, **changes: Any) -> TransformerCfg:
    """A preset, by name, with changes."""
    if preset not in PRESETS:
        raise ValueError(f"got the preset '{preset}', expected one of {sorted(PRESETS)}")
    return replace(PRESETS[preset], **changes)


__all__ = ["PRESETS", "Transformer", "TransformerCfg", "attend", "transformer_cfg"]
