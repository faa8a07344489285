# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What an identification found, as text and as plain values.

Example::

    print(report.text())
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..files.serialization import to_plain
from .identifiability import Identifiability
from .parameterisation import GROUPS, Parameterisation
from .replay import ReplayError


@dataclass(frozen=True, eq=False)
class Report:
    """What an identification found."""

    robot: str
    """Name of the robot."""
    data: dict[str, Any]
    """What was identified from, in numbers."""
    left_out: tuple[str, ...]
    """Families that were not trained on."""
    cost: tuple[float, float]
    """Cost of the training windows before and after."""
    values: dict[str, Any]
    """Values of each group before and after, and their standard deviations."""
    identifiability: Identifiability | None
    """What the data tell."""
    before: ReplayError
    """Errors on held-out motion of what was started from."""
    after: ReplayError
    """Errors on held-out motion of what was found."""
    refused: str
    """Why the model is refused; empty if it is not."""
    families: dict[str, ReplayError]
    """Errors of what was found on held-out motion by family."""

    def text(self) -> str:
        """The report for people."""
        lines = [
            f"Identification of {self.robot} from {self.data['windows']} windows of {self.data['seconds']:g} s"
            + (f", without {', '.join(self.left_out)}" if self.left_out else ""),
            f"cost {self.cost[0]:.5g} -> {self.cost[1]:.5g}",
            "",
        ]
        for group, of in self.values.items():
            lines.append(f"{group} [{GROUPS[group].unit}]")
            for label, each in (("before", of["before"]), ("after", of["after"]), ("+-", of["deviation"])):
                lines.append(f"  {label:<7}{_numbers(each)}")
        if self.identifiability is not None:
            lines += ["", self.identifiability.in_words()]
        lines += ["", f"held-out motion, {self.after.windows} windows, mean error of a window (all windows pooled):"]
        for name, value in self.after.mean.items():
            lines.append(
                f"  {name:<14}{self.before.mean[name]:.4f} ({self.before.pooled[name]:.4f}) -> {value:.4f} "
                f"({self.after.pooled[name]:.4f})"
            )
        for family, error in self.families.items():
            told = ", ".join(f"{name} {value:.4f} ({error.pooled[name]:.4f})" for name, value in error.mean.items())
            mark = ", not trained on" if family in self.left_out else ""
            lines.append(f"  {family}{mark}: {told}, {error.windows} windows")
        if self.refused:
            lines += ["", f"The model is refused: {self.refused}."]
        return "\n".join(lines)

    def plain(self) -> dict[str, Any]:
        """The report for programs: strict JSON, infinity and NaN as null."""
        told = self.identifiability
        return _strict(
            {
                "robot": self.robot,
                "data": self.data,
                "left_out": list(self.left_out),
                "cost_before": self.cost[0],
                "cost_after": self.cost[1],
                "values": self.values,
                "singular_values": None if told is None else told.singular_values.tolist(),
                "untold": [] if told is None else [each.in_words for each in told.untold],
                "ill_determined": [] if told is None else [each.in_words for each in told.ill_determined],
                "held_out_before": to_plain(self.before),
                "held_out_after": to_plain(self.after),
                "families": to_plain(self.families),
                "refused": self.refused,
            }
        )


def deviations_of(parameterisation: Parameterisation, free: Tensor, covariance: Tensor | None) -> dict[str, Tensor]:
    """Standard deviations of the values of each group, to first order; zero without a covariance.

    Args:
        parameterisation: What makes the values.
        free: Free numbers, shape (dim,).
        covariance: Their covariance, shape (dim, dim).
    """
    found = {}
    for group, value in parameterisation.values(free).items():
        if covariance is None:
            found[group] = torch.zeros_like(value)
            continue
        slopes = torch.autograd.functional.jacobian(lambda x, group=group: parameterisation.values(x)[group], free)
        assert isinstance(slopes, Tensor)
        rows = slopes.flatten(0, -2)
        found[group] = ((rows @ covariance) * rows).sum(-1).clamp(min=0.0).sqrt().view_as(value)
    return found


def _numbers(value: Any) -> str:
    if isinstance(value, list):
        return "[" + " ".join(_numbers(each) for each in value) + "]"
    return f"{value:.4g}"


def _strict(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _strict(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


__all__ = ["Report", "deviations_of"]
