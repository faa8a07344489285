# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a robot's specification says of the engine's solver: with which substeps and constants mechanics begins.

A setting of :class:`~nerd_core.mechanics.config.MechanicsCfg` wins over the specification, and what neither says is
:data:`DEFAULT_SUBSTEPS` and :attr:`~nerd_core.mechanics.constants.Constant.initial`. A penetration, a drift along the
ground and a joint beyond its stop are taken back by no more than two over the root of the number of iterations in each
of them, as PhysX does.

Example::

    substeps = substeps_of(MechanicsCfg(), spec)
    constants = initial_constants(spec, substeps)
"""

from __future__ import annotations

import logging
import math

from ..robot.materials import Material, combined
from ..robot.spec import RobotSpec
from .config import ConstraintLawName, MechanicsCfg
from .constants import MIN_FRICTION, Constant

logger = logging.getLogger(__name__)
_told: set[str] = set()

DEFAULT_SUBSTEPS = 4
"""Substeps where neither settings nor specification say how many: what most robots of Isaac Lab have."""

OF_THE_ENGINE = {
    Constant.FRICTION_RETURN: 1.0,
    Constant.LINEAR_BIAS_SHARE: 1.0,
    Constant.ANGULAR_BIAS_SHARE: 1.0,
}
"""Constants of the law that is the engine's, measured on its physics steps."""

TAKEN_BACK = (Constant.CONTACT_BAUMGARTE, Constant.STOP_BAUMGARTE, Constant.FRICTION_RETURN)
"""Constants that are shares of an error."""


def substeps_of(cfg: MechanicsCfg, spec: RobotSpec) -> int:
    """Substeps in a physics step.

    Args:
        cfg: Settings of mechanics.
        spec: The robot.
    """
    if cfg.substeps is not None:
        return cfg.substeps
    return DEFAULT_SUBSTEPS if spec.position_iterations is None else spec.position_iterations


def initial_constants(spec: RobotSpec, substeps: int, constraint_law: ConstraintLawName = "fitted") -> list[float]:
    """Values with which training begins, in the order of :class:`~nerd_core.mechanics.constants.Constant`.

    Args:
        spec: The robot.
        substeps: Substeps in a physics step.
        constraint_law: How constraints give way.
    """
    values = [constant.initial for constant in Constant]
    for constant in TAKEN_BACK:
        values[constant] = min(values[constant], 2.0 / math.sqrt(substeps))
    if constraint_law == "engine":
        for constant, value in OF_THE_ENGINE.items():
            values[constant] = value
    materials = contact_materials(spec)
    if materials:
        friction = sum(each.static_friction for each in materials) / len(materials)
        values[Constant.FRICTION_COEFFICIENT] = max(friction, MIN_FRICTION)
    return values


def sliding_share(spec: RobotSpec) -> float:
    """Friction of sliding as a share of friction at rest, one where the specification does not say it.

    Args:
        spec: The robot.
    """
    materials = contact_materials(spec)
    at_rest = sum(each.static_friction for each in materials)
    return sum(each.dynamic_friction for each in materials) / at_rest if at_rest else 1.0


def tell_what_is_left_out(spec: RobotSpec, cfg: MechanicsCfg) -> None:
    """Logs once for a robot what the engine's solver does and mechanics does not, with what to do.

    Args:
        spec: The robot.
        cfg: Settings of mechanics.
    """
    found = []
    if spec.touching_bodies and not cfg.self_contacts:
        found.append(
            f"contact between its own bodies, of which {len(spec.touching_bodies)} pairs may touch "
            "(--prior.self-contacts 4 looks at the four nearest; "
            "enabled_self_collisions=False has none)"
        )
    if spec.velocity_iterations:
        found.append(f"{spec.velocity_iterations} velocity iterations (solver_velocity_iteration_count=0 has none)")
    if any(each.restitution > 0.0 for each in contact_materials(spec)):
        found.append("restitution (a material with restitution=0 has none)")
    if found and spec.content_hash not in _told:
        _told.add(spec.content_hash)
        logger.warning(
            "mechanics of '%s' goes without %s: contacts and stops differ by that, which training may learn",
            spec.name,
            " and ".join(found),
        )


def contact_materials(spec: RobotSpec) -> list[Material]:
    """What each slot makes together with the ground; empty where the specification does not say both.

    Args:
        spec: The robot.
    """
    if spec.ground is None:
        return []
    return [combined(slot.material, spec.ground) for slot in spec.slots if slot.material is not None]


__all__ = [
    "DEFAULT_SUBSTEPS",
    "contact_materials",
    "initial_constants",
    "sliding_share",
    "substeps_of",
    "tell_what_is_left_out",
]
