# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Motion of double pendulums: simulated by mechanics, with and without stops, or measured; cut at given times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...mechanics.config import MechanicsCfg
from ...mechanics.step import Mechanics
from ...recordings.mechanisms import double_pendulum
from ...recordings.reading import read_recordings
from ...robot.frames import ChangeCodec

RATE = 500.0
"""Physics steps a second of the simulated pendulum [Hz]."""
STOP = 0.6
"""Angle of the elbow at which a pendulum with stops is stopped [rad]."""


@dataclass(frozen=True)
class Run:
    """A motion of J joints, at times that need not be regular."""

    time: NDArray[np.float64]
    """Times [s], shape (T,)."""
    state: NDArray[np.float64]
    """Angles and velocities [rad, rad/s], shape (T, 2 J)."""
    impulse: NDArray[np.float64]
    """Integral of the torques from the first time [N m s], shape (T, J)."""

    def at(self, time: NDArray[np.float64]) -> Run:
        """The motion at other times, between its first and last; states in between are interpolated."""
        state = np.stack([np.interp(time, self.time, column) for column in self.state.T], axis=-1)
        impulse = np.stack([np.interp(time, self.time, column) for column in self.impulse.T], axis=-1)
        return Run(time, state, impulse)

    def rows(self, rows: Sequence[int] | NDArray[np.int64]) -> Run:
        """The motion at some of its times."""
        return Run(self.time[rows], self.state[rows], self.impulse[rows])


@dataclass(frozen=True)
class Windows:
    """Pieces of motion, each of W steps of its own lengths."""

    state: Tensor
    """Angles and velocities [rad, rad/s], shape (N, W + 1, 2 J)."""
    effort: Tensor
    """Mean torques in each step [N m], shape (N, W, J)."""
    dt: Tensor
    """Lengths of the steps [s], shape (N, W)."""

    def __len__(self) -> int:
        return len(self.state)


def simulated(runs: int, seconds: float, stops: bool, seed: int) -> list[Run]:
    """Motion of a double pendulum without drive, from angles of up to 1.5 rad and speeds of up to 2 rad/s.

    Args:
        runs: Number of motions.
        seconds: Length of each [s].
        stops: Whether the elbow has stops.
        seed: Seed of the first states.
    """
    spec = double_pendulum(
        *("pendulum", RATE, (0.2, 0.3), (0.5, 0.6), (0.15, 0.2), (0.015, 0.03)), viscous=(0.002, 0.002), driven=False
    )
    if stops:
        shoulder, elbow = spec.joints
        spec = replace(spec, joints=(shoulder, replace(elbow, lower=-STOP, upper=STOP, wraps=None)))
    codec = ChangeCodec(spec)
    mechanics = Mechanics(spec, codec, MechanicsCfg(substeps=1, hidden=0), has_contacts=False).double()
    rng = np.random.default_rng(seed)
    reach = (1.5, 0.5 if stops else 1.5, 2.0, 2.0)
    state = torch.from_numpy(rng.uniform(-1.0, 1.0, (runs, 4)) * reach)
    states, nothing = [state], state.new_zeros(runs, 0)
    with torch.inference_mode():
        for _ in range(round(seconds * RATE)):
            state = codec.apply(state, mechanics(state, nothing))
            states.append(state)
    motion = torch.stack(states, dim=1).numpy()
    time = np.arange(motion.shape[1]) / RATE
    return [Run(time, each, np.zeros((len(time), 2))) for each in motion]


def measured(path: Path, effort: str = "measured") -> list[Run]:
    """Motion of a recorded pendulum with measured velocities and torques.

    Args:
        path: File of recordings.
        effort: Name of the measured torques.
    """
    runs = []
    for each in read_recordings(path).recordings:
        assert each.joint_vel is not None
        torque = each.efforts[effort].astype(np.float64)
        steps = np.diff(each.time)[:, None] * 0.5 * (torque[1:] + torque[:-1])
        impulse = np.concatenate((np.zeros((1, torque.shape[1])), np.cumsum(steps, axis=0)))
        state = np.concatenate((each.joint_pos, each.joint_vel), axis=1).astype(np.float64)
        runs.append(Run(each.time.astype(np.float64), state, impulse))
    return runs


def regular(run: Run, dt: float) -> Run:
    """A motion at equal steps, resampled where it has no sample.

    Args:
        run: The motion.
        dt: Length of a step [s].
    """
    return run.at(run.time[0] + dt * np.arange(int((run.time[-1] - run.time[0]) / dt + 1.0e-6) + 1))


def irregular(run: Run, shortest: float, longest: float, rng: np.random.Generator) -> Run:
    """Samples of a motion at irregular times: nothing is resampled.

    Args:
        run: The motion.
        shortest: Shortest time between two samples, but for the time between those that there are [s].
        longest: Longest [s].
        rng: Draws them.
    """
    waits = rng.uniform(shortest, longest, int((run.time[-1] - run.time[0]) / shortest) + 1)
    wanted = run.time[0] + np.concatenate(([0.0], np.cumsum(waits)))
    rows = np.searchsorted(run.time, wanted[wanted <= run.time[-1]])
    return run.rows(np.unique(np.minimum(rows, len(run.time) - 1)))


def windows(runs: Sequence[Run], steps: int, stride: int, longest: float = np.inf) -> Windows:
    """Cuts motions into pieces.

    Args:
        runs: Motions.
        steps: Steps of a piece.
        stride: Samples from one piece to the next.
        longest: Pieces with a longer step are left out [s].
    """
    state, effort, dt = [], [], []
    for run in runs:
        for first in range(0, len(run.time) - steps, stride):
            rows = slice(first, first + steps + 1)
            lengths = np.diff(run.time[rows])
            if lengths.max() <= longest:
                state.append(run.state[rows])
                effort.append(np.diff(run.impulse[rows], axis=0) / lengths[:, None])
                dt.append(lengths)
    return Windows(*(torch.from_numpy(np.stack(each)).float() for each in (state, effort, dt)))
