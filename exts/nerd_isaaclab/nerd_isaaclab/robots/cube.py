# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The tossed cube: one free rigid body, side and mass of the cube of ContactNets (Pfrommer et al., 2020)."""

from __future__ import annotations

from .. import inertia
from ..model import Body, Robot, Shape

SIDE = 0.1048
"""Length [m] of an edge."""
MASS = 0.37
"""Mass [kg]."""


def build() -> Robot:
    """Return the cube, its mass spread evenly."""
    cube = Shape("box", (SIDE, SIDE, SIDE), color=(0.8, 0.25, 0.2))
    return Robot("cube", (Body("cube", inertia.with_mass(cube, MASS), (cube,)),))
