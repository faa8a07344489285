# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A quadruped as its controller sees it: one rigid body, and four legs of a hip, a thigh and a calf.

Numbers come from the robot's own description. Legs come in the order front left, front right, rear left, rear right,
and joints of a leg in the order hip (turns about x), thigh and calf (turn about y).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...usd.inertia import moved, total
from ...usd.model import UsdRobot, from_axis_angle, multiply
from . import Array

LEG_JOINTS = ("hip", "thigh", "calf")
"""Joints of a leg, from the base outwards."""


@dataclass(frozen=True)
class Quadruped:
    """Geometry and mass of a quadruped."""

    legs: tuple[str, ...]
    """Names of the legs."""
    hip: Array
    """Hip joints in the frame of the base [m], shape (4, 3)."""
    side: Array
    """From the hip joint to the plane in which thigh and calf move [m], along y, shape (4,)."""
    thigh: float
    """Length of a thigh [m]."""
    calf: float
    """Length of a calf, to the centre of the foot [m]."""
    foot_radius: float
    """Radius of a foot [m]."""
    mass: float
    """Mass of all bodies [kg]."""
    com: Array
    """Common centre of mass in the frame of the base, standing [m], shape (3,)."""
    inertia: Array
    """Inertia about the common centre of mass, standing [kg m^2], shape (3, 3)."""
    max_torque: Array
    """Largest torques of the joints of a leg [N m], shape (3,)."""

    @property
    def joint_names(self) -> list[str]:
        """Names of the joints, leg by leg."""
        return [f"{leg}_{joint}_joint" for leg in self.legs for joint in LEG_JOINTS]

    @cached_property
    def below_hip(self) -> Array:
        """Where the plane of each leg is when it hangs straight down, in the frame of the base [m], shape (4, 3)."""
        return self.hip + np.stack((0.0 * self.side, self.side, 0.0 * self.side), axis=-1)

    def feet(self, joint_pos: Array) -> Array:
        """Centres of the feet in the frame of the base.

        Args:
            joint_pos: Joint positions [rad], shape (..., 4, 3).

        Returns:
            Positions [m], shape (..., 4, 3).
        """
        forward, down = self._in_plane(joint_pos)
        sine, cosine = np.sin(joint_pos[..., 0]), np.cos(joint_pos[..., 0])
        return self.hip + np.stack((forward, cosine * self.side - sine * down, sine * self.side + cosine * down), -1)

    def jacobian(self, joint_pos: Array) -> Array:
        """Velocities of the feet in the frame of the base by velocities of joints [m/rad], shape (..., 4, 3, 3).

        Args:
            joint_pos: Joint positions [rad], shape (..., 4, 3).
        """
        forward, down = self._in_plane(joint_pos)
        sine, cosine = np.sin(joint_pos[..., 0]), np.cos(joint_pos[..., 0])
        bend = joint_pos[..., 1] + joint_pos[..., 2]
        calf_forward, calf_down = -self.calf * np.cos(bend), self.calf * np.sin(bend)
        zero = np.zeros_like(forward)
        columns = (
            (zero, -sine * self.side - cosine * down, cosine * self.side - sine * down),
            (down, sine * forward, -cosine * forward),
            (calf_forward, -sine * calf_down, cosine * calf_down),
        )
        return np.stack([np.stack(column, axis=-1) for column in columns], axis=-1)

    def joints(self, feet: Array) -> Array:
        """Joint positions that put the feet somewhere; knees bend backwards. What is out of reach is approached.

        Args:
            feet: Centres of the feet in the frame of the base [m], shape (..., 4, 3).

        Returns:
            Joint positions [rad], shape (..., 4, 3).
        """
        way = feet - self.hip
        down = -np.sqrt(np.maximum(way[..., 1] ** 2 + way[..., 2] ** 2 - self.side**2, 1.0e-6))
        hip = np.arctan2(way[..., 2], way[..., 1]) - np.arctan2(down, self.side)
        hip = (hip + np.pi) % (2.0 * np.pi) - np.pi
        cosine = (way[..., 0] ** 2 + down**2 - self.thigh**2 - self.calf**2) / (2.0 * self.thigh * self.calf)
        knee = -np.arccos(np.clip(cosine, -1.0, 1.0))
        thigh = np.arctan2(-way[..., 0], -down)
        thigh = thigh - np.arctan2(self.calf * np.sin(knee), self.thigh + self.calf * np.cos(knee))
        return np.stack((hip, thigh, knee), axis=-1)

    def _in_plane(self, joint_pos: Array) -> tuple[Array, Array]:
        """Where feet are in the planes of their legs: forward and up from the hip [m], each of shape (..., 4)."""
        thigh, bend = joint_pos[..., 1], joint_pos[..., 1] + joint_pos[..., 2]
        forward = -self.thigh * np.sin(thigh) - self.calf * np.sin(bend)
        return forward, -self.thigh * np.cos(thigh) - self.calf * np.cos(bend)


def of_description(robot: UsdRobot, legs: tuple[str, ...], standing: tuple[float, float, float]) -> Quadruped:
    """Reads a quadruped from its description.

    Args:
        robot: A robot with joints ``<leg>_hip_joint``, ``<leg>_thigh_joint``, ``<leg>_calf_joint`` and bodies
            ``<leg>_foot`` that are fixed to the calves.
        legs: Names of the legs: front left, front right, rear left, rear right.
        standing: Positions of the joints of each leg when it stands [rad].
    """
    joints = {joint.name: joint for joint in robot.joints}
    foot = next(shape for shape in robot.body(f"{legs[0]}_foot").shapes if shape.collides)
    angles = {f"{leg}_{name}_joint": angle for leg in legs for name, angle in zip(LEG_JOINTS, standing)}
    turned = [
        replace(joint, quat=multiply(joint.quat, from_axis_angle(joint.axis, angles.get(joint.name, 0.0))))
        for joint in robot.joints
    ]
    posed = replace(robot, joints=tuple(turned)).placed()
    whole = total([moved(body.mass, body.pos, body.quat) for body in posed.bodies])
    return Quadruped(
        legs=legs,
        hip=np.array([joints[f"{leg}_hip_joint"].pos for leg in legs]),
        side=np.array([joints[f"{leg}_thigh_joint"].pos[1] for leg in legs]),
        thigh=-joints[f"{legs[0]}_calf_joint"].pos[2],
        calf=-next(joint.pos[2] for joint in robot.joints if joint.child == f"{legs[0]}_foot"),
        foot_radius=foot.size[0],
        mass=whole.mass,
        com=np.array(whole.com),
        inertia=np.array(whole.inertia),
        max_torque=np.array([joints[f"{legs[0]}_{name}_joint"].max_effort for name in LEG_JOINTS]),
    )
