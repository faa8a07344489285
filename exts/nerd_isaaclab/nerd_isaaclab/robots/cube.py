# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The tossed cube: one free rigid body, side and mass of the cube of ContactNets (Pfrommer et al., 2020)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..usd import inertia
from ..usd.asset import Asset
from ..usd.model import Shape, UsdBody, UsdRobot
from .record import RobotRecord

if TYPE_CHECKING:
    from isaaclab.assets import RigidObjectCfg

SIDE = 0.1048
"""Length [m] of an edge."""
MASS = 0.37
"""Mass [kg]."""


def build() -> UsdRobot:
    """Return the cube, its mass spread evenly."""
    cube = Shape("box", (SIDE, SIDE, SIDE), color=(0.8, 0.25, 0.2))
    return UsdRobot("cube", (UsdBody("cube", inertia.with_mass(cube, MASS), (cube,)),))


ASSET = Asset(
    name="cube",
    path="NeRD/Objects/cube.usda",
    build=build,
    source="written here; side and mass of the cube of ContactNets (arXiv 2009.11193)",
    licence="BSD-3-Clause",
)


def articulation() -> RigidObjectCfg:
    """The tossed cube. A rigid object: Isaac Lab's ``ovphysx`` backend cannot hold an articulation without a joint."""
    from isaaclab.assets import RigidObjectCfg

    from .spawn import spawn

    return RigidObjectCfg(
        spawn=spawn(ASSET, articulated=False),
        init_state=RigidObjectCfg.InitialStateCfg(pos=(0.0, 0.0, 0.2)),
    )


ROBOT = RobotRecord(
    name="cube",
    asset=ASSET,
    articulation=articulation,
    default_task="NeRD-Cube-Toss",
    first_states={"root_height": (0.06, 0.27), "root_tilt": math.pi, "root_lin_vel": 3.5, "root_ang_vel": 12.0},
)
