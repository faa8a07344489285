# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a collection tells its workers, and what they report."""

from __future__ import annotations

from dataclasses import dataclass, field

from .collect_cfg import CollectCfg
from .contact_agreement import Agreement


@dataclass(frozen=True)
class Order:
    """The work of one worker."""

    cfg: CollectCfg
    """What to collect, resolved."""
    out: str
    """Folder of the dataset."""
    shard: int
    """Number of the shard to fill."""
    transitions: int
    """Number of transitions that the shard has to hold at the end."""
    device: str
    """Device of the simulation."""
    robot: str | None = None
    """Specification of the robot that the task must have, as JSON; None for any."""


@dataclass
class CollectReport:
    """What a worker has done so far, earlier runs of the same command included."""

    batches: int = 0
    """Batches recorded."""
    transitions: int = 0
    """Control steps recorded."""
    trajectories: int = 0
    """Trajectories recorded."""
    dropped: dict[str, int] = field(default_factory=dict)
    """Trajectories not recorded, by reason."""
    kinds: dict[str, int] = field(default_factory=dict)
    """Roll-outs by kind of excitation, those that were dropped included."""
    agreement: Agreement = field(default_factory=Agreement)
    """How contacts of the solver and of geometry agree, where both were asked for."""
    warnings: tuple[str, ...] = ()
    """What the user of the data should know."""
