# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Walks a quadruped: which feet stand, where the others go, and which torques do both.

Feet that stand push with the forces that a planner asks for, by the transposed Jacobians of their legs. Feet that swing
are pulled along a curve to where they will be put down: half a stance ahead of the hip at the wanted speed, and more if
the robot is too fast (Raibert 1986, *Legged Robots That Balance*).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nerd_core.files.bounds import bounded, check_bounds

from . import Array
from .gait import Gait
from .problem import ForceProblem
from .quadruped import Quadruped

type Planner = Callable[[ForceProblem], Array]
"""From N problems to the forces on the feet, in the heading frame [N], shape (N, 4, 3)."""


class Motion(NamedTuple):
    """What is measured of N robots."""

    pos: Array
    """Origins of the bases, world [m], shape (N, 3)."""
    rotation: Array
    """From base to world, shape (N, 3, 3)."""
    lin_vel: Array
    """Velocities of the origins of the bases, world [m/s], shape (N, 3)."""
    ang_vel: Array
    """Angular velocities of the bases, world [rad/s], shape (N, 3)."""
    joint_pos: Array
    """Joint positions [rad], shape (N, 4, 3)."""
    joint_vel: Array
    """Joint velocities [rad/s], shape (N, 4, 3)."""


@dataclass(frozen=True)
class WalkCfg:
    """How feet are moved, and how far a robot may be behind."""

    plan_steps: int = bounded(4, at_least=1)
    """Control steps between two plans of forces."""
    swing_height: float = bounded(0.07, at_least=0.0)
    """How high a foot is lifted [m]."""
    swing_stiffness: float = bounded(600.0, at_least=0.0)
    """Pull on a swinging foot towards its curve [N/m]."""
    swing_damping: float = bounded(15.0, at_least=0.0)
    """Damping of a swinging foot [N s/m]."""
    raibert_gain: float = bounded(0.06, at_least=0.0)
    """How far a foot is put ahead for each metre per second that the robot is too fast [s]."""
    max_reach: float = bounded(0.2, at_least=0.0)
    """How far from below its hip a foot may be put down [m]."""
    max_lag: float = bounded(0.1, at_least=0.0)
    """How far behind a robot counts at most [m]."""
    max_heading_lag: float = bounded(0.15, at_least=0.0)
    """How much of its heading a robot misses at most [rad]."""

    def __post_init__(self):
        check_bounds(self)


class TrotController:
    """Torques of N robots."""

    def __init__(self, body: Quadruped, gait: Gait, cfg: WalkCfg, planner: Planner, count: int, dt: float):
        """Begins with all feet on the ground.

        Args:
            body: The robot.
            gait: Which feet stand when.
            cfg: Settings.
            planner: Plans the forces.
            count: Number of robots.
            dt: Length of a control step [s].
        """
        self.body, self.gait, self.cfg, self.planner, self.dt = body, gait, cfg, planner, dt
        self.target = np.zeros((count, 3))
        """Wanted velocities: forward, to the left [m/s], turning [rad/s], shape (N, 3)."""
        self.time = np.zeros(count)
        """Time since the beginning of each robot's gait [s], shape (N,)."""
        self._forces = np.zeros((count, 4, 3))
        self._wanted = np.full((count, 3), np.nan)
        self._lift_off = np.zeros((count, 4, 3))
        self._stood = np.ones((count, 4), dtype=bool)
        self._steps = 0

    def reset(self, robots: NDArray[np.bool_]) -> None:
        """Forgets what some robots did.

        Args:
            robots: Which, shape (N,).
        """
        self.time[robots] = 0.0
        self._wanted[robots] = np.nan
        self._stood[robots] = True
        self._forces[robots] = 0.0

    def torques(self, motion: Motion) -> Array:
        """Torques for the coming control step [N m], shape (N, 4, 3)."""
        heading = np.arctan2(motion.rotation[:, 1, 0], motion.rotation[:, 0, 0])
        self._follow(motion, heading)
        feet_in_base = self.body.feet(motion.joint_pos)
        jacobian = self.body.jacobian(motion.joint_pos)
        feet = motion.pos[:, None] + _apply(motion.rotation, feet_in_base)
        stands = self.gait.stands(self.time)
        lifted = self._stood & ~stands
        self._lift_off = np.where(lifted[..., None], feet, self._lift_off)
        self._stood = stands
        places = self._places(motion, heading)
        if self._steps % self.cfg.plan_steps == 0:
            self._forces = self.planner(self._problem(motion, heading, np.where(stands[..., None], feet, places)))
        self._steps += 1
        to_world = _about_z(heading)
        push = -_apply(to_world, self._forces)
        pull = self._pull(motion, feet_in_base, feet, jacobian, places)
        force = np.where(stands[..., None], push, pull)
        in_base = _apply(motion.rotation.transpose(0, 2, 1), force)
        torques = np.einsum("nlij,nli->nlj", jacobian, in_base)
        self.time = self.time + self.dt
        return np.clip(torques, -self.body.max_torque, self.body.max_torque)

    def _follow(self, motion: Motion, heading: Array) -> None:
        """Moves where the robot should be, not further ahead of it than it counts."""
        cfg = self.cfg
        here = np.concatenate((motion.pos[:, :2], heading[:, None]), axis=-1)
        self._wanted = np.where(np.isnan(self._wanted), here, self._wanted)
        velocity = _apply(_about_z(heading), np.pad(self.target[:, None, :2], ((0, 0), (0, 0), (0, 1))))[:, 0]
        velocity[:, 2] = self.target[:, 2]
        ahead = self._wanted + velocity * self.dt - here
        ahead[:, 2] = (ahead[:, 2] + np.pi) % (2.0 * np.pi) - np.pi
        length = np.linalg.norm(ahead[:, :2], axis=-1, keepdims=True)
        ahead[:, :2] *= np.minimum(1.0, cfg.max_lag / np.maximum(length, 1.0e-9))
        ahead[:, 2] = np.clip(ahead[:, 2], -cfg.max_heading_lag, cfg.max_heading_lag)
        self._wanted = here + ahead

    def _problem(self, motion: Motion, heading: Array, feet: Array) -> ForceProblem:
        """What the planner is asked.

        Args:
            motion: Measured.
            heading: Heading [rad], shape (N,).
            feet: Where feet stand or will be put down, world [m], shape (N, 4, 3).
        """
        offset = _apply(motion.rotation, self.body.com[None, None])[:, 0]
        centre = motion.pos + offset
        to_heading = _about_z(-heading)
        below = np.concatenate((centre[:, :2], np.zeros((len(heading), 1))), axis=-1)
        lag = self._wanted - np.concatenate((motion.pos[:, :2], heading[:, None]), axis=-1)
        lag[:, 2] = (lag[:, 2] + np.pi) % (2.0 * np.pi) - np.pi
        turn = lag[:, 2].copy()
        lag = _apply(to_heading, np.pad(lag[:, None, :2], ((0, 0), (0, 0), (0, 1))))[:, 0]
        lag[:, 2] = turn
        local = to_heading @ motion.rotation
        speed = motion.lin_vel + np.cross(motion.ang_vel, offset)
        return ForceProblem(
            tilt=np.stack((np.arctan2(local[:, 2, 1], local[:, 2, 2]), -np.arcsin(local[:, 2, 0])), axis=-1),
            height=centre[:, 2],
            lin_vel=_apply(to_heading, speed[:, None])[:, 0],
            ang_vel=_apply(to_heading, motion.ang_vel[:, None])[:, 0],
            target=self.target.copy(),
            lag=lag,
            feet=_apply(to_heading, feet - below[:, None]),
            time=self.time.copy(),
        )

    def _places(self, motion: Motion, heading: Array) -> Array:
        """Where feet that swing will be put down, world [m], shape (N, 4, 3)."""
        cfg, gait = self.cfg, self.gait
        left = (1.0 - self.gait.progress(self.time))[..., None] * gait.swing_time
        forward = _about_z(heading)
        hips = _apply(forward, self.body.below_hip)
        wanted = _apply(forward, np.pad(self.target[:, None, :2], ((0, 0), (0, 0), (0, 1))))
        speed = motion.lin_vel[:, None] * (1.0, 1.0, 0.0)
        turning = self.target[:, None, 2:] * np.stack((-hips[..., 1], hips[..., 0], 0.0 * hips[..., 0]), axis=-1)
        step = 0.5 * gait.stance_time * (speed + turning) + cfg.raibert_gain * (speed - wanted)
        length = np.linalg.norm(step, axis=-1, keepdims=True)
        step = step * np.minimum(1.0, cfg.max_reach / np.maximum(length, 1.0e-9))
        places = motion.pos[:, None] + hips + left * (speed + turning) + step
        places[..., 2] = self.body.foot_radius
        return places

    def _pull(self, motion: Motion, in_base: Array, feet: Array, jacobian: Array, places: Array) -> Array:
        """Forces that pull swinging feet along their curves, world [N], shape (N, 4, 3)."""
        cfg, gait = self.cfg, self.gait
        share = gait.progress(self.time)[..., None]
        swing = max(gait.swing_time, 1.0e-6)
        blend = share * share * (3.0 - 2.0 * share)
        rate = 6.0 * share * (1.0 - share) / swing
        position = self._lift_off + blend * (places - self._lift_off)
        velocity = rate * (places - self._lift_off)
        # up and down again: 16 s^2 (1 - s)^2 is one in the middle, and flat at both ends
        position[..., 2:] += cfg.swing_height * 16.0 * share**2 * (1.0 - share) ** 2
        velocity[..., 2:] += cfg.swing_height * 32.0 * share * (1.0 - share) * (1.0 - 2.0 * share) / swing
        in_joints = np.einsum("nlij,nlj->nli", jacobian, motion.joint_vel)
        moving = motion.lin_vel[:, None] + np.cross(motion.ang_vel[:, None], feet - motion.pos[:, None])
        moving = moving + _apply(motion.rotation, in_joints)
        return cfg.swing_stiffness * (position - feet) + cfg.swing_damping * (velocity - moving)


def _apply(rotation: Array, vectors: Array) -> Array:
    """Vectors (N or 1 or none, L, 3), turned by rotations (N, 3, 3)."""
    return np.einsum("nij,nlj->nli", rotation, np.broadcast_to(vectors, (len(rotation), *vectors.shape[-2:])))


def _about_z(angle: Array) -> Array:
    """Rotations about the vertical by angles (N,) [rad], shape (N, 3, 3)."""
    sine, cosine = np.sin(angle), np.cos(angle)
    zero, one = np.zeros_like(angle), np.ones_like(angle)
    rows = ((cosine, -sine, zero), (sine, cosine, zero), (zero, zero, one))
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
