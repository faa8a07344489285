# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Settings of mechanics: into how many substeps its solver divides a physics step, what it looks at, and how far a
constraint gives way.

Example::

    cfg = MechanicsCfg(substeps=4, slots=5)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..files.bounds import bounded, check_bounds
from .augmentation.blueprints import MAX_BLUEPRINTS, Blueprint
from .constants import UNREACHABLE

ConstraintLawName = Literal["engine", "fitted"]


@dataclass(frozen=True)
class MechanicsCfg:
    """Settings of mechanics with a learned solver of contacts and stops."""

    substeps: int | None = bounded(None, at_least=1)
    """Substeps in a physics step, in each of which forces and impulses act. PhysX has as many as it makes position
    iterations; by default those that the robot's specification says, or 4."""
    hidden: int = bounded(16, at_least=0)
    """Features of the rules' network; 0 for constants alone."""
    slots: int = bounded(8, at_least=1)
    """Most contact slots that are looked at, those that come nearest to the ground."""
    self_contacts: int = bounded(0, at_least=0)
    """Most pairs of the robot's own shapes that are looked at, those that are nearest to each other, for robots whose
    bodies may touch each other; 0 for none, and a warning. Gradients flow through PyTorch with any, several times
    slower."""
    reach: float = bounded(0.02, at_least=0.0, below=UNREACHABLE)
    """Gap below which the solver looks at a slot at all [m], and ..."""
    reach_by_radius: float = bounded(0.04, at_least=0.0)
    """... more, as a share of its radius. The contact offsets that PhysX chooses for a plane and for a shape."""
    constraint_law: ConstraintLawName = "engine"
    """How constraints give way, joints leave their stops, and friction acts: as the source of PhysX says, or as earlier
    versions fitted it to motion, which models from before this setting do."""
    links_in_turn: bool = True
    """With the law ``engine``: whether the joint of a link and then its contacts are solved before the next link, and
    both ends of a capsule are one patch, as in PhysX; else all joints and then one contact after the other, as models
    from before this setting do."""
    touch_order: bool = True
    """With links in turn: whether the shapes of a body are solved in the order in which they touched, as in PhysX (see
    :mod:`nerd_core.mechanics.touch_order`); else in that of the specification, as models from before this setting
    do."""
    compliance: float = bounded(0.025, at_least=0.0)
    """How much more a constraint gives way than the masses say (constraint force mixing): each correction of its
    velocity falls short by so much. A share of the response of the softer one of its bodies, with the law ``fitted`` of
    its own. What PhysX mixes into the constraints of articulations where nothing is authored."""
    smoothing_time: float = bounded(0.0, at_least=0.0)
    """Time in which contacts and stops close a gap, and take back a penetration or a drift, at least [s]; 0 for as fast
    as a substep allows, as PhysX does. A longer one makes contacts smooth: gradients stay bounded over long motions,
    and the motion is less exact. For optimisation: :func:`nerd_core.predictor.mechanics_prior.smoothed`."""
    feature_scales: tuple[float, ...] = bounded((0.02, 0.5, 5.0), above=0.0)
    """Velocities [m/s or rad/s] at which the features of the rules begin to saturate: rules tell apart what is of the
    size of one of them."""
    friction_memory: bool | None = None
    """Whether steps in a row remember where feet were put down, as PhysX does, so that a robot that stands stays; see
    :mod:`nerd_core.mechanics.friction_anchors`. By default with the law ``engine``. Single steps have one where
    they are given one, as training gives it (``TrainCfg.remembered``)."""
    blueprints: tuple[Blueprint, ...] = ()
    """Networks that change quantities of each physics step, in this order."""

    def __post_init__(self):
        check_bounds(self)
        if not self.feature_scales:
            raise ValueError("got no feature_scales, expected at least one velocity")
        if len(self.blueprints) > MAX_BLUEPRINTS:
            raise ValueError(f"got {len(self.blueprints)} blueprints, expected at most {MAX_BLUEPRINTS}")


@dataclass(frozen=True)
class CompliantCfg(MechanicsCfg):
    """Settings of mechanics whose contacts give way, see :mod:`nerd_core.mechanics.compliant_solver`."""

    constraint_law: ConstraintLawName = "fitted"
    """How joints leave their stops and which way friction looks; how contacts give way is its own."""
    substeps: int | None = bounded(8, at_least=1)
    """Substeps in a physics step, in each of which forces act."""
    slots: int = bounded(4, at_least=1)
    """Most contact slots that are looked at, those that come nearest to the ground."""
    physics_steps: int = bounded(1, at_least=1)
    """Physics steps into which one of the specification is divided; in each, bodies turn only at its end."""


__all__ = ["CompliantCfg", "ConstraintLawName", "MechanicsCfg"]
