# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Trains models of motion on short windows, and judges them on long ones."""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch
from torch import Tensor

from ...files.bounds import bounded, check_bounds
from .models import MotionModel, Units
from .motion import Windows


@dataclass(frozen=True)
class FitCfg:
    """How a model is trained; the same for all."""

    updates: int = bounded(500, at_least=1)
    """Updates of the weights."""
    batch: int = bounded(128, at_least=1)
    """Windows in an update."""
    lr: float = bounded(3.0e-3, above=0.0)
    """Step size of Adam at the beginning; it falls to a hundredth along a cosine."""

    def __post_init__(self):
        check_bounds(self)


def units_of(windows: Windows) -> Units:
    """Common sizes of velocities, torques, accelerations and steps in windows."""
    velocity = windows.state[..., windows.effort.shape[-1] :]
    acceleration = velocity.diff(dim=1) / windows.dt.unsqueeze(-1)
    sizes = [each.square().mean((0, 1)).sqrt() for each in (velocity, windows.effort, acceleration)]
    sizes[1] = torch.where(sizes[1] > 0.0, sizes[1], torch.ones_like(sizes[1]))
    return Units(*sizes, dt=float(windows.dt.mean()))


def rolled(model: MotionModel, windows: Windows) -> Tensor:
    """States that a model predicts from the first of each window on, shape (N, W, 2 J)."""
    state, found = windows.state[:, 0], []
    for step in range(windows.dt.shape[1]):
        state = model(state, windows.effort[:, step], windows.dt[:, step])
        found.append(state)
    return torch.stack(found, dim=1)


def train(model: MotionModel, windows: Windows, cfg: FitCfg, seed: int) -> None:
    """Trains a model to roll through windows. Errors are in the units of what accelerations do in a common step.

    Args:
        model: The model.
        windows: Windows.
        cfg: Settings.
        seed: Seed of the order of windows.
    """
    generator = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, cfg.updates, 0.01 * cfg.lr)
    gain, dt = model.units.acceleration, model.units.dt
    scale = torch.cat((gain * dt * dt, gain * dt))
    for _ in range(cfg.updates):
        rows = torch.randint(len(windows), (cfg.batch,), generator=generator)
        batch = Windows(windows.state[rows], windows.effort[rows], windows.dt[rows])
        miss = (rolled(model, batch) - batch.state[:, 1:]) / scale
        loss = torch.nn.functional.smooth_l1_loss(miss, torch.zeros_like(miss))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()


@torch.no_grad()
def error_of(model: MotionModel | None, windows: Windows) -> float:
    """Root mean square error of angles over each window, in the mean over windows [rad]; infinite if one is lost.

    Args:
        model: The model; None for one that knows no forces, so that velocities stay as they are.
        windows: Windows to roll through.
    """
    joints = windows.effort.shape[-1]
    truth = windows.state[:, 1:, :joints]
    if model is None:
        passed = windows.dt.cumsum(1).unsqueeze(-1)
        angles = windows.state[:, :1, :joints] + passed * windows.state[:, :1, joints:]
    else:
        angles = rolled(model, windows)[..., :joints]
    error = (angles - truth).square().mean((1, 2)).sqrt()
    return float(error.mean()) if bool(torch.isfinite(error).all()) else float("inf")


@torch.no_grad()
def microseconds_of(model: MotionModel, windows: Windows, calls: int = 30) -> float:
    """Time of one prediction for a batch of windows, for each of them [us]: the fastest of some calls."""
    state, effort, dt = windows.state[:, 0], windows.effort[:, 0], windows.dt[:, 0]
    times = []
    for _ in range(calls):
        begin = time.perf_counter()
        model(state, effort, dt)
        times.append(time.perf_counter() - begin)
    return 1.0e6 * min(times) / len(state)
