# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Unitree G1 with 29 joints: kinematics, masses and limits of Unitree's URDF, simple collision shapes, no meshes.

A humanoid touches the ground with its feet, and with whatever reaches it when it falls. Each foot is two capsules along
its edges, whose four ends stand where the URDF has four small balls; shins, hands, elbows, torso, pelvis and head have
a capsule or a ball each. Hands are rubber and fixed to the wrists. Isaac Lab's stock task uses a G1 with other joints
(fingers, no waist), so this file stands beside where that task looks for its robot.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..usd import urdf
from ..usd.asset import Asset
from ..usd.model import Shape, UsdRobot, Vec, add, scale, turning, unit
from .record import RobotRecord

if TYPE_CHECKING:
    from isaaclab.assets import ArticulationCfg

URDF = "g1_description/urdf/g1_29dof_rev_1_0.urdf"
"""Path in ``example-robot-data``."""
FOOT_ENDS, FOOT_SIDE, FOOT_RADIUS = (-0.05, 0.12), 0.0275, 0.01
"""Capsules of a foot [m]: where they end along the foot, how far from its middle they lie, their radius."""
SOLE = -0.035
"""Lowest point of a foot [m], below its ankle."""
KNEE_TO_ANKLE, SHIN_RADIUS = 0.3, 0.04
"""Distance from knee to ankle [m], and radius of the shin's capsule [m]."""
_WHITE, _DARK = (0.85, 0.85, 0.86), (0.13, 0.13, 0.14)


def build() -> UsdRobot:
    """Return the G1."""
    shapes = {
        "pelvis": [Shape("sphere", (0.075, 0.0, 0.0), pos=(0.0, 0.0, -0.08), color=_DARK)],
        "torso_link": [Shape("capsule", (0.09, 0.14, 0.0), pos=(0.0, 0.0, 0.17), color=_WHITE)],
        "head_link": [Shape("sphere", (0.075, 0.0, 0.0), pos=(0.0, 0.0, 0.445), color=_DARK)],
    }
    for side in ("left", "right"):
        shapes |= {
            f"{side}_hip_yaw_link": [_between((0.0, 0.0, 0.0), (-0.0783, 0.0, -0.1773), 0.05, _WHITE, collides=False)],
            f"{side}_knee_link": [
                _between((0.0, 0.0, 0.0), (0.0, 0.0, SHIN_RADIUS - KNEE_TO_ANKLE), SHIN_RADIUS, _WHITE)
            ],
            f"{side}_ankle_roll_link": [_foot_edge(-FOOT_SIDE), _foot_edge(FOOT_SIDE)],
            f"{side}_shoulder_yaw_link": [_between((0.0, 0.0, 0.0), (0.0, 0.0, -0.08), 0.035, _WHITE, collides=False)],
            f"{side}_elbow_link": [
                Shape("sphere", (0.035, 0.0, 0.0), color=_DARK),
                _between((0.0, 0.0, -0.01), (0.1, 0.0, -0.01), 0.03, _WHITE, collides=False),
            ],
            f"{side}_rubber_hand": [Shape("sphere", (0.04, 0.0, 0.0), pos=(0.06, 0.0, 0.0), color=_DARK)],
        }
    return urdf.assemble("g1", urdf.links(URDF), keep=[], shapes=shapes)


def _between(start: Vec, end: Vec, radius: float, color: Vec, collides: bool = True) -> Shape:
    """A capsule whose end centres are ``start`` and ``end`` [m]."""
    way = add(end, scale(start, -1.0))
    middle = scale(add(start, end), 0.5)
    return Shape(
        "capsule",
        (radius, math.hypot(*way), 0.0),
        pos=middle,
        quat=turning((0.0, 0.0, 1.0), unit(way)),
        collides=collides,
        color=color,
    )


def _foot_edge(side: float) -> Shape:
    """The capsule along one edge of a foot."""
    back, front = FOOT_ENDS
    low = SOLE + FOOT_RADIUS
    return _between((back, side, low), (front, side, low), FOOT_RADIUS, _DARK)


ASSET = Asset(
    name="g1",
    path="Isaac/IsaacLab/Robots/Unitree/G1/g1_29dof.usd",
    build=build,
    source=(
        "g1_29dof_rev_1_0.urdf of example-robot-data (Unitree, unitree_ros), through urdf-usd-converter; simple "
        "collision shapes"
    ),
    licence="BSD-3-Clause",
    packages=("example-robot-data", "urdf-usd-converter"),
)


def articulation() -> ArticulationCfg:
    """G1 under effort control: it falls unless a controller of the task holds it up."""
    from isaaclab.actuators import ImplicitActuatorCfg
    from isaaclab.assets import ArticulationCfg

    from .spawn import spawn

    return ArticulationCfg(
        spawn=spawn(ASSET),
        init_state=ArticulationCfg.InitialStateCfg(
            pos=(0.0, 0.0, 0.825),
            joint_pos={
                ".*_hip_pitch_joint": -0.2,
                ".*_knee_joint": 0.42,
                ".*_ankle_pitch_joint": -0.22,
                ".*_shoulder_pitch_joint": 0.2,
                "left_shoulder_roll_joint": 0.2,
                "right_shoulder_roll_joint": -0.2,
                ".*_elbow_joint": 0.6,
            },
        ),
        actuators={"all": ImplicitActuatorCfg(joint_names_expr=[".*"], stiffness=0.0, damping=0.0, armature=ARMATURE)},
    )


ARMATURE = 0.01
"""Inertia of the motors behind their gears [kg m^2], that of Isaac Lab's stock G1."""


ROBOT = RobotRecord(
    name="g1",
    asset=ASSET,
    articulation=articulation,
    default_task="NeRD-Velocity-G1",
    first_states={
        "root_height": (0.7, 0.9),
        "root_tilt": math.pi / 8,
        "root_ang_vel": 1.0,
        "joint_pos_share": 0.2,
        "joint_vel": math.pi / 2,
    },
)
