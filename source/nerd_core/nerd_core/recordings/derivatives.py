# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Positions and velocities from measured positions: local polynomials by least squares (Savitzky and Golay, 1964).

A fit that is *centred* uses frames before and after, for data that a model learns from. One at the *end* uses the last
frames only: what is known where a prediction begins.

Example::

    value, rate = end_fit(angle[:FIT_FRAMES], time[:FIT_FRAMES])  # at the last of these frames
"""

from __future__ import annotations

import numpy as np
import torch

from ..robot.frames import quat_conjugate, quat_mul, rotvec_from_quat
from .recording import RecordingError

FIT_FRAMES = 15
"""Frames of a fit. Of 7 to 31, and degrees 1 to 5, these gave the smallest errors of end velocities on angles of
1.7 mrad resolution at 500 frames/s, next to a centred fit."""

FIT_DEGREE = 3
"""Degree of the polynomials."""


def end_fit(values: np.ndarray, time: np.ndarray, degree: int = FIT_DEGREE) -> tuple[np.ndarray, np.ndarray]:
    """Value and rate at the last of some frames.

    Args:
        values: Measured values, shape (..., F, J).
        time: Their times [s], shape (F,).
        degree: Degree of the polynomial.

    Returns:
        Values and rates per second, each of shape (..., J).
    """
    weights = fit_weights(time, float(time[-1]), degree)
    return np.einsum("f,...fj->...j", weights[0], values), np.einsum("f,...fj->...j", weights[1], values)


def fit_weights(time: np.ndarray, at: float, degree: int = FIT_DEGREE) -> np.ndarray:
    """Weights of frames whose sums are the value and the rate of the polynomial at a time, shape (2, F).

    Args:
        time: Times of the frames [s], shape (F,).
        at: Where to evaluate [s].
        degree: Degree of the polynomial.
    """
    if len(time) <= degree:
        raise RecordingError(f"got {len(time)} frames for a polynomial of degree {degree}, expected at least one more")
    unit = max(float(np.abs(time - at).max()), 1.0e-12)
    powers = np.vander((time - at) / unit, degree + 1, increasing=True)
    weights = np.linalg.pinv(powers)[:2]
    return weights / np.array([[1.0], [unit]])


def centred_fit(values: np.ndarray, dt: float, frames: int = FIT_FRAMES) -> tuple[np.ndarray, np.ndarray]:
    """Values and rates at all frames, from as many before as after; near the ends from the first or last frames.

    Args:
        values: Measured values at equal steps of time, shape (T, J).
        dt: The step [s].
        frames: Frames of a fit, odd.

    Returns:
        Values and rates per second, each of shape (T, J).
    """
    window, weights = _windows(len(values), dt, frames)
    found = np.einsum("tkf,tfj->ktj", weights, values[window])
    return found[0], found[1]


def angular_velocity(quat: np.ndarray, dt: float, frames: int = FIT_FRAMES) -> np.ndarray:
    """Angular velocities of orientations, world axes [rad/s], by polynomials through the rotations from each frame to
    those around it. No more than half a turn within a window.

    Args:
        quat: Orientations at equal steps of time, body to world, xyzw, shape (T, 4).
        dt: The step [s].
        frames: Frames of a fit, odd.

    Returns:
        Shape (T, 3).
    """
    window, weights = _windows(len(quat), dt, frames)
    there, here = torch.from_numpy(quat[window]), torch.from_numpy(quat).unsqueeze(1)
    turns = rotvec_from_quat(quat_mul(there, quat_conjugate(here))).numpy()
    return np.einsum("tf,tfj->tj", weights[:, 1], turns)


def _windows(count: int, dt: float, frames: int) -> tuple[np.ndarray, np.ndarray]:
    """For each frame the frames of its fit, shape (T, F), and their weights, shape (T, 2, F)."""
    frames = min(frames, count - 1 + count % 2)
    time = dt * np.arange(frames)
    first = np.clip(np.arange(count) - frames // 2, 0, count - frames)
    table = np.stack([fit_weights(time, each, min(FIT_DEGREE, frames - 1)) for each in time])
    return first[:, None] + np.arange(frames), table[np.arange(count) - first]


__all__ = ["FIT_DEGREE", "FIT_FRAMES", "angular_velocity", "centred_fit", "end_fit", "fit_weights"]
