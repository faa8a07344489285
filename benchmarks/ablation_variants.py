# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Choices that the library does not offer, because they are worse: for ``ablations.py`` alone, on top of its models."""

from __future__ import annotations

from typing import Any, override

import torch
from torch import Tensor

from nerd_core.network.tokens import Tokenizer
from nerd_core.predictor.predictor import Predictor
from nerd_core.predictor.residual_network import ResidualNetwork
from nerd_core.robot.frames import (
    ChangeCfg,
    ChangeCodec,
    into_frame,
    quat_canonical,
    quat_conjugate,
    quat_mul,
    quat_normalize,
    rotation_matrix,
)


class AbsoluteCodec(ChangeCodec):
    """Writes the next state itself, in the root's axes, where others write how it differs from the one before.

    Where the root is, and how it is turned, is zero in its own frame, so those stay differences.
    """

    @override
    def encode(self, state: Tensor, next_state: Tensor) -> Tensor:
        return super().encode(state, next_state) + self._now(state)

    @override
    def apply(self, state: Tensor, change: Tensor) -> Tensor:
        return super().apply(state, change - self._now(state))

    def _now(self, state: Tensor) -> Tensor:
        """What of the state stands in the places of its change, shape (..., D)."""
        at, now = self.spec.state, state.new_zeros(*state.shape[:-1], self.dim)
        now[..., self.slices["joint_pos"]] = state[..., at.joint_pos]
        now[..., self.slices["joint_vel"]] = state[..., at.joint_vel]
        if self.spec.floating_base:
            turn = rotation_matrix(state[..., at.root_quat])
            now[..., self.slices["root_lin_vel"]] = into_frame(turn, state[..., at.root_lin_vel])
            now[..., self.slices["root_ang_vel"]] = into_frame(turn, state[..., at.root_ang_vel])
        return now


class WorldCodec(ChangeCodec):
    """Writes changes in the axes of the world, for a floating robot."""

    @override
    def encode(self, state: Tensor, next_state: Tensor) -> Tensor:
        quat = self.spec.state.root_quat
        turned = quat_normalize(quat_mul(next_state[..., quat], quat_conjugate(state[..., quat])))
        return super().encode(upright(self, state), replaced(next_state, quat, turned))

    @override
    def apply(self, state: Tensor, change: Tensor) -> Tensor:
        quat = self.spec.state.root_quat
        after = super().apply(upright(self, state), change)
        return replaced(after, quat, quat_normalize(quat_mul(after[..., quat], state[..., quat])))


class WorldTokenizer(Tokenizer):
    """Shows velocities, normals and places of contacts in the axes of the world, and where and how the root is."""

    @override
    def forward(
        self, state: Tensor, control: Tensor, contacts: Any = None, gravity_dir: Any = None, ahead: Any = None, **more
    ) -> Tensor:
        ahead = self._extrapolated(state) if ahead is None and self.contact_model is not None else ahead
        tokens = super().forward(upright(self, state), control, contacts, gravity_dir, ahead, **more)
        at = self.spec.state
        tokens = replaced(tokens, self.slices["root_pos"], state[..., at.root_pos])
        return replaced(tokens, self.slices["root_quat"], quat_canonical(state[..., at.root_quat]))


def upright(holder: Any, state: Tensor) -> Tensor:
    """States with the root turned back to the axes of the world."""
    quat = holder.spec.state.root_quat
    return replaced(state, quat, torch.tensor([0.0, 0.0, 0.0, 1.0], dtype=state.dtype, device=state.device))


def replaced(values: Tensor, where: slice, part: Tensor) -> Tensor:
    """A copy with some columns replaced."""
    copy = values.clone()
    copy[..., where] = part
    return copy


def use_codec(predictor: Predictor, kind: type[ChangeCodec]) -> None:
    """Lets a model that has not been trained write changes otherwise.

    Args:
        predictor: The model, without a prior.
        kind: Kind of codec.
    """
    codec = kind(predictor.spec, ChangeCfg(integration="none"))
    predictor.codec = predictor.residual.codec = codec  # type: ignore[assignment]


def see_the_world(predictor: Predictor) -> None:
    """Lets a model that has not been trained see and say everything in the axes of the world.

    Args:
        predictor: The model of a floating robot, whose token has the root's published pose.
    """
    use_codec(predictor, WorldCodec)
    residual = predictor.residual
    assert isinstance(residual, ResidualNetwork)
    residual.tokenizer = WorldTokenizer(predictor.spec, predictor.cfg.token)


def leave_unnormalised(predictor: Predictor, part: str) -> None:
    """Keeps the units of what a model sees ("input") or says ("output") as they are in the data.

    Args:
        predictor: The model.
        part: Which of the two.
    """
    residual = predictor.residual
    assert isinstance(residual, ResidualNetwork)
    normaliser = residual.token_normaliser if part == "input" else predictor.change_normaliser
    finalise = normaliser.finalise

    def only_count() -> None:
        finalise()
        normaliser.mean.zero_()
        normaliser.std.fill_(1.0)

    normaliser.finalise = only_count  # type: ignore[method-assign]


def plain_squares(square: Tensor, weight: Tensor | None = None) -> Tensor:
    """The published loss in the place of :func:`nerd_core.training.losses.mean_log`: the mean of normalised squares."""
    return square.mean() if weight is None else (weight * square).sum(-2).mean()


__all__ = [
    "AbsoluteCodec",
    "WorldCodec",
    "WorldTokenizer",
    "leave_unnormalised",
    "plain_squares",
    "see_the_world",
    "use_codec",
]
