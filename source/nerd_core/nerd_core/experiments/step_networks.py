# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Networks that learn the steps of a planar swimmer without any mechanics: the baselines of hybrid simulation.

Both see sines and cosines of angles, velocities and the torque, not where the swimmer is, and say the change of the
state in units of what the data have; both are trained on roll-outs of windows, as they are judged.

Example::

    network = fit(LstmStep(hidden=16), state, control, FitCfg(updates=500))
    path = roll_out(network, state[:, 0], control)    # (N, T + 1, 8)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import override

import torch
from torch import Tensor, nn

from ..files.bounds import bounded, check_bounds

ANGLES, VELOCITIES = slice(2, 4), slice(4, 8)
"""Columns of a state of the swimmer."""

INPUTS, OUTPUTS = 2 * 2 + 4 + 1, 8

Memory = tuple[Tensor, Tensor] | None


@dataclass(frozen=True)
class FitCfg:
    """How such a network is trained."""

    updates: int = bounded(1500, at_least=1)
    """Updates of Adam."""
    window: int = bounded(25, at_least=1)
    """Steps of a window that is rolled out."""
    batch: int = bounded(64, at_least=1)
    """Windows of an update."""
    learning_rate: float = bounded(0.01, above=0.0)
    """First step of Adam; it falls to zero."""

    def __post_init__(self):
        check_bounds(self)


class StepNetwork(nn.Module):
    """A network for one step, with the units of the data."""

    input_unit: Tensor
    change_unit: Tensor

    def __init__(self):
        """Makes the units."""
        super().__init__()
        self.register_buffer("input_unit", torch.ones(INPUTS))
        self.register_buffer("change_unit", torch.ones(OUTPUTS))

    def set_units(self, state: Tensor, control: Tensor) -> None:
        """Takes the units from motion, shapes (N, T + 1, 8) and (N, T, 1)."""
        seen = self._seen(state[:, :-1], control)
        self.input_unit.copy_(seen.square().mean((0, 1)).sqrt().clamp(min=1.0e-9))
        self.change_unit.copy_((state[:, 1:] - state[:, :-1]).square().mean((0, 1)).sqrt().clamp(min=1.0e-9))

    def step(self, state: Tensor, control: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """The next states, shape (N, 8), and what is remembered.

        Args:
            state: States, shape (N, 8).
            control: Torques, shape (N, 1).
            memory: What is remembered; None at first.
        """
        said, memory = self.said(self._seen(state, control) / self.input_unit, memory)
        return state + self.change_unit * said, memory

    def said(self, seen: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """The change of state in its units, and what is remembered."""
        raise NotImplementedError

    def _seen(self, state: Tensor, control: Tensor) -> Tensor:
        angles = state[..., ANGLES]
        return torch.cat((angles.sin(), angles.cos(), state[..., VELOCITIES], control), dim=-1)


class LstmStep(StepNetwork):
    """A long short-term memory (Hochreiter and Schmidhuber 1997)."""

    def __init__(self, hidden: int = 16):
        """Makes the weights.

        Args:
            hidden: Numbers that are remembered.
        """
        super().__init__()
        self.cell, self.last = nn.LSTMCell(INPUTS, hidden), nn.Linear(hidden, OUTPUTS)

    @override
    def said(self, seen: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        memory = self.cell(seen, memory)
        assert memory is not None
        return self.last(memory[0]), memory


class FeedForwardStep(StepNetwork):
    """Two hidden layers."""

    def __init__(self, hidden: int = 34):
        """Makes the weights.

        Args:
            hidden: Features of both layers.
        """
        super().__init__()
        layers = [
            nn.Linear(INPUTS, hidden),
            nn.Tanh(),
            nn.Linear(hidden, hidden),
            nn.Tanh(),
            nn.Linear(hidden, OUTPUTS),
        ]
        self.network = nn.Sequential(*layers)

    @override
    def said(self, seen: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        return self.network(seen), None


def roll_out(network: StepNetwork, state: Tensor, control: Tensor) -> Tensor:
    """Motion from first states, shape (N, T + 1, 8).

    Args:
        network: The network.
        state: First states, shape (N, 8).
        control: Torques, shape (N, T, 1).
    """
    states, memory = [state], None
    for torque in control.unbind(1):
        state, memory = network.step(state, torque, memory)
        states.append(state)
    return torch.stack(states, dim=1)


def fit[N: StepNetwork](network: N, state: Tensor, control: Tensor, cfg: FitCfg, seed: int = 0) -> N:
    """Trains a network on windows of motion, in place, and returns it.

    Args:
        network: A new network.
        state: States, shape (N, T + 1, 8).
        control: Torques, shape (N, T, 1).
        cfg: How.
        seed: Seed of the choice of windows.
    """
    state, control = state.float(), control.float()
    network.set_units(state, control)
    unit = (state[:, cfg.window :] - state[:, : -cfg.window]).square().mean((0, 1)).sqrt().clamp(min=1.0e-9)
    optimiser = torch.optim.Adam(network.parameters(), lr=cfg.learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, cfg.updates)
    random = torch.Generator().manual_seed(seed)
    offsets = torch.arange(cfg.window + 1)
    for _ in range(cfg.updates):
        run = torch.randint(len(state), (cfg.batch, 1), generator=random)
        begin = torch.randint(control.shape[1] - cfg.window + 1, (cfg.batch, 1), generator=random)
        truth, torque = state[run, begin + offsets], control[run, begin + offsets[:-1]]
        optimiser.zero_grad()
        loss = ((roll_out(network, truth[:, 0], torque) - truth) / unit).square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    return network


__all__ = ["FeedForwardStep", "FitCfg", "LstmStep", "StepNetwork", "fit", "roll_out"]
