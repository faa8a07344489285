# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What the data tell of the parameters: their uncertainty, and combinations that no motion of the data tells apart.

With ``J`` for the derivatives of all errors with respect to the free numbers (central differences in double
precision), the singular values of ``J`` say how much a combination of free numbers changes the motion. The covariance
is that of Gauss and Newton with errors that are correlated within a window and independent between windows (sandwich
estimator): ``inverse(H) G inverse(H)`` with ``H = transpose(J) J`` and ``G`` the sum over windows of squared gradients.

Example::

    found = identifiability(cost)
    print(found.in_words())
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .cost import RolloutCost

DIFFERENCE = 1.0e-4
"""Step of the central differences, in free numbers."""

NO_EFFECT = 1.0e-6
"""Singular values below this share of the largest count as zero: not one digit of single precision is left of them."""

ILL_DETERMINED = 0.25
"""Standard deviation of a combination of free numbers from which it counts as ill-determined: a quarter of the size of
the parameters."""

NAMED_SHARE = 0.2
"""Free numbers are named in a combination from this share of its largest on."""

MOST_NAMED = 5
"""Most of them that are named."""


@dataclass(frozen=True, eq=False)
class Combination:
    """A combination of free numbers, and how well the data determine it."""

    weights: Tensor
    """Its direction, of length one, shape (dim,)."""
    deviation: float
    """Standard deviation along it; infinite where no motion of the data tells of it."""
    in_words: str
    """What it is made of."""


@dataclass(frozen=True, eq=False)
class Identifiability:
    """What the data tell."""

    names: tuple[str, ...]
    """Names of the free numbers."""
    singular_values: Tensor
    """Singular values of the derivatives, falling, shape (dim,)."""
    covariance: Tensor
    """Covariance of the free numbers within what the data tell, shape (dim, dim)."""
    untold: tuple[Combination, ...]
    """Combinations that no motion of the data tells of."""
    ill_determined: tuple[Combination, ...]
    """Combinations that the data determine badly."""

    @property
    def deviations(self) -> Tensor:
        """Standard deviation of each free number, infinite where a combination with it is untold, shape (dim,)."""
        found = self.covariance.diagonal().clamp(min=0.0).sqrt()
        for each in self.untold:
            found = torch.where(each.weights.abs() > 0.05, torch.inf, found)
        return found

    def in_words(self) -> str:
        """The verdict, some lines."""
        count = len(self.names)
        told = count - len(self.untold) - len(self.ill_determined)
        lines = [f"The data determine {told} of {count} combinations of parameters."]
        for each in self.untold:
            lines.append(f"No motion of the data tells of: {each.in_words}.")
        for each in self.ill_determined:
            lines.append(f"Ill-determined (to within {each.deviation:.2g} of its size): {each.in_words}.")
        return "\n".join(lines)


def identifiability(cost: RolloutCost, steps: int | None = None) -> Identifiability:
    """What the windows of a cost tell of its physical parameters, at their present values.

    Args:
        cost: The cost.
        steps: Steps of the windows that are looked at; all by default.
    """
    names = cost.parameterisation.names
    base, jacobian = cost.residuals(steps).flatten(1), _jacobian(cost, steps)
    # Windows that run away count as little here as they do in the cost.
    size = base.square().mean(1, keepdim=True)
    weight = (1.0 / (1.0 + size / cost.cfg.robust)).sqrt()
    base, jacobian = weight * base, weight.unsqueeze(-1) * jacobian
    flat = jacobian.flatten(0, 1)
    _, values, directions = torch.linalg.svd(torch.linalg.qr(flat, mode="r").R)
    kept = values > NO_EFFECT * values[0].clamp(min=1e-300)
    inverse = torch.where(kept, 1.0 / values.square().clamp(min=1e-300), 0.0)
    bread = directions.t() @ (inverse.unsqueeze(-1) * directions)
    gradients = (jacobian * base.unsqueeze(-1)).sum(1)
    covariance = bread @ (gradients.t() @ gradients) @ bread
    along = ((directions @ covariance) * directions).sum(-1).clamp(min=0.0).sqrt()
    untold, ill = [], []
    for row, is_kept in enumerate(kept.tolist()):
        deviation = float(along[row]) if is_kept else float("inf")
        combination = Combination(directions[row], deviation, _words(names, directions[row]))
        if not is_kept:
            untold.append(combination)
        elif deviation > ILL_DETERMINED:
            ill.append(combination)
    return Identifiability(names, values, covariance, tuple(untold), tuple(ill))


@torch.no_grad()
def _jacobian(cost: RolloutCost, steps: int | None) -> Tensor:
    """Derivatives of the errors of each window with respect to the free numbers, shape (N, errors, dim)."""
    free, columns = cost.variables.free, []
    for number in range(len(free)):
        sides = []
        for step in (DIFFERENCE, -DIFFERENCE):
            free[number] += step
            sides.append(cost.residuals(steps).flatten(1))
            free[number] -= step
        columns.append((sides[0] - sides[1]) / (2.0 * DIFFERENCE))
    return torch.stack(columns, dim=-1)


def _words(names: tuple[str, ...], weights: Tensor) -> str:
    """A combination, its largest part positive."""
    order = weights.abs().argsort(descending=True).tolist()
    largest = float(weights[order[0]])
    named = [i for i in order if abs(float(weights[i])) >= NAMED_SHARE * abs(largest)]
    parts = [f"{float(weights[i]) / largest:+.2f} ({names[i]})" for i in named[:MOST_NAMED]]
    return " ".join(parts) + (" ..." if len(named) > MOST_NAMED else "")


__all__ = ["Combination", "Identifiability", "identifiability"]
