# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a planner of forces is asked: where the body is, where it should go, which feet may push and where they are.

Everything is in the *heading frame*: its origin is below the common centre of mass, z points up, and x where the robot
heads, horizontally.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from . import Array
from .gait import Gait
from .quadruped import Quadruped

FEATURES = 41
"""Length of what a network sees of a problem."""
STANDS = slice(27, 31)
"""Where it sees which feet stand."""


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

    @cached_property
    def starts(self) -> Array:
        """Times of the beginnings of all steps, from now [s], shape (steps,)."""
        return np.arange(self.steps) * self.dt

    @cached_property
    def middles(self) -> Array:
        """Times of the middles of all steps, from now [s], shape (steps,)."""
        return (np.arange(self.steps) + 0.5) * self.dt

    @cached_property
    def ends(self) -> Array:
        """Times of the ends of all steps, from now [s], shape (steps,)."""
        return (np.arange(self.steps) + 1.0) * self.dt


def contacts_ahead(problem: ForceProblem, gait: Gait, horizon: Horizon) -> NDArray[np.bool_]:
    """Which feet stand in each step of the horizon: those at its beginning, so that the first are those that stand now,
    shape (N, steps, 4).
    """
    return gait.stands(problem.time[:, None] + horizon.starts)


def reference(problem: ForceProblem, height: float, horizon: Horizon) -> tuple[Array, Array]:
    """The wanted motion at the ends of all steps, with the targets held.

    Args:
        problem: N problems.
        height: Wanted height of the centre of mass [m].
        horizon: Steps ahead.

    Returns:
        Positions (roll, pitch, heading [rad], forward, left, up [m]) and their velocities, each of shape (N, steps, 6).
    """
    ends, turning = horizon.ends, problem.target[:, 2:]
    position, velocity = np.zeros((2, len(problem), horizon.steps, 6))
    heading = problem.lag[:, 2:] + turning * ends
    wanted = _turned(problem.lag[:, 2:] + 0.5 * turning * ends, problem.target)
    velocity[..., 2] = turning
    velocity[..., 3:5] = _turned(heading, problem.target)
    position[..., 2] = heading
    position[..., 3:5] = problem.lag[:, None, :2] + wanted * ends[:, None]
    position[..., 5] = height
    return position, velocity


def feet_ahead(problem: ForceProblem, gait: Gait, horizon: Horizon, body: Quadruped) -> Array:
    """Where each foot is or will be in the middle of each step, from the centre of mass there [m], shape (N, K, 4, 3).

    A foot that stands now stays where it is until its stance ends. One that swings stands from its next stance on where
    it will be put down, and a stance after that is taken as one in whose middle the foot is below its hip.
    """
    middles = horizon.middles
    cycles = gait.cycles(problem.time)
    cycle, now = np.floor(cycles[:, None] + horizon.starts[:, None] / gait.period), np.floor(cycles)
    first = now + (cycles - now >= gait.duty) if gait.duty < 1.0 else np.full_like(now, np.inf)
    since = (cycles[:, None] - cycle - 0.5 * gait.duty) * gait.period + middles[:, None]
    target = problem.target[:, None, :2]
    known = problem.feet[:, None].repeat(len(middles), axis=1)
    known[..., :2] -= (_turned(0.5 * problem.target[:, 2:] * middles, problem.target) * middles[:, None])[:, :, None]
    below = (body.below_hip - body.com)[:, :2] - target[:, None] * since[..., None]
    later = cycle > first[:, None]
    known[..., :2] = np.where(later[..., None], below, known[..., :2])
    known[..., 2] -= problem.height[:, None, None]
    return known


def features(problem: ForceProblem, gait: Gait, horizon: Horizon) -> Array:
    """What a network sees of a problem, shape (N, 41).

    Tilt 2, height 1, velocities 6, targets 3, lags 3, feet from below the centre of mass 12, which feet stand 4, how
    far each leg is in its stance or swing 4, share of the horizon in which each foot stands 4, phase of the gait as a
    point of the circle 2.
    """
    phase = gait.leg_phase(problem.time)
    stands = phase < gait.duty
    seen = np.empty((len(problem), FEATURES))
    seen[:, 0:2], seen[:, 2] = problem.tilt, problem.height
    seen[:, 3:6], seen[:, 6:9] = problem.lin_vel, problem.ang_vel
    seen[:, 9:12], seen[:, 12:15] = problem.target, problem.lag
    seen[:, 15:27] = problem.feet.reshape(-1, 12)
    seen[:, STANDS] = stands
    seen[:, 31:35] = np.where(stands, phase / gait.duty, (phase - gait.duty) / max(1.0 - gait.duty, 1.0e-9))
    seen[:, 35:39] = contacts_ahead(problem, gait, horizon).mean(axis=1)
    turn = (2.0 * np.pi / gait.period) * problem.time
    seen[:, 39], seen[:, 40] = np.sin(turn), np.cos(turn)
    return seen


def _turned(heading: Array, target: Array) -> Array:
    """Wanted velocities (N, 3), horizontally turned by angles (N, K) [rad], shape (N, K, 2)."""
    sine, cosine = np.sin(heading), np.cos(heading)
    x, y = target[:, :1], target[:, 1:2]
    turned = np.empty((*heading.shape, 2))
    turned[..., 0] = cosine * x - sine * y
    turned[..., 1] = sine * x + cosine * y
    return turned
