# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Turns and reflections that map a robot onto itself.

An Ant that lands on its right front foot is an Ant that lands on its left hind foot, seen from another side: its
symmetry group has eight elements, and a network that uses it has an eighth as much to learn. The symmetries of a robot
are found in its specification: signed permutations of the root's axes under which joints, limits, drives, bodies and
contact slots change places. Numbers in the frame of the root are then rearranged by signed permutations, too.

Masses are not compared. A robot with symmetric shapes and other masses on one side must be learned without symmetry.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..contact.contacts import ContactModel
from ..robot.frames import ChangeCodec, quat_conjugate, quat_rotate, quat_rotate_inverse
from ..robot.kinematics import ForwardKinematics
from ..robot.spec import Joint, RobotSpec

CLOSE = 1.0e-4
"""Distance below which two points of a robot count as one [m]; also of axes and limits, in their own units."""

MAX_JOINTS, MAX_SLOTS = 128, 512
"""Most joints and contact slots of a robot whose symmetries are looked for."""

_POSES = 4
"""Poses of the joints in which a symmetry must hold."""


@dataclass(frozen=True)
class SignedPermutation:
    """A rearrangement of numbers: the new number ``i`` is ``sign[i]`` times the old number ``source[i]``."""

    source: tuple[int, ...]
    """Where each number comes from."""
    sign: tuple[int, ...]
    """What it is multiplied with, 1 or -1."""

    def __call__(self, x: Tensor) -> Tensor:
        """The numbers rearranged, shape (..., D)."""
        return x[..., list(self.source)] * x.new_tensor(self.sign)

    @classmethod
    def unsigned(cls, source: Sequence[int]) -> SignedPermutation:
        """A permutation of numbers that keep their signs."""
        return cls(tuple(source), (1,) * len(source))

    @classmethod
    def joined(cls, parts: Sequence[SignedPermutation]) -> SignedPermutation:
        """One after the other, each within its own numbers."""
        source: list[int] = []
        sign: list[int] = []
        for part in parts:
            before = len(source)
            source += [before + index for index in part.source]
            sign += part.sign
        return cls(tuple(source), tuple(sign))

    def times(self, sign: int) -> SignedPermutation:
        """The same with every number multiplied."""
        return SignedPermutation(self.source, tuple(sign * each for each in self.sign))

    def of_vectors(self, axes: SignedPermutation) -> SignedPermutation:
        """What happens to vectors of items when their axes are rearranged, too; the signs of items are left out."""
        length = len(axes.source)
        source = tuple(length * item + axis for item in self.source for axis in axes.source)
        return SignedPermutation(source, axes.sign * len(self.source))

    def of_sides(self) -> SignedPermutation:
        """What happens to two numbers of each item, one for its positive and one for its negative side, first those of
        all positive sides: an item with a negative sign changes sides.
        """
        length = len(self.source)
        positive = [old if sign > 0 else length + old for old, sign in zip(self.source, self.sign, strict=True)]
        negative = [length + old if sign > 0 else old for old, sign in zip(self.source, self.sign, strict=True)]
        return SignedPermutation.unsigned((*positive, *negative))

    def among(self, items: Sequence[int]) -> SignedPermutation:
        """What happens within some of the items. Raises ValueError if others take their places."""
        place = {item: index for index, item in enumerate(items)}
        outside = [self.source[item] for item in items if self.source[item] not in place]
        if outside:
            raise ValueError(f"got the items {list(items)}, expected their images {outside} among them, too")
        source = tuple(place[self.source[item]] for item in items)
        return SignedPermutation(source, tuple(self.sign[item] for item in items))

    def inverse(self) -> SignedPermutation:
        """What undoes it."""
        source, sign = [0] * len(self.source), [1] * len(self.source)
        for new, (old, each) in enumerate(zip(self.source, self.sign, strict=True)):
            source[old], sign[old] = new, each
        return SignedPermutation(tuple(source), tuple(sign))


@dataclass(frozen=True)
class Symmetry:
    """One way in which a robot is its own image."""

    axes: SignedPermutation
    """What happens to vectors in the frame of the root."""
    joints: SignedPermutation
    """What happens to the coordinates of the joints."""
    bodies: SignedPermutation
    """What happens to the bodies."""
    slots: SignedPermutation
    """What happens to the contact slots."""
    controls: SignedPermutation
    """What happens to the controls."""

    @property
    def axial(self) -> SignedPermutation:
        """What happens to axial vectors (angular velocities, rotation vectors): a reflection also reverses them."""
        return self.axes.times(_handedness(self.axes))


@functools.lru_cache(maxsize=16)
def symmetries_of(spec: RobotSpec) -> tuple[Symmetry, ...]:
    """All symmetries of a robot, the identity first.

    The base of a robot that is fixed has to keep the direction of gravity, too; and of several that do the same to
    whatever moves, as the reflection that maps the plane of a pendulum onto itself, one is enough.

    Args:
        spec: The robot.

    Raises:
        ValueError: The robot has so many parts that the search would take minutes.
    """
    if len(spec.joints) > MAX_JOINTS or len(spec.slots) > MAX_SLOTS:
        raise ValueError(
            f"got {len(spec.joints)} joints and {len(spec.slots)} slots of '{spec.name}', expected at most "
            f"{MAX_JOINTS} and {MAX_SLOTS} to look for its symmetries: leave the token as it is (symmetric=False)"
        )
    every = [
        SignedPermutation(order, sign)
        for order in itertools.permutations(range(3))
        for sign in itertools.product((1, -1), repeat=3)
    ]
    with torch.device("cpu"):  # numbers are needed, even where a network is only sketched on the device "meta"
        places = _anchors(spec)
        found = [symmetry for axes in every if (symmetry := _symmetry(spec, axes, places)) is not None]
    identity = SignedPermutation.unsigned(range(3))
    found.sort(key=lambda each: each.axes != identity)
    if not spec.floating_base:
        found = list({(each.joints, each.slots): each for each in reversed(found)}.values())[::-1]
    return tuple(found)


def change_view(codec: ChangeCodec, symmetry: Symmetry) -> SignedPermutation:
    """What a symmetry does to a change of state.

    Args:
        codec: How the change is written; rotations as rotation vectors.
        symmetry: The symmetry.
    """
    if codec.cfg.rotation != "rotvec":
        raise ValueError("got changes with rotations as quaternions, expected rotation vectors for a symmetric robot")
    polar, axial, joints = symmetry.axes, symmetry.axial, symmetry.joints
    parts = {"root_pos": polar, "root_rot": axial, "root_lin_vel": polar, "root_ang_vel": axial}
    return SignedPermutation.joined([parts.get(name, joints) for name in codec.slices])


def image(spec: RobotSpec, symmetry: Symmetry, state: Tensor) -> Tensor:
    """The same motion of the robot with the whole scene turned or reflected, about the origin of its environment.

    For a robot that floats the scene has to look the same afterwards; a level ground does if the symmetry keeps the
    vertical axis.

    Args:
        spec: The robot.
        symmetry: The symmetry.
        state: States, shape (..., S).
    """
    at, moved = spec.state, state.clone()
    for where in (at.joint_pos, at.joint_vel):
        moved[..., where] = symmetry.joints(state[..., where])
    if spec.floating_base:
        quat = state[..., at.root_quat]
        moved[..., at.root_pos] = symmetry.axes(state[..., at.root_pos])
        moved[..., at.root_quat] = torch.cat((symmetry.axial(quat[..., :3]), quat[..., 3:]), -1)
        moved[..., at.root_lin_vel] = symmetry.axes(state[..., at.root_lin_vel])
        moved[..., at.root_ang_vel] = symmetry.axial(state[..., at.root_ang_vel])
    return moved


class Views(nn.Module):
    """Some numbers in equivalent views of a robot."""

    _source: Tensor
    _sign: Tensor
    _weights: Tensor

    def __init__(self, views: Sequence[SignedPermutation]):
        """Makes the tables.

        Args:
            views: What each symmetry does to the numbers, all of one length.
        """
        super().__init__()
        source = torch.tensor([view.source for view in views], dtype=torch.long)
        self.register_buffer("_source", source, persistent=False)
        self.register_buffer("_sign", torch.tensor([view.sign for view in views]).float(), persistent=False)
        count = len(views[0].source)
        falling = self._sign * torch.linspace(1.0, 1.0 / max(1, count), count)
        weights = torch.zeros_like(self._sign).scatter_(-1, self._source, falling)
        self.register_buffer("_weights", weights, persistent=False)

    @property
    def count(self) -> int:
        """Number of views."""
        return self._source.shape[0]

    def forward(self, x: Tensor, view: Tensor) -> Tensor:
        """The numbers, each in the view that is asked for.

        Args:
            x: Numbers, shape (..., D).
            view: Views, shape (...), or with fewer leading dimensions.
        """
        return x.gather(-1, self._source[view].expand_as(x)) * self._sign[view].to(x.dtype)

    def all(self, x: Tensor) -> Tensor:
        """The numbers in all views, shape (..., D) to (G, ..., D)."""
        views = zip(self._source, self._sign.to(x.dtype), strict=True)
        return torch.stack([x[..., source] * sign for source, sign in views])

    def canonical(self, x: Tensor) -> Tensor:
        """The view in which the largest numbers come first, shape (..., D) to (...).

        That with the largest sum of numbers whose weights fall evenly. Of two that agree, as when nothing is near, the
        one that comes first in the list.
        """
        return (x.unsqueeze(-2) * self._weights.to(x.dtype)).sum(-1).argmax(-1)


# -- looking for symmetries ----------------------------------------------------------------------------------------


def _symmetry(spec: RobotSpec, axes: SignedPermutation, places: tuple[Tensor, Tensor]) -> Symmetry | None:
    """The symmetry that does this to vectors, if the robot has it; the joints' places are those of :func:`_anchors`."""
    matrix = _matrix(axes)
    gravity = torch.tensor(spec.gravity, dtype=torch.double)
    if not spec.floating_base:
        gravity = quat_rotate_inverse(torch.tensor(spec.root_quat, dtype=torch.double), gravity)
        if not _same(matrix @ gravity, gravity):
            return None
    joints = _match_joints(spec, matrix, _handedness(axes), places)
    if joints is None:
        return None
    bodies = _match_bodies(spec, joints)
    controls = _match_controls(spec, joints)
    if bodies is None or controls is None:
        return None
    slots = _check_places(spec, matrix, joints, bodies)
    return None if slots is None else Symmetry(axes, joints, bodies, slots, controls)


def _match_joints(
    spec: RobotSpec, matrix: Tensor, hand: int, places: tuple[Tensor, Tensor]
) -> SignedPermutation | None:
    """For each joint the one that takes its place, by anchor and axis in the pose where all coordinates are zero."""
    anchors, axes = places
    source, sign = [-1] * len(spec.joints), [1] * len(spec.joints)
    for old, joint in enumerate(spec.joints):
        anchor, axis = matrix @ anchors[old], matrix @ axes[old] * (hand if joint.kind == "revolute" else 1)
        for new, other in enumerate(spec.joints):
            if source[new] >= 0 or other.kind != joint.kind or not _same(anchor, anchors[new]):
                continue
            turn = 1 if _same(axis, axes[new]) else -1 if _same(axis, -axes[new]) else 0
            if turn and _alike(joint, other, turn):
                source[new], sign[new] = old, turn
                break
        else:
            return None
    return SignedPermutation(tuple(source), tuple(sign))


def _alike(joint: Joint, other: Joint, sign: int) -> bool:
    """Whether a joint, its coordinate multiplied with the sign, has the limits and the drive of another."""
    lower, upper = (joint.lower, joint.upper) if sign > 0 else (-joint.upper, -joint.lower)
    pairs = [(lower, other.lower), (upper, other.upper)]
    pairs += [
        (getattr(joint, name), getattr(other, name))
        for name in ("stiffness", "damping", "armature", "friction", "effort_limit")
    ]
    return joint.wraps == other.wraps and all(a == b or math.isclose(a, b, abs_tol=CLOSE) for a, b in pairs)


def _match_bodies(spec: RobotSpec, joints: SignedPermutation) -> SignedPermutation | None:
    """For each body the one that takes its place: the root its own, another what hangs from the matching joint."""
    child = {body.joint: index for index, body in enumerate(spec.bodies) if body.joint is not None}
    source = []
    for index, body in enumerate(spec.bodies):
        if body.joint is None:
            source.append(index)  # the root, or what is welded to a body; its place is checked below
        else:
            source.append(child[spec.joint_names[joints.source[spec.joint_names.index(body.joint)]]])
    return SignedPermutation.unsigned(source)


def _match_controls(spec: RobotSpec, joints: SignedPermutation) -> SignedPermutation | None:
    names = spec.joint_names
    channel = {(control.joint, control.kind): index for index, control in enumerate(spec.controls)}
    source, sign = [], []
    for control in spec.controls:
        new = names.index(control.joint)
        old = channel.get((names[joints.source[new]], control.kind))
        if old is None:
            return None
        source.append(old)
        sign.append(joints.sign[new])
    return SignedPermutation(tuple(source), tuple(sign))


def _check_places(
    spec: RobotSpec, matrix: Tensor, joints: SignedPermutation, bodies: SignedPermutation
) -> SignedPermutation | None:
    """Whether bodies and slots change places in some poses; if so, for each slot the one that takes its place."""
    joint_pos = torch.rand(_POSES, len(spec.joints), generator=torch.Generator().manual_seed(0)) * 2.0 - 1.0
    moved = joint_pos[:, list(joints.source)] * torch.tensor(joints.sign)
    states = [_pose(spec, each) for each in (joint_pos, moved)]
    kinematics = ForwardKinematics(spec)
    old_bodies, new_bodies = (_in_root(spec, kinematics(state).pos) for state in states)
    if not _same(old_bodies[:, list(bodies.source)] @ matrix.T, new_bodies):
        return None
    contacts = ContactModel(spec)
    old, new = (_in_root(spec, contacts.slot_points(state)) for state in states)
    old = old @ matrix.T
    source = [-1] * len(spec.slots)
    free = set(range(len(spec.slots)))
    for index, slot in enumerate(spec.slots):
        same = [
            other
            for other in sorted(free)
            if math.isclose(spec.slots[other].radius, slot.radius, abs_tol=CLOSE)
            and bodies.source[spec.body_names.index(slot.body)] == spec.body_names.index(spec.slots[other].body)
            and _same(old[:, other], new[:, index])
        ]
        if not same:
            return None
        source[index] = same[0]
        free.remove(same[0])
    return SignedPermutation.unsigned(source)


def _pose(spec: RobotSpec, joint_pos: Tensor) -> Tensor:
    """States with these coordinates, the root at the origin and upright, nothing moving."""
    state = torch.zeros(len(joint_pos), spec.state.dim)
    state[:, spec.state.joint_pos] = joint_pos
    if spec.floating_base:
        state[:, spec.state.root_quat] = torch.tensor([0.0, 0.0, 0.0, 1.0])
    return state


def _in_root(spec: RobotSpec, points: Tensor) -> Tensor:
    """Points (N, K, 3) in the frame of the root."""
    points = points.double()
    if spec.floating_base:
        return points
    turn = torch.tensor(spec.root_quat, dtype=torch.double)
    return quat_rotate_inverse(turn, points - torch.tensor(spec.root_pos).double())


def _anchors(spec: RobotSpec) -> tuple[Tensor, Tensor]:
    """Where each joint sits and where its axis points, in the frame of the root, all coordinates zero."""
    poses = ForwardKinematics(spec)(_pose(spec, torch.zeros(1, len(spec.joints))))
    places = _in_root(spec, poses.pos)[0]
    index_of = {name: index for index, name in enumerate(spec.body_names)}
    root = quat_conjugate(poses.quat[0, 0].double())
    anchors, axes = [torch.zeros(3).double()] * len(spec.joints), [torch.zeros(3).double()] * len(spec.joints)
    for body in spec.bodies:
        if body.joint is None or body.parent is None:
            continue
        parent, number = index_of[body.parent], spec.joint_names.index(body.joint)
        turn = poses.quat[0, parent].double()
        arm = quat_rotate(root, quat_rotate(turn, torch.tensor(body.parent_pos, dtype=torch.double)))
        axis = quat_rotate(torch.tensor(body.parent_quat).double(), torch.tensor(spec.joints[number].axis).double())
        anchors[number] = places[parent] + arm
        axes[number] = torch.nn.functional.normalize(quat_rotate(root, quat_rotate(turn, axis)), dim=-1)
    empty = torch.zeros(0, 3).double()
    return (torch.stack(anchors), torch.stack(axes)) if anchors else (empty, empty)


def _matrix(axes: SignedPermutation) -> Tensor:
    matrix = torch.zeros(3, 3, dtype=torch.double)
    for new, (old, sign) in enumerate(zip(axes.source, axes.sign, strict=True)):
        matrix[new, old] = sign
    return matrix


def _handedness(axes: SignedPermutation) -> int:
    """1 for a turn, -1 for a reflection."""
    even = axes.source in ((0, 1, 2), (1, 2, 0), (2, 0, 1))
    return math.prod(axes.sign) * (1 if even else -1)


def _same(a: Tensor, b: Tensor) -> bool:
    return bool((a - b).abs().max() < CLOSE) if a.numel() else True


__all__ = ["SignedPermutation", "Symmetry", "Views", "change_view", "image", "symmetries_of"]
