# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Materials of surfaces, and what two of them that touch make together, as PhysX combines them.

Example::

    contact = combined(Material(0.8, 0.6), Material(1.0, 1.0, friction_combine="multiply"))
    contact.dynamic_friction  # 0.6
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

CombineMode = Literal["average", "min", "multiply", "max"]
"""How numbers of two materials become one. Of two different ways that which stands later here is taken."""


@dataclass(frozen=True)
class Material:
    """How rough and how elastic a surface is. What nobody has authored is as PhysX has it."""

    static_friction: float = 0.5
    """Coefficient of friction of what is at rest."""
    dynamic_friction: float = 0.5
    """Coefficient of friction of what slides."""
    restitution: float = 0.0
    """Share of the speed of an impact with which surfaces part."""
    friction_combine: CombineMode = "average"
    """How friction is combined with that of the other surface."""
    restitution_combine: CombineMode = "average"
    """The same of restitution."""


def combined(one: Material, other: Material) -> Material:
    """What two materials that touch make together. Friction at rest is never less than that of sliding.

    Args:
        one: A material.
        other: Another one.
    """
    friction = _stronger(one.friction_combine, other.friction_combine)
    restitution = _stronger(one.restitution_combine, other.restitution_combine)
    dynamic = _combine(friction, one.dynamic_friction, other.dynamic_friction)
    return Material(
        static_friction=max(_combine(friction, one.static_friction, other.static_friction), dynamic),
        dynamic_friction=dynamic,
        restitution=_combine(restitution, one.restitution, other.restitution),
        friction_combine=friction,
        restitution_combine=restitution,
    )


def _stronger(one: CombineMode, other: CombineMode) -> CombineMode:
    """The way that is taken where two materials ask for different ones."""
    modes = get_args(CombineMode)
    return modes[max(modes.index(one), modes.index(other))]


def _combine(mode: CombineMode, one: float, other: float) -> float:
    """Two numbers as one."""
    if mode == "average":
        return 0.5 * (one + other)
    if mode == "multiply":
        return one * other
    return min(one, other) if mode == "min" else max(one, other)


__all__ = ["CombineMode", "Material", "combined"]
