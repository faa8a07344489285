# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Exponential moving average (EMA) of weights."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn


class ExponentialMovingAverage:
    """Exponential moving average of a model's weights, in the first updates a plain mean."""

    def __init__(self, model: nn.Module, decay: float):
        """Starts at the model's weights.

        Args:
            model: The model.
            decay: Share of the average that one update keeps; 0 for no average at all.
        """
        self.decay = decay
        self.params: list[Tensor] = [param for param in model.parameters() if param.requires_grad] if decay else []
        self.average = [param.detach().clone() for param in self.params]
        self.count = 0

    @torch.no_grad()
    def update(self) -> None:
        """Takes in the present weights."""
        self.count += 1
        keep = min(self.decay, self.count / (self.count + 9.0))
        if self.params:
            torch._foreach_lerp_(self.average, self.params, 1.0 - keep)

    @contextlib.contextmanager
    def average_weights(self) -> Iterator[None]:
        """Within this context, the model has the averaged weights."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    @torch.no_grad()
    def copy_to_model(self) -> None:
        """Gives the model the averaged weights for good."""
        for param, average in zip(self.params, self.average, strict=True):
            param.copy_(average)

    @torch.no_grad()
    def _swap(self) -> None:
        for param, average in zip(self.params, self.average, strict=True):
            held = param.detach().clone()
            param.copy_(average)
            average.copy_(held)

    def state_dict(self) -> dict[str, Any]:
        """The average, as a tree."""
        return {"count": self.count, "average": [average.clone() for average in self.average]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on from :meth:`state_dict`."""
        self.count = state["count"]
        for own, average in zip(self.average, state["average"], strict=True):
            own.copy_(average)


__all__ = ["ExponentialMovingAverage"]
