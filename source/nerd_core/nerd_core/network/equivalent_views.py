# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The canonical one of a symmetric robot's equivalent views: tokens are turned into it, and a network's output back."""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..contact.contacts import Contacts
from ..robot.frames import ChangeCodec
from .symmetry import SignedPermutation, Views, change_view, symmetries_of
from .tokens import Tokenizer


class EquivalentViews(nn.Module):
    """The views of one robot, see :attr:`nerd_core.network.token_config.TokenCfg.symmetric`. Has no parameters."""

    def __init__(self, tokenizer: Tokenizer, codec: ChangeCodec, outputs: Collection[str]):
        """Finds the robot's symmetries.

        Args:
            tokenizer: Makes the tokens.
            codec: Writes changes of state.
            outputs: Parts of the network's output, in order: change, log_var, force.
        """
        super().__init__()
        self._tokenizer = tokenizer
        symmetries = symmetries_of(tokenizer.visible)
        changes = [change_view(codec, symmetry) for symmetry in symmetries]
        backwards = []
        for symmetry, change in zip(symmetries, changes, strict=True):
            parts = {
                "change": change,
                "log_var": SignedPermutation.unsigned(change.source),
                "force": symmetry.bodies.of_vectors(symmetry.axes),
            }
            backwards.append(SignedPermutation.joined([parts[name] for name in outputs]).inverse())
        self._scores = Views([tokenizer.view_scores_of(symmetry) for symmetry in symmetries])
        self._tokens = Views([tokenizer.view(symmetry) for symmetry in symmetries])
        self._changes = Views(changes)
        self._backwards = Views(backwards)

    @property
    def extra_features(self) -> int:
        """Number of features that say which view it is; none unless asked for."""
        return self._tokens.count if self._tokenizer.cfg.told_view else 0

    def canonicalise(self, tokens: Tensor, raw: Tensor, contacts: Contacts | None) -> tuple[Tensor, Tensor]:
        """The tokens in the canonical view, in which the slots nearest to the ground come first, and that view.

        Args:
            tokens: Normalised tokens, shape (..., dim).
            raw: The same before normalising.
            contacts: Contacts that they were made from.

        Returns:
            Tokens, shape (..., dim + :attr:`extra_features`), and numbers of views, shape (...).
        """
        view = self._scores.canonical(self._tokenizer.view_scores(raw, contacts))
        tokens = self._tokens(tokens, view)
        if self.extra_features:
            tokens = torch.cat((tokens, functional.one_hot(view, self.extra_features).to(tokens.dtype)), dim=-1)
        return tokens, view

    def restore(self, y: Tensor, view: Tensor) -> Tensor:
        """The network's output, as it is in the robot's own view.

        Args:
            y: Output, shape (..., D).
            view: Views, shape (...), or with fewer leading dimensions.
        """
        return self._backwards(y, view)

    def in_all_views(self, tokens: Tensor, mask: Tensor | None, change: Tensor) -> tuple[Tensor, Tensor | None, Tensor]:
        """Tokens, their masks and changes of state in all views, with the views as a new first dimension. Statistics of
        these are the same in each view, so that a view can be taken of what is normalised.
        """
        mask = None if mask is None else self._tokens.all(mask.float()) != 0
        return self._tokens.all(tokens), mask, self._changes.all(change)


__all__ = ["EquivalentViews"]
