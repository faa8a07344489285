# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Errors of predicted motion against measured motion, for each window. Pure functions of tensors.

With ``W`` windows of up to ``H`` predicted steps, of which ``valid`` says those that the window has.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..robot.frames import quat_conjugate, quat_mul, rotvec_from_quat, wrap_to_pi


def position_errors(pos: Tensor, truth: Tensor) -> Tensor:
    """Distances [m], shapes (..., 3) to (...)."""
    return torch.linalg.vector_norm(pos - truth, dim=-1)


def rotation_errors(quat: Tensor, truth: Tensor) -> Tensor:
    """Angles of the rotations between orientations [rad], in [0, pi], shapes (..., 4) to (...)."""
    return torch.linalg.vector_norm(rotvec_from_quat(quat_mul(quat_conjugate(truth), quat)), dim=-1)


def angle_errors(angle: Tensor, truth: Tensor) -> Tensor:
    """Differences of angles the short way round [rad], in [-pi, pi), shapes (...)."""
    return wrap_to_pi(angle - truth)


def window_means(errors: Tensor, valid: Tensor) -> Tensor:
    """Mean of an error over the steps of each window, infinite where a step is not finite.

    Args:
        errors: Errors after each step, shape (W, H).
        valid: Which steps a window has, bool, shape (W, H).

    Returns:
        Shape (W,).
    """
    known = torch.where(valid, errors, 0.0)
    means = known.sum(1) / valid.sum(1)
    return torch.where(known.isfinite().all(1), means, torch.inf)


def window_rms(errors: Tensor, valid: Tensor) -> Tensor:
    """Root of the mean square of errors over the steps of each window and all joints, infinite as above.

    Args:
        errors: Errors of the joints after each step, shape (W, H, J).
        valid: Which steps a window has, bool, shape (W, H).

    Returns:
        Shape (W,).
    """
    return window_means(errors.square().mean(-1), valid).sqrt()


def horizons(errors: Tensor, valid: Tensor, limit: float) -> tuple[Tensor, Tensor]:
    """Steps for which an error stays within a limit, and whether it passes it within the window.

    Args:
        errors: Errors after each step, shape (W, H).
        valid: Which steps a window has, bool, shape (W, H).
        limit: Largest error.

    Returns:
        Steps, int64, shape (W,): those of the window where the limit is never passed; and whether it is, bool, (W,).
    """
    passes = ~(errors <= limit) & valid  # what is not finite passes
    ends = passes.any(1)
    return torch.where(ends, passes.int().argmax(1), valid.sum(1)), ends


def spread(values: Tensor) -> dict[str, float]:
    """Mean, standard error of the mean, median, and what nine of ten stay below, of one number a window.

    Args:
        values: The numbers, shape (W,).
    """
    values = values.double()
    many = len(values) > 1
    error = float(values.std() / len(values) ** 0.5) if many and bool(values.isfinite().all()) else 0.0
    return {
        "mean": float(values.mean()),
        "standard_error": error,
        "median": float(values.quantile(0.5, interpolation="lower")),
        "q90": float(values.quantile(0.9, interpolation="lower")),
    }


__all__ = [
    "angle_errors",
    "horizons",
    "position_errors",
    "rotation_errors",
    "spread",
    "window_means",
    "window_rms",
]
