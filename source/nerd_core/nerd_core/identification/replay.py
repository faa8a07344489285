# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Replay of held-out motion: how far a model is from what was measured, and whether a new one may take its place.

Example::

    before, after = replay(old, windows), replay(new, windows)
    verdict = gate(before, after)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..contact.grounds import Ground
from ..dynamics import rollout
from ..predictor.predictor import Predictor
from ..training.metrics import state_errors
from .cost import Windows

WITHIN_NOISE = 0.02
"""Share by which an error may be larger where another one is smaller: what does not move in the data is as far off as
the noise of the measurement, before and after."""


@dataclass(frozen=True)
class ReplayError:
    """Errors of roll-outs from measured first states. A window's error of a quantity is the root of its mean square
    over the steps; joints are averaged.
    """

    mean: dict[str, float]
    """Mean over windows by quantity [m or rad]; infinite if a roll-out is not finite."""
    pooled: dict[str, float]
    """Root of the mean square over all windows and steps together."""
    windows: int
    """Number of windows."""


@torch.no_grad()
def replay(predictor: Predictor, windows: Windows, ground: Ground | None = None) -> ReplayError:
    """Rolls windows out and compares.

    Args:
        predictor: The model.
        windows: Measured motion.
        ground: What the robot stands on.
    """
    kind = predictor.change_normaliser.mean.dtype
    truth = windows.state.to(kind)
    states = rollout(predictor, truth[:, 0], windows.control.to(kind), ground)
    squares = _squares(predictor, states[:, 1:], truth[:, 1:])
    mean = {name: _finite(each.mean(1).sqrt().mean()) for name, each in squares.items()}
    pooled = {name: _finite(each.mean((0, 1)).sqrt().mean()) for name, each in squares.items()}
    return ReplayError(mean, pooled, len(windows))


def _squares(predictor: Predictor, states: Tensor, truth: Tensor) -> dict[str, Tensor]:
    """Squared errors by quantity, shape (N, T, 1), of joints (N, T, J)."""
    spec = predictor.spec
    found = {name: each.square().unsqueeze(-1) for name, each in state_errors(spec, states, truth).items()}
    for name, kind in (("joint_rad", "revolute"), ("joint_m", "prismatic")):
        columns = [index for index, joint in enumerate(spec.joints) if joint.kind == kind]
        if columns:
            at = spec.state.joint_pos
            difference = states[..., at][..., columns] - truth[..., at][..., columns]
            if kind == "revolute":
                difference = torch.atan2(difference.sin(), difference.cos())
            found[name] = difference.square()
    return found


def gate(before: ReplayError, after: ReplayError) -> str:
    """Why a new model may not take the place of an old one; empty if it may: where no error is larger, or one is
    smaller and none larger than within the noise.

    Args:
        before: Errors of the old one on held-out motion.
        after: Errors of the new one on the same.
    """
    gains = any(value < (1.0 - WITHIN_NOISE) * before.mean[name] for name, value in after.mean.items())
    allowed = 1.0 + (WITHIN_NOISE if gains else 0.0)
    worse = [name for name, value in after.mean.items() if not value <= allowed * before.mean[name]]
    if not worse:
        return ""
    told = ", ".join(f"{name} {before.mean[name]:.4g} -> {after.mean[name]:.4g}" for name in worse)
    return f"it replays held-out motion worse than what it started from: {told}"


def _finite(value: Tensor) -> float:
    number = float(value)
    return number if math.isfinite(number) else math.inf


__all__ = ["ReplayError", "gate", "replay"]
