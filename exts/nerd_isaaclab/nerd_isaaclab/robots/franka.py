# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Franka Panda with its gripper: kinematics and masses of Franka's URDF, capsules for collisions.

The capsules are those of the coarse model that ``example-robot-data`` has beside the full one (a cylinder and two balls
there are one capsule here), except on the two lowest links: theirs reach below the mounting plate, and a table would
push the arm around. The hand stays a body of its own, since Isaac Lab's tasks look for it by name. As in Isaac
Lab's own asset the file has the variant sets ``Physics`` and ``Colliders``, and the right finger follows the left.
"""

from __future__ import annotations

from dataclasses import replace

from ..model import Robot, Shape, Vec, turning, unit
from . import urdf

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


def build() -> Robot:
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
        if joint.limits is not None and not joint.limits[0] <= 0.0 <= joint.limits[1]:
            joint = replace(joint, start=sum(joint.limits) / 2)
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
