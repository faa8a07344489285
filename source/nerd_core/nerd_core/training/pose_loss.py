# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The loss of long roll-outs of what was measured: how far poses are, and no more than that.

Velocities of a measurement are noisy, and a logarithm of squares is decided by the few roll-outs in which a body falls
to another side than in truth. So this loss is a mean of distances, of which large ones count less and less::

    L = mean_k mean_i r(x_ik / u_x + angle_ik / u_r + joints_ik / u_r),      r(e) = e / (1 + e / limit)

Example::

    loss = pose_loss(predictor, batch, 80, RolloutCfg(errors="pose"))
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..data.dataset import TrajectoryBatch
from ..predictor.predictor import Predictor
from ..robot.frames import wrap_to_pi
from ..robot.spec import RobotSpec
from .config import RolloutCfg
from .losses import recorded_rollout

SMOOTH = 1.0e-2
"""Distance, in units, below which it is a square: its gradient has a direction everywhere else."""


def pose_loss(predictor: Predictor, batch: TrajectoryBatch, steps: int, cfg: RolloutCfg) -> Tensor:
    """Mean distance of poses over a roll-out from the first state of each window, shape ().

    Args:
        predictor: The model.
        batch: Windows of at least ``steps`` transitions.
        steps: Number of steps.
        cfg: Units of the distance, and its limit.
    """
    parts = []
    for step, state in enumerate(recorded_rollout(predictor, batch, steps), 1):
        distance = pose_distance(predictor.spec, state, batch.state[:, step], cfg.position_unit, cfg.rotation_unit)
        parts.append((distance / (1.0 + distance / cfg.limit)).mean())
    return torch.stack(parts).mean()


def pose_distance(spec: RobotSpec, state: Tensor, truth: Tensor, position_unit: float, rotation_unit: float) -> Tensor:
    """How far poses are, in units, smooth where they are the same, shape (...,).

    Args:
        spec: The robot.
        state: States, shape (..., S).
        truth: True states, shape (..., S).
        position_unit: Distance of the root, or of a prismatic joint, that counts as one [m].
        rotation_unit: Angle of the root, or of a revolute joint, that counts as one [rad].
    """
    at, squares = spec.state, []
    if spec.floating_base:
        squares.append((state[..., at.root_pos] - truth[..., at.root_pos]).square().sum(-1) / position_unit**2)
        quat, other = state[..., at.root_quat], truth[..., at.root_quat]
        sign = torch.where((quat * other).sum(-1, keepdim=True) < 0, -1.0, 1.0)
        # The chord between two unit quaternions is half their angle, for angles that matter.
        squares.append(4.0 * (sign * quat - other).square().sum(-1) / rotation_unit**2)
    for index, joint in enumerate(spec.joints):
        moved = state[..., at.joint_pos][..., index] - truth[..., at.joint_pos][..., index]
        moved = wrap_to_pi(moved) if joint.wraps else moved
        squares.append(moved.square() / (rotation_unit if joint.kind == "revolute" else position_unit) ** 2)
    return sum(((each + SMOOTH**2).sqrt() - SMOOTH for each in squares), torch.zeros_like(state[..., 0]))


def departure(weights: Sequence[Tensor], start: Sequence[Tensor]) -> Tensor:
    """Half the sum of squares by which weights have left those of the start, shape ().

    Args:
        weights: Weights now.
        start: Weights at the start.
    """
    return 0.5 * torch.stack([(now - then).square().sum() for now, then in zip(weights, start, strict=True)]).sum()


__all__ = ["departure", "pose_distance", "pose_loss"]
