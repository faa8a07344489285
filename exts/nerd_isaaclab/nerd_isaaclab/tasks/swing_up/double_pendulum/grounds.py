# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The seven grounds below the double pendulum of the paper's table 3, as planes in our world.

The released code turns a plane by three angles (about x, then y, then z), moves it along its upward y, and hangs the
pendulum from (0, 2, 1) with hinges along z. Ours has z up and hinges along y: x stays, their y is our z, their z our
-y. The environment's origin is below the hinge, whose height above it is the published 2 m.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ....usd.model import Vec, dot, from_axis_angle, multiply, rotate

_HINGE: Vec = (0.0, 2.0, 1.0)
"""Where the published pendulum hangs [m], y up."""


@dataclass(frozen=True)
class Ground:
    """A plane ``normal . p = offset`` in the frame of an environment."""

    normal: Vec
    """Unit normal, away from the ground."""
    offset: float
    """Distance of the environment's origin below the plane, along the normal [m]."""

    @property
    def is_level(self) -> bool:
        """Whether its height is the same everywhere."""
        return self.normal == (0.0, 0.0, 1.0)

    def height(self, point: Vec) -> float:
        """Distance of a point from the plane, negative below it [m]."""
        return dot(self.normal, point) - self.offset


def _published(height: float, turned: Vec = (0.0, 0.0, 0.0)) -> Ground:
    """A ground from the numbers of the released code: height [m] along y, and angles [rad] about x, y and z."""
    about_x, about_y, about_z = (
        from_axis_angle(axis, angle)
        for axis, angle in zip(((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), turned, strict=True)
    )
    normal = rotate(multiply(about_z, multiply(about_y, about_x)), (0.0, 1.0, 0.0))
    point: Vec = (-_HINGE[0], height, -_HINGE[2])
    return Ground(_z_up(normal), dot(normal, point))


def _z_up(vector: Vec) -> Vec:
    x, y, z = vector
    return (x, 0.0 - z, y)


GROUNDS: tuple[Ground | None, ...] = (
    None,
    _published(0.0),
    _published(0.2, (math.pi / 8, math.pi / 16, math.pi / 16)),
    _published(0.5),
    _published(-0.5),
    _published(-0.3),
    _published(0.0, (math.pi / 8, 0.0, 0.0)),
)
"""By number of the table's column; None for the first, where there is nothing to touch."""
