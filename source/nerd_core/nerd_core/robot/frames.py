# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Rotations, frames, and the change of state that a model predicts.

A floating robot is described in the frame of its own root link ``B_t`` at every step, so that neither where it stands
nor where it looks enters the model (NeRD, appendix A). The change over one control step is

====================  ====================================================================  =========
part                  meaning, with ``R`` the root's rotation at ``t``                      unit
====================  ====================================================================  =========
``root_pos``          ``R^T (x' - x)``                                                      m
``root_rot``          ``q^-1 q'`` as a rotation vector or as a quaternion with ``w >= 0``    rad or 1
``joint_pos``         ``theta' - theta``, on the circle for joints that wrap                rad or m
``root_lin_vel``      ``R^T (v' - v)``, of the root link's origin                           m/s
``root_ang_vel``      ``R^T (w' - w)``                                                      rad/s
``joint_vel``         ``theta_dot' - theta_dot``                                            rad/s, m/s
====================  ====================================================================  =========

With ``integration="trapezoid"`` the first three are what remains after the mean of the two velocities was integrated
over the step, which is small and smooth, so that a position cannot drift away from its own velocity.

Quaternions are ``xyzw``. All functions are differentiable everywhere, also at no rotation at all.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from .spec import RobotSpec

# -- rotations -----------------------------------------------------------------------------------------------------

_SMALL = 1.0e-6
"""Squared angle [rad^2] below which series replace quotients; their next terms are below double precision."""


def quat_mul(a: Tensor, b: Tensor) -> Tensor:
    """The rotation ``b`` followed by ``a``.

    Args:
        a: Quaternions, shape (..., 4).
        b: Quaternions, shape (..., 4).

    Returns:
        Products, shape (..., 4).
    """
    ax, ay, az, aw = a.unbind(-1)
    bx, by, bz, bw = b.unbind(-1)
    return torch.stack(
        (
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ),
        dim=-1,
    )


def quat_conjugate(quat: Tensor) -> Tensor:
    """The inverse of unit quaternions, shape (..., 4)."""
    return torch.cat((-quat[..., :3], quat[..., 3:]), dim=-1)


def quat_normalize(quat: Tensor) -> Tensor:
    """Quaternions of length one, shape (..., 4); four zeros become the identity."""
    squared = quat.square().sum(-1, keepdim=True)
    empty = squared < torch.finfo(quat.dtype).tiny
    length = torch.where(empty, torch.ones_like(squared), squared).sqrt()
    return torch.cat((quat[..., :3] / length, torch.where(empty, torch.ones_like(length), quat[..., 3:] / length)), -1)


def quat_canonical(quat: Tensor) -> Tensor:
    """The one of ``q`` and ``-q`` whose last non-zero number is positive, shape (..., 4): ``w >= 0``."""
    x, y, z, w = quat.detach().unbind(-1)
    decider = torch.where(w != 0, w, torch.where(z != 0, z, torch.where(y != 0, y, x)))
    return torch.where((decider < 0).unsqueeze(-1), -quat, quat)


def quat_rotate(quat: Tensor, vector: Tensor) -> Tensor:
    """Turns vectors.

    Args:
        quat: Unit quaternions, shape (..., 4).
        vector: Vectors, shape (..., 3), broadcast against ``quat``.

    Returns:
        Turned vectors, shape (..., 3).
    """
    axis, w = quat[..., :3], quat[..., 3:]
    axis, vector = torch.broadcast_tensors(axis, vector)
    twice = 2.0 * torch.linalg.cross(axis, vector)
    return vector + w * twice + torch.linalg.cross(axis, twice)


def quat_rotate_inverse(quat: Tensor, vector: Tensor) -> Tensor:
    """Turns vectors back: :func:`quat_rotate` with the conjugate."""
    return quat_rotate(quat_conjugate(quat), vector)


def quat_from_rotvec(rotvec: Tensor) -> Tensor:
    """Unit quaternions of rotation vectors.

    Args:
        rotvec: Axis times angle [rad], shape (..., 3).

    Returns:
        Quaternions, shape (..., 4).
    """
    squared = rotvec.square().sum(-1, keepdim=True)
    small = squared < _SMALL
    angle = torch.where(small, torch.ones_like(squared), squared).sqrt()
    scale = torch.where(small, 0.5 - squared / 48.0, torch.sin(0.5 * angle) / angle)
    w = torch.where(small, 1.0 - squared / 8.0 + squared.square() / 384.0, torch.cos(0.5 * angle))
    return torch.cat((scale * rotvec, w), dim=-1)


def rotvec_from_quat(quat: Tensor) -> Tensor:
    """Rotation vectors of quaternions, of at most half a turn; ``q`` and ``-q`` give the same.

    Args:
        quat: Quaternions of any length but zero, shape (..., 4).

    Returns:
        Axis times angle [rad], shape (..., 3).
    """
    quat = quat_canonical(quat)
    axis, w = quat[..., :3], quat[..., 3:]
    squared = axis.square().sum(-1, keepdim=True)
    small = squared < _SMALL * w.square()
    length = torch.where(small, torch.ones_like(squared), squared).sqrt()
    safe_w = torch.where(small, w, torch.ones_like(w))
    series = 2.0 / safe_w * (1.0 - squared / (3.0 * safe_w.square()))
    return torch.where(small, series, 2.0 * torch.atan2(length, w) / length) * axis


def rotation_matrix(quat: Tensor) -> Tensor:
    """Rotation matrices of quaternions of any length but zero, shape (..., 4) to (..., 3, 3)."""
    x, y, z, w = (quat * (2.0 / quat.square().sum(-1, keepdim=True)).sqrt()).unbind(-1)
    return torch.stack(
        (
            *(1.0 - y * y - z * z, x * y - z * w, x * z + y * w),
            *(x * y + z * w, 1.0 - x * x - z * z, y * z - x * w),
            *(x * z - y * w, y * z + x * w, 1.0 - x * x - y * y),
        ),
        dim=-1,
    ).unflatten(-1, (3, 3))


def wrap_to_pi(angle: Tensor) -> Tensor:
    """Angles [rad] on the circle, in [-pi, pi)."""
    return torch.remainder(angle + math.pi, 2.0 * math.pi) - math.pi


# -- the change of state -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ChangeCfg:
    """How the change of state over one control step is written."""

    rotation: Literal["rotvec", "quaternion"] = "rotvec"
    """Whether the root's rotation is three numbers (a rotation vector) or four (a quaternion with w >= 0)."""
    integration: Literal["none", "trapezoid"] = "trapezoid"
    """Whether positions change by their whole difference, or by what remains after integrating the mean velocity."""


class ChangeCodec:
    """Changes of state from pairs of states, and back. Holds no tensors, so it works on any device."""

    slices: dict[str, slice]
    """Where each part stands in a change; the names are those of the table at the top of this file."""
    dim: int
    """Length of a change."""

    def __init__(self, spec: RobotSpec, cfg: ChangeCfg | None = None):
        """Makes the codec.

        Args:
            spec: The robot.
            cfg: How to write a change.
        """
        self.spec = spec
        self.cfg = cfg = cfg or ChangeCfg()
        joints = len(spec.joints)
        lengths = {"joint_pos": joints, "joint_vel": joints}
        if spec.floating_base:
            rotation = 3 if cfg.rotation == "rotvec" else 4
            lengths = {"root_pos": 3, "root_rot": rotation, "joint_pos": joints}
            lengths |= {"root_lin_vel": 3, "root_ang_vel": 3, "joint_vel": joints}
        self.slices, self.dim = consecutive(lengths)
        flags = [bool(joint.wraps) for joint in spec.joints]
        self._runs = [(flag, len(list(run))) for flag, run in itertools.groupby(flags)]

    @property
    def groups(self) -> list[slice]:
        """Numbers of one unit that should be scaled with an eye on each other, for a normaliser."""
        return list(self.slices.values())

    @property
    def resolution(self) -> Tensor:
        """Size of the rounding noise that float32 states leave in each number of a change, shape (D,).

        Differences of positions of a few metres or radians, and of velocities ten times that, carry a few units in the
        last place of noise. It should not be scaled up to the size of a signal.
        """
        resolution = torch.empty(self.dim)
        for name, where in self.slices.items():
            resolution[where] = 1.0e-5 if name.endswith("vel") else 1.0e-6
        return resolution

    def encode(self, state: Tensor, next_state: Tensor) -> Tensor:
        """The change that leads from one state to another.

        Args:
            state: States, shape (..., S).
            next_state: States one control step later, shape (..., S).

        Returns:
            Changes, shape (..., D).
        """
        at = self.spec.state
        half = 0.5 * self.spec.control_dt if self.cfg.integration == "trapezoid" else 0.0
        joint_vel, next_joint_vel = state[..., at.joint_vel], next_state[..., at.joint_vel]
        joint_pos = next_state[..., at.joint_pos] - state[..., at.joint_pos]
        if half:
            joint_pos = joint_pos - half * (joint_vel + next_joint_vel)
        joint_pos = self._wrap(joint_pos)
        if not self.spec.floating_base:
            return torch.cat((joint_pos, next_joint_vel - joint_vel), dim=-1)

        quat = state[..., at.root_quat]
        turn = rotation_matrix(quat)
        lin_vel, ang_vel = state[..., at.root_lin_vel], state[..., at.root_ang_vel]
        next_lin_vel, next_ang_vel = next_state[..., at.root_lin_vel], next_state[..., at.root_ang_vel]
        position = next_state[..., at.root_pos] - state[..., at.root_pos]
        rotation = quat_normalize(quat_mul(quat_conjugate(quat), next_state[..., at.root_quat]))
        if half:
            position = position - half * (lin_vel + next_lin_vel)
            integrated = quat_from_rotvec(half * into_frame(turn, ang_vel + next_ang_vel))
            rotation = quat_mul(quat_conjugate(integrated), rotation)
        rotation = rotvec_from_quat(rotation) if self.cfg.rotation == "rotvec" else quat_canonical(rotation)
        return torch.cat(
            (
                into_frame(turn, position),
                rotation,
                joint_pos,
                into_frame(turn, next_lin_vel - lin_vel),
                into_frame(turn, next_ang_vel - ang_vel),
                next_joint_vel - joint_vel,
            ),
            dim=-1,
        )

    def apply(self, state: Tensor, change: Tensor) -> Tensor:
        """The state that a change leads to.

        Args:
            state: States, shape (..., S).
            change: Changes, shape (..., D).

        Returns:
            States one control step later, shape (..., S), with angles that wrap in [-pi, pi).
        """
        at = self.spec.state
        half = 0.5 * self.spec.control_dt if self.cfg.integration == "trapezoid" else 0.0
        joint_vel = state[..., at.joint_vel]
        next_joint_vel = joint_vel + change[..., self.slices["joint_vel"]]
        joint_pos = state[..., at.joint_pos] + change[..., self.slices["joint_pos"]]
        if half:
            joint_pos = joint_pos + half * (joint_vel + next_joint_vel)
        joint_pos = self._wrap(joint_pos)
        if not self.spec.floating_base:
            return torch.cat((joint_pos, next_joint_vel), dim=-1)

        quat = state[..., at.root_quat]
        turn = rotation_matrix(quat)
        lin_vel, ang_vel = state[..., at.root_lin_vel], state[..., at.root_ang_vel]
        next_lin_vel = lin_vel + out_of_frame(turn, change[..., self.slices["root_lin_vel"]])
        next_ang_vel = ang_vel + out_of_frame(turn, change[..., self.slices["root_ang_vel"]])
        position = state[..., at.root_pos] + out_of_frame(turn, change[..., self.slices["root_pos"]])
        rotation = change[..., self.slices["root_rot"]]
        rotation = quat_from_rotvec(rotation) if self.cfg.rotation == "rotvec" else quat_normalize(rotation)
        if half:
            position = position + half * (lin_vel + next_lin_vel)
            rotation = quat_mul(quat_from_rotvec(half * into_frame(turn, ang_vel + next_ang_vel)), rotation)
        next_quat = quat_normalize(quat_mul(quat, rotation))
        return torch.cat((position, next_quat, joint_pos, next_lin_vel, next_ang_vel, next_joint_vel), dim=-1)

    def _wrap(self, joint_pos: Tensor) -> Tensor:
        if not any(wraps for wraps, _ in self._runs):
            return joint_pos
        parts = joint_pos.split([length for _, length in self._runs], dim=-1)
        return torch.cat(
            [wrap_to_pi(part) if run[0] else part for run, part in zip(self._runs, parts, strict=True)], -1
        )


def into_frame(turn: Tensor, vector: Tensor) -> Tensor:
    """Vectors in the axes of a frame.

    Written with products and sums instead of a matrix product, which reduced precision modes would round.

    Args:
        turn: Rotation matrices of the frame, shape (..., 3, 3).
        vector: Vectors in the outer axes, shape (..., 3).

    Returns:
        ``turn^T vector``, shape (..., 3).
    """
    x, y, z = vector[..., 0:1], vector[..., 1:2], vector[..., 2:3]
    return x * turn[..., 0, :] + y * turn[..., 1, :] + z * turn[..., 2, :]


def out_of_frame(turn: Tensor, vector: Tensor) -> Tensor:
    """Vectors in the outer axes: ``turn vector``, the inverse of :func:`into_frame`."""
    x, y, z = vector[..., 0:1], vector[..., 1:2], vector[..., 2:3]
    return x * turn[..., :, 0] + y * turn[..., :, 1] + z * turn[..., :, 2]


def consecutive(lengths: dict[str, int]) -> tuple[dict[str, slice], int]:
    """Slices of the given lengths, one after the other, and their total."""
    slices, end = {}, 0
    for name, length in lengths.items():
        slices[name] = slice(end, end + length)
        end += length
    return slices, end
