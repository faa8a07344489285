# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What sensors measure: contact forces on the bodies of a robot, and what its joints carry.

The solver's impulses are what contacts gave in a physics step; over its length they are forces, as the engine's contact
reports have them. What a joint carries follows from them by Newton and Euler: the bodies behind it are accelerated by
gravity, by contacts, by wrenches from outside, and by the joint (the second pass of the recursive Newton-Euler
algorithm, Featherstone, *Rigid Body Dynamics Algorithms*, 2008, chapter 5), as the accelerations are known.

Example::

    change, forces = mechanics.with_forces(state, control, contacts)
    on_the_ground = (forces.normal + forces.friction)[:, -1].sum(1)  # in the last physics step [N], shape (N, 3)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn

from ..robot.frames import rotation_matrix
from ..robot.kinematics import rotation_columns
from ..robot.physical_parameters import PhysicalParameters
from ..robot.spec import RobotSpec
from .contact_constraints import ContactConstraints
from .external_wrench import ExternalWrench
from .multibody import BodyFrames, BodyMotion
from .vectors import cross, rotate, rotate_inverse

if TYPE_CHECKING:
    from .step import Mechanics


class BodyForces(NamedTuple):
    """Forces on the bodies of a robot in a control step, of all contacts of a body together."""

    normal: Tensor
    """Normal forces of contacts in each physics step, environment axes [N], shape (..., physics steps, B, 3)."""
    friction: Tensor
    """Friction in each physics step, the same."""
    joint_force: Tensor | None = None
    """Force that the joint of each body puts on it in the last physics step, in the joint's frame on the side of the
    body [N], shape (..., B, 3). Zero for a root that floats; None where nobody asked."""
    joint_torque: Tensor | None = None
    """The torque about the origin of that frame [N m], the same."""

    def map(self, change: Callable[[Tensor], Tensor]) -> BodyForces:
        """The same with every tensor changed."""
        joints = (None if each is None else change(each) for each in (self.joint_force, self.joint_torque))
        return BodyForces(change(self.normal), change(self.friction), *joints)


class StepForces(NamedTuple):
    """What a step keeps of its forces, for M environments."""

    normal: Tensor
    """Normal forces of contacts on each body in each physics step, environment axes [N], shape (M, P, B, 3)."""
    friction: Tensor
    """Friction, the same."""
    torque: Tensor
    """Torques of both about the centres of mass of the bodies [N m], same shape."""
    before: Tensor
    """States at the beginning of the last physics step, the root counted from where it began, shape (M, S)."""
    gained: Tensor
    """What the last physics step adds to the generalised velocities, in the axes that the root has at its beginning,
    shape (M, dim)."""


class ForceRecorder:
    """Keeps the forces of one control step, physics step by physics step, while PyTorch takes it."""

    def __init__(self, spec: RobotSpec):
        """Begins without any.

        Args:
            spec: The robot.
        """
        self._spec = spec
        self._forces: list[tuple[Tensor, Tensor, Tensor]] = []
        self._before: Tensor | None = None
        self._gained: Tensor | None = None

    def keep_start(self, velocity: Tensor, joint_pos: Tensor, quat: Tensor | None, root: Tensor | None) -> None:
        """Keeps where a physics step begins.

        Args:
            velocity: Generalised velocities, shape (dim, M).
            joint_pos: Positions of the joints, shape (M, J).
            quat: Orientation of the root, shape (M, 4), with its displacement ``root``, shape (3, M); None for a fixed
                base.
            root: See ``quat``.
        """
        if quat is None or root is None:
            self._before = torch.cat((joint_pos, velocity.t()), dim=-1)
            return
        rotation = rotation_columns(quat.t())
        moving = rotate(rotation, velocity[:6].view(2, 3, -1)).flatten(0, 1).t()
        self._before = torch.cat((root.t(), quat, joint_pos, moving, velocity[6:].t()), dim=-1)

    def keep_solved(
        self,
        contacts: ContactConstraints | None,
        impulses: list[Tensor] | None,
        frames: BodyFrames,
        root_rotation: Tensor | None,
        gained: Tensor,
    ) -> None:
        """Keeps what a physics step gives.

        Args:
            contacts: Its contacts; None for a robot that touches nothing.
            impulses: Impulses of their rows [N s], normals first, then both directions of friction, shape (3 P, M), in
                a list; none for no impulses.
            frames: Where the bodies were.
            root_rotation: Rotation matrices of the root at its beginning, shape (3, 3, M); None for a fixed base.
            gained: What it adds to the generalised velocities, shape (dim, M).
        """
        self._gained = gained.t()
        none = torch.zeros_like(frames.centres_of_mass)
        if contacts is None or not impulses:
            self._forces.append((none, none, none))
            return
        pushes = (impulses[0] / self._spec.physics_dt).unsqueeze(1).chunk(3)
        normal, first, second = (axis * push for axis, push in zip(contacts.directions, pushes, strict=True))
        friction, bodies = first + second, contacts.bodies.unsqueeze(1).expand(-1, 3, -1)
        arms = contacts.points - frames.centres_of_mass.gather(0, bodies)
        found = normal, friction, cross(arms, normal + friction)
        found = tuple(none.scatter_add(0, bodies, each) for each in found)
        if contacts.other_bodies is not None:  # what a body of the robot is given, the other one gives
            is_own = (contacts.other_bodies != contacts.bodies).unsqueeze(1).to(normal.dtype)
            others = contacts.other_bodies.unsqueeze(1).expand(-1, 3, -1)
            arms = contacts.points - frames.centres_of_mass.gather(0, others)
            given = normal, friction, cross(arms, normal + friction)
            found = tuple(each.scatter_add(0, others, -is_own * push) for each, push in zip(found, given, strict=True))
        if root_rotation is not None:
            found = (rotate(root_rotation, each) for each in found)
        normal, friction, torque = found
        self._forces.append((normal, friction, torque))

    def kept(self) -> StepForces:
        """What was kept."""
        assert self._before is not None and self._gained is not None  # a control step has a physics step
        normal, friction, torque = (torch.stack(each).permute(3, 0, 1, 2) for each in zip(*self._forces, strict=True))
        return StepForces(normal, friction, torque, self._before, self._gained)


class JointWrenches(nn.Module):
    """What the joints of one robot carry. Has no parameters."""

    _anchors: Tensor
    _turns: Tensor
    _behind: Tensor
    _is_held: Tensor
    _is_pulled: Tensor

    def __init__(self, spec: RobotSpec):
        """Looks up where joints are, and what is behind them.

        Args:
            spec: The robot.
        """
        super().__init__()
        self._spec = spec
        bodies = spec.bodies
        buffers = {
            "_anchors": torch.tensor([body.child_pos for body in bodies]).view(-1, 1, 3, 1),
            "_turns": rotation_matrix(torch.tensor([body.child_quat for body in bodies])).view(-1, 1, 3, 3, 1),
            "_behind": _behind(spec),
            "_is_held": torch.tensor([not spec.floating_base or body.parent is not None for body in bodies]),
            "_is_pulled": torch.tensor([float(body.has_gravity) for body in bodies]),
        }
        for name, value in buffers.items():
            shaped = value.view(-1, 1, 1) if value.dim() == 1 else value
            self.register_buffer(name, shaped, persistent=False)

    def forward(self, mechanics: Mechanics, kept: StepForces, rows: PhysicalParameters | None) -> tuple[Tensor, Tensor]:
        """Force [N] and torque [N m] of the joint of each body in the last physics step, in the frames of joints on the
        side of the bodies, each of shape (M, B, 3).

        Args:
            mechanics: Mechanics with the physical parameters of the step.
            kept: What it kept.
            rows: These parameters; None where nothing differs from the specification.
        """
        multibody, spec, damping, rotation = mechanics.multibody, self._spec, mechanics.damping, None
        if spec.floating_base:
            rotation = rotation_columns(kept.before[:, spec.state.root_quat].t())
        velocity = multibody.generalised_velocity(kept.before, rotation)
        frames = multibody.frames(kept.before[:, spec.state.joint_pos])
        motion = multibody.motion(frames, velocity)
        # What the motion takes is given by gravity, damping, contacts, what acts from outside, and the joint.
        rates, masses = kept.gained.t() / mechanics.physics_dt, damping.body_mass
        force, torque = _inertial_wrenches(multibody.mass_weighted_jacobian(frames), masses, frames, motion, rates)
        gravity = mechanics.gravity if rotation is None else rotate_inverse(rotation, mechanics.gravity)
        force = force - masses * self._is_pulled * gravity
        if damping.is_damped:
            linear, angular = damping.slowing(motion)
            about = (frames.inertia_roots * angular.unsqueeze(1)).sum(2, keepdim=True)
            force, torque = force + masses * linear, torque + (frames.inertia_roots * about).sum(1)
        pushes, turns = ((kept.normal + kept.friction)[:, -1], kept.torque[:, -1])
        pushes, turns = pushes.permute(1, 2, 0), turns.permute(1, 2, 0)
        outer = ExternalWrench.of(rows)
        if outer is not None:
            pushes, turns = pushes + outer.force, turns + outer.torque
        if rotation is not None:
            pushes, turns = rotate_inverse(rotation, pushes), rotate_inverse(rotation, turns)
        return self._transmitted(frames, force - pushes, torque - turns)

    def _transmitted(self, frames: BodyFrames, force: Tensor, torque: Tensor) -> tuple[Tensor, Tensor]:
        """What joints carry where bodies need these forces on their centres of mass, and torques, shape (B, 3, M)."""
        poses = frames.transforms
        places = (poses[:, :, :3] * self._anchors).sum(2) + poses[:, :, 3]
        axes = (poses[:, :, :3].unsqueeze(3) * self._turns).sum(2)
        # All that is behind a joint: forces, and their torques about its own origin.
        about = torque + cross(frames.centres_of_mass, force)
        force, about = ((self._behind @ each.flatten(1)).view_as(each) for each in (force, about))
        torque = about - cross(places, force)
        wrench = ((axes * each.where(self._is_held, 0.0).unsqueeze(2)).sum(1) for each in (force, torque))
        force, torque = (each.permute(2, 0, 1) for each in wrench)
        return force, torque


def _inertial_wrenches(
    jacobian: Tensor, masses: Tensor, frames: BodyFrames, motion: BodyMotion, rates: Tensor
) -> tuple[Tensor, Tensor]:
    """Forces on centres of mass [N] and torques [N m] that the motion of bodies takes, each of shape (B, 3, M).

    Args:
        jacobian: What :meth:`Multibody.mass_weighted_jacobian` gave.
        masses: Masses [kg], shape (B, 1, 1 or M).
        frames: Where the bodies are.
        motion: How they move.
        rates: Rates of the generalised velocities, shape (dim, M).
    """
    roots, weighted = frames.inertia_roots, (jacobian * rates.view(-1, 1, 1, rates.shape[1])).sum(0)
    about = torch.stack((motion.angular_velocity, motion.angular_bias)).unsqueeze(2)
    spin, turning = (roots * (roots * about).sum(3, keepdim=True)).sum(2)
    torque = (roots * weighted[:, 3:].unsqueeze(2)).sum(1) + turning + cross(motion.angular_velocity, spin)
    return masses.sqrt() * weighted[:, :3] + masses * motion.linear_bias, torque


def _behind(spec: RobotSpec) -> Tensor:
    """Whether the joint of each body (rows) carries a body (columns), as ones and zeros."""
    index = {body.name: number for number, body in enumerate(spec.bodies)}
    found = torch.zeros(len(spec.bodies), len(spec.bodies))
    for number, body in enumerate(spec.bodies):
        found[number, number] = 1.0
        while body.parent is not None:
            body = spec.bodies[index[body.parent]]
            found[index[body.name], number] = 1.0
    return found


__all__ = ["BodyForces", "ForceRecorder", "JointWrenches", "StepForces"]
