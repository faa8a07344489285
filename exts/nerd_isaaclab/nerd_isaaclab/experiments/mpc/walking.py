# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Lets robots walk a course of wanted velocities and pushes, and measures how well they do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nerd_core.files.bounds import bounded, check_bounds

from . import Array
from .controller import Motion, TrotController
from .quadruped import Quadruped

FALLEN_HEIGHT = 0.18
"""Height of a base below which a robot has fallen [m]."""
FALLEN_UP = 0.5
"""Upward component of a base's vertical axis below which a robot has fallen."""


class Robots(Protocol):
    """Robots that can be watched and driven, see :class:`~.scene.QuadrupedScene`."""

    dt: float
    count: int

    def place(self, robots: NDArray[np.bool_], height: float, joint_pos: Array) -> None:
        """Puts robots back."""
        ...

    def read(self) -> Motion:
        """Their motion."""
        ...

    def push(self, robots: NDArray[np.bool_], change: Array) -> None:
        """Changes their velocities at once."""
        ...

    def step(self, torques: Array) -> None:
        """Takes a physics step."""
        ...


@dataclass(frozen=True)
class CourseCfg:
    """Wanted velocities and pushes, drawn at random."""

    segment: float = bounded(2.0, above=0.0)
    """Time for which a target is held [s]."""
    forward: tuple[float, float] = bounded((-0.4, 0.8), at_least=-3.0, at_most=3.0)
    """Range of wanted velocities forward [m/s]."""
    sideways: tuple[float, float] = bounded((-0.3, 0.3), at_least=-3.0, at_most=3.0)
    """Range of wanted velocities to the left [m/s]."""
    turning: tuple[float, float] = bounded((-0.8, 0.8), at_least=-6.0, at_most=6.0)
    """Range of wanted angular velocities [rad/s]."""
    push_every: float = bounded(1.0, above=0.0)
    """Time between pushes [s]."""
    push_speed: float = bounded(0.5, at_least=0.0)
    """Largest change of velocity by a push, horizontally in each direction [m/s]."""
    push_turn: float = bounded(1.0, at_least=0.0)
    """Largest change of angular velocity by a push, about each axis [rad/s]."""
    settle: float = bounded(0.8, at_least=0.0)
    """Time after a new target, a push or a fall in which errors do not count [s]."""

    def __post_init__(self):
        check_bounds(self)


@dataclass(frozen=True)
class Walk:
    """What a walk was."""

    velocity: Array
    """Mean velocities over a period of the gait, forward, to the left, turning [m/s, rad/s], shape (T, N, 3)."""
    target: Array
    """Wanted velocities, shape (T, N, 3)."""
    counts: NDArray[np.bool_]
    """Where errors count, shape (T, N)."""
    falls: int
    """How often a robot fell."""
    path: Array
    """Paths of the bases [m], shape (T, N, 2)."""

    @property
    def velocity_error(self) -> float:
        """Mean distance between the velocity and the wanted one, horizontally [m/s]; infinite if it never counts."""
        return self._mean(np.linalg.norm((self.velocity - self.target)[..., :2], axis=-1))

    @property
    def turning_error(self) -> float:
        """Mean distance between the angular velocity about the vertical and the wanted one [rad/s]."""
        return self._mean(np.abs((self.velocity - self.target)[..., 2]))

    def _mean(self, error: Array) -> float:
        return float(error[self.counts].mean()) if self.counts.any() else float("inf")


def walk(
    robots: Robots,
    controller: TrotController,
    body: Quadruped,
    height: float,
    cfg: CourseCfg,
    seconds: float,
    seed: int,
) -> Walk:
    """Lets robots walk a course. The same seed gives the same targets and pushes.

    Args:
        robots: The robots.
        controller: Drives them; begun anew.
        body: Their description.
        height: Height of the centre of mass at the start [m].
        cfg: The course.
        seconds: Its length [s].
        seed: Seed of targets and pushes.
    """
    rng, count, dt = np.random.default_rng(seed), robots.count, robots.dt
    feet = body.below_hip.copy()
    feet[:, 2] = body.com[2] + body.foot_radius - height
    stance, start = np.tile(body.joints(feet), (count, 1, 1)), height - body.com[2]
    everyone = np.ones(count, dtype=bool)
    robots.place(everyone, start, stance)
    controller.reset(everyone)
    steps, segment, push = (round(each / dt) for each in (seconds, cfg.segment, cfg.push_every))
    quiet, settle, falls = np.zeros(count, dtype=np.int64), round(cfg.settle / dt), 0
    velocity, target, path = np.zeros((3, steps, count, 3))
    counts = np.zeros((steps, count), dtype=bool)
    for number in range(steps):
        motion = robots.read()
        fallen = (motion.pos[:, 2] < FALLEN_HEIGHT) | (motion.rotation[:, 2, 2] < FALLEN_UP)
        if fallen.any():
            falls += int(fallen.sum())
            robots.place(fallen, start, stance)
            controller.reset(fallen)
            motion = robots.read()
        wanted, hits = _targets(rng, count, cfg), _pushes(rng, count, cfg)
        if number % segment == 0:
            controller.target = wanted
        if number % push == push - 1:
            robots.push(everyone, hits)
        disturbed = fallen | (number % segment == 0) | (number % push == push - 1)
        quiet = np.where(disturbed, 0, quiet + 1)
        robots.step(controller.torques(motion))
        velocity[number], target[number], path[number] = _ahead(motion), controller.target, motion.pos
        counts[number] = quiet > settle
    window = round(controller.gait.period / dt)
    mean = np.cumsum(np.concatenate((np.zeros((1, count, 3)), velocity)), axis=0)
    mean = (mean[window:] - mean[:-window]) / window
    return Walk(mean, target[window - 1 :], counts[window - 1 :], falls, path[window - 1 :, :, :2])


def _targets(rng: np.random.Generator, count: int, cfg: CourseCfg) -> Array:
    low, high = np.array((cfg.forward, cfg.sideways, cfg.turning)).T
    return rng.uniform(low, high, (count, 3))


def _pushes(rng: np.random.Generator, count: int, cfg: CourseCfg) -> Array:
    most = np.array((cfg.push_speed, cfg.push_speed, 0.0, *(cfg.push_turn,) * 3))
    return rng.uniform(-most, most, (count, 6))


def _ahead(motion: Motion) -> Array:
    """Velocity forward and to the left, and turning, shape (N, 3)."""
    heading = np.arctan2(motion.rotation[:, 1, 0], motion.rotation[:, 0, 0])
    sine, cosine, (x, y) = np.sin(heading), np.cos(heading), motion.lin_vel[:, :2].T
    return np.stack((cosine * x + sine * y, cosine * y - sine * x, motion.ang_vel[:, 2]), axis=-1)
