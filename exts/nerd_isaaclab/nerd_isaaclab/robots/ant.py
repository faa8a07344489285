# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The Ant: a ball with four two-part legs, names and dimensions as in Isaac Lab's ``ant_instanceable``.

Numbers are those of Newton's ``nv_ant.xml``: density 5, and as in MuJoCo the overlap of two shapes counts twice. A
joint is called like the body it moves, as Isaac Lab's tasks expect. The collision shapes are the paper's 25 slots: one
ball, four stubs on it, four upper and four lower legs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from .. import inertia
from ..model import Body, Joint, Robot, Shape, Vec, scale, turning, unit

DENSITY = 5.0
"""Density [kg/m^3] of every shape."""
TORSO_RADIUS = 0.25
"""Radius [m] of the ball."""
LIMB_RADIUS = 0.08
"""Radius [m] of the capsules."""
_ORANGE, _GREEN = (0.97, 0.38, 0.06), (0.46, 0.73, 0.0)


class _Leg(NamedTuple):
    """What differs between the four legs."""

    name: str
    side: tuple[float, float]
    """Signs of x and y in which the leg points."""
    ankle_axis: Vec
    ankle_range: tuple[float, float]
    """Limits [deg] of the ankle."""


_LEGS = (
    _Leg("front_left", (1.0, 1.0), (-1.0, 1.0, 0.0), (30.0, 100.0)),
    _Leg("front_right", (-1.0, 1.0), (1.0, 1.0, 0.0), (-100.0, -30.0)),
    _Leg("left_back", (-1.0, -1.0), (-1.0, 1.0, 0.0), (-100.0, -30.0)),
    _Leg("right_back", (1.0, -1.0), (1.0, 1.0, 0.0), (30.0, 100.0)),
)


def build() -> Robot:
    """Return the Ant."""
    torso = [Shape("sphere", (TORSO_RADIUS, 0.0, 0.0), color=_ORANGE, name="torso_geom")]
    bodies: list[Body] = []
    joints: list[Joint] = []
    for place, leg in enumerate(_LEGS, start=1):
        half: Vec = (0.2 * leg.side[0], 0.2 * leg.side[1], 0.0)
        torso.append(_limb(half, _ORANGE, f"aux_{place}_geom"))
        for part, length, limits, axis, parent, at in (
            ("leg", half, (-40.0, 40.0), (0.0, 0.0, 1.0), "torso", half),
            ("foot", scale(half, 2.0), leg.ankle_range, unit(leg.ankle_axis), f"{leg.name}_leg", half),
        ):
            shape = _limb(length, _GREEN if part == "foot" else _ORANGE, f"{leg.name}_{part}_geom")
            name = f"{leg.name}_{part}"
            bodies.append(Body(name, inertia.of_shape(shape, DENSITY), (shape,)))
            low, high = (math.radians(limit) for limit in limits)
            joints.append(
                Joint(
                    name,
                    "revolute",
                    parent=parent,
                    child=name,
                    axis=axis,
                    pos=at,
                    limits=(low, high),
                    armature=0.01,
                    # an ankle cannot be at zero; half a right angle is where the task starts it too
                    start=math.copysign(math.radians(45.0), low) if part == "foot" else 0.0,
                )
            )
    mass = inertia.total([inertia.of_shape(shape, DENSITY) for shape in torso])
    return Robot("ant", (Body("torso", mass, tuple(torso)), *bodies), tuple(joints))


def _limb(end: Vec, color: Vec, name: str) -> Shape:
    """Return a capsule from the body's origin to ``end`` [m]."""
    length = math.sqrt(end[0] ** 2 + end[1] ** 2 + end[2] ** 2)
    return Shape(
        "capsule",
        (LIMB_RADIUS, length, 0.0),
        pos=scale(end, 0.5),
        quat=turning((0.0, 0.0, 1.0), unit(end)),
        color=color,
        name=name,
    )
