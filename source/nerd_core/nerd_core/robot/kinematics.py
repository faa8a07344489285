# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Where the bodies of a robot are, given its state.

Bodies of one depth in the tree are placed together, for all environments at once. Inside, the batch is the *last*
dimension: every operation then runs over long contiguous rows, and a robot with nine bodies takes some ten small
operations instead of some hundred. Products of rotations are written as sums of products, because matrix products may
be rounded to ten bits by the reduced-precision modes that training switches on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from .frames import quat_conjugate, quat_mul, quat_normalize, rotation_matrix
from .spec import RobotSpec


class BodyPoses(NamedTuple):
    """Poses of all bodies."""

    pos: Tensor
    """Positions of the bodies' frames, relative to the origin of the environment [m], shape (..., B, 3)."""
    quat: Tensor
    """Orientations, xyzw, shape (..., B, 4)."""


class ForwardKinematics(nn.Module):
    """Poses of all bodies from states. Differentiable; has no parameters."""

    row_of_body: Tensor
    """Row of each body in the result of :meth:`place`, shape (B,)."""
    _parent: Tensor
    _joint: Tensor
    _constant: Tensor
    _cosine: Tensor
    _sine: Tensor
    _slide: Tensor
    _half: Tensor
    _quat_cosine: Tensor
    _quat_sine: Tensor
    _root: Tensor
    _root_quat: Tensor

    def __init__(self, spec: RobotSpec):
        """Precomputes the tree.

        Args:
            spec: The robot.
        """
        super().__init__()
        self.spec = spec
        levels = _levels(spec)
        index_of = {name: index for index, name in enumerate(spec.body_names)}
        row_of = {body: row for row, body in enumerate(index for level in levels for index in level)}
        self._level_sizes = [len(level) for level in levels[1:]]

        place_in_level = {body: place for level in levels for place, body in enumerate(level)}
        joint_number = {name: number for number, name in enumerate(spec.joint_names)}
        below_root = [index for level in levels[1:] for index in level]
        parent = [place_in_level[index_of[spec.bodies[index].parent or ""]] for index in below_root]
        joint = [joint_number.get(spec.bodies[index].joint or "", 0) for index in below_root]
        self._turns = any(joint.kind == "revolute" for joint in spec.joints)
        self._slides = any(joint.kind == "prismatic" for joint in spec.joints)

        constants = {"row_of_body": torch.tensor([row_of[index] for index in range(len(spec.bodies))])}
        constants |= {
            "_parent": torch.tensor(parent, dtype=torch.long),
            "_joint": torch.tensor(joint, dtype=torch.long),
        }
        rows = torch.tensor(below_root, dtype=torch.long)
        for name, of_bodies in local_transforms(spec).items():
            constants[name] = of_bodies[rows].float().unsqueeze(-1)
        root_quat, root_pos = quat_normalize(_tensor(spec.root_quat)), _tensor(spec.root_pos)
        constants["_root"] = torch.cat((rotation_matrix(root_quat), root_pos[:, None]), -1).float()[None, :, :, None]
        constants["_root_quat"] = root_quat.float()[None, :, None]
        for name, value in constants.items():
            self.register_buffer(name, value, persistent=False)

    def tables_with(self, parent_pos: Tensor) -> dict[str, Tensor]:
        """Tables in which the same robot has other places of joints, by name.

        Args:
            parent_pos: Places of the bodies' joints in the frames of their parents [m], shape (M or 1, B, 3).
        """
        below_root = self.row_of_body.argsort()[1:]
        own = torch.tensor([body.parent_pos for body in self.spec.bodies]).to(parent_pos)
        moved = (parent_pos - own)[:, below_root].permute(1, 2, 0).unsqueeze(2)
        constant = self._constant.expand(*self._constant.shape[:-1], moved.shape[-1])
        return {"_constant": torch.cat((constant[:, :, :3], constant[:, :, 3:] + moved), dim=2)}

    def forward(self, state: Tensor) -> BodyPoses:
        """Poses of all bodies.

        Args:
            state: States, shape (..., S).

        Returns:
            Poses relative to the origin of the environment, with the leading dimensions of ``state``.
        """
        lead, bodies = state.shape[:-1], len(self.spec.bodies)
        columns = state.reshape(-1, self.spec.state.dim).t().contiguous()
        pos = self._place(columns)[:, :, 3].index_select(0, self.row_of_body)
        quat = self._turn(columns).index_select(0, self.row_of_body)
        return BodyPoses(
            pos.permute(2, 0, 1).reshape(*lead, bodies, 3), quat.permute(2, 0, 1).reshape(*lead, bodies, 4)
        )

    def place(self, state: Tensor) -> Tensor:
        """Transforms of all bodies with the batch last, which is what a contact query needs.

        Args:
            state: States, shape (M, S).

        Returns:
            Rotation matrix and position [m] of each body, relative to the origin of the environment, shape
            (B, 3, 4, M), in the order that :attr:`row_of_body` gives.
        """
        return self._place(state.t().contiguous())

    def _place(self, columns: Tensor) -> Tensor:
        at = self.spec.state
        if self.spec.floating_base:
            placed = torch.cat((rotation_columns(columns[at.root_quat]), columns[at.root_pos].unsqueeze(1)), dim=1)
            placed = placed.unsqueeze(0)
        else:
            placed = self._root.expand(-1, -1, -1, columns.shape[-1])
        local = self._constant
        if self._turns or self._slides:
            joint_pos = columns[at.joint_pos].index_select(0, self._joint)[:, None, None]
            if self._turns:
                local = torch.addcmul(local, self._cosine, joint_pos.cos())
                local = torch.addcmul(local, self._sine, joint_pos.sin())
            if self._slides:
                local = torch.addcmul(local, self._slide, joint_pos)
        levels = [placed]
        for parent, step in zip(self._parents(), local.split(self._level_sizes), strict=True):
            above = placed.index_select(0, parent)
            turned = rotate_by(above.unsqueeze(3), step)
            placed = torch.cat((turned[:, :, :3], turned[:, :, 3:] + above[:, :, 3:]), dim=2)
            levels.append(placed)
        return torch.cat(levels) if len(levels) > 1 else placed

    def _turn(self, columns: Tensor) -> Tensor:
        """Orientations of all bodies, shape (B, 4, M), in the order of :meth:`place`."""
        at = self.spec.state
        if self.spec.floating_base:
            quat = columns[at.root_quat].unsqueeze(0)
        else:
            quat = self._root_quat.expand(-1, -1, columns.shape[-1])
        local = self._quat_cosine
        if self._turns:
            half = self._half * columns[at.joint_pos].index_select(0, self._joint)[:, None]
            local = self._quat_cosine * half.cos() + self._quat_sine * half.sin()
        levels = [quat]
        for parent, step in zip(self._parents(), local.split(self._level_sizes), strict=True):
            above = quat.index_select(0, parent)
            quat = quat_mul(above.transpose(1, 2), step.transpose(1, 2)).transpose(1, 2)
            levels.append(quat)
        return torch.cat(levels)

    def _parents(self) -> tuple[Tensor, ...]:
        """For each level below the root, where the parents stand in the level above."""
        return self._parent.split(self._level_sizes)


def rotation_columns(quat: Tensor) -> Tensor:
    """Rotation matrices with the batch last, shape (..., 4, M) to (..., 3, 3, M)."""
    return rotation_matrix(quat.transpose(-1, -2)).movedim(-3, -1)


def rotate_by(transforms: Tensor, vectors: Tensor, offset: Tensor | None = None) -> Tensor:
    """Vectors from the axes of bodies to the outer ones, with the batch last.

    Args:
        transforms: Rotation and position of bodies, shape (P, 3, 4, ..., M).
        vectors: Vectors, shape (P, 3, ..., 1 or M).
        offset: What is added to the result, before all else; shape (P, 3, ..., M).

    Returns:
        Shape (P, 3, ..., M).
    """
    first = vectors[:, 0:1]
    found = transforms[:, :, 0] * first if offset is None else torch.addcmul(offset, transforms[:, :, 0], first)
    found = torch.addcmul(found, transforms[:, :, 1], vectors[:, 1:2])
    return torch.addcmul(found, transforms[:, :, 2], vectors[:, 2:3])


def _levels(spec: RobotSpec) -> list[list[int]]:
    """Indices of the bodies at each depth of the tree."""
    depth: dict[str, int] = {}
    levels: list[list[int]] = []
    for index, body in enumerate(spec.bodies):
        depth[body.name] = 0 if body.parent is None else depth[body.parent] + 1
        if depth[body.name] == len(levels):
            levels.append([])
        levels[depth[body.name]].append(index)
    return levels


def local_transforms(spec: RobotSpec) -> dict[str, Tensor]:
    """The poses of all bodies in their parents as polynomials of their joint coordinates ``c``, shapes (B, ...).

    Rodrigues' formula makes it ``constant + cosine cos(c) + sine sin(c)`` for a hinge and ``constant + slide c`` for a
    slide, with (3, 4) matrices, and ``quat_cosine cos(half c) + quat_sine sin(half c)`` for the quaternion. A body that
    is fixed to its parent is a slide along no axis. All bodies at once: one by one, a hundred take seconds.
    """
    joint_of = {joint.name: joint for joint in spec.joints}
    joints = [joint_of.get(body.joint or "") for body in spec.bodies]
    parent_quat = _tensor([body.parent_quat for body in spec.bodies])
    child_quat = _tensor([body.child_quat for body in spec.bodies])
    parent_pos = _tensor([body.parent_pos for body in spec.bodies])
    child_pos = _tensor([body.child_pos for body in spec.bodies])
    axis = _tensor([(0.0, 0.0, 0.0) if joint is None else joint.axis for joint in joints])
    is_joint = torch.tensor([joint is not None for joint in joints]).unsqueeze(-1)
    axis = torch.where(is_joint, axis / torch.linalg.vector_norm(axis, dim=-1, keepdim=True), 0.0)
    turning = torch.tensor([joint is not None and joint.kind == "revolute" for joint in joints])[:, None, None]

    before, after = rotation_matrix(parent_quat), rotation_matrix(child_quat).mT
    after = torch.cat((after, -after @ child_pos.unsqueeze(-1)), dim=-1)
    at_parent = torch.cat((torch.zeros_like(before), parent_pos.unsqueeze(-1)), dim=-1)
    eye = torch.eye(3, dtype=torch.double).expand_as(before)
    along = torch.where(turning, axis.unsqueeze(-1) * axis.unsqueeze(-2), eye)
    across = torch.linalg.cross(axis.unsqueeze(-2).expand_as(eye), eye).mT
    slide = torch.where(turning, 0.0, before @ axis.unsqueeze(-1))
    quat_before, quat_after = quat_normalize(parent_quat), quat_conjugate(quat_normalize(child_quat))
    pure = torch.nn.functional.pad(axis, (0, 1))
    return {
        "_constant": before @ along @ after + at_parent,
        "_cosine": before @ (eye - along) @ after,
        "_sine": torch.where(turning, before @ across @ after, 0.0),
        "_slide": torch.nn.functional.pad(slide, (3, 0)),
        "_half": 0.5 * turning.squeeze(-1).double(),
        "_quat_cosine": quat_mul(quat_before, quat_after),
        "_quat_sine": quat_mul(quat_mul(quat_before, pure), quat_after),
    }


def _tensor(values: Sequence[Any]) -> Tensor:
    return torch.tensor(values, dtype=torch.double)
