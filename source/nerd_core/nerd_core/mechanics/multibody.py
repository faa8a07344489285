# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Rigid-body dynamics of one robot: where its bodies are, how they move, and which forces that takes.

With generalised velocities ``v``, forces ``f`` and impulses ``p`` on them, what is computed here is the mass matrix
``H`` and the bias force ``C`` of the equation of motion (Featherstone, *Rigid Body Dynamics Algorithms*, 2008, chapter
3)::

    H(q) dv/dt + C(q, v) = f          H = transpose(J) J + diag(armature)

where ``J`` is the mass-weighted Jacobian: velocities of all bodies per generalised velocity, times the square roots of
masses and moments of inertia. Gravity is a force here, not a part of ``C``.

Generalised velocities are numbered as in a change of state: root (linear, then angular; none for a fixed base), then
joints. Vectors stand in the axes of the root, with its origin at zero; for a fixed base in those of its environment.
As in :mod:`nerd_core.robot.kinematics` the batch is the *last* dimension inside: every operation runs over long rows.

Example::

    multibody = Multibody(spec)
    frames = multibody.frames(joint_pos)
    inverse_mass = multibody.inverse_mass(multibody.mass_weighted_jacobian(frames))
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..robot.kinematics import ForwardKinematics, rotate_by
from ..robot.physical_parameters import PhysicalParameters
from ..robot.spec import RobotSpec
from .altered import altered
from .elementary import inverse_by_columns
from .tree import depth_first, inertia_root, inertia_tables, supporting_joints, tree_tables
from .vectors import cross, rotate_inverse


class BodyFrames(NamedTuple):
    """Where the bodies and the axes of the joints are, in one pose."""

    transforms: Tensor
    """Rotation and position of each body [m], shape (B, 3, 4, M)."""
    joint_axes: Tensor
    """Direction in which each joint turns or slides, shape (J, 3, M)."""
    joint_anchors: Tensor
    """A point on the axis of each joint [m], shape (J, 3, M)."""
    centres_of_mass: Tensor
    """Centres of mass [m], shape (B, 3, M)."""
    inertia_roots: Tensor
    """Three vectors of each body, the sum of whose outer squares is its inertia, shape (B, axes, 3, M): principal axes,
    each times the square root of its moment, where inertias are those of the specification."""


class BodyMotion(NamedTuple):
    """How bodies move while the generalised velocities stay as they are, each of shape (B, 3, M).

    The bias accelerations are those at ``dv/dt = 0``: the velocity-product terms of the recursive Newton-Euler
    algorithm (Featherstone, chapter 5), here of each body's centre of mass.
    """

    angular_velocity: Tensor
    """Angular velocity [rad/s]."""
    linear_velocity: Tensor
    """Velocity of the centre of mass [m/s]."""
    angular_bias: Tensor
    """Angular bias acceleration [rad/s^2]."""
    linear_bias: Tensor
    """Bias acceleration of the centre of mass [m/s^2]."""


class CentroidalMomentum(NamedTuple):
    """Momenta of all bodies together (Orin, Goswami and Lee 2013, *Centroidal dynamics*), each of shape (3, M)."""

    centre_of_mass: Tensor
    """Their centre of mass [m]."""
    linear: Tensor
    """Their momentum [kg m/s]."""
    angular: Tensor
    """Their angular momentum about the centre of mass [kg m^2/s]."""


class Multibody(nn.Module):
    """The rigid bodies of one robot. Has no parameters."""

    dim: int
    """Number of generalised velocities."""
    _supports: Tensor
    _is_revolute: Tensor
    _support_is_revolute: Tensor
    _supported_pairs: Tensor
    _child_body: Tensor
    _child_axis: Tensor
    _child_anchor: Tensor
    _row_of_body: Tensor
    _mass: Tensor
    _centre_of_mass: Tensor
    _inertia_root: Tensor
    _inverse_moments: Tensor
    _inverse_root: Tensor | None
    _armature: Tensor
    _origin_state: Tensor

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
        self.root_dim = 6 if spec.floating_base else 0
        """Number of velocities of the root."""
        self.dim = self.root_dim + len(spec.joints)
        supports = supporting_joints(spec)
        self.depth = max(1, *map(len, supports))
        """Largest number of joints that support a body."""
        self.depth_first = depth_first(spec)
        """Numbers of the bodies as a solver of the simulator visits them: each branch to its end before the next."""
        self._has_slides = any(joint.kind == "prismatic" for joint in spec.joints)
        buffers = tree_tables(spec, supports, self.depth) | inertia_tables(spec)
        buffers["_row_of_body"] = self._kinematics.row_of_body
        buffers["_armature"] = torch.tensor([*[0.0] * self.root_dim, *(joint.armature for joint in spec.joints)])
        buffers["_origin_state"] = torch.zeros(spec.state.dim)
        if spec.floating_base:
            buffers["_origin_state"][spec.state.root_quat.stop - 1] = 1.0
        for name, value in buffers.items():
            self.register_buffer(name, value.clone(), persistent=False)
        self.register_buffer("_inverse_root", None, persistent=False)
        self._require_masses()

    def with_parameters(self, rows: PhysicalParameters) -> Multibody:
        """The same bodies with other masses, centres, inertias, places and armatures.

        Args:
            rows: What :meth:`PhysicalParameters.rows` gave.
        """
        tables = {}
        if rows.mass is not None:
            tables["_mass"] = rows.mass.t().unsqueeze(1)
        if rows.centre_of_mass is not None:
            tables["_centre_of_mass"] = rows.centre_of_mass.permute(1, 2, 0)
        if rows.inertia is not None:
            tables["_inertia_root"], tables["_inverse_root"] = inertia_root(rows.inertia.permute(1, 2, 3, 0))
        if rows.armature is not None:
            tables["_armature"] = nn.functional.pad(rows.armature, (self.root_dim, 0)).t()
        if rows.parent_pos is None:
            return altered(self, tables)
        kinematics = altered(self._kinematics, self._kinematics.tables_with(rows.parent_pos))
        return altered(self, tables, {"_kinematics": kinematics})

    @property
    def total_mass(self) -> Tensor:
        """Mass of all bodies [kg], shape () or (M,)."""
        return self._mass.sum() if self._mass.shape[-1] == 1 else self._mass.sum((0, 1))

    def generalised_velocity(self, state: Tensor, root_rotation: Tensor | None) -> Tensor:
        """Generalised velocities, shape (dim, M).

        Args:
            state: States, shape (M, S).
            root_rotation: Rotation matrices of the root, shape (3, 3, M); None for a fixed base.
        """
        at = self.spec.state
        joints = state[:, at.joint_vel].t()
        if root_rotation is None:
            return joints.contiguous()
        root = [rotate_inverse(root_rotation, state[:, part].t()) for part in (at.root_lin_vel, at.root_ang_vel)]
        return torch.cat((*root, joints))

    def frames(self, joint_pos: Tensor) -> BodyFrames:
        """Bodies and axes, with the root at the origin.

        Args:
            joint_pos: Positions of the joints [rad or m], shape (M, J).
        """
        state = torch.cat(
            [
                self._origin_state[: self.spec.state.joint_pos.start].expand(joint_pos.shape[0], -1),
                joint_pos,
                self._origin_state[self.spec.state.joint_pos.stop :].expand(joint_pos.shape[0], -1),
            ],
            dim=-1,
        )
        bodies = self._kinematics.place(state).index_select(0, self._row_of_body)
        children = bodies.index_select(0, self._child_body)
        axes = rotate_by(children, self._child_axis)
        anchors = rotate_by(children, self._child_anchor) + children[:, :, 3]
        centres = rotate_by(bodies, self._centre_of_mass) + bodies[:, :, 3]
        roots = torch.stack([rotate_by(bodies, self._inertia_root[:, :, axis]) for axis in range(3)], dim=1)
        return BodyFrames(bodies, axes, anchors, centres, roots)

    def place_points(self, frames: BodyFrames, bodies: Tensor, points: Tensor) -> Tensor:
        """Where points of bodies are [m], shape (P, 3, M).

        Args:
            frames: Where the bodies are.
            bodies: Numbers of the bodies, shape (P,).
            points: Points in the frames of these bodies [m], shape (P, 3, 1 or M).
        """
        transforms = frames.transforms.index_select(0, bodies)
        return rotate_by(transforms, points) + transforms[:, :, 3]

    def point_jacobian(self, frames: BodyFrames, bodies: Tensor, points: Tensor) -> Tensor:
        """Velocity of points of bodies per generalised velocity, shape (dim, P, 3, M).

        Args:
            frames: Where the bodies are.
            bodies: Numbers of the bodies, shape (P, M).
            points: Where the points are [m], shape (P, 3, M).
        """
        supports = self._supports[bodies].permute(2, 0, 1)  # (D, P, M)
        arms = points - _of_supports(frames.joint_anchors, supports)
        axes = _of_supports(frames.joint_axes, supports)
        revolute = self._is_revolute[supports].unsqueeze(2)
        joints = self._scatter_to_joints(cross(axes, arms).where(revolute, axes), supports)
        return torch.cat((*self._root_jacobian(points), joints)) if self.root_dim else joints

    def mass_weighted_jacobian(self, frames: BodyFrames) -> Tensor:
        """Velocities of the bodies per generalised velocity, in units in which kinetic energy is half their square:
        three of the centre of mass, then three about the principal axes of inertia. Shape (dim, B, 6, M).
        """
        joints, bodies = self._supported_pairs
        centres, roots = frames.centres_of_mass, frames.inertia_roots
        axes, anchors = (each.index_select(0, joints) for each in (frames.joint_axes, frames.joint_anchors))
        linear = cross(axes, centres.index_select(0, bodies) - anchors)
        angular = (roots.index_select(0, bodies) * axes.unsqueeze(1)).sum(2)
        if self._has_slides:
            revolute = self._is_revolute[joints].view(-1, 1, 1)
            linear, angular = linear.where(revolute, axes), angular.masked_fill(~revolute, 0.0)
        mass = self._mass.sqrt()
        pairs = torch.cat((mass.index_select(0, bodies) * linear, angular), dim=1)
        count, batch = len(self.spec.bodies), centres.shape[-1]
        table = pairs.new_zeros(len(self.spec.joints) * count, 6, batch).index_copy(0, joints * count + bodies, pairs)
        table = table.view(-1, count, 6, batch)
        if not self.root_dim:
            return table
        linear, angular = self._root_jacobian(centres)
        linear = torch.cat((mass * linear, torch.zeros_like(linear)), dim=2)
        angular = torch.cat((mass * angular, roots.permute(2, 0, 1, 3)), dim=2)
        return torch.cat((linear, angular, table))

    @torch.no_grad()
    def _require_masses(self) -> None:
        """Raises ValueError if a motion of the robot moves no mass: its mass matrix then has no inverse."""
        if self._mass.is_meta:
            return
        rows = self.mass_weighted_jacobian(self.frames(torch.zeros(1, len(self.spec.joints))))
        if int(torch.linalg.cholesky_ex(self._mass_matrix(rows)).info.max()):
            raise ValueError(
                f"got masses and inertias of '{self.spec.name}' with which some motion moves no mass, or beside which "
                "others are lost, expected a body with mass behind every joint"
            )

    def _mass_matrix(self, jacobian: Tensor) -> Tensor:
        """The mass matrix, shape (M, dim, dim), from what :meth:`mass_weighted_jacobian` gave."""
        rows = jacobian.flatten(1, 2).permute(2, 0, 1).contiguous()
        armature = self._armature
        return rows @ rows.transpose(1, 2) + torch.diag_embed(armature if armature.dim() == 1 else armature.t())

    def inverse_mass(self, jacobian: Tensor) -> Tensor:
        """Inverse of the mass matrix: change of the generalised velocities per impulse on them, shape (M, dim, dim).

        Args:
            jacobian: What :meth:`mass_weighted_jacobian` gave.
        """
        if torch.compiler.is_exporting():
            return inverse_by_columns(self._mass_matrix(jacobian))
        # One robot whose state is no number must not stop the others: its own inverse is no number, and the guard acts.
        factor, failed = torch.linalg.cholesky_ex(self._mass_matrix(jacobian))
        return torch.cholesky_inverse(factor.masked_fill(failed.bool().view(-1, 1, 1), torch.nan))

    def largest_responses(self, jacobian: Tensor, inverse_mass: Tensor, root_rotation: Tensor | None) -> Tensor:
        """Largest change of the velocity of each body's centre of mass along an axis of the environment, per impulse on
        it along this axis [1/kg], shape (B, M); zero for a root that is fixed.

        Args:
            jacobian: What :meth:`mass_weighted_jacobian` gave.
            inverse_mass: What :meth:`inverse_mass` gave.
            root_rotation: Rotation matrices of the root, shape (3, 3, M); None for a fixed base.
        """
        linear = (jacobian[:, :, :3] / self._mass.sqrt()).permute(3, 1, 2, 0)  # (M, B, 3, dim)
        if root_rotation is not None:
            linear = root_rotation.permute(2, 0, 1).unsqueeze(1) @ linear
        return ((linear @ inverse_mass.unsqueeze(1)) * linear).sum(-1).amax(-1).t()

    def momentum_matrix(self, jacobian: Tensor) -> Tensor:
        """Momentum of all bodies per generalised velocity [kg or kg m], shape (dim, 3, M).

        Args:
            jacobian: What :meth:`mass_weighted_jacobian` gave.
        """
        return (self._mass.sqrt() * jacobian[:, :, :3]).sum(1)

    def centroidal_momentum(self, frames: BodyFrames, jacobian: Tensor, velocity: Tensor) -> CentroidalMomentum:
        """Momenta of all bodies together.

        Args:
            frames: Where they are.
            jacobian: What :meth:`mass_weighted_jacobian` gave for them.
            velocity: Generalised velocities, shape (dim, M).
        """
        weighted = (jacobian * velocity.view(-1, 1, 1, velocity.shape[1])).sum(0)
        linear, share = self._mass.sqrt() * weighted[:, :3], self._mass / self.total_mass
        centre = (share * frames.centres_of_mass).sum(0)
        angular = (frames.inertia_roots * weighted[:, 3:].unsqueeze(2)).sum(1)
        return CentroidalMomentum(
            centre, linear.sum(0), (angular + cross(frames.centres_of_mass - centre, linear)).sum(0)
        )

    def locked_angular_velocity(self, frames: BodyFrames, centre: Tensor, angular_momentum: Tensor) -> Tensor:
        """Angular velocity [rad/s] that gives all bodies, as one with all joints locked, an angular momentum about
        their centre of mass: the inverse of the locked inertia times the momentum. Shape (3, M).

        Args:
            frames: Where they are.
            centre: Their centre of mass [m], shape (3, M).
            angular_momentum: The angular momentum [kg m^2/s], shape (3, M).
        """
        arm = frames.centres_of_mass - centre
        eye = torch.eye(3, device=angular_momentum.device, dtype=angular_momentum.dtype).unsqueeze(-1)
        of_points = eye * arm.square().sum(1)[:, None, None] - arm.unsqueeze(1) * arm.unsqueeze(2)
        inertia = (self._mass.unsqueeze(1) * of_points).sum(0)
        roots = frames.inertia_roots
        inertia = inertia + (roots.unsqueeze(2) * roots.unsqueeze(3)).sum((0, 1))
        x, y, z = inertia.unbind()
        adjugate = torch.stack((cross(y, z), cross(z, x), cross(x, y)))
        return (adjugate * angular_momentum.unsqueeze(1)).sum(0) / (x * adjugate[0]).sum(0)

    def motion(self, frames: BodyFrames, velocity: Tensor) -> BodyMotion:
        """How all bodies move, from the root outwards: the first pass of the recursive Newton-Euler algorithm with
        ``dv/dt = 0`` (Featherstone, chapter 5).

        Args:
            frames: Where the bodies are.
            velocity: Generalised velocities, shape (dim, M).
        """
        count, batch = len(self.spec.bodies), velocity.shape[1]
        joint_vel = velocity[self.root_dim :].unsqueeze(1)
        of_joints = (joint_vel, frames.joint_axes, frames.joint_anchors)
        speeds, axes, anchors = (self._by_support(each) for each in of_joints)
        angular = (velocity[3:6] if self.root_dim else velocity.new_zeros(3, batch)).expand(count, 3, batch)
        linear = velocity[:3].expand_as(angular) if self.root_dim else angular
        linear_bias = angular_bias = reference = torch.zeros_like(angular)
        for speed, axis, anchor, revolute in zip(speeds, axes, anchors, self._support_is_revolute, strict=True):
            joint_rate, arm = axis * speed, anchor - reference
            turned, twist = cross(angular, arm), cross(angular, joint_rate)
            linear_bias = linear_bias + cross(angular_bias, arm) + cross(angular, turned)
            linear = linear + turned
            if self._has_slides:
                slide = joint_rate.masked_fill(revolute, 0.0)
                linear_bias, linear = linear_bias + 2.0 * cross(angular, slide), linear + slide  # 2: Coriolis
                joint_rate, twist = joint_rate - slide, twist.masked_fill(~revolute, 0.0)
            angular_bias, angular, reference = angular_bias + twist, angular + joint_rate, anchor
        arm = frames.centres_of_mass - reference
        turned = cross(angular, arm)
        linear_bias = linear_bias + cross(angular_bias, arm) + cross(angular, turned)
        return BodyMotion(angular, linear + turned, angular_bias, linear_bias)

    def bias_force(self, frames: BodyFrames, jacobian: Tensor, motion: BodyMotion) -> Tensor:
        """Generalised forces that keep all generalised velocities as they are: Coriolis, centrifugal and gyroscopic
        ones (``C`` of the equation of motion, without gravity), shape (dim, M).

        Args:
            frames: Where the bodies are.
            jacobian: What :meth:`mass_weighted_jacobian` gave for them.
            motion: How they move.
        """
        angular, roots = motion.angular_velocity, frames.inertia_roots
        momentum = (roots * (roots * angular.unsqueeze(1)).sum(2, keepdim=True)).sum(1)
        gyroscopic = cross(angular, momentum)
        if self._inverse_root is None:
            about = torch.addcmul(
                motion.angular_bias.unsqueeze(1), gyroscopic.unsqueeze(1), self._inverse_moments.unsqueeze(2)
            )
            turning = (roots * about).sum(2)
        else:
            in_body = rotate_inverse(frames.transforms[:, :, :3], gyroscopic)
            turning = (roots * motion.angular_bias.unsqueeze(1)).sum(2)
            turning = turning + (self._inverse_root * in_body.unsqueeze(1)).sum(2)
        weighted = torch.cat((self._mass.sqrt() * motion.linear_bias, turning), dim=1)
        return (jacobian * weighted).sum((1, 2))

    def wrench_force(self, frames: BodyFrames, force: Tensor, torque: Tensor) -> Tensor:
        """Generalised forces of wrenches on the bodies, shape (dim, M).

        Args:
            frames: Where the bodies are.
            force: Forces on the centres of mass [N], shape (B, 3, 1 or M).
            torque: Torques [N m], shape (B, 3, 1 or M).
        """
        joints, bodies = self._supported_pairs
        centres, revolute = frames.centres_of_mass, self._is_revolute[joints].view(-1, 1, 1)
        axes, anchors = (each.index_select(0, joints) for each in (frames.joint_axes, frames.joint_anchors))
        force, torque = (each.expand_as(centres) for each in (force, torque))
        pushes = force.index_select(0, bodies)
        turns = torque.index_select(0, bodies) + cross(centres.index_select(0, bodies) - anchors, pushes)
        of_pairs = (axes * turns.where(revolute, pushes)).sum(1)
        of_joints = of_pairs.new_zeros(len(self.spec.joints), of_pairs.shape[-1]).index_add(0, joints, of_pairs)
        if not self.root_dim:
            return of_joints
        return torch.cat((force.sum(0), (torque + cross(centres, force)).sum(0), of_joints))

    def _root_jacobian(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Velocities of points, shape (P, 3, M), per linear and per angular velocity of the root, each of shape
        (3, P, 3, M).
        """
        eye = torch.eye(3, device=points.device, dtype=points.dtype)
        x, y, z = points.unbind(1)
        u, v, w = (-points).unbind(1)
        none = torch.zeros_like(x)
        angular = torch.stack((none, w, y, z, none, u, v, x, none)).unflatten(0, (3, 3)).transpose(1, 2)
        return eye.view(3, 1, 3, 1).expand(3, len(points), 3, points.shape[2]), angular

    def _by_support(self, of_joints: Tensor) -> Tensor:
        """What belongs to the joints that support each body, root first, shape (J, K, M) to (D, B, K, M)."""
        padded = nn.functional.pad(of_joints, (0, 0, 0, 0, 0, 1))
        return padded[self._supports.t()]

    def _scatter_to_joints(self, columns: Tensor, supports: Tensor) -> Tensor:
        """From supporting joints, shape (D, P, 3, M), to all, shape (J, P, 3, M); zero for those that support
        nothing.
        """
        table = columns.new_zeros(len(self.spec.joints) + 1, *columns.shape[1:])
        return table.scatter(0, supports.unsqueeze(2).expand_as(columns), columns)[:-1]


def _of_supports(of_joints: Tensor, supports: Tensor) -> Tensor:
    """What belongs to supporting joints, shape (J, 3, M) to (D, P, 3, M); zero where there is none."""
    padded = nn.functional.pad(of_joints, (0, 0, 0, 0, 0, 1))
    depth, count, batch = supports.shape
    rows = supports.reshape(depth * count, 1, batch).expand(-1, 3, -1)
    return padded.gather(0, rows).view(depth, count, 3, batch)


__all__ = ["BodyFrames", "BodyMotion", "CentroidalMomentum", "Multibody"]
