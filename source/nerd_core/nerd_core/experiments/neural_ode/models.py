# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Three ways to predict the motion of joints: by steps of one length, by steps of a given length, in continuous time.

All three have a network of the same size, which sees sines and cosines of angles, velocities and torques, and all know
that angles change with velocities.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, override

import torch
from torch import Tensor, nn

SOLVER_STEP = 0.02
"""Longest step of the solver of the differential equation [s]; a longer time is taken in several."""


class Units(NamedTuple):
    """Units of what a network sees and gives."""

    velocity: Tensor
    """Common size of velocities [rad/s], shape (J,)."""
    effort: Tensor
    """Common size of torques [N m], shape (J,)."""
    acceleration: Tensor
    """Common size of accelerations [rad/s^2], shape (J,)."""
    dt: float
    """Common time between two samples [s]."""


class MotionModel(nn.Module, ABC):
    """Where a mechanism is after some time, under torques that are held."""

    def __init__(self, joints: int, outputs: int, extra: int, hidden: int, units: Units):
        """Makes the network.

        Args:
            joints: Number of joints.
            outputs: Numbers that the network gives.
            extra: Numbers that it sees beside angles, velocities and torques.
            hidden: Width of its two hidden layers.
            units: Units.
        """
        super().__init__()
        self.joints, self.units = joints, units
        self.network = nn.Sequential(
            nn.Linear(4 * joints + extra, hidden),
            nn.Tanh(),
            nn.Linear(hidden, hidden),
            nn.Tanh(),
            nn.Linear(hidden, outputs),
        )

    @abstractmethod
    def forward(self, state: Tensor, effort: Tensor, dt: Tensor) -> Tensor:
        """States after some time.

        Args:
            state: Angles and velocities [rad, rad/s], shape (B, 2 J).
            effort: Torques held until then [N m], shape (B, J).
            dt: Times [s], shape (B,).

        Returns:
            Shape (B, 2 J).
        """

    def _seen(self, state: Tensor, effort: Tensor, *extra: Tensor) -> Tensor:
        angle, velocity = state.split(self.joints, dim=-1)
        parts = (angle.sin(), angle.cos(), velocity / self.units.velocity, effort / self.units.effort)
        return self.network(torch.cat((*parts, *extra), dim=-1))


class StepNetwork(MotionModel):
    """The change over a step of one length. Longer times are several steps; the rest, and shorter times, are a share of
    one, since nothing else is known there.
    """

    def __init__(self, joints: int, hidden: int, units: Units):
        super().__init__(joints, 2 * joints, 0, hidden, units)

    @override
    def forward(self, state: Tensor, effort: Tensor, dt: Tensor) -> Tensor:
        left = dt / self.units.dt
        # a time that is a thousandth short of a step is a step
        for _ in range(max(1, int(torch.ceil(left.max() - 1.0e-3)))):
            share = left.clamp(0.0, 1.0)
            state = _moved(state, self._seen(state, effort), self.units.dt, share.unsqueeze(-1), self.units)
            left = left - share
        return state


class TimedStepNetwork(MotionModel):
    """The change over a step whose length the network sees."""

    def __init__(self, joints: int, hidden: int, units: Units):
        super().__init__(joints, 2 * joints, 1, hidden, units)

    @override
    def forward(self, state: Tensor, effort: Tensor, dt: Tensor) -> Tensor:
        length = dt.unsqueeze(-1)
        change = self._seen(state, effort, length / self.units.dt)
        return _moved(state, change, length, 1.0, self.units)


class NeuralOde(MotionModel):
    """Accelerations, integrated by torchdiffeq over exactly the time that is asked for."""

    def __init__(self, joints: int, hidden: int, units: Units, method: str = "rk4"):
        super().__init__(joints, joints, 0, hidden, units)
        self.method = method

    def derivative(self, state: Tensor, effort: Tensor) -> Tensor:
        """Velocities and accelerations, shape (B, 2 J)."""
        velocity = state[..., self.joints :]
        return torch.cat((velocity, self.units.acceleration * self._seen(state, effort)), dim=-1)

    @override
    def forward(self, state: Tensor, effort: Tensor, dt: Tensor) -> Tensor:
        import torchdiffeq

        length = dt.unsqueeze(-1)
        # each motion has a time of its own: what is integrated from 0 to 1 is the share of it that has passed
        steps = max(1, int(torch.ceil(dt.max() / SOLVER_STEP - 1.0e-3)))
        ends = torch.tensor([0.0, 1.0], dtype=state.dtype)

        def by_share(_: Tensor, at: Tensor) -> Tensor:
            return length * self.derivative(at, effort)

        options = {"step_size": 1.0 / steps}
        path: Any = torchdiffeq.odeint(by_share, state, ends, method=self.method, options=options)
        return path[-1]


def _moved(state: Tensor, change: Tensor, dt: Tensor | float, share: Tensor | float, units: Units) -> Tensor:
    """States after a share of a step: velocities change by what the network gives, angles by the trapezoid and more."""
    angle, velocity = state.chunk(2, dim=-1)
    more, faster = (share * dt * units.acceleration * each for each in change.chunk(2, dim=-1))
    after = velocity + faster
    return torch.cat((angle + share * dt * (0.5 * (velocity + after)) + dt * more, after), dim=-1)


def size_of(model: nn.Module) -> int:
    """Number of weights."""
    return sum(each.numel() for each in model.parameters())
