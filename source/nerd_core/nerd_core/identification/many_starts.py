# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Local search and basin hopping from many starts at once: all of them are robots of one roll-out.

For few unknowns and many starts. Each start has a chain of its own, which knows nothing of the others: what share of
them finds the truth says how much a start matters. Errors are functions of places in a box, and derivatives are
differences, so single precision will do.

Example::

    box = Box(torch.tensor([0.1, 0.1]), torch.tensor([10.0, 10.0]))
    ends = descend_many(errors, starts, box)
    better = hop_many(errors, ends, box, ManyStartsCfg(hops=20))
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from ..files.bounds import SEED, bounded, check_bounds
from .drivers import FIRST_DAMPING, HOP_RANGE, LARGEST_DAMPING
from .parameterisation import IdentificationError

Errors = Callable[[Tensor], Tensor]
"""From places, shape (P, dim), to the errors of each, shape (P, E); not finite where a place is a bad one."""


@dataclass(frozen=True)
class ManyStartsCfg:
    """How to search."""

    iterations: int = bounded(40, at_least=1)
    """Iterations of a local search."""
    difference: float = bounded(1.0e-3, above=0.0, at_most=0.1)
    """Step of differences, as a share of the box."""
    enough: float = bounded(1.0e-6, at_least=0.0)
    """Mean square error at which a search ends, and a chain of hops, too."""
    hops: int = bounded(20, at_least=0)
    """Hops of a chain."""
    step: float = bounded(0.3, above=0.0)
    """Usual standard deviation of a hop, as a share of the box."""
    seed: int = bounded(0, **SEED)
    """Seed of the hops."""

    def __post_init__(self):
        check_bounds(self)


@dataclass(frozen=True, eq=False)
class Box:
    """Where places may be."""

    lower: Tensor
    """Shape (dim,)."""
    upper: Tensor
    """Shape (dim,)."""

    def __post_init__(self):
        if self.lower.shape != self.upper.shape or not bool((self.lower < self.upper).all()):
            raise IdentificationError(
                f"got a box from {self.lower.tolist()} to {self.upper.tolist()}, expected as many lower bounds as "
                "upper ones, each the smaller one"
            )

    @property
    def size(self) -> Tensor:
        """Its edges, shape (dim,)."""
        return self.upper - self.lower

    def clip(self, places: Tensor) -> Tensor:
        """The nearest places within.

        Args:
            places: Places, shape (P, dim).
        """
        return torch.minimum(torch.maximum(places, self.lower), self.upper)


class Ends(NamedTuple):
    """Where searches ended."""

    places: Tensor
    """Shape (P, dim)."""
    values: Tensor
    """Mean square errors there, shape (P,)."""


@torch.no_grad()
def descend_many(errors: Errors, starts: Tensor, box: Box, cfg: ManyStartsCfg | None = None) -> Ends:
    """A local search from each start, by Levenberg and Marquardt, kept within the box.

    Args:
        errors: The errors.
        starts: Where to begin, shape (P, dim).
        box: Where to look.
        cfg: How.
    """
    cfg = cfg or ManyStartsCfg()
    places = box.clip(starts).clone()
    values = _mean_squares(errors(places))
    damping = torch.full_like(values, FIRST_DAMPING)
    for _ in range(cfg.iterations):
        going = (values.isfinite() & (values > cfg.enough) & (damping < LARGEST_DAMPING)).nonzero().flatten()
        if not len(going):
            break
        here = places[going]
        base, jacobian = _with_slopes(errors, here, box, cfg)
        hessian = jacobian.mT @ jacobian
        # A number that the box holds back is left out of the step: the others would go where it cannot.
        slope = (jacobian.mT @ base.unsqueeze(-1)).squeeze(-1)
        held = ((here <= box.lower) & (slope > 0.0)) | ((here >= box.upper) & (slope < 0.0))
        free = (~held).to(slope.dtype)
        hessian = hessian * free.unsqueeze(-1) * free.unsqueeze(-2)
        diagonal = hessian.diagonal(dim1=-2, dim2=-1)
        scale = diagonal + 1.0e-6 * diagonal.mean(-1, keepdim=True) + 1.0e-20 + held.to(slope.dtype)
        step = torch.linalg.solve(
            hessian + torch.diag_embed(damping[going].unsqueeze(-1) * scale + 1e-12), slope * free
        )
        tried = box.clip(here - step * box.size)
        found = _mean_squares(errors(tried))
        better = found < values[going]
        places[going] = torch.where(better.unsqueeze(-1), tried, here)
        values[going] = torch.where(better, found, values[going])
        damping[going] *= torch.where(better, 0.3, 5.0)
    return Ends(places, values)


@torch.no_grad()
def hop_many(
    errors: Errors,
    ends: Ends,
    box: Box,
    cfg: ManyStartsCfg | None = None,
    report: Callable[[str], None] | None = None,
) -> Ends:
    """Hops from where local searches ended, each followed by a local search; the best place of each chain is kept.

    Args:
        errors: The errors.
        ends: What :func:`descend_many` gave.
        box: Where to look.
        cfg: How.
        report: Told of each round, in words.
    """
    cfg = cfg or ManyStartsCfg()
    random = torch.Generator().manual_seed(cfg.seed)
    places, values = ends.places.clone(), ends.values.clone()
    for number in range(cfg.hops):
        going = (~(values <= cfg.enough)).nonzero().flatten()
        if not len(going):
            break
        low, high = (math.log(each) for each in HOP_RANGE)
        size = cfg.step * torch.exp(low + (high - low) * torch.rand(len(going), 1, generator=random))
        far = size * torch.randn(len(going), places.shape[1], generator=random)
        tried = descend_many(errors, box.clip(places[going] + far.to(places) * box.size), box, cfg)
        better = ~(values[going] <= tried.values) & tried.values.isfinite()
        places[going] = torch.where(better.unsqueeze(-1), tried.places, places[going])
        values[going] = torch.where(better, tried.values, values[going])
        if report is not None:
            report(f"hop {number + 1}: {int((values <= cfg.enough).sum())} of {len(values)} chains are at the bottom")
    return Ends(places, values)


def _with_slopes(errors: Errors, places: Tensor, box: Box, cfg: ManyStartsCfg) -> tuple[Tensor, Tensor]:
    """Errors of places, shape (P, E), and their derivatives in units of the box, shape (P, E, dim); zero where one of
    them is not finite.
    """
    count, dim = places.shape
    # Inwards, so that no difference leaves the box.
    signs = torch.where(places > 0.5 * (box.lower + box.upper), -1.0, 1.0)
    moves = torch.diag_embed(signs * cfg.difference)
    moved = places.unsqueeze(1) + moves * box.size
    everything = errors(torch.cat((places, moved.flatten(0, 1))))
    base, sides = everything[:count], everything[count:].unflatten(0, (count, dim))
    slopes = (sides - base.unsqueeze(1)) / (signs * cfg.difference).unsqueeze(-1)
    return base, slopes.transpose(1, 2).nan_to_num(0.0, 0.0, 0.0)


def _mean_squares(errors: Tensor) -> Tensor:
    """What places cost; infinite where errors are not finite."""
    return errors.square().mean(-1).nan_to_num(math.inf, math.inf, math.inf)


__all__ = ["Box", "Ends", "Errors", "ManyStartsCfg", "descend_many", "hop_many"]
