# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Where the bodies of an articulation are and how they move, from its root and its joints: forward kinematics as the
engine would evaluate it, in one launch for all environments.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import warp as wp

from nerd_core.robot.frames import quat_rotate
from nerd_core.robot.kinematics import local_transforms
from nerd_core.robot.spec import RobotSpec


@wp.struct
class LinkParameters:
    """What stays the same of a body; parents come first."""

    parent: int
    """Number of the parent; -1 for the root."""
    joint: int
    """Number of its joint; -1 for a body that is fixed to its parent."""
    is_prismatic: int
    """Whether the joint slides."""
    anchor: wp.vec3
    """Place of the joint in the frame of the parent [m]."""
    axis: wp.vec3
    """Axis of the joint, in the axes of the body."""
    position: wp.vec3
    """Position in the parent [m], ``position + position_cos cos(q) + position_sin sin(q) + slide q``."""
    position_cos: wp.vec3
    """See :attr:`position`."""
    position_sin: wp.vec3
    """See :attr:`position`."""
    slide: wp.vec3
    """See :attr:`position`."""
    half: float
    """Half of a turn per joint position: 0.5 for a hinge, else 0."""
    quat_cos: wp.quatf
    """Orientation in the parent, ``quat_cos cos(q / 2) + quat_sin sin(q / 2)``."""
    quat_sin: wp.quatf
    """See :attr:`quat_cos`."""


@wp.kernel(enable_backward=False)
def place_links(
    links: wp.array[LinkParameters],
    root_pose: wp.array[wp.transformf],
    root_velocity: wp.array[wp.spatial_vectorf],
    joint_pos: wp.array2d[float],
    joint_vel: wp.array2d[float],
    centres: wp.array2d[wp.transformf],
    poses: wp.array2d[wp.transformf],
    velocities: wp.array2d[wp.spatial_vectorf],
):
    """Sets poses of all bodies in the world, and velocities of their centres of mass, linear before angular."""
    env = wp.tid()
    origin = wp.transform_get_translation(root_pose[env])
    for i in range(links.shape[0]):  # from the root on, so that an environment far away loses no digits
        link = links[i]
        if link.parent < 0:
            poses[env, i] = wp.transformf(wp.vec3(), wp.transform_get_rotation(root_pose[env]))
            velocities[env, i] = root_velocity[env]
        else:
            above = poses[env, link.parent]
            above_quat = wp.transform_get_rotation(above)
            pos = 0.0
            rate = 0.0
            if link.joint >= 0:
                pos = joint_pos[env, link.joint]
                rate = joint_vel[env, link.joint]
            half = link.half * pos
            s = wp.sin(half)
            c = wp.cos(half)
            if c < 0.0:  # the engine turns by the shorter way
                s = -s
                c = -c
            quat = above_quat * (link.quat_cos * c + link.quat_sin * s)
            within = link.position + link.slide * pos
            within = within + link.position_cos * (1.0 - 2.0 * s * s) + link.position_sin * (2.0 * s * c)
            place = wp.transform_get_translation(above) + wp.quat_rotate(above_quat, within)
            poses[env, i] = wp.transformf(place, quat)

            moved = velocities[env, link.parent]
            angular = wp.spatial_bottom(moved)
            anchor = wp.transform_get_translation(above) + wp.quat_rotate(above_quat, link.anchor)
            above_centre = wp.transform_point(above, wp.transform_get_translation(centres[env, link.parent]))
            linear = wp.spatial_top(moved) + wp.cross(angular, anchor - above_centre)
            axis = rate * wp.quat_rotate(quat, link.axis)
            if link.is_prismatic == 1:
                linear = linear + axis
            else:
                angular = angular + axis
            centre = place + wp.quat_rotate(quat, wp.transform_get_translation(centres[env, i]))
            velocities[env, i] = wp.spatial_vector(linear + wp.cross(angular, centre - anchor), angular)
    for i in range(links.shape[0]):
        pose = poses[env, i]
        poses[env, i] = wp.transformf(wp.transform_get_translation(pose) + origin, wp.transform_get_rotation(pose))


class LinkKinematics:
    """Poses and velocities of all bodies of an articulation, in buffers of its own."""

    def __init__(self, spec: RobotSpec, root: tuple[torch.Tensor, torch.Tensor], joints: tuple[torch.Tensor, ...]):
        """Keeps where the state is read: the same tensors at every call.

        Args:
            spec: The robot.
            root: Poses of the root in the world [m], xyzw, shape (N, 7), and velocities of its centre of mass, linear
                before angular [m/s, rad/s], shape (N, 6).
            joints: Positions and velocities of the joints [rad or m, rad/s or m/s], each of shape (N, J).
        """
        count, device = len(root[0]), root[0].device
        self.poses = root[0].new_zeros(count, len(spec.bodies), 7)
        """Poses of the bodies in the world, shape (N, B, 7)."""
        self.velocities = root[0].new_zeros(count, len(spec.bodies), 6)
        """Velocities of their centres of mass, shape (N, B, 6)."""
        self._device = wp.device_from_torch(device)
        self._links = wp.array(_links(spec), dtype=LinkParameters, device=self._device)
        self._read = [wp.from_torch(root[0], dtype=wp.transformf), wp.from_torch(root[1], dtype=wp.spatial_vectorf)]
        self._read += [wp.from_torch(each) for each in joints]
        self._written = [
            wp.from_torch(self.poses, dtype=wp.transformf),
            wp.from_torch(self.velocities, dtype=wp.spatial_vectorf),
        ]
        self._command: Any = None
        self._centres: wp.array | None = None

    def evaluate(self, centres: wp.array) -> None:
        """Sets :attr:`poses` and :attr:`velocities`.

        Args:
            centres: Frames of the centres of mass in those of their bodies, shape (N, B), dtype ``wp.transformf``.
        """
        if self._command is None or centres is not self._centres:
            arguments = [self._links, *self._read, centres, *self._written]
            count = len(self.poses)
            self._command = wp.launch(place_links, count, arguments, device=self._device, record_cmd=True)
            self._centres = centres
        self._command.launch()


def _links(spec: RobotSpec) -> list[Any]:
    """What stays the same of each body."""
    transforms, links = local_transforms(spec), []
    for row, body in enumerate(spec.bodies):
        joint = next((each for each in spec.joints if each.name == body.joint), None)
        link = LinkParameters()
        link.parent = -1 if body.parent is None else spec.body_names.index(body.parent)
        link.joint = -1 if joint is None else spec.joint_names.index(joint.name)
        link.is_prismatic, link.anchor = int(joint is not None and joint.kind == "prismatic"), wp.vec3(*body.parent_pos)
        if joint is not None:
            axis = torch.tensor(joint.axis, dtype=torch.double)
            child = torch.tensor(body.child_quat, dtype=torch.double)
            link.axis = wp.vec3(*quat_rotate(child / math.sqrt(child.dot(child)), axis / axis.norm()).tolist())
        places = {name: each[row, :, 3].tolist() for name, each in transforms.items() if each.dim() == 3}
        link.position, link.slide = wp.vec3(*places["_constant"]), wp.vec3(*places["_slide"])
        link.position_cos, link.position_sin = wp.vec3(*places["_cosine"]), wp.vec3(*places["_sine"])
        link.half = float(transforms["_half"][row])
        link.quat_cos = wp.quatf(*transforms["_quat_cosine"][row].flatten().tolist())
        link.quat_sin = wp.quatf(*transforms["_quat_sine"][row].flatten().tolist())
        links.append(link)
    return links


__all__ = ["LinkKinematics"]
