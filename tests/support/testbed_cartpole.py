# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A test bed: an analytic cart-pole, integrated with RK4. It exists to test learning and stands for no simulator.

A cart on an endless rail without friction carries a uniform rod on a hinge. The force on the cart is held over a
control step. Training data are as the paper has them (random states and forces), the evaluation is passive motion.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.robot.frames import wrap_to_pi
from nerd_core.robot.spec import Body, Control, Joint, RobotSpec

CART_MASS, ROD_MASS, HALF_LENGTH, GRAVITY = 40.0, 10.0, 0.5, 9.81  # kg, kg, m, m/s^2
SUBSTEPS = 10

SPEC = RobotSpec(
    name="testbed_cartpole",
    floating_base=False,
    joints=(Joint("rail", "prismatic", (1.0, 0.0, 0.0)), Joint("hinge", "revolute", (0.0, 1.0, 0.0))),
    bodies=(Body("world"), Body("cart", "world", "rail"), Body("rod", "cart", "hinge")),
    controls=(Control("rail", "effort"),),
    physics_dt=1.0 / 600.0,
    decimation=SUBSTEPS,
)

TRAIN_RANGE = (3.5, math.pi, 10.0, 10.0)
"""Largest initial position [m], angle [rad], velocity [m/s] and rate [rad/s] of the training data."""

PASSIVE_RANGE = (1.0, math.pi, 1.0, 1.0)
"""The same for the passive evaluation."""

MAX_FORCE = 1500.0
"""Largest force of the training data [N]."""


def rates(state: Tensor, force: Tensor) -> Tensor:
    """Time derivative of states (position, angle from upright, velocity, rate), shape (..., 4), for forces (...)."""
    _, angle, velocity, rate = state.unbind(-1)
    sine, cosine, total = angle.sin(), angle.cos(), CART_MASS + ROD_MASS
    push = (force + ROD_MASS * HALF_LENGTH * rate**2 * sine) / total
    spin = (GRAVITY * sine - cosine * push) / (HALF_LENGTH * (4.0 / 3.0 - ROD_MASS * cosine**2 / total))
    acceleration = push - ROD_MASS * HALF_LENGTH * spin * cosine / total
    return torch.stack((velocity, rate, acceleration, spin), -1)


def simulate(state: Tensor, force: Tensor) -> Tensor:
    """True states, the first included, shape (N, T + 1, 4), for forces (N, T). In double precision."""
    states, step = [state], SPEC.physics_dt
    for held in force.unbind(1):
        for _ in range(SUBSTEPS):
            k1 = rates(state, held)
            k2 = rates(state + 0.5 * step * k1, held)
            k3 = rates(state + 0.5 * step * k2, held)
            k4 = rates(state + step * k3, held)
            state = state + step / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        state = torch.cat((state[:, :1], wrap_to_pi(state[:, 1:2]), state[:, 2:]), 1)
        states.append(state)
    return torch.stack(states, 1)


def make_data(trajectories: int, steps: int, seed: int, passive: bool = False) -> TrajectoryDataset:
    """Trajectories from random states, driven by forces drawn anew at each step, or passive.

    Args:
        trajectories: Number of trajectories.
        steps: Control steps of each.
        seed: Seed of states and forces.
        passive: Whether there are no forces and the states are those of the evaluation.
    """
    generator = torch.Generator().manual_seed(seed)
    span = torch.tensor(PASSIVE_RANGE if passive else TRAIN_RANGE, dtype=torch.float64)
    state = span * (2.0 * torch.rand(trajectories, 4, generator=generator, dtype=torch.float64) - 1.0)
    force = MAX_FORCE * (2.0 * torch.rand(trajectories, steps, generator=generator, dtype=torch.float64) - 1.0)
    force = torch.zeros_like(force) if passive else force
    return TrajectoryDataset.from_tensors(SPEC, simulate(state, force).float(), force.unsqueeze(-1).float())
