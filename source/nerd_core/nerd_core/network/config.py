# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What the settings of every network have in common, and which kinds of networks there are.

A new network is one file in ``architectures`` and one line in :data:`BUILT_IN`; for networks of other packages see
:mod:`nerd_core.files.kinds`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ..files.kinds import Kinds, OfKind

if TYPE_CHECKING:
    from .architectures.base import SequenceModel

BUILT_IN = {
    "transformer": "nerd_core.network.architectures.transformer:TransformerCfg",
    "recurrent": "nerd_core.network.architectures.recurrent:RecurrentCfg",
    "mlp": "nerd_core.network.architectures.mlp:MlpCfg",
    "residual": "nerd_core.network.architectures.residual:ResidualMlpCfg",
}
"""Settings of the networks that are built in, by kind."""


@dataclass(frozen=True)
class NetworkCfg(OfKind):
    """Settings of a network. A subclass has a field ``kind`` that names it in files, and makes the network."""

    kinds: ClassVar[Kinds] = Kinds("network", "nerd_core.networks", BUILT_IN)

    @property
    def has_memory(self) -> bool:
        """Whether an output depends on earlier tokens as well."""
        return True

    def build(self, in_dim: int, out_dims: Sequence[int], members: int = 1) -> SequenceModel:
        """Makes a network with fresh weights.

        Args:
            in_dim: Length of a token.
            out_dims: Lengths of the parts of the output; each part may have a head of its own.
            members: Number of sets of weights: an ensemble, evaluated as one, when more than one.
        """
        raise NotImplementedError(f"{type(self).__name__} makes no network: expected a method 'build'")


__all__ = ["BUILT_IN", "NetworkCfg"]
