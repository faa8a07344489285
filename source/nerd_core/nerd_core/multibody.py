# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How the points of a robot move with its joints, and how the robot gives way when it is pushed there.

Velocities of a robot are numbered as in a change of state: root (linear, then angular; none for a fixed base), then
joints. Vectors stand in the axes of the root, with its origin at zero; for a fixed base in those of its environment.
As in :mod:`nerd_core.kinematics` the batch is the *last* dimension inside: every operation runs over long rows.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from .frames import rotation_matrix
from .kinematics import ForwardKinematics
from .spec import RobotSpec


class Frames(NamedTuple):
    """Where the bodies and the axes of the joints are."""

    bodies: Tensor
    """Rotation and position of each body [m], shape (B, 3, 4, M)."""
    axes: Tensor
    """Direction in which each joint turns or slides, shape (J, 3, M)."""
    origins: Tensor
    """A point on the axis of each joint [m], shape (J, 3, M)."""


class Multibody(nn.Module):
    """The rigid bodies of one robot. Has no parameters."""

    dim: int
    """Number of velocities."""
    _carriers: Tensor
    _turning: Tensor
    _child: Tensor
    _axis: Tensor
    _origin: Tensor
    _row: Tensor
    _mass: Tensor
    _centre: Tensor
    _moment_root: Tensor
    _rotor: Tensor
    _home: Tensor

    def __init__(self, spec: RobotSpec):
        """Looks up the tree.

        Args:
            spec: The robot.
        """
        super().__init__()
        self.spec = spec
        missing = [body.name for body in spec.bodies if body.inertia is None]
        if missing:
            raise ValueError(
                f"got no inertia for the bodies {missing[:4]} of '{spec.name}', expected them in its specification: "
                "data collected by this version have them"
            )
        self._kinematics = ForwardKinematics(spec)
        self._root = 6 if spec.floating_base else 0
        joints = len(spec.joints)
        self.dim = self._root + joints
        index = {name: number for number, name in enumerate(spec.body_names)}
        carriers: list[list[int]] = []
        for body in spec.bodies:
            above = [] if body.parent is None else carriers[index[body.parent]]
            carriers.append([*above, spec.joint_names.index(body.joint)] if body.joint is not None else above)
        self.depth = max(1, *map(len, carriers))
        """Largest number of joints that carry a body."""
        padded = [[*row, *[joints] * (self.depth - len(row))] for row in carriers]
        child = [next(i for i, body in enumerate(spec.bodies) if body.joint == name) for name in spec.joint_names]
        axis, origin = [], []
        for joint, number in zip(spec.joints, child, strict=True):
            body = spec.bodies[number]
            turn = rotation_matrix(torch.tensor(body.child_quat, dtype=torch.double))
            axis.append(turn @ torch.tensor(joint.axis, dtype=torch.double))
            origin.append(torch.tensor(body.child_pos, dtype=torch.double))
        inertias = [body.inertia for body in spec.bodies if body.inertia is not None]
        roots = []
        for inertia in inertias:
            (xx, yy, zz), (xy, xz, yz) = inertia.moments, inertia.products
            matrix = torch.tensor([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=torch.double)
            values, vectors = torch.linalg.eigh(matrix)
            roots.append(vectors * values.clamp(min=0.0).sqrt())
        # A drive resists within a step, and more the longer the step is.
        dt = spec.physics_dt
        rotor = [joint.armature + dt * joint.damping + dt * dt * joint.stiffness for joint in spec.joints]
        home = torch.zeros(spec.state.dim)
        if spec.floating_base:
            home[spec.state.root_quat.stop - 1] = 1.0
        buffers = {
            "_carriers": torch.tensor(padded, dtype=torch.long),
            "_turning": torch.tensor([*(joint.kind == "revolute" for joint in spec.joints), False]),
            "_child": torch.tensor(child, dtype=torch.long),
            "_axis": torch.stack(axis).float().unsqueeze(-1) if axis else torch.zeros(0, 3, 1),
            "_origin": torch.stack(origin).float().unsqueeze(-1) if origin else torch.zeros(0, 3, 1),
            "_row": self._kinematics.row_of_body,
            "_mass": torch.tensor([inertia.mass for inertia in inertias]).view(-1, 1, 1),
            "_centre": torch.tensor([inertia.centre for inertia in inertias]).unsqueeze(-1),
            "_moment_root": torch.stack(roots).float().unsqueeze(-1),
            "_rotor": torch.tensor([*[0.0] * self._root, *rotor]),
            "_home": home,
        }
        for name, value in buffers.items():
            self.register_buffer(name, value.clone(), persistent=False)

    def frames(self, joint_pos: Tensor) -> Frames:
        """Bodies and axes for joint positions of shape (M, J)."""
        state = torch.cat(
            [
                self._home[: self.spec.state.joint_pos.start].expand(joint_pos.shape[0], -1),
                joint_pos,
                self._home[self.spec.state.joint_pos.stop :].expand(joint_pos.shape[0], -1),
            ],
            dim=-1,
        )
        bodies = self._kinematics.place(state).index_select(0, self._row)
        children = bodies.index_select(0, self._child)
        return Frames(bodies, turned(children, self._axis), turned(children, self._origin) + children[:, :, 3])

    def place(self, frames: Frames, bodies: Tensor, points: Tensor) -> Tensor:
        """Where points of bodies are.

        Args:
            frames: Where the bodies are.
            bodies: Numbers of the bodies, shape (P, M).
            points: Points in the frames of these bodies [m], shape (P, 3, 1 or M).

        Returns:
            Shape (P, 3, M).
        """
        count, batch = bodies.shape
        carrying = frames.bodies.gather(0, bodies.view(count, 1, 1, batch).expand(count, 3, 4, batch))
        return turned(carrying, points) + carrying[:, :, 3]

    def jacobian(self, frames: Frames, bodies: Tensor, points: Tensor) -> Tensor:
        """Velocity of points that bodies carry, per velocity of the robot.

        Args:
            frames: Where the bodies are.
            bodies: Numbers of the bodies, shape (P, M).
            points: Where the points are [m], shape (P, 3, M).

        Returns:
            Shape (dim, P, 3, M).
        """
        carriers = self._carriers[bodies].permute(2, 0, 1)  # (D, P, M)
        arms = points - _of_carriers(frames.origins, carriers)
        axes = _of_carriers(frames.axes, carriers)
        turning = self._turning[carriers].unsqueeze(2)
        joints = self._by_joint(cross(axes, arms).where(turning, axes), carriers)
        if not self._root:
            return joints
        count, batch = bodies.shape
        eye = torch.eye(3, device=points.device, dtype=points.dtype)
        linear = eye.view(3, 1, 3, 1).expand(3, count, 3, batch)
        angular = torch.stack([cross(eye[axis].view(1, 3, 1), points) for axis in range(3)])
        return torch.cat((linear, angular, joints))

    def mobility(self, frames: Frames) -> Tensor:
        """Change of the robot's velocities per impulse on them: the inverse of its mass matrix, shape (M, dim, dim)."""
        count, batch = len(self.spec.bodies), frames.bodies.shape[-1]
        everybody = torch.arange(count, device=self._row.device).view(-1, 1).expand(count, batch)
        centres = turned(frames.bodies, self._centre) + frames.bodies[:, :, 3]
        # Energy is half the square of these rows times the velocities. For a turning body they stand in its axes of
        # inertia, each with the root of the moment about it.
        linear = self._mass.sqrt() * self.jacobian(frames, everybody, centres)
        roots = torch.stack([turned(frames.bodies, self._moment_root[:, :, axis]) for axis in range(3)], dim=1)
        carriers = self._carriers[everybody].permute(2, 0, 1)
        axes = _of_carriers(frames.axes, carriers) * self._turning[carriers].unsqueeze(2)
        angular = self._by_joint((roots * axes.unsqueeze(2)).sum(3), carriers)
        if self._root:
            still = torch.zeros_like(linear[:3])
            angular = torch.cat((still, roots.permute(2, 0, 1, 3), angular))
        rows = torch.cat((linear, angular), dim=2).flatten(1, 2).permute(2, 1, 0).contiguous()
        mass = rows.transpose(1, 2).contiguous() @ rows + torch.diag(self._rotor)
        return torch.cholesky_inverse(torch.linalg.cholesky(mass))

    def _by_joint(self, columns: Tensor, carriers: Tensor) -> Tensor:
        """From carriers, shape (D, P, 3, M), to joints, shape (J, P, 3, M), with zero for those that do not carry."""
        table = columns.new_zeros(len(self.spec.joints) + 1, *columns.shape[1:])
        return table.scatter(0, carriers.unsqueeze(2).expand_as(columns), columns)[:-1]


def turned(bodies: Tensor, vectors: Tensor) -> Tensor:
    """Vectors in the axes of bodies, shape (P, 3, 1 or M), turned into the outer ones, shape (P, 3, M)."""
    found = bodies[:, :, 0] * vectors[:, 0:1]
    found = torch.addcmul(found, bodies[:, :, 1], vectors[:, 1:2])
    return torch.addcmul(found, bodies[:, :, 2], vectors[:, 2:3])


def cross(a: Tensor, b: Tensor) -> Tensor:
    """Vector products of tensors with the vector in the last but one dimension."""
    ax, ay, az = a.unbind(-2)
    bx, by, bz = b.unbind(-2)
    return torch.stack((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx), dim=-2)


def _of_carriers(of_joints: Tensor, carriers: Tensor) -> Tensor:
    """What belongs to the joints that carry something, shape (J, 3, M) to (D, P, 3, M); zero where there is none."""
    padded = nn.functional.pad(of_joints, (0, 0, 0, 0, 0, 1))
    depth, count, batch = carriers.shape
    rows = carriers.reshape(depth * count, 1, batch).expand(-1, 3, -1)
    return padded.gather(0, rows).view(depth, count, 3, batch)


__all__ = ["Frames", "Multibody", "cross", "turned"]
