# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Zero mean and unit variance for every feature, from statistics that are gathered in a stream.

A feature that is not always defined (the distance of a contact slot, say) has a mask. Undefined values do not enter the
statistics, and are exactly zero after normalisation, as the mean is.

A feature that hardly ever leaves its mean has a tiny standard deviation, and is huge when it does: the stops of a robot
whose drives keep it away from them reach a hundred standard deviations. A *bounded* normaliser keeps all that it has
seen within :data:`PEAK` units, and lets nothing far beyond what it has seen.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

RELATIVE_FLOOR = 1.0e-3
"""A standard deviation is at least this share of the root mean square over its group of features."""

ROUNDING_FLOOR = 1.0e-6
"""A standard deviation below this share of the feature's own mean is rounding noise of float32: it counts as none."""

PEAK = 10.0
"""Units from the mean within which a bounded normaliser has everything that it has seen."""

REACH = 0.1
"""How far a bounded normaliser lets a feature beyond the range that it has seen, as a share of that range."""


STATISTICS = ("count", "mean", "squares", "lowest", "highest")
"""What :class:`FeatureStatistics` holds."""


class FeatureStatistics:
    """Count, mean, variance and range of each feature, streaming and mergeable, in double precision (Chan et al.)."""

    def __init__(self, dim: int, device: torch.device | str | None = None):
        """Starts empty.

        Args:
            dim: Number of features.
            device: Where the sums live.
        """
        self.count = torch.zeros(dim, dtype=torch.float64, device=device)
        self.mean = torch.zeros(dim, dtype=torch.float64, device=device)
        self.squares = torch.zeros(dim, dtype=torch.float64, device=device)
        """Sums of squared differences from the mean."""
        self.lowest = torch.full((dim,), torch.inf, dtype=torch.float64, device=device)
        self.highest = -self.lowest

    def update(self, x: Tensor, mask: Tensor | None = None) -> None:
        """Takes in a batch.

        Args:
            x: Features, shape (..., dim).
            mask: Which values are defined, shape (..., dim), bool; all by default.
        """
        x = x.detach().reshape(-1, self.count.numel()).to(self.count)
        if not len(x):
            return
        if mask is None:
            count = torch.full_like(self.count, x.shape[0])
            total = x.sum(0)
            lowest, highest = x.amin(0), x.amax(0)
        else:
            mask = mask.reshape(x.shape)
            lowest, highest = (x.masked_fill(~mask, far) for far in (torch.inf, -torch.inf))
            lowest, highest = lowest.amin(0), highest.amax(0)
            x = x.masked_fill(~mask, 0.0)
            count = mask.sum(0).to(self.count)
            total = x.sum(0)
        mean = total / count.clamp(min=1.0)
        difference = x - mean
        if mask is not None:
            difference = difference.masked_fill(~mask, 0.0)
        self._join(count, mean, difference.square().sum(0))
        self._widen(lowest, highest)

    def merge(self, other: FeatureStatistics) -> None:
        """Takes in what another stream saw."""
        self._join(other.count.to(self.count), other.mean.to(self.mean), other.squares.to(self.squares))
        self._widen(other.lowest.to(self.lowest), other.highest.to(self.highest))

    @property
    def variance(self) -> Tensor:
        """Variance of each feature, zero where nothing was seen, shape (dim,)."""
        return self.squares / self.count.clamp(min=1.0)

    def state_dict(self) -> dict[str, Tensor]:
        """The sums and ranges, to go on later."""
        return {name: getattr(self, name).clone() for name in STATISTICS}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Goes on from :meth:`state_dict`."""
        for name in STATISTICS:
            own = getattr(self, name)
            if state[name].shape != own.shape:
                raise ValueError(
                    f"statistics: got {name} of shape {tuple(state[name].shape)}, expected {tuple(own.shape)}"
                )
            own.copy_(state[name])

    def _widen(self, lowest: Tensor, highest: Tensor) -> None:
        self.lowest, self.highest = torch.minimum(self.lowest, lowest), torch.maximum(self.highest, highest)

    def _join(self, count: Tensor, mean: Tensor, squares: Tensor) -> None:
        total = self.count + count
        share = count / total.clamp(min=1.0)
        delta = mean - self.mean
        self.mean = self.mean + delta * share
        self.squares = self.squares + squares + delta.square() * self.count * share
        self.count = total


class Normaliser(nn.Module):
    """Shifts and scales features. The identity until :meth:`finalise` was called or a state was loaded."""

    mean: Tensor
    std: Tensor
    count: Tensor
    lower: Tensor
    """Smallest normalised value that is let through, shape (dim,). Only of a bounded normaliser, as :attr:`upper`."""
    upper: Tensor

    def __init__(
        self,
        dim: int,
        groups: Sequence[slice] | None = None,
        floor: Tensor | float = 0.0,
        bounded: bool = False,
    ):
        """Starts as the identity.

        Args:
            dim: Number of features.
            groups: Features that share a unit. A standard deviation is at least :data:`RELATIVE_FLOOR` of the root
                mean square of its group, so that a feature that hardly varies beside its neighbours does not become
                huge. By default each feature stands alone, and then has only the two other floors.
            floor: Smallest standard deviation, in the features' units; for changes of state their
                :attr:`~nerd_core.robot.frames.ChangeCodec.resolution`. Shape (dim,) or one number.
            bounded: Whether normalised features stay within what the statistics have seen, see :data:`PEAK`.
        """
        super().__init__()
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("std", torch.ones(dim))
        self.register_buffer("count", torch.zeros(dim, dtype=torch.float64))
        self.bounded = bounded
        if bounded:
            self.register_buffer("lower", torch.full((dim,), -torch.finfo(torch.float32).max))
            self.register_buffer("upper", torch.full((dim,), torch.finfo(torch.float32).max))
        self.groups = list(groups or ())
        self.floor = floor
        self.statistics = FeatureStatistics(dim)

    def update(self, x: Tensor, mask: Tensor | None = None) -> None:
        """Takes a batch into the statistics; see :meth:`FeatureStatistics.update`."""
        if self.statistics.count.device != x.device:
            moved = FeatureStatistics(self.mean.numel(), device=x.device)
            moved.merge(self.statistics)
            self.statistics = moved
        self.statistics.update(x, mask)

    def finalise(self) -> None:
        """Writes the mean and the standard deviation that the statistics give."""
        seen = self.statistics
        variance = seen.variance
        std = variance.sqrt()
        constant = std <= ROUNDING_FLOOR * seen.mean.abs()
        power = (variance + seen.mean.square()) * seen.count
        least = torch.as_tensor(self.floor, dtype=torch.float64, device=std.device).expand_as(std)
        floor = least.clone()
        for group in self.groups:
            mean_square = power[group].sum() / seen.count[group].sum().clamp(min=1.0)
            floor[group] = torch.maximum(floor[group], RELATIVE_FLOOR * mean_square.sqrt())
        # What was constant may vary later, so it keeps its unit. With a floor in that unit, what a model predicts for
        # it stays below the floor instead.
        std = torch.where(constant, torch.where(least > 0, least, torch.ones_like(std)), torch.maximum(std, floor))
        if self.bounded:
            lowest, highest = (torch.where(seen.count > 0, x, seen.mean) for x in (seen.lowest, seen.highest))
            std = torch.maximum(std, torch.maximum(highest - seen.mean, seen.mean - lowest) / PEAK)
            reach = REACH * (highest - lowest)
            self.lower.copy_((lowest - reach - seen.mean) / std)
            self.upper.copy_((highest + reach - seen.mean) / std)
        self.mean.copy_(seen.mean)
        self.std.copy_(std)
        self.count.copy_(seen.count)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Normalised features.

        Args:
            x: Features, shape (..., dim).
            mask: Which values are defined, shape (..., dim), bool; all by default.

        Returns:
            Shape (..., dim); exactly zero where the mask is False.
        """
        y = (x - self.mean) / self.std
        if self.bounded:
            y = y.maximum(self.lower).minimum(self.upper)
        return y if mask is None else y.masked_fill(~mask, 0.0)

    def inverse(self, y: Tensor) -> Tensor:
        """Features from normalised features, shape (..., dim)."""
        return y * self.std + self.mean
