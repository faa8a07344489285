# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How far open-loop predictions are from the truth, in metres and radians.

A roll-out starts at a true state with an empty history and sees only the controls. Errors are those of the paper
(section 5.1): means over all steps from the first to the horizon, and over all trajectories, not errors at the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..contact.grounds import Ground
from ..data.dataset import TrajectoryDataset
from ..dynamics import rollout_states
from ..predictor.predictor import Predictor
from ..robot.frames import quat_conjugate, quat_mul, rotvec_from_quat, wrap_to_pi
from ..robot.spec import RobotSpec
from .losses import ground_of

BASE_POSITION, BASE_ORIENTATION = "base_position_m", "base_orientation_rad"
JOINT_RAD, JOINT_M = "joint_rad", "joint_m"


def state_errors(spec: RobotSpec, state: Tensor, truth: Tensor) -> dict[str, Tensor]:
    """Distances of states by quantity.

    Args:
        spec: The robot.
        state: Predicted states, shape (..., S).
        truth: True states, shape (..., S).

    Returns:
        Shapes (...,). ``base_position_m``: distance of the roots [m]; ``base_orientation_rad``: angle between them
        [rad]; ``joint_rad`` and ``joint_m``: mean absolute difference of revolute and of prismatic joints. What a robot
        does not have is missing.
    """
    at, errors = spec.state, {}
    if spec.floating_base:
        errors[BASE_POSITION] = torch.linalg.vector_norm(state[..., at.root_pos] - truth[..., at.root_pos], dim=-1)
        relative = quat_mul(quat_conjugate(truth[..., at.root_quat]), state[..., at.root_quat])
        errors[BASE_ORIENTATION] = torch.linalg.vector_norm(rotvec_from_quat(relative), dim=-1)
    joints = joint_errors(spec, state, truth)
    for name, kind in ((JOINT_RAD, "revolute"), (JOINT_M, "prismatic")):
        columns = [index for index, joint in enumerate(spec.joints) if joint.kind == kind]
        if columns:
            errors[name] = joints[..., columns].mean(-1)
    return errors


def joint_errors(spec: RobotSpec, state: Tensor, truth: Tensor) -> Tensor:
    """Absolute difference of every joint [rad or m], angles that wrap the short way round, shape (..., J)."""
    difference = state[..., spec.state.joint_pos] - truth[..., spec.state.joint_pos]
    wraps = torch.tensor([bool(joint.wraps) for joint in spec.joints], device=state.device)
    return torch.where(wraps, wrap_to_pi(difference), difference).abs()


@dataclass(frozen=True)
class OpenLoopErrors:
    """Errors of roll-outs as functions of the horizon."""

    curves: dict[str, Tensor]
    """Mean over trajectories of the error after each step, by quantity, float64, shape (H,). The names are those of
    :func:`state_errors`; for single joints ``joint/<name>``."""
    trajectories: int
    """Number of trajectories."""
    diverged: int
    """Trajectories that left the finite numbers. Their errors are infinite from there on, and so are the means."""

    @property
    def steps(self) -> int:
        """Longest horizon."""
        return len(next(iter(self.curves.values())))

    def at(self, horizon: int) -> dict[str, float]:
        """Temporal means over the steps 1 to ``horizon``, by quantity."""
        if not 1 <= horizon <= self.steps:
            raise ValueError(f"got the horizon {horizon}, expected 1 to {self.steps}")
        return {name: float(curve[:horizon].mean()) for name, curve in self.curves.items()}

    def table(self, horizons: Sequence[int]) -> dict[str, dict[str, float]]:
        """Temporal means at several horizons as plain values; those that the trajectories do not reach are left out."""
        return {str(horizon): self.at(horizon) for horizon in horizons if horizon <= self.steps}

    def score(self, horizon: int | None = None) -> float:
        """One number to compare models by: the geometric mean of the errors of base and joints at a horizon."""
        errors = self.at(self.steps if horizon is None else horizon)
        main = [max(value, 1e-12) for name, value in errors.items() if not name.startswith("joint/")]
        return math.exp(sum(map(math.log, main)) / len(main)) if all(map(math.isfinite, main)) else math.inf


@torch.no_grad()
def predict(predictor: Predictor, state: Tensor, controls: Tensor, ground: Ground | None = None) -> Tensor:
    """Rolls out from first states with given controls. As :func:`nerd_core.dynamics.rollout`, without gradients.

    Args:
        predictor: The model.
        state: First states, shape (B, S).
        controls: Controls held over each step, shape (B, H, C).
        ground: What the robot stands on. None only if the predictor sees no contacts.

    Returns:
        States, the first included, shape (B, H + 1, S).
    """
    cache = predictor.init_cache(state.shape[0], state.device)
    states = rollout_states(predictor, state, lambda step, _: controls[:, step], controls.shape[1], ground, cache=cache)
    return torch.stack([state, *states], 1)


def compare(spec: RobotSpec, states: Tensor, truth: Tensor) -> OpenLoopErrors:
    """Errors of given roll-outs.

    Args:
        spec: The robot.
        states: Predicted states, the first included, shape (B, H + 1, S).
        truth: True states, shape (B, H + 1, S).
    """
    return _summarise(spec, *_sums(spec, states, truth), states.shape[0])


def open_loop(
    predictor: Predictor,
    dataset: TrajectoryDataset,
    horizon: int,
    trajectories: int | None = None,
    chunk: int = 256,
) -> OpenLoopErrors:
    """Errors of roll-outs from the beginnings of recorded trajectories, with the recorded controls.

    Args:
        predictor: The model, of the data's robot.
        dataset: Held-out trajectories; those shorter than the horizon are not used.
        horizon: Number of steps.
        trajectories: Number of trajectories at most; all by default.
        chunk: Trajectories that are rolled out at a time. Bounds the memory taken.
    """
    device, was_training = predictor.device, predictor.training
    predictor.eval()
    which = (dataset.length >= horizon).nonzero()[0][:trajectories]
    if not len(which):
        raise ValueError(
            f"got the horizon {horizon}, the longest of {len(dataset)} trajectories has {dataset.length.max()} steps"
        )
    sums: dict[str, Tensor] = {}
    diverged = 0
    for first in range(0, len(which), chunk):
        part = which[first : first + chunk]
        batch = dataset.gather(part, 0 * part, horizon).to(device)
        states = predict(predictor, batch.state[:, 0], batch.control, ground_of(batch))
        found, lost = _sums(predictor.spec, states, batch.state)
        sums = {name: value + sums[name] if sums else value for name, value in found.items()}
        diverged += lost
    predictor.train(was_training)
    return _summarise(predictor.spec, sums, diverged, len(which))


def _sums(spec: RobotSpec, states: Tensor, truth: Tensor) -> tuple[dict[str, Tensor], int]:
    """Sums of the errors over trajectories, after each step; and how many trajectories left the finite numbers."""
    states, truth = states[:, 1:], truth[:, 1:]
    errors = state_errors(spec, states, truth)
    joints = joint_errors(spec, states, truth)
    errors |= {f"joint/{joint.name}": joints[..., index] for index, joint in enumerate(spec.joints)}
    lost = ~states.isfinite().all(-1)
    sums = {name: error.double().masked_fill(lost, math.inf).sum(0).cpu() for name, error in errors.items()}
    return sums, int(lost.any(-1).sum())


def _summarise(spec: RobotSpec, sums: dict[str, Tensor], diverged: int, count: int) -> OpenLoopErrors:
    if not sums:
        raise ValueError(f"'{spec.name}' has neither a free root nor joints: there is nothing to compare")
    return OpenLoopErrors({name: value / count for name, value in sums.items()}, count, diverged)


__all__ = ["OpenLoopErrors", "compare", "joint_errors", "open_loop", "predict", "state_errors"]
