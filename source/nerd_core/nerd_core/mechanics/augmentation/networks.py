# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Small networks for all joints, bodies or slots of a robot at once: one that they share, or one for each.

Example::

    networks = ElementNetworks(count=12, inputs=3, hidden=(16,), outputs=1, activation="tanh")
    networks(x)    # (M, 12, 3) to (M, 12, 1); zero at first
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .blueprints import Activation

FUNCTIONS = {"tanh": torch.tanh, "elu": nn.functional.elu}


class ElementNetworks(nn.Module):
    """Networks of the same shape, which all say zero at first."""

    def __init__(self, count: int, inputs: int, hidden: tuple[int, ...], outputs: int, activation: Activation):
        """Makes the weights.

        Args:
            count: Number of networks; one for a network that all elements share.
            inputs: Numbers that each sees.
            hidden: Features of the hidden layers.
            outputs: Numbers that each says.
            activation: What stands between layers.
        """
        super().__init__()
        sizes = (inputs, *hidden, outputs)
        self.weights = nn.ParameterList(
            torch.empty(count, a, b).uniform_(-math.sqrt(3.0 / max(a, 1)), math.sqrt(3.0 / max(a, 1)))
            for a, b in zip(sizes, sizes[1:], strict=False)
        )
        self.biases = nn.ParameterList(torch.zeros(count, 1, size) for size in sizes[1:])
        self._activate = FUNCTIONS[activation]
        with torch.no_grad():
            self.weights[-1].zero_()

    def forward(self, x: Tensor) -> Tensor:
        """What the networks say, shape (M, E, outputs).

        Args:
            x: What they see, shape (M, E, inputs).
        """
        elements, count = x.shape[1], len(self.weights[0])
        x = x.transpose(0, 1)
        x = x.reshape(1, -1, x.shape[-1]) if count == 1 else x
        last = len(self.weights) - 1
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = torch.baddbmm(bias, x, weight)
            x = x if layer == last else self._activate(x)
        return x.reshape(elements, -1, x.shape[-1]).transpose(0, 1)


__all__ = ["ElementNetworks"]
