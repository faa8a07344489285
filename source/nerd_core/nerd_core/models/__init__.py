# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Networks, all behind :class:`~nerd_core.models.base.SequenceModel`."""

from collections.abc import Sequence

from .base import Cache, Past, SequenceModel
from .mlp import Mlp, MlpCfg
from .nothing import NoNetwork, NoNetworkCfg
from .recurrent import Recurrent, RecurrentCfg
from .residual import ResidualMlp, ResidualMlpCfg
from .transformer import PRESETS, Transformer, TransformerCfg, transformer_cfg

ModelCfg = TransformerCfg | MlpCfg | RecurrentCfg | ResidualMlpCfg | NoNetworkCfg
"""Any network's configuration."""


def build_model(cfg: ModelCfg, in_dim: int, out_dims: int | Sequence[int], members: int = 1) -> SequenceModel:
    """Makes a network with fresh weights.

    Args:
        cfg: Its configuration, which also says its kind.
        in_dim: Length of a token.
        out_dims: Length of the output, or the lengths of its parts; each part has a head of its own.
        members: Number of sets of weights: an ensemble, evaluated as one, when more than one.
    """
    parts = (out_dims,) if isinstance(out_dims, int) else tuple(out_dims)
    if isinstance(cfg, TransformerCfg):
        return Transformer(cfg, in_dim, parts, members)
    if isinstance(cfg, MlpCfg):
        return Mlp(cfg, in_dim, parts, members)
    if isinstance(cfg, RecurrentCfg):
        return Recurrent(cfg, in_dim, parts, members)
    if isinstance(cfg, ResidualMlpCfg):
        return ResidualMlp(cfg, in_dim, parts, members)
    if isinstance(cfg, NoNetworkCfg):
        if members > 1:
            raise ValueError(f"got {members} members without a network, expected one")
        return NoNetwork(cfg, parts)
    raise TypeError(f"got a {type(cfg).__name__}, expected a configuration of a network")


__all__ = [
    "PRESETS",
    "Cache",
    "Mlp",
    "MlpCfg",
    "ModelCfg",
    "NoNetwork",
    "NoNetworkCfg",
    "Past",
    "Recurrent",
    "RecurrentCfg",
    "ResidualMlp",
    "ResidualMlpCfg",
    "SequenceModel",
    "Transformer",
    "TransformerCfg",
    "build_model",
    "transformer_cfg",
]
