# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What is known of a robot that nothing touches, so that a network need not learn it.

A falling robot moves in itself as if there were no gravity, whatever the velocity of its root is, and it does not move
at all while nothing drives it: joints and root do not turn, there is no effort, and no joint is beyond its stop. A
network that has to learn this is wrong by a little everywhere, and in a fall of a fifth of a second that is enough to
land on another foot.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .frames import ChangeCodec, into_frame, rotation_matrix
from .normalisation import Normaliser
from .tokens import Tokenizer

LEAST_SIZE = 1.0e-6
"""Size of the drive below which it is none."""


class FreeFall(nn.Module):
    """The fall itself, and the size of what drives a falling robot. Nothing in it is trained."""

    further: Tensor
    """How much further the solver falls in a control step than at the mean velocity [s^2], shape (): one that changes
    velocities first and then moves does so, the less the finer its own steps are. Found in the data."""
    _gravity: Tensor
    _sums: Tensor
    _stopped: Tensor

    def __init__(self, tokenizer: Tokenizer, codec: ChangeCodec):
        """Looks where things stand.

        Args:
            tokenizer: Makes the tokens, with :attr:`~nerd_core.tokens.TokenCfg.falling`.
            codec: Writes changes of state.
        """
        super().__init__()
        if codec.cfg.integration != "trapezoid":
            raise ValueError(
                f"got changes with integration='{codec.cfg.integration}' for a falling robot, expected 'trapezoid': "
                "others depend on the velocity of the root, which it does not see"
            )
        self.spec, self._codec, self._slices = codec.spec, codec, tokenizer.slices
        self._driving = [
            self._slices[name] for name in ("root_ang_vel", "joint_vel", "control") if name in self._slices
        ]
        joints = torch.tensor(tokenizer.stops.joints, dtype=torch.long)
        self.register_buffer("_stopped", joints, persistent=False)
        self.register_buffer("further", torch.zeros(()))
        self.register_buffer("_sums", torch.zeros(2, dtype=torch.float64), persistent=False)
        self.register_buffer("_gravity", torch.tensor(self.spec.gravity), persistent=False)

    def change(self, state: Tensor) -> Tensor:
        """The change of state by the fall alone, shape (..., D), not normalised.

        Args:
            state: States, shape (..., S).
        """
        gravity = self._seen_gravity(state)
        change = state.new_zeros(*state.shape[:-1], self._codec.dim)
        change[..., self._codec.slices["root_lin_vel"]] = self.spec.control_dt * gravity
        change[..., self._codec.slices["root_pos"]] = self.further * gravity
        return change

    def update(self, state: Tensor, change: Tensor) -> None:
        """Takes changes of state, shape (..., D), into the statistics."""
        gravity = self._seen_gravity(state)
        along = (gravity * change[..., self._codec.slices["root_pos"]]).double().sum()
        self._sums += torch.stack((along, gravity.double().square().sum()))

    def finalise(self) -> None:
        """Sets :attr:`further` from what was seen."""
        self.further.copy_(self._sums[0] / self._sums[1].clamp(min=1.0e-12))

    def _seen_gravity(self, state: Tensor) -> Tensor:
        return into_frame(rotation_matrix(state[..., self.spec.state.root_quat]), self._gravity)

    def in_common_units(self, raw: Tensor, tokens: Tensor, normaliser: Normaliser) -> tuple[Tensor, Tensor]:
        """Tokens in which what drives the robot has the size of one, and that size.

        Args:
            raw: Tokens that are not normalised, shape (..., dim).
            tokens: The same, normalised.
            normaliser: What normalised them.

        Returns:
            Tokens, shape (..., dim), and sizes, shape (..., 1).
        """
        units = [raw[..., where] / normaliser.std[where] for where in self._driving]
        squares = [unit.square().mean(-1, keepdim=True) for unit in units]
        if "limit_now" in self._slices:
            # What is beyond a stop is pushed back within a step.
            beyond = raw[..., self._slices["limit_now"]].clamp(min=0.0) / self.spec.control_dt
            speed = normaliser.std[self._slices["joint_vel"]][self._stopped].repeat(2)
            squares.append((beyond / speed).square().mean(-1, keepdim=True))
        size = (torch.stack(squares).mean(0) + LEAST_SIZE**2).sqrt()
        tokens = tokens.clone()
        for where, unit in zip(self._driving, units, strict=True):
            tokens[..., where] = unit / size
        return tokens, size


__all__ = ["FreeFall"]
