# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Franka Panda with its gripper: kinematics and masses of Franka's URDF, capsules for collisions.

The capsules are those of the coarse model that ``example-robot-data`` has beside the full one (a cylinder and two balls
there are one capsule here), except on the two lowest links: theirs reach below the mounting plate, and a table would
push the arm around. The hand stays a body of its own, since Isaac Lab's tasks look for it by name. As in Isaac
Lab's own asset the file has the variant sets ``Physics`` and ``Colliders``, and the right finger follows the left.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from ..usd import urdf
from ..usd.asset import Asset
from ..usd.model import Shape, UsdRobot, Vec, turning, unit
from .record import PublishedFigures, RobotRecord

if TYPE_CHECKING:
    from isaaclab.assets import ArticulationCfg

URDF = "panda_description/urdf/panda.urdf"
"""Path in ``example-robot-data``."""
COARSE_URDF = "panda_description/urdf/panda_collision.urdf"
"""Path of the model with the coarse shapes."""

_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
CAPSULES: dict[str, tuple[tuple[Vec, Vec, float, float], ...]] = {
    "panda_link0": (((-0.05, 0.0, 0.065), _X, 0.1, 0.06),),
    "panda_link1": (((0.0, 0.0, -0.12), _Z, 0.14, 0.09),),
    "panda_link2": (((0.0, 0.0, 0.0), _Z, 0.12, 0.09),),
    "panda_link3": (((0.0, 0.0, -0.145), _Z, 0.15, 0.09),),
    "panda_link4": (((0.0, 0.0, 0.0), _Z, 0.12, 0.09),),
    "panda_link5": (((0.0, 0.0, -0.26), _Z, 0.1, 0.09), ((0.0, 0.08, -0.13), _Z, 0.14, 0.055)),
    "panda_link6": (((0.0, 0.0, -0.03), _Z, 0.08, 0.08),),
    "panda_link7": (((0.0, 0.0, 0.01), _Z, 0.14, 0.07), ((0.04, 0.04, 0.09), unit((1.0, 1.0, 0.0)), 0.01, 0.045)),
    "panda_hand": (((0.0, 0.0, 0.03), _Y, 0.15, 0.05),),
    "panda_leftfinger": (((0.0, 0.015, 0.03), _Z, 0.03, 0.015),),
    "panda_rightfinger": (((0.0, -0.015, 0.03), _Z, 0.03, 0.015),),
}
"""Capsules of each link: centre [m], axis, distance of the end centres [m], radius [m], in the link's frame."""
ARM_STIFFNESS, ARM_DAMPING = 400.0, 80.0
"""Drive of the arm's joints [N m/rad, N m s/rad] unless a task sets another: Isaac Lab's stiffer setting."""
FINGER_STIFFNESS, FINGER_DAMPING = 2000.0, 100.0
"""Drive of the left finger [N/m, N s/m] unless a task sets another: Isaac Lab's."""


def build() -> UsdRobot:
    """Return the Panda."""
    shapes = {
        link: [
            Shape("capsule", (radius, length, 0.0), pos, turning(_Z, axis), color=(0.92, 0.92, 0.9))
            for pos, axis, length, radius in capsules
        ]
        for link, capsules in CAPSULES.items()
    }
    robot = urdf.assemble("panda", urdf.links(URDF), ["panda_hand"], shapes, fixed_base=True)
    joints = []
    for joint in robot.joints:
        if joint.kind == "revolute":
            joint = replace(joint, stiffness=ARM_STIFFNESS, damping=ARM_DAMPING)
        elif joint.kind == "prismatic" and joint.mimics is None:
            joint = replace(joint, stiffness=FINGER_STIFFNESS, damping=FINGER_DAMPING)
        joints.append(joint)
    arm = tuple(link for link in CAPSULES if "link" in link)
    return replace(
        robot,
        joints=tuple(joints),
        variants={
            "Colliders": {"primitives": (), "gripper_only": arm},
            "Physics": {"physx": (), "mujoco": ()},
        },
    )


ASSET = Asset(
    name="franka",
    path="Isaac/IsaacLab/Robots/FrankaEmika/franka_panda.usda",
    build=build,
    source=(
        "panda.urdf of example-robot-data (Franka Emika, franka_ros), through urdf-usd-converter; capsules for meshes"
    ),
    licence="Apache-2.0",
    packages=("example-robot-data", "urdf-usd-converter"),
)


def articulation() -> ArticulationCfg:
    """Panda without gravity, as in the paper: efforts on the seven joints of the arm, the gripper held by its drive."""
    from isaaclab.actuators import ImplicitActuatorCfg
    from isaaclab.assets import ArticulationCfg

    from .spawn import spawn

    return ArticulationCfg(
        spawn=spawn(ASSET, disable_gravity=True),
        init_state=ArticulationCfg.InitialStateCfg(
            joint_pos={
                "panda_joint1": 0.0,
                "panda_joint2": -0.569,
                "panda_joint3": 0.0,
                "panda_joint4": -2.810,
                "panda_joint5": 0.0,
                "panda_joint6": 3.037,
                "panda_joint7": 0.741,
                "panda_finger_joint.*": 0.04,
            },
        ),
        actuators={
            "arm": ImplicitActuatorCfg(
                joint_names_expr=["panda_joint[1-7]"],
                joint_effort_limit={"panda_joint[1-4]": 87.0, "panda_joint[5-7]": 12.0},
                stiffness=0.0,
                damping=0.0,
            ),
            "hand": ImplicitActuatorCfg(
                joint_names_expr=["panda_finger_joint.*"], joint_effort_limit=200.0, stiffness=2000.0, damping=100.0
            ),
        },
    )


ROBOT = RobotRecord(
    name="franka",
    asset=ASSET,
    articulation=articulation,
    default_task="NeRD-Franka-Reach-Position",
    # published: any angles, pi rad/s; here within the limits of the joints, which the published robot has not
    first_states={"joint_vel": math.pi},
    published=PublishedFigures(
        "NeRD, arXiv 2508.15755",
        returns={  # tables 1 and 4; the policy of positions acts in every second step there, so its returns are halves
            "NeRD-Franka-Reach-Position": {"physics": 89.3, "neural": 91.1, "gap": 0.0202},
            "NeRD-Franka-Reach-Torque": {"physics": 94.9, "neural": 95.0, "gap": 0.0011},
        },
    ),
)
