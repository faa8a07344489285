# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What of the return a change takes, and how much of that a controller regains.

With ``U`` the return of the unchanged robots, and of the changed ones ``S`` by a controller that goes by the
specification and ``A`` by the one that is judged, all with the same targets and after the same moment::

    lost     = U - S
    regained = (A - S) / (U - S)

both of means over the starts. The spread is that of 2,000 draws of as many starts with replacement.

Example::

    found = regained(unchanged, specification, adapted)
    print(found.share, found.low, found.high)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from ...evaluation.adaptation import Change

Knowledge = Literal["specification", "adapted", "told"]
"""What a controller knows of its robot: the specification, what is estimated, the truth."""

DRAWS = 2000
"""Draws of starts for the spread."""


@dataclass(frozen=True)
class Group:
    """Robots that share what happens to them, and what their controller knows."""

    change: Change
    """What happens to them."""
    knows: Knowledge
    """What their controller knows."""

    @property
    def name(self) -> str:
        """Name of the group among figures."""
        return f"{self.change}_{self.knows}"


def groups_of(changes: tuple[Change, ...]) -> tuple[Group, ...]:
    """The unchanged robots by the specification and with adaptation, and the changed ones with each knowledge.

    Args:
        changes: What happens to robots.
    """
    unchanged = (Group("nothing", "specification"), Group("nothing", "adapted"))
    knowledge: tuple[Knowledge, ...] = ("specification", "adapted", "told")
    return (*unchanged, *(Group(change, knows) for change in changes for knows in knowledge))


@dataclass(frozen=True)
class Regained:
    """How much of what was lost is regained."""

    share: float
    """Share of the loss; not a number where nothing is lost."""
    low: float
    """Share that 2.5 % of the draws stay below."""
    high: float
    """Share that 97.5 % of the draws stay below."""


def regained(unchanged: Tensor, specification: Tensor, judged: Tensor, seed: int = 0) -> Regained:
    """Share of the lost return that a controller regains.

    Args:
        unchanged: Returns of unchanged robots, shape (starts,).
        specification: Returns of changed robots by the specification, shape (starts,).
        judged: Returns of changed robots by the judged controller, shape (starts,).
        seed: Seed of the draws.
    """
    table = torch.stack((unchanged, specification, judged)).double().numpy()
    drawn = np.random.default_rng(seed).integers(0, table.shape[1], (DRAWS, table.shape[1]))
    low, high = np.percentile([_share(*table[:, rows].mean(1)) for rows in drawn], (2.5, 97.5))
    return Regained(_share(*table.mean(1)), float(low), float(high))


def _share(unchanged: float, specification: float, judged: float) -> float:
    lost = unchanged - specification
    return float((judged - specification) / lost) if lost > 0.0 else float("nan")


def figures_of(
    groups: tuple[Group, ...], rewards: Tensor, changed_at: int, seed: int
) -> dict[str, float | list[float]]:
    """Returns after the change, and what of them is lost and regained, by name.

    Args:
        groups: What the robots are.
        rewards: Rewards of all steps, shape (T, groups, starts).
        changed_at: Step of the change.
        seed: Seed of the spread.
    """
    returns = dict(zip(groups, rewards[changed_at:].sum(0), strict=True))
    unchanged = returns[Group("nothing", "specification")]
    figures: dict[str, float | list[float]] = {}
    for group, values in returns.items():
        figures[f"{group.name}_return"] = float(values.mean())
        figures[f"{group.name}_returns"] = values.tolist()
        if group.change == "nothing":
            continue
        lost_with = returns[Group(group.change, "specification")]
        if group.knows == "specification":
            figures[f"{group.change}_lost_share"] = float((unchanged - values).mean() / unchanged.mean())
        else:
            found = regained(unchanged, lost_with, values, seed)
            name = f"{group.change}_regained" if group.knows == "adapted" else f"{group.change}_regained_told"
            figures |= {name: found.share, f"{name}_low": found.low, f"{name}_high": found.high}
    adapted = returns[Group("nothing", "adapted")]
    figures["nothing_gain_share"] = float((adapted - unchanged).mean() / unchanged.mean())
    return figures


__all__ = ["Group", "Knowledge", "Regained", "figures_of", "groups_of", "regained"]
