# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Unitree Go2: kinematics, masses and limits of Unitree's URDF, simple collision shapes instead of its meshes.

Each link collides with one shape: a box for the base, a capsule along each thigh and each calf, a ball for each foot.
Feet stay bodies of their own, since Isaac Lab's tasks look for them by name. The file stands where Isaac Lab's own
configuration of the robot looks for it, so its velocity tasks run on it unchanged.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..usd import urdf
from ..usd.asset import Asset
from ..usd.model import Shape, UsdRobot
from .record import RobotRecord

if TYPE_CHECKING:
    from isaaclab.assets import ArticulationCfg

URDF = "go2_description/urdf/go2.urdf"
"""Path in ``example-robot-data``."""
LEGS = ("FL", "FR", "RL", "RR")
"""Front left, front right, rear left, rear right."""
BASE = (0.376, 0.094, 0.114)
"""Box of the base [m]."""
LINK_LENGTH = 0.213
"""Length of a thigh and of a calf, from joint to joint [m]."""
THIGH_RADIUS, CALF_RADIUS, FOOT_RADIUS = 0.020, 0.013, 0.022
"""Radii of the capsules along the legs, and of the balls of the feet [m]."""
_GREY, _DARK = (0.75, 0.75, 0.77), (0.12, 0.12, 0.13)


def build() -> UsdRobot:
    """Return the Go2."""
    shapes = {"base": [Shape("box", BASE, color=_GREY)]}
    for leg in LEGS:
        shapes[f"{leg}_hip"] = [Shape("sphere", (0.045, 0.0, 0.0), collides=False, color=_DARK)]
        shapes[f"{leg}_thigh"] = [_along(THIGH_RADIUS, LINK_LENGTH - 2.0 * THIGH_RADIUS, _GREY)]
        # the foot ends the leg: its ball reaches lower than the calf's capsule
        shapes[f"{leg}_calf"] = [_along(CALF_RADIUS, LINK_LENGTH - 4.0 * CALF_RADIUS, _DARK)]
        shapes[f"{leg}_foot"] = [Shape("sphere", (FOOT_RADIUS, 0.0, 0.0), color=_DARK)]
    return urdf.assemble("go2", urdf.links(URDF), [f"{leg}_foot" for leg in LEGS], shapes)


def _along(radius: float, length: float, color: tuple[float, float, float]) -> Shape:
    """A capsule in the middle of a thigh or calf, which hang along -z."""
    return Shape("capsule", (radius, length, 0.0), pos=(0.0, 0.0, -0.5 * LINK_LENGTH), color=color)


ASSET = Asset(
    name="go2",
    path="Isaac/IsaacLab/Robots/Unitree/Go2/go2.usd",
    build=build,
    source="go2.urdf of example-robot-data (Unitree, unitree_ros), through urdf-usd-converter; simple collision shapes",
    licence="MPL-2.0",
    packages=("example-robot-data", "urdf-usd-converter"),
)


def articulation() -> ArticulationCfg:
    """Go2 under effort control: it falls unless a controller of the task holds it up."""
    from isaaclab.actuators import ImplicitActuatorCfg
    from isaaclab.assets import ArticulationCfg

    from .spawn import spawn

    return ArticulationCfg(
        spawn=spawn(ASSET),
        init_state=ArticulationCfg.InitialStateCfg(
            pos=(0.0, 0.0, 0.4),
            joint_pos={
                ".*L_hip_joint": 0.1,
                ".*R_hip_joint": -0.1,
                "F.*_thigh_joint": 0.8,
                "R.*_thigh_joint": 1.0,
                ".*_calf_joint": -1.5,
            },
        ),
        actuators={
            "legs": ImplicitActuatorCfg(
                joint_names_expr=[".*_hip_joint", ".*_thigh_joint", ".*_calf_joint"],
                joint_effort_limit={".*_hip_joint": 23.7, ".*_thigh_joint": 23.7, ".*_calf_joint": 45.43},
                stiffness=0.0,
                damping=0.0,
            )
        },
    )


ROBOT = RobotRecord(
    name="go2",
    asset=ASSET,
    articulation=articulation,
    first_states={
        "root_height": (0.25, 0.7),
        "root_tilt": math.pi / 4,
        "root_ang_vel": 2.0,
        "joint_pos_share": 0.4,
        "joint_vel": math.pi,
    },
)
