# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How constraints give way, hold and rub: the laws that a model's settings choose from, as numbers.

Where a constraint has the entry ``A`` on the diagonal of the Delassus matrix, and a velocity is missing, it takes the
impulse per velocity ``1 / ((1 + a) A + b B)``. ``B`` is the response of the softer one of the bodies it holds: the
largest change of the velocity of a body's centre of mass along an axis of the environment, per impulse along that axis;
zero for ground and for a root that is fixed.

Example::

    law = law_of(MechanicsCfg(substeps=4), spec)
    softened = (1.0 + law.own_compliance) * diagonal + law.body_compliance * responses
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..robot.spec import RobotSpec
from .config import MechanicsCfg
from .engine_settings import substeps_of


class ConstraintLaw(NamedTuple):
    """Numbers of a law."""

    own_compliance: float
    """How much more a constraint gives way than the masses say, as a share of what they say."""
    body_compliance: float
    """The same, as a share of the response of the softer one of its bodies."""
    friction_share: float
    """Share of what friction lacks to rest that it gives in a substep."""
    friction_floor: float
    """Share of the normal impulse that would end the approach of a contact in the physics step, for which friction
    holds from the first substep on, whatever the normal impulse is by then."""
    sliding_speed_squared: float
    """Square of the speed [m^2/s^2] above which directions of friction are along and across the motion of the body."""
    stops_release: bool
    """Whether a stop that a joint leaves takes back of its impulse what brings the joint to rest, not to the stop, and
    takes back all that a joint is beyond it, however fast."""
    way_is_bent: bool
    """Whether a contact has the linear part of its bias velocity from the beginning of a physics step on and still goes
    the way that the acceleration behind it makes, by and by."""
    links_in_turn: bool = False
    """Whether contacts of a link follow its joint and come before the next link, and both ends of a capsule are one
    patch; see :mod:`nerd_core.mechanics.contact_turns`."""
    touch_order: bool = False
    """Whether the shapes of a body are solved in the order in which they touched."""
    has_patches: bool = False
    """Whether the contacts of a shape are one patch: normals of all contacts first, then friction at the two of them
    that are farthest apart, each of which may have half of the friction that all normals of the shape allow. Corners
    then touch at the ground, not where they are."""


MAX_SHARE = 0.8
"""Largest share of a penetration, and of what friction lacks, that PhysX takes back in one of its iterations."""


def law_of(cfg: MechanicsCfg, spec: RobotSpec) -> ConstraintLaw:
    """The numbers of the law that settings name.

    Args:
        cfg: Settings of mechanics.
        spec: The robot.
    """
    if cfg.constraint_law == "fitted":
        return ConstraintLaw(cfg.compliance, 0.0, 1.0, 0.0, 0.1, stops_release=False, way_is_bent=False)
    share = iteration_share(substeps_of(cfg, spec))
    if is_free_body(spec):  # constraints of a body that is no articulation are rigid, and friction has no floor
        return ConstraintLaw(0.0, 0.0, share, 0.0, 1.0e-4, stops_release=True, way_is_bent=True, has_patches=True)
    law = ConstraintLaw(0.0, cfg.compliance, share, 0.25, 1.0e-4, stops_release=True, way_is_bent=True)
    return law._replace(links_in_turn=cfg.links_in_turn, touch_order=cfg.links_in_turn and cfg.touch_order)


def is_free_body(spec: RobotSpec) -> bool:
    """Whether a robot is a single body that moves freely: to the engine no articulation.

    Args:
        spec: The robot.
    """
    return spec.floating_base and len(spec.bodies) == 1


def iteration_share(substeps: int) -> float:
    """Share of a penetration, and of what friction lacks, that PhysX takes back in one of so many iterations."""
    return min(MAX_SHARE, 2.0 / math.sqrt(substeps))


def smooth_share(substep_dt: float, smoothing_time: float) -> float:
    """Share of a gap or of a penetration that is closed or taken back in a substep.

    Args:
        substep_dt: The substep [s].
        smoothing_time: Time in which all of it may be at the earliest [s].
    """
    return substep_dt / max(substep_dt, smoothing_time)


__all__ = ["ConstraintLaw", "is_free_body", "iteration_share", "law_of", "smooth_share"]
