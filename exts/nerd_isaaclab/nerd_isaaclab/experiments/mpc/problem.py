# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a planner of forces is asked: where the body is, where it should go, which feet may push and where they are.

Everything is in the *heading frame*: its origin is below the common centre of mass, z points up, and x where the robot
heads, horizontally.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .gait import Gait
from .quadruped import Quadruped

type Array = NDArray[np.float64]

FEATURES = 41
"""Length of what a network sees of a problem."""


@dataclass(frozen=True)
class ForceProblem:
    """One problem for each of N robots."""

    tilt: Array
    """Roll and pitch [rad], shape (N, 2)."""
    height: Array
    """Height of the centre of mass [m], shape (N,)."""
    lin_vel: Array
    """Velocity of the centre of mass [m/s], shape (N, 3)."""
    ang_vel: Array
    """Angular velocity [rad/s], shape (N, 3)."""
    target: Array
    """Wanted velocities: forward, to the left [m/s], turning [rad/s], shape (N, 3)."""
    lag: Array
    """By how much the robot is behind where it should be: forward, to the left [m], heading [rad], shape (N, 3)."""
    feet: Array
    """Feet that stand, and where those that swing will be put down [m], shape (N, 4, 3)."""
    time: Array
    """Time since the beginning of the gait [s], shape (N,)."""

    def __len__(self) -> int:
        return len(self.height)

    def rows(self, index: NDArray[np.int64] | slice) -> ForceProblem:
        """The problems of some robots."""
        return ForceProblem(**{name: value[index] for name, value in vars(self).items()})


@dataclass(frozen=True)
class Horizon:
    """Steps over which a planner looks ahead."""

    steps: int = 10
    """Number of steps."""
    dt: float = 0.025
    """Length of a step [s]."""

    @property
    def middles(self) -> Array:
        """Times of the middles of all steps, from now [s], shape (steps,)."""
        return (np.arange(self.steps) + 0.5) * self.dt

    @property
    def ends(self) -> Array:
        """Times of the ends of all steps, from now [s], shape (steps,)."""
        return (np.arange(self.steps) + 1.0) * self.dt


def contacts_ahead(problem: ForceProblem, gait: Gait, horizon: Horizon) -> NDArray[np.bool_]:
    """Which feet stand in the middle of each step of the horizon, shape (N, steps, 4)."""
    return gait.stands(problem.time[:, None] + horizon.middles)


def reference(problem: ForceProblem, height: float, horizon: Horizon) -> tuple[Array, Array]:
    """The wanted motion at the ends of all steps, with the targets held.

    Args:
        problem: N problems.
        height: Wanted height of the centre of mass [m].
        horizon: Steps ahead.

    Returns:
        Positions (roll, pitch, heading [rad], forward, left, up [m]) and their velocities, each of shape (N, steps, 6).
    """
    count, ends = len(problem), horizon.ends
    heading = problem.lag[:, 2:] + problem.target[:, 2:] * ends
    middle = heading - 0.5 * problem.target[:, 2:] * horizon.dt
    position, velocity = np.zeros((2, count, horizon.steps, 6))
    velocity[..., 2] = problem.target[:, 2:]
    velocity[..., 3:5] = _turned(heading, problem.target[:, None, :2])
    position[..., 2] = heading
    path = np.cumsum(_turned(middle, problem.target[:, None, :2]) * horizon.dt, axis=1)
    position[..., 3:5] = problem.lag[:, None, :2] + path
    position[..., 5] = height
    return position, velocity


def feet_ahead(problem: ForceProblem, gait: Gait, horizon: Horizon, body: Quadruped) -> Array:
    """Where each foot is or will be in the middle of each step, from the centre of mass there [m], shape (N, K, 4, 3).

    A foot that stands now stays where it is until its stance ends. One that swings stands from its next stance on where
    it will be put down, and a stance after that is taken as one in whose middle the foot is below its hip.
    """
    middles = horizon.middles
    phase, step = gait.leg_phase(problem.time), gait.period
    cycle = np.floor((problem.time[:, None, None] + middles[:, None]) / step + np.array(gait.offsets))
    now = np.floor(problem.time[:, None, None] / step + np.array(gait.offsets))
    first = np.where(phase < gait.duty, 0, 1)[:, None, :]
    later = (cycle - now) > first
    heading = 0.5 * problem.target[:, 2:] * middles
    moved = np.zeros((len(problem), horizon.steps, 3))
    moved[..., :2] = _turned(heading, problem.target[:, None, :2]) * middles[:, None]
    moved[..., 2] = problem.height[:, None]
    known = problem.feet[:, None] - moved[:, :, None]
    ahead = (gait.leg_phase(problem.time[:, None] + middles) - 0.5 * gait.duty) * step
    below = np.zeros_like(known)
    below[..., :2] = (body.below_hip - body.com)[:, :2] - problem.target[:, None, None, :2] * ahead[..., None]
    below[..., 2] = problem.feet[:, None, :, 2] - problem.height[:, None, None]
    return np.where(later[..., None], below, known)


def features(problem: ForceProblem, gait: Gait, horizon: Horizon) -> Array:
    """What a network sees of a problem, shape (N, 41).

    Tilt 2, height 1, velocities 6, targets 3, lags 3, feet from below the centre of mass 12, which feet stand 4, how far
    each leg is in its stance or swing 4, share of the horizon in which each foot stands 4, phase of the gait as a point
    of the circle 2.
    """
    count = len(problem)
    turn = 2.0 * np.pi * problem.time / gait.period
    parts = (
        problem.tilt,
        problem.height[:, None],
        problem.lin_vel,
        problem.ang_vel,
        problem.target,
        problem.lag,
        problem.feet.reshape(count, 12),
        gait.stands(problem.time),
        gait.progress(problem.time),
        contacts_ahead(problem, gait, horizon).mean(axis=1),
        np.sin(turn)[:, None],
        np.cos(turn)[:, None],
    )
    return np.concatenate(parts, axis=-1)


def _turned(heading: Array, vector: Array) -> Array:
    """Horizontal vectors (..., 2), turned by angles (...) [rad]."""
    sine, cosine = np.sin(heading), np.cos(heading)
    x, y = vector[..., 0], vector[..., 1]
    return np.stack((cosine * x - sine * y, sine * x + cosine * y), axis=-1)
