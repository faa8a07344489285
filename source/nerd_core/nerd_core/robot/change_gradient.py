# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Changes of state with derivatives by hand: some thirty operations instead of the two hundred of a graph.

Rotations move by turns: with ``R`` and ``R'`` for the rotations of both states, ``u`` for what the angular velocities
make of the step, and ``r`` for the rotation vector that is told, ``exp(r) = exp(-u) R^T R'``. So a turn ``f'`` of the
later state moves ``r`` by ``inverse(J(r)) exp(-u) R^T f'``, one of the earlier state by the opposite, and a change of
``u`` by ``-inverse(J(r)) J(-u)`` times it, with the left Jacobian ``J`` of rotations (Solà et al., *A micro Lie theory
for state estimation in robotics*, 2018, equations 145 and 146).

Example::

    change = encoded(codec, state, next_state)  # as codec.encode, with first derivatives only
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .frames import ChangeCodec, into_frame, out_of_frame, quat_mul, rotation_matrix

SMALL = 1.0e-4
"""Squared angle [rad^2] below which series replace quotients: their next terms are below single precision, and what
quotients lose by rounding is not."""


def encoded(codec: ChangeCodec, state: Tensor, next_state: Tensor) -> Tensor:
    """The change that leads from one state to another, as :meth:`ChangeCodec.encode` says it.

    Args:
        codec: Writes changes.
        state: States, shape (..., S).
        next_state: States one control step later, shape (..., S).
    """
    if codec.cfg.rotation != "rotvec" or not codec.spec.floating_base:
        return codec.encode(state, next_state)
    found: Any = _Encoded.apply(codec, state, next_state)
    return found


class _Encoded(torch.autograd.Function):
    """A change of state, and its derivatives."""

    @staticmethod
    def forward(ctx: Any, codec: ChangeCodec, state: Tensor, next_state: Tensor) -> Tensor:
        change = codec.encode(state, next_state)
        ctx.codec = codec
        ctx.save_for_backward(state, next_state, change)
        return change

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by: Tensor) -> tuple[None, Tensor, Tensor]:
        codec, (state, after, change) = ctx.codec, ctx.saved_tensors
        at = codec.spec.state
        half = 0.5 * codec.spec.control_dt if codec.cfg.integration == "trapezoid" else 0.0
        by_parts = {name: by[..., where] for name, where in codec.slices.items()}
        quat, later_quat = state[..., at.root_quat], after[..., at.root_quat]
        turn = rotation_matrix(quat)
        spins = state[..., at.root_ang_vel] + after[..., at.root_ang_vel]
        by_pushed = _inverse_jacobian(change[..., codec.slices["root_rot"]], by_parts["root_rot"])
        by_turned, by_integrated = _integrated(half * into_frame(turn, spins), by_pushed)
        # In the axes of the environment: by how far the root comes, by its velocities, and by its turns.
        names = ("root_pos", "root_lin_vel", "root_ang_vel")
        inner = torch.stack((*(by_parts[name] for name in names), half * by_integrated, by_turned), -2)
        outer = out_of_frame(turn.unsqueeze(-3), inner)
        by_way, by_lin_vel, by_ang_vel, by_spins, by_turn = outer.unbind(-2)
        lin_vels = state[..., at.root_lin_vel] + after[..., at.root_lin_vel]
        arms = torch.stack(
            (
                after[..., at.root_pos] - state[..., at.root_pos] - half * lin_vels,
                *(after[..., getattr(at, name)] - state[..., getattr(at, name)] for name in names[1:]),
                spins,
            ),
            -2,
        )
        by_earlier_turn = torch.linalg.cross(outer[..., :4, :], arms).sum(-2) - by_turn
        by_pos, by_vel = by_parts["joint_pos"], by_parts["joint_vel"]
        by_state = (-by_way, _by_quat(quat, by_earlier_turn), -by_pos, -by_lin_vel - half * by_way)
        by_after = (by_way, _by_quat(later_quat, by_turn), by_pos, by_lin_vel - half * by_way)
        return (
            None,
            torch.cat((*by_state, by_spins - by_ang_vel, -by_vel - half * by_pos), -1),
            torch.cat((*by_after, by_spins + by_ang_vel, by_vel - half * by_pos), -1),
        )


def _inverse_jacobian(rotvec: Tensor, by: Tensor) -> Tensor:
    """Derivatives by a turn before a rotation, given those by its rotation vector: the transpose of the inverse of the
    left Jacobian, shape (..., 3).
    """
    squared = rotvec.square().sum(-1, keepdim=True)
    is_small = squared < SMALL
    safe = torch.where(is_small, torch.ones_like(squared), squared)
    half = 0.5 * safe.sqrt()
    share = torch.where(is_small, 1.0 / 12.0 + squared / 720.0, (1.0 - half / torch.tan(half)) / safe)
    across = torch.linalg.cross(rotvec, by)
    return by + 0.5 * across + share * torch.linalg.cross(rotvec, across)


def _integrated(rotvec: Tensor, by: Tensor) -> tuple[Tensor, Tensor]:
    """Derivatives by a turn that comes behind the integrated one, and by the rotation vector of the latter, given those
    by a turn of what is left of it, each of shape (..., 3).
    """
    squared = rotvec.square().sum(-1, keepdim=True)
    is_small = squared < SMALL
    safe = torch.where(is_small, torch.ones_like(squared), squared)
    angle = safe.sqrt()
    sine, versine = torch.sin(angle), 2.0 * torch.sin(0.5 * angle).square()
    of_sine = torch.where(is_small, 1.0 - squared / 6.0, sine / angle)
    of_versine = torch.where(is_small, 0.5 - squared / 24.0, versine / safe)
    of_rest = torch.where(is_small, 1.0 / 6.0 - squared / 120.0, (angle - sine) / (safe * angle))
    across = torch.linalg.cross(rotvec, by)
    twice = torch.linalg.cross(rotvec, across)
    return by + of_sine * across + of_versine * twice, -(by + of_versine * across + of_rest * twice)


def _by_quat(quat: Tensor, by_turn: Tensor) -> Tensor:
    """Derivatives by a quaternion of any length but zero, given those by a turn of what it turns, shape (..., 4)."""
    pure = torch.cat((by_turn, torch.zeros_like(by_turn[..., :1])), -1)
    return 2.0 / quat.square().sum(-1, keepdim=True) * quat_mul(pure, quat)


__all__ = ["encoded"]
