# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A network in the place of the quadratic programme: 41 numbers of a problem, two layers of 192, 12 forces.

It is trained with PyTorch on what the programme answered, and evaluated with NumPy: for one robot at a time that takes
less than half of the time. Its answer is brought into the friction pyramid, and feet that swing push nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from nerd_core.files.bounds import bounded, check_bounds

from . import Array
from .convex_mpc import MpcCfg
from .gait import Gait
from .problem import FEATURES, STANDS, ForceProblem, features

HIDDEN = (192, 192)
"""Widths of the hidden layers."""
FORCES = 12
"""Length of an answer: a force for each foot."""
_ZERO = np.float32(0.0)


@dataclass(frozen=True)
class FitCfg:
    """How the network is trained."""

    epochs: int = bounded(150, at_least=1)
    """Passes through the examples."""
    batch: int = bounded(128, at_least=1)
    """Examples in an update."""
    lr: float = bounded(2.0e-3, above=0.0)
    """Step size of Adam at the beginning; it falls to a hundredth along a cosine."""
    held_out: float = bounded(0.1, above=0.0, below=1.0)
    """Share of the examples, the last of them, that is not trained on."""

    def __post_init__(self):
        check_bounds(self)


class ForceNetwork:
    """Plans forces as the programme did that it was trained on."""

    def __init__(self, module: nn.Sequential, mean: Array, scale: Array, unit: float, gait: Gait, cfg: MpcCfg):
        """Takes the weights out of a module.

        Args:
            module: Linear layers with ELUs between them, from normalised features to forces in their unit.
            mean: Mean of the features, shape (41,).
            scale: Spread of the features, shape (41,).
            unit: Unit of the forces [N].
            gait: Which feet stand when.
            cfg: Friction, limits and horizon of the programme.
        """
        self.gait, self.cfg = gait, cfg
        layers = [layer for layer in module if isinstance(layer, nn.Linear)]
        weights = [layer.weight.detach().double().numpy() for layer in layers]
        biases = [layer.bias.detach().double().numpy() for layer in layers]
        # normalising features and giving forces in newtons is part of the first and of the last layer
        biases[0] = biases[0] - weights[0] @ (mean / scale)
        weights[0] = weights[0] / scale
        weights[-1], biases[-1] = unit * weights[-1], unit * biases[-1]
        self._weights = [np.ascontiguousarray(weight.T, dtype=np.float32) for weight in weights]
        self._biases = [bias.astype(np.float32) for bias in biases]

    @property
    def size(self) -> int:
        """Number of weights and biases."""
        return sum(weight.size for weight in self._weights) + sum(bias.size for bias in self._biases)

    def __call__(self, problem: ForceProblem) -> Array:
        """Forces on the feet now, in the heading frame [N], shape (N, 4, 3)."""
        seen = features(problem, self.gait, self.cfg.horizon).astype(np.float32)
        return within_limits(self.evaluate(seen), self.gait.stands(problem.time), self.cfg)

    def evaluate(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """The network alone.

        Args:
            x: Features, shape (N, 41).

        Returns:
            Forces [N], shape (N, 12).
        """
        if len(x) == 1:  # products with a vector take a sixth less time
            return self._layers(x[0])[None]
        return self._layers(x)

    def _layers(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        for weight, bias in zip(self._weights[:-1], self._biases[:-1]):
            x = x.dot(weight)
            x += bias
            x = np.maximum(x, np.expm1(np.minimum(x, _ZERO)))  # ELU
        return x.dot(self._weights[-1]) + self._biases[-1]


def within_limits(forces: NDArray, stands: NDArray[np.bool_], cfg: MpcCfg) -> Array:
    """Forces in the friction pyramid and below the largest; none on feet that swing.

    Args:
        forces: Forces [N], shape (N, 12).
        stands: Which feet stand, shape (N, 4).
        cfg: Limits.

    Returns:
        Shape (N, 4, 3).
    """
    forces = forces.reshape(-1, 4, 3).astype(np.float64)
    normal = np.where(stands, np.minimum(np.maximum(forces[..., 2], 0.0), cfg.max_force), 0.0)
    forces[..., 2] = normal
    most = cfg.friction * normal[..., None]
    forces[..., :2] = np.minimum(np.maximum(forces[..., :2], -most), most)
    return forces


@dataclass(frozen=True)
class Fit:
    """A trained network, and how well it answers."""

    network: ForceNetwork
    """The network."""
    error: float
    """Root mean square error of the forces on feet that stand, held-out examples [N]."""
    spread: float
    """Root mean square of their distance from their mean there [N]."""


def fit(seen: Array, forces: Array, gait: Gait, mpc: MpcCfg, cfg: FitCfg, seed: int, say: Callable[[str], None]) -> Fit:
    """Trains a network on what the programme answered.

    Args:
        seen: Features of the problems, shape (T, 41).
        forces: Answers [N], shape (T, 4, 3); zero on feet that swing.
        gait: Which feet stand when.
        mpc: Limits of the programme.
        cfg: How it is trained.
        seed: Seed of the first weights and the order of the examples.
        say: Is told of the progress.
    """
    count = max(1, round(len(seen) * (1.0 - cfg.held_out)))
    mean, scale = seen[:count].mean(0), seen[:count].std(0) + 1.0e-3
    unit = float(np.sqrt(np.mean(forces[:count] ** 2))) + 1.0e-9
    x = torch.as_tensor((seen - mean) / scale, dtype=torch.float32)
    y = torch.as_tensor(forces.reshape(-1, FORCES) / unit, dtype=torch.float32)
    stands = seen[:, STANDS].repeat(3, axis=-1) > 0.5
    counts = torch.as_tensor(stands).float()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        module = _module()
        _train(module, x[:count], y[:count], counts[:count], cfg, say)
    network = ForceNetwork(module, mean, scale, unit, gait, mpc)
    rest = slice(min(count, len(seen) - 1), None)
    answer, truth, stands = (
        network.evaluate(seen[rest].astype(np.float32)),
        forces[rest].reshape(-1, FORCES),
        stands[rest],
    )
    average = (truth * stands).sum(0) / np.maximum(stands.sum(0), 1)
    miss, away = (answer - truth)[stands], (truth - average)[stands]
    return Fit(network, float(np.sqrt(np.mean(miss**2))), float(np.sqrt(np.mean(away**2))))


def _module() -> nn.Sequential:
    widths = (FEATURES, *HIDDEN, FORCES)
    layers: list[nn.Module] = []
    for first, second in zip(widths, widths[1:]):
        layers += [nn.Linear(first, second), nn.ELU()]
    return nn.Sequential(*layers[:-1])


def _train(module: nn.Module, x: torch.Tensor, y: torch.Tensor, counts: torch.Tensor, cfg: FitCfg, say) -> None:
    optimiser = torch.optim.Adam(module.parameters(), lr=cfg.lr)
    batches = max(1, len(x) // cfg.batch)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, cfg.epochs * batches, 0.01 * cfg.lr)
    for epoch in range(cfg.epochs):
        total = 0.0
        for rows in torch.randperm(len(x)).tensor_split(batches):
            loss = (counts[rows] * (module(x[rows]) - y[rows]) ** 2).sum() / counts[rows].sum().clamp(min=1.0)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            total += loss.item()
        if (epoch + 1) % max(1, cfg.epochs // 5) == 0:
            say(f"network: epoch {epoch + 1} of {cfg.epochs}, loss {total / batches:.2e}")
