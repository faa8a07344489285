# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The size of what drives a robot, as a unit of what a network is given and of what it gives.

What a robot does beside its fall is caused by its angular velocities, its joint velocities, its efforts and its joints
beyond their stops. To first order it is proportional to their common size, and zero where they are zero. A network that
sees them in units of that size, and whose output is multiplied by it, makes errors that are small where they are small.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .normalisation import Normaliser
from .tokens import Tokenizer

MIN_DRIVE = 1.0e-6
"""Drive below which there is none, in units of the training data."""

DRIVING_PARTS = ("root_ang_vel", "joint_vel", "control")
"""Parts of a token that drive a robot."""


class DriveScale(nn.Module):
    """Root mean square of what drives a robot. Has no parameters."""

    _limited: Tensor

    def __init__(self, tokenizer: Tokenizer):
        """Looks where things stand.

        Args:
            tokenizer: Makes the tokens.
        """
        super().__init__()
        self._slices, self._control_dt = tokenizer.slices, tokenizer.spec.control_dt
        self._driving = [self._slices[name] for name in DRIVING_PARTS if name in self._slices]
        limited = torch.tensor(tokenizer.stops.joints, dtype=torch.long)
        self.register_buffer("_limited", limited, persistent=False)

    def forward(self, raw: Tensor, tokens: Tensor, normaliser: Normaliser) -> tuple[Tensor, Tensor]:
        """Tokens in which what drives the robot has a root mean square of one, and what that was before.

        Args:
            raw: Tokens that are not normalised, shape (..., dim).
            tokens: The same, normalised.
            normaliser: What normalised them.

        Returns:
            Tokens, shape (..., dim), and drive scales, shape (..., 1).
        """
        units = [raw[..., where] / normaliser.std[where] for where in self._driving]
        squares = [unit.square().mean(-1, keepdim=True) for unit in units]
        if "limit_now" in self._slices:
            # What is beyond a stop is pushed back within a step.
            beyond = raw[..., self._slices["limit_now"]].clamp(min=0.0) / self._control_dt
            speed = normaliser.std[self._slices["joint_vel"]][self._limited].repeat(2)
            squares.append((beyond / speed).square().mean(-1, keepdim=True))
        scale = (torch.stack(squares).mean(0) + MIN_DRIVE**2).sqrt()
        tokens = tokens.clone()
        for where, unit in zip(self._driving, units, strict=True):
            tokens[..., where] = unit / scale
        return tokens, scale


__all__ = ["DRIVING_PARTS", "DriveScale"]
