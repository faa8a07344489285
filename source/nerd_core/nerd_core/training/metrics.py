# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How far open-loop predictions are from the truth, in metres and radians.

A roll-out starts at a true state with an empty history and sees only the controls. Errors are those of the paper
(section 5.1): means over all steps from the first to the horizon, and over all trajectories, not errors at the end. One
trajectory that runs away decides such a mean, so medians, and errors with the guard holding, stand beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from ..contact.grounds import Ground
from ..data.dataset import TrajectoryDataset
from ..dynamics import rollout_states
from ..predictor.motion_bounds import MotionBounds
from ..predictor.predictor import MEMORY, Predictor
from ..robot.frames import quat_conjugate, quat_mul, rotvec_from_quat, wrap_to_pi
from ..robot.guard import StateGuard
from ..robot.physical_parameters import PhysicalParameters
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
    wraps = torch.tensor([bool(joint.wraps) for joint in spec.joints], dtype=torch.bool, device=state.device)
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
    held: dict[str, Tensor] = field(default_factory=dict)
    """Errors with the guard holding: a trajectory that leaves the robot's guard stays at its last good state, as in a
    simulator. Of each trajectory after each step, by quantity, never of single joints, float64, shape (B, H)."""
    left_guard: tuple[int, ...] = ()
    """Steps at which trajectories left the robot's guard, or the finite numbers; one for each that did, rising."""
    at_bounds: tuple[int, ...] = ()
    """Steps at which other trajectories met the bounds of a bounded predictor (see
    :mod:`nerd_core.predictor.motion_bounds`), which hold them, but far from all that it was trained on. Rising."""

    @property
    def steps(self) -> int:
        """Longest horizon."""
        return len(next(iter(self.curves.values())))

    @property
    def lost(self) -> int:
        """Trajectories that left the guard or met the bounds of the predictor."""
        return len(self.left_guard) + len(self.at_bounds)

    def at(self, horizon: int) -> dict[str, float]:
        """Temporal means over the steps 1 to ``horizon``, by quantity."""
        self._check(horizon)
        return {name: float(curve[:horizon].mean()) for name, curve in self.curves.items()}

    def table(self, horizons: Sequence[int]) -> dict[str, dict[str, float]]:
        """Temporal means at several horizons as plain values; those that the trajectories do not reach are left out."""
        return {str(horizon): self.at(horizon) for horizon in horizons if horizon <= self.steps}

    def spread(self, horizon: int) -> dict[str, dict[str, float]]:
        """What one bad trajectory does not decide: by quantity ``mean``, ``median`` and ``q90`` (which nine of ten stay
        below) over the trajectories of their temporal means up to ``horizon``, with the guard holding.
        """
        self._check(horizon)
        rows = {name: error[:, :horizon].mean(1) for name, error in self.held.items()}
        return {
            name: {"mean": float(row.mean()), "median": float(row.quantile(0.5)), "q90": float(row.quantile(0.9))}
            for name, row in rows.items()
        }

    def score(self, horizon: int | None = None) -> float:
        """One number to compare models by: the geometric mean of the errors of base and joints at a horizon."""
        errors = self.at(self.steps if horizon is None else horizon)
        return _geometric_mean([value for name, value in errors.items() if not name.startswith("joint/")])

    def held_score(self) -> float:
        """As :meth:`score` over all steps, with the guard holding: finite for roll-outs that leave it, too."""
        return _geometric_mean([float(error.mean()) for error in self.held.values()])

    def _check(self, horizon: int) -> None:
        if not 1 <= horizon <= self.steps:
            raise ValueError(f"got the horizon {horizon}, expected 1 to {self.steps}")


def _geometric_mean(values: Sequence[float]) -> float:
    """Of errors; infinite if one is."""
    if not all(map(math.isfinite, values)):
        return math.inf
    return math.exp(sum(math.log(max(value, 1e-12)) for value in values) / len(values))


@torch.no_grad()
def predict(
    predictor: Predictor,
    state: Tensor,
    controls: Tensor,
    ground: Ground | None = None,
    parameters: PhysicalParameters | None = None,
    memory: Tensor | None = None,
) -> Tensor:
    """Rolls out from first states with given controls. As :func:`nerd_core.dynamics.rollout`, without gradients.

    Args:
        predictor: The model.
        state: First states, shape (B, S).
        controls: Controls held over each step, shape (B, H, C).
        ground: What the robot stands on. None only if the predictor sees no contacts.
        parameters: What of the robots differs from the specification, leading dimension (B,) or none.
        memory: What the prior remembers at the beginning, leading dimension (B,); by default nothing.

    Returns:
        States, the first included, shape (B, H + 1, S).
    """
    held, cache = (lambda step, _: controls[:, step]), predictor.init_cache(state.shape[0], state.device)
    if memory is not None:
        cache[MEMORY][0] = memory
    states = rollout_states(predictor, state, held, controls.shape[1], ground, cache=cache, parameters=parameters)
    return torch.stack([state, *states], 1)


def compare(spec: RobotSpec, states: Tensor, truth: Tensor, bounds: MotionBounds | None = None) -> OpenLoopErrors:
    """Errors of given roll-outs.

    Args:
        spec: The robot.
        states: Predicted states, the first included, shape (B, H + 1, S).
        truth: True states, shape (B, H + 1, S).
        bounds: What holds the model near its data, if anything does.
    """
    return _join(spec, [_errors(spec, states, truth, bounds)])


def open_loop(
    predictor: Predictor,
    dataset: TrajectoryDataset,
    horizon: int,
    trajectories: int | None = None,
    chunk: int = 256,
    least_steps: int = 0,
    anywhere: bool = False,
) -> OpenLoopErrors:
    """Errors of roll-outs from the beginnings of recorded trajectories, with the recorded controls, and with what is
    remembered at their first states where the data know it (:mod:`nerd_core.training.remembered`).

    Args:
        predictor: The model, of the data's robot.
        dataset: Held-out trajectories; those shorter than the horizon are not used.
        horizon: Number of steps.
        trajectories: Number of trajectories at most; all by default.
        chunk: Trajectories that are rolled out at a time. Bounds the memory taken.
        least_steps: Steps that a roll-out takes at least, to see whether it leaves the guard or the bounds. Beyond the
            horizon it has the controls of other trajectories, and no error.
        anywhere: Whether roll-outs begin at any step instead: at ``trajectories`` of all, evenly spread.
    """
    device, was_training = predictor.device, predictor.training
    predictor.eval()
    which = (dataset.length >= horizon).nonzero()[0]
    start = 0 * which
    if anywhere:
        counts = dataset.length[which] - horizon + 1
        start = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        which = np.repeat(which, counts)
        picked = np.linspace(0, len(which) - 1, min(len(which), trajectories or len(which))).astype(np.int64)
        which, start = which[picked], start[picked]
    which, start = which[:trajectories], start[:trajectories]
    if not len(which):
        raise ValueError(
            f"got the horizon {horizon}, the longest of {len(dataset)} trajectories has {dataset.length.max()} steps"
        )
    parts = []
    for first in range(0, len(which), chunk):
        part = slice(first, first + chunk)
        batch = dataset.gather(which[part], start[part], horizon).to(device)
        steps = max(horizon, least_steps)
        controls = torch.cat([batch.control.roll(turn, 0) for turn in range(math.ceil(steps / horizon))], 1)
        memory = None if batch.memory is None else batch.memory[:, 0]
        states = predict(predictor, batch.state[:, 0], controls[:, :steps], ground_of(batch), memory=memory)
        parts.append(_errors(predictor.spec, states, batch.state, predictor.bounds))
    predictor.train(was_training)
    return _join(predictor.spec, parts)


@dataclass(frozen=True)
class _Part:
    """Errors of some trajectories."""

    sums: dict[str, Tensor]
    diverged: int
    held: dict[str, Tensor]
    left_guard: Tensor
    at_bounds: Tensor


def _errors(spec: RobotSpec, states: Tensor, truth: Tensor, bounds: MotionBounds | None = None) -> _Part:
    """Errors of roll-outs that may go on beyond the truth."""
    guard = StateGuard(spec).to(states.device)
    first_bad = _first(~guard(states[:, 1:]))
    first_bound = torch.zeros_like(first_bad) if bounds is None else _first(~bounds.within(states[:, 1:]))
    step = torch.arange(states.shape[1], device=states.device)
    # A roll-out that left the guard stays at the state before.
    last_good = torch.where(first_bad > 0, first_bad - 1, states.shape[1]).unsqueeze(-1).minimum(step)
    held = states.gather(1, last_good.unsqueeze(-1).expand_as(states))[:, 1 : truth.shape[1]]
    states, truth = states[:, 1 : truth.shape[1]], truth[:, 1:]
    errors = state_errors(spec, states, truth)
    joints = joint_errors(spec, states, truth)
    errors |= {f"joint/{joint.name}": joints[..., index] for index, joint in enumerate(spec.joints)}
    lost = ~states.isfinite().all(-1)
    return _Part(
        sums={name: error.double().masked_fill(lost, math.inf).sum(0).cpu() for name, error in errors.items()},
        diverged=int(lost.any(-1).sum()),
        held={name: error.double().cpu() for name, error in state_errors(spec, held, truth).items()},
        left_guard=first_bad[first_bad > 0].cpu(),
        at_bounds=first_bound[(first_bound > 0) & (first_bad == 0)].cpu(),
    )


def _first(happens: Tensor) -> Tensor:
    """Number of the first step, counted from one, at which something happens; 0 for never. Shape (B, T) to (B,)."""
    return torch.where(happens.any(1), happens.int().argmax(1) + 1, 0)


def _join(spec: RobotSpec, parts: Sequence[_Part]) -> OpenLoopErrors:
    names = parts[0].sums
    if not names:
        raise ValueError(f"'{spec.name}' has neither a free root nor joints: there is nothing to compare")
    held = {name: torch.cat([part.held[name] for part in parts]) for name in parts[0].held}
    count = len(next(iter(held.values())))
    left_guard, at_bounds = (
        tuple(sorted(int(step) for part in parts for step in getattr(part, name)))
        for name in ("left_guard", "at_bounds")
    )
    curves = {name: torch.stack([part.sums[name] for part in parts]).sum(0) / count for name in names}
    return OpenLoopErrors(curves, count, sum(part.diverged for part in parts), held, left_guard, at_bounds)


__all__ = ["OpenLoopErrors", "compare", "joint_errors", "open_loop", "predict", "state_errors"]
