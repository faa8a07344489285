# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What is known of a robot, in one object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from ..usd.asset import Asset

if TYPE_CHECKING:
    from isaaclab.assets import ArticulationCfg, RigidObjectCfg


@dataclass(frozen=True)
class PublishedFigures:
    """What a publication reports of a robot, to be shown beside what is measured here."""

    source: str
    """The publication."""
    passive_errors: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    """Mean errors of open-loop motion without effort over all steps up to a horizon, by horizon [control steps], then
    by name of the error: ``base_position_m``, ``base_orientation_rad``, ``joint_rad``."""
    returns: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Returns of policies trained in the learned model, by task: ``physics`` in the solver, ``neural`` in the model,
    and ``gap``, their difference over the first."""


@dataclass(frozen=True)
class RobotRecord:
    """What is known of a robot. Only :attr:`articulation` imports Isaac Lab, and only when it is called."""

    name: str
    """Short name, as on the command line."""
    articulation: Callable[[], ArticulationCfg | RigidObjectCfg]
    """Returns a new Isaac Lab configuration of the robot; a task adds the prim path."""
    asset: Asset | None = None
    """Its USD file, if it is built here; else :attr:`articulation` says where the file is."""
    spec_name: str = ""
    """Name in specifications, and so in datasets and checkpoints: that of the USD file without its ending. Needed only
    where there is no :attr:`asset` to take it from."""
    default_task: str | None = None
    """Task on which a model of the robot is judged when none is named."""
    first_states: Mapping[str, float | tuple[float, float]] = field(default_factory=dict)
    """Ranges of first states that differ from the defaults of
    :class:`~nerd_isaaclab.collect.initial_states.InitialStateCfg`, by the names of its fields."""
    published: PublishedFigures | None = None
    """What a publication reports of it."""

    def __post_init__(self):
        """Take the name in specifications from the file."""
        if not self.spec_name:
            if self.asset is None:
                raise ValueError(f"the robot '{self.name}' has neither an asset nor a spec_name, expected one of them")
            object.__setattr__(self, "spec_name", PurePosixPath(self.asset.path).stem)
