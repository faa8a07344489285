# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A double pendulum whose robots change at a moment, moved by mechanics: the plant of the tests of adaptation."""

from __future__ import annotations

import torch
from torch import Tensor

from nerd_core.adaptation.directions import Directions
from nerd_core.adaptation.trial import Motion
from nerd_core.identification.motion_data import completed
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.recordings.mechanisms import double_pendulum

COUNT = 6
"""Environments."""


def adapting_arm() -> Predictor:
    """Mechanics of a driven double pendulum, 100 steps a second."""
    arm = completed(double_pendulum("arm", 100.0, (0.3, 0.3), (1.0, 1.0), (0.2, 0.2), (0.05, 0.05)))
    return Predictor(arm, PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0))).eval()


@torch.no_grad()
def motion_of(
    predictor: Predictor, numbers: Tensor, steps: int, changed_at: int, noise: float = 1e-3, seed: int = 0
) -> Motion:
    """Motion under random efforts of robots that change.

    Args:
        predictor: Mechanics, which moves them.
        numbers: Their numbers after the change, for a payload and both motors, shape (N, 3).
        steps: Length of the motion.
        changed_at: Step of the change.
        noise: Noise on the velocities of each step [rad/s], which the motion goes on with.
        seed: Seed of first states, efforts and noise.
    """
    generator, directions = torch.Generator().manual_seed(seed), Directions(predictor, ("payload", "motors"))
    state = torch.randn(len(numbers), 4, generator=generator)
    controls = 2.0 * torch.randn(len(numbers), steps // 10 + 1, 2, generator=generator).repeat_interleave(10, 1)
    controls, states = controls[:, :steps], [state]
    for step in range(steps):
        now = numbers if step >= changed_at else torch.zeros_like(numbers)
        parameters, arrives = directions(now, controls[:, step])
        prediction, _ = predictor.extend(state, arrives, None, None, parameters)
        state = predictor.next_state(state, prediction)
        state[:, 2:] += noise * torch.randn(len(numbers), 2, generator=generator)
        states.append(state)
    return Motion(torch.stack(states, 1), controls, None, changed_at, numbers)


__all__ = ["COUNT", "adapting_arm", "motion_of"]
