# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""ANYmal C: kinematics and masses of ANYbotics' URDF, collision shapes of the NeRD paper.

The 14 contact slots of the paper: a capsule along the base, and on each leg a capsule across the knee and a ball for
the foot; nothing else collides. The knee's drive is fixed to the thigh, so its capsule is the thigh's. Feet stay
bodies of their own, since Isaac Lab's tasks look for them by name.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..usd import urdf
from ..usd.asset import Asset
from ..usd.model import Shape, UsdRobot, from_axis_angle
from .record import PublishedFigures, RobotRecord

if TYPE_CHECKING:
    from isaaclab.assets import ArticulationCfg

URDF = "anymal_c_simple_description/urdf/anymal.urdf"
"""Path in ``example-robot-data``."""
BASE_LENGTH, BASE_RADIUS = 0.75, 0.10
"""Capsule of the base [m]: distance of its end centres, and radius."""
KNEE_LENGTH, KNEE_RADIUS = 0.12, 0.06
"""Capsule of a knee [m]: distance of its end centres, and radius."""
KNEE_ENDS = ((-0.0197, 0.0, -0.285), (0.1003, 0.0, -0.285))
"""Its end centres in the frame of each thigh [m], which the URDF makes of it."""
FOOT_RADIUS = 0.03
"""Radius [m] of a foot's ball."""
_ALONG_X = from_axis_angle((0.0, 1.0, 0.0), math.pi / 2)
_GREY, _RED, _BLACK = (0.45, 0.45, 0.47), (0.75, 0.08, 0.08), (0.1, 0.1, 0.1)


def build() -> UsdRobot:
    """Return ANYmal C."""
    shapes = {
        "base": [
            Shape("capsule", (BASE_RADIUS, BASE_LENGTH, 0.0), quat=_ALONG_X, color=_GREY),
            Shape("box", (0.8, 0.28, 0.16), collides=False, color=_RED),
        ]
    }
    keep = []
    for leg, side in (("LF", 1.0), ("RF", -1.0), ("LH", 1.0), ("RH", -1.0)):
        # the drive's frame looks outward along x; the capsule lies on its inner side
        shapes[f"{leg}_KFE"] = [
            Shape("capsule", (KNEE_RADIUS, KNEE_LENGTH, 0.0), pos=(-0.06, 0.0, 0.0), quat=_ALONG_X, color=_GREY)
        ]
        shapes[f"{leg}_thigh_fixed"] = [
            Shape("box", (0.075, 0.06, 0.2826), pos=(0.0, 0.03 * side, -0.1413), collides=False, color=_BLACK)
        ]
        shapes[f"{leg}_HAA"] = [
            Shape("capsule", (0.05, 0.06, 0.0), pos=(-0.03, 0.0, 0.0), quat=_ALONG_X, collides=False, color=_GREY)
        ]
        shapes[f"{leg}_FOOT"] = [
            Shape("sphere", (FOOT_RADIUS, 0.0, 0.0), pos=(0.0, 0.0, 0.0225), color=_BLACK),
            Shape("capsule", (0.0175, 0.2825, 0.0), pos=(0.0, 0.0, 0.169), collides=False, color=_GREY),
        ]
        keep.append(f"{leg}_FOOT")
    return urdf.assemble("anymal", urdf.links(URDF), keep, shapes)


ASSET = Asset(
    name="anymal_c",
    path="Isaac/IsaacLab/Robots/ANYbotics/ANYmal-C/anymal_c.usd",
    build=build,
    source=(
        "anymal.urdf of example-robot-data (ANYbotics, anymal_c_simple_description), through urdf-usd-converter; "
        "collision shapes of the NeRD paper"
    ),
    licence="BSD-3-Clause",
    packages=("example-robot-data", "urdf-usd-converter"),
)


def articulation() -> ArticulationCfg:
    """ANYmal C under effort control: it falls unless a controller of the task holds it up."""
    from isaaclab.actuators import ImplicitActuatorCfg
    from isaaclab.assets import ArticulationCfg

    from .spawn import spawn

    return ArticulationCfg(
        spawn=spawn(ASSET),
        init_state=ArticulationCfg.InitialStateCfg(
            pos=(0.0, 0.0, 0.6),
            joint_pos={".*HAA": 0.0, ".*F_HFE": 0.4, ".*H_HFE": -0.4, ".*F_KFE": -0.8, ".*H_KFE": 0.8},
        ),
        actuators={
            "legs": ImplicitActuatorCfg(
                joint_names_expr=[".*HAA", ".*HFE", ".*KFE"], joint_effort_limit=80.0, stiffness=0.0, damping=0.0
            )
        },
    )


ROBOT = RobotRecord(
    name="anymal_c",
    asset=ASSET,
    articulation=articulation,
    default_task="NeRD-AnymalC-Forward",
    # published: 0.65 to 1 m, tilted by 30 degrees, slow; here faster, lower and more tilted, since robots fall
    first_states={
        "root_height": (0.4, 1.0),
        "root_tilt": math.pi / 4,
        "root_ang_vel": 2.0,
        "joint_pos_share": 0.15,
        "joint_vel": math.pi,
    },
    published=PublishedFigures(
        "NeRD, arXiv 2508.15755",
        returns={  # table 1
            "NeRD-AnymalC-Forward": {"physics": 1323.4, "neural": 1323.1, "gap": -0.0002},
            "NeRD-AnymalC-Sideways": {"physics": 1360.2, "neural": 1359.2, "gap": -0.0007},
        },
    ),
)
