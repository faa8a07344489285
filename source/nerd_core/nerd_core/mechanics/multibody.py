# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How the points of a robot move with its joints, and how the robot gives way when it is pushed there.

Velocities of a robot are numbered as in a change of state: root (linear, then angular; none for a fixed base), then
joints. Vectors stand in the axes of the root, with its origin at zero; for a fixed base in those of its environment.
As in :mod:`nerd_core.kinematics` the batch is the *last* dimension inside: every operation runs over long rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

from .frames import rotation_matrix
from .kinematics import ForwardKinematics
from .spec import RobotSpec


class Frames(NamedTuple):
    """Where the bodies and the axes of the joints are, in one pose."""

    bodies: Tensor
    """Rotation and position of each body [m], shape (B, 3, 4, M)."""
    axes: Tensor
    """Direction in which each joint turns or slides, shape (J, 3, M)."""
    origins: Tensor
    """A point on the axis of each joint [m], shape (J, 3, M)."""
    centres: Tensor
    """Centres of mass [m], shape (B, 3, M)."""
    roots: Tensor
    """Axes of inertia of each body, each with the root of the moment about it, shape (B, axes, 3, M)."""


class Motion(NamedTuple):
    """How bodies move while the velocities of the robot stay as they are, each of shape (B, 3, M)."""

    spin: Tensor
    """Angular velocity [rad/s]."""
    moving: Tensor
    """Velocity of the centre of mass [m/s]."""
    bend: Tensor
    """Change of the angular velocity [rad/s^2]."""
    pull: Tensor
    """Acceleration of the centre of mass [m/s^2]."""


class Whirl(NamedTuple):
    """How all bodies together move and turn, each of shape (3, M)."""

    centre: Tensor
    """Their centre of mass [m]."""
    push: Tensor
    """Their momentum [kg m/s]."""
    spin: Tensor
    """Their angular momentum about the centre [kg m^2/s]."""


class Multibody(nn.Module):
    """The rigid bodies of one robot. Has no parameters."""

    dim: int
    """Number of velocities."""
    _carriers: Tensor
    _turning: Tensor
    _turns: Tensor
    _pairs: Tensor
    _child: Tensor
    _axis: Tensor
    _origin: Tensor
    _row: Tensor
    _mass: Tensor
    _centre: Tensor
    _moment_root: Tensor
    _ease: Tensor
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
        below: dict[str | None, list[str]] = {}
        for body in spec.bodies:
            below.setdefault(body.parent, []).append(body.name)
        self.order = tuple(index[name] for name in _depth_first(below, None))
        """Numbers of the bodies as a solver of the simulator visits them: each before the next branch."""
        self._slides = any(joint.kind == "prismatic" for joint in spec.joints)
        pairs = [(joint, body) for body, row in enumerate(carriers) for joint in row]
        padded = [[*row, *[joints] * (self.depth - len(row))] for row in carriers]
        child = [next(i for i, body in enumerate(spec.bodies) if body.joint == name) for name in spec.joint_names]
        axis, origin = [], []
        for joint, number in zip(spec.joints, child, strict=True):
            body = spec.bodies[number]
            turn = rotation_matrix(torch.tensor(body.child_quat, dtype=torch.double))
            axis.append(turn @ torch.tensor(joint.axis, dtype=torch.double))
            origin.append(torch.tensor(body.child_pos, dtype=torch.double))
        inertias = [body.inertia for body in spec.bodies if body.inertia is not None]
        roots, moments = [], []
        for inertia in inertias:
            (xx, yy, zz), (xy, xz, yz) = inertia.moments, inertia.products
            matrix = torch.tensor([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=torch.double)
            values, vectors = torch.linalg.eigh(matrix)
            moments.append(values.clamp(min=0.0))
            roots.append(vectors * moments[-1].sqrt())
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
            "_ease": torch.stack([torch.where(each > 0, 1.0 / each, 0.0) for each in moments]).float().unsqueeze(-1),
            "_pairs": torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).t(),
            "_rotor": torch.tensor([*[0.0] * self._root, *(joint.armature for joint in spec.joints)]),
            "_home": home,
        }
        buffers["_turns"] = buffers["_turning"][buffers["_carriers"]].t().view(self.depth, -1, 1, 1)
        for name, value in buffers.items():
            self.register_buffer(name, value.clone(), persistent=False)

    def velocity(self, state: Tensor, turn: Tensor | None) -> Tensor:
        """Velocities of the robot, shape (dim, M).

        Args:
            state: States, shape (M, S).
            turn: Rotation matrices of the root, shape (3, 3, M); None for a fixed base.
        """
        at = self.spec.state
        joints = state[:, at.joint_vel].t()
        if turn is None:
            return joints.contiguous()
        root = [into_axes(turn, state[:, where].t()) for where in (at.root_lin_vel, at.root_ang_vel)]
        return torch.cat((*root, joints))

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
        axes, origins = turned(children, self._axis), turned(children, self._origin) + children[:, :, 3]
        centres = turned(bodies, self._centre) + bodies[:, :, 3]
        roots = torch.stack([turned(bodies, self._moment_root[:, :, axis]) for axis in range(3)], dim=1)
        return Frames(bodies, axes, origins, centres, roots)

    def place(self, frames: Frames, bodies: Tensor, points: Tensor) -> Tensor:
        """Where points of bodies are.

        Args:
            frames: Where the bodies are.
            bodies: Numbers of the bodies, shape (P,).
            points: Points in the frames of these bodies [m], shape (P, 3, 1 or M).

        Returns:
            Shape (P, 3, M).
        """
        carrying = frames.bodies.index_select(0, bodies)
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
        return torch.cat((*self._of_root(points), joints)) if self._root else joints

    def rows(self, frames: Frames) -> Tensor:
        """Velocities of the bodies per velocity of the robot, in units in which energy is half their square: three of
        the centre of mass, then three about the axes of inertia. Shape (dim, B, 6, M).
        """
        joints, bodies = self._pairs
        centres, roots, axes = frames.centres, frames.roots, frames.axes.index_select(0, joints)
        leads = cross(axes, centres.index_select(0, bodies) - frames.origins.index_select(0, joints))
        turns = (roots.index_select(0, bodies) * axes.unsqueeze(1)).sum(2)
        if self._slides:
            turning = self._turning[joints].view(-1, 1, 1)
            leads, turns = leads.where(turning, axes), turns.masked_fill(~turning, 0.0)
        mass = self._mass.sqrt()
        pairs = torch.cat((mass.index_select(0, bodies) * leads, turns), dim=1)
        count, batch = len(self.spec.bodies), centres.shape[-1]
        table = pairs.new_zeros(len(self.spec.joints) * count, 6, batch).index_copy(0, joints * count + bodies, pairs)
        table = table.view(-1, count, 6, batch)
        if not self._root:
            return table
        linear, angular = self._of_root(centres)
        linear = torch.cat((mass * linear, torch.zeros_like(linear)), dim=2)
        angular = torch.cat((mass * angular, roots.permute(2, 0, 1, 3)), dim=2)
        return torch.cat((linear, angular, table))

    def mobility(self, rows: Tensor) -> Tensor:
        """Change of the robot's velocities per impulse on them: the inverse of its mass matrix, shape (M, dim, dim).

        Args:
            rows: What :meth:`rows` says.
        """
        rows = rows.flatten(1, 2).permute(2, 0, 1).contiguous()
        mass = rows @ rows.transpose(1, 2) + torch.diag(self._rotor)
        return torch.cholesky_inverse(torch.linalg.cholesky(mass))

    def momentum(self, rows: Tensor) -> Tensor:
        """Momentum of all bodies per velocity of the robot [kg], shape (dim, 3, M).

        Args:
            rows: What :meth:`rows` says.
        """
        return (self._mass.sqrt() * rows[:, :, :3]).sum(1)

    def whirl(self, frames: Frames, rows: Tensor, velocity: Tensor) -> Whirl:
        """How all bodies together move and turn.

        Args:
            frames: Where they are.
            rows: What :meth:`rows` says of them.
            velocity: Velocities of the robot, shape (dim, M).
        """
        moving = (rows * velocity.view(-1, 1, 1, velocity.shape[1])).sum(0)
        push, share = self._mass.sqrt() * moving[:, :3], self._mass / self._mass.sum()
        centre = (share * frames.centres).sum(0)
        spin = (frames.roots * moving[:, 3:].unsqueeze(2)).sum(1)
        return Whirl(centre, push.sum(0), (spin + cross(frames.centres - centre, push)).sum(0))

    def turning(self, frames: Frames, centre: Tensor, spin: Tensor) -> Tensor:
        """Angular velocity with which all bodies, as one, have an angular momentum about their centre of mass.

        Args:
            frames: Where they are.
            centre: Their centre of mass [m], shape (3, M).
            spin: The angular momentum [kg m^2/s], shape (3, M).
        """
        arm = frames.centres - centre
        eye = torch.eye(3, device=spin.device, dtype=spin.dtype).unsqueeze(-1)
        spread = eye * arm.square().sum(1)[:, None, None] - arm.unsqueeze(1) * arm.unsqueeze(2)
        table = (self._mass.unsqueeze(-1) * spread).sum(0)
        table = table + (frames.roots.unsqueeze(2) * frames.roots.unsqueeze(3)).sum((0, 1))
        x, y, z = table.unbind()
        inverse = torch.stack((cross(y, z), cross(z, x), cross(x, y)))
        return (inverse * spin.unsqueeze(1)).sum(0) / (x * inverse[0]).sum(0)

    def motion(self, frames: Frames, velocity: Tensor) -> Motion:
        """How all bodies move, from the root outwards.

        Args:
            frames: Where the bodies are.
            velocity: Velocities of the robot, shape (dim, M).
        """
        count, batch = len(self.spec.bodies), velocity.shape[1]
        joint_vel = velocity[self._root :].unsqueeze(1)
        speeds, axes, origins = (self._led(each) for each in (joint_vel, frames.axes, frames.origins))
        spin = (velocity[3:6] if self._root else velocity.new_zeros(3, batch)).expand(count, 3, batch)
        moving = velocity[:3].expand_as(spin) if self._root else spin
        pull = bend = place = torch.zeros_like(spin)
        for speed, axis, origin, turns in zip(speeds, axes, origins, self._turns, strict=True):
            rate, arm = axis * speed, origin - place
            led, twist = cross(spin, arm), cross(spin, rate)
            pull = pull + cross(bend, arm) + cross(spin, led)
            moving = moving + led
            if self._slides:
                slide = rate.masked_fill(turns, 0.0)
                pull, moving = pull + 2.0 * cross(spin, slide), moving + slide
                rate, twist = rate - slide, twist.masked_fill(~turns, 0.0)
            bend, spin, place = bend + twist, spin + rate, origin
        arm = frames.centres - place
        led = cross(spin, arm)
        return Motion(spin, moving + led, bend, pull + cross(bend, arm) + cross(spin, led))

    def load(self, frames: Frames, rows: Tensor, motion: Motion) -> Tensor:
        """Forces that it would take to keep all velocities of the robot as they are, against what bodies do that are
        led around: those of Coriolis, centrifugal ones, gyroscopes. Shape (dim, M).

        Args:
            frames: Where the bodies are.
            rows: What :meth:`rows` says of them.
            motion: What :meth:`motion` says of them.
        """
        spin, roots = motion.spin, frames.roots
        carried = (roots * (roots * spin.unsqueeze(1)).sum(2, keepdim=True)).sum(1)
        about = torch.addcmul(motion.bend.unsqueeze(1), cross(spin, carried).unsqueeze(1), self._ease.unsqueeze(2))
        needed = torch.cat((self._mass.sqrt() * motion.pull, (roots * about).sum(2)), dim=1)
        return (rows * needed).sum((1, 2))

    def _of_root(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Velocities of points, shape (P, 3, M), per linear and per angular velocity of the root, each of shape
        (3, P, 3, M).
        """
        eye = torch.eye(3, device=points.device, dtype=points.dtype)
        x, y, z = points.unbind(1)
        u, v, w = (-points).unbind(1)
        none = torch.zeros_like(x)
        angular = torch.stack((none, w, y, z, none, u, v, x, none)).unflatten(0, (3, 3)).transpose(1, 2)
        return eye.view(3, 1, 3, 1).expand(3, len(points), 3, points.shape[2]), angular

    def _led(self, of_joints: Tensor) -> Tensor:
        """What belongs to the joints that carry each body, root first, shape (J, K, M) to (D, B, K, M)."""
        padded = nn.functional.pad(of_joints, (0, 0, 0, 0, 0, 1))
        return padded[self._carriers.t()]

    def _by_joint(self, columns: Tensor, carriers: Tensor) -> Tensor:
        """From carriers, shape (D, P, 3, M), to joints, shape (J, P, 3, M), with zero for those that do not carry."""
        table = columns.new_zeros(len(self.spec.joints) + 1, *columns.shape[1:])
        return table.scatter(0, carriers.unsqueeze(2).expand_as(columns), columns)[:-1]


def _depth_first(below: dict[str | None, list[str]], name: str | None) -> Iterator[str]:
    """The bodies below one, each followed by those below it."""
    for child in below.get(name, ()):
        yield child
        yield from _depth_first(below, child)


def turned(bodies: Tensor, vectors: Tensor) -> Tensor:
    """Vectors in the axes of bodies, shape (P, 3, 1 or M), turned into the outer ones, shape (P, 3, M)."""
    found = bodies[:, :, 0] * vectors[:, 0:1]
    found = torch.addcmul(found, bodies[:, :, 1], vectors[:, 1:2])
    return torch.addcmul(found, bodies[:, :, 2], vectors[:, 2:3])


def into_axes(turn: Tensor, vector: Tensor) -> Tensor:
    """Vectors, shape (..., 3, M), in the axes of rotation matrices, shape (3, 3, M)."""
    return (turn * vector.unsqueeze(-2)).sum(-3)


def out_of_axes(turn: Tensor, vector: Tensor) -> Tensor:
    """Vectors, shape (..., 3, M), in the axes of rotation matrices, shape (3, 3, M), in the outer ones."""
    return (turn * vector.unsqueeze(-3)).sum(-2)


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


__all__ = ["Frames", "Motion", "Multibody", "Whirl", "cross", "into_axes", "out_of_axes", "turned"]
