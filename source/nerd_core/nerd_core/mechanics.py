# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""One control step of a robot by the laws of mechanics, with contacts and stops by rules that are learned.

Newton and Euler say what efforts, gravity and the robot's own motion do to rigid bodies: nothing of that is learned. The
rest is how PhysX takes a physics step: accelerations of its beginning, forces in a ramp, drives that resist within it, a
solver of contacts and stops (:mod:`nerd_core.contact_solver`), and a root whose velocity is set at the end so that no
momentum is lost. Friction in joints and whatever else a simulator knows are left to a network.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .contact_solver import ContactSolver, ContactSolverCfg
from .contacts import Contacts
from .frames import ChangeCodec, into_frame, out_of_frame, quat_from_rotvec, quat_mul, quat_normalize, rotation_matrix
from .multibody import LATE, Multibody
from .spec import RobotSpec


class Mechanics(nn.Module):
    """The mechanics of one robot. All its parameters are those of the solver."""

    solver: ContactSolver | None
    """Contacts and stops; None for a robot that nothing touches."""
    _efforts: Tensor
    _damping: Tensor
    _gravity: Tensor

    def __init__(self, spec: RobotSpec, codec: ChangeCodec, solver: ContactSolverCfg | None, touches: bool = True):
        """Looks up masses, drives and efforts.

        Args:
            spec: The robot, with the inertias of its bodies.
            codec: Writes changes of state.
            solver: Shape of the solver; None for free motion alone.
            touches: Whether the robot may touch the ground; otherwise the solver looks at stops only.
        """
        super().__init__()
        held = [joint.name for joint in spec.joints if joint.stiffness]
        others = [control.joint for control in spec.controls if control.kind != "effort"]
        if held or others:
            raise ValueError(
                f"got springs at {held} and targets for {others} of '{spec.name}', expected efforts alone for "
                "mechanics: learn the free motion of this robot instead (nerd train --free-motion)"
            )
        self.spec, self.codec, self.bodies = spec, codec, Multibody(spec)
        self.solver = None if solver is None else ContactSolver(self.bodies, solver, touches)
        self._root = self.bodies.dim - len(spec.joints)
        place = {name: number for number, name in enumerate(spec.joint_names)}
        efforts = torch.zeros(self.bodies.dim, len(spec.controls))
        for column, control in enumerate(spec.controls):
            efforts[self._root + place[control.joint], column] = 1.0
        damping = torch.tensor([*[0.0] * self._root, *(joint.damping for joint in spec.joints)])
        self.register_buffer("_efforts", efforts, persistent=False)
        self.register_buffer("_damping", damping.unsqueeze(-1), persistent=False)
        self.register_buffer("_gravity", torch.tensor(spec.gravity), persistent=False)
        self.mass = sum(body.inertia.mass for body in spec.bodies if body.inertia is not None)
        """Mass of all bodies [kg]."""

    def forward(self, state: Tensor, control: Tensor, contacts: Contacts | None = None) -> Tensor:
        """The change of state, not normalised.

        Args:
            state: States, shape (..., S).
            control: Efforts held over the step, shape (..., C).
            contacts: Contacts of ``state`` of all slots. None counts as none.

        Returns:
            Shape (..., D).
        """
        lead, at, bodies, dt = state.shape[:-1], self.spec.state, self.bodies, self.spec.physics_dt
        state = state.reshape(-1, at.dim)
        effort = self._efforts @ control.reshape(len(state), -1).t()
        joint_pos, velocity = state[:, at.joint_pos], bodies.velocity(state)
        root = self._root > 0
        gravity = self._gravity.expand(len(state), 3)
        shift = torch.zeros_like(gravity)
        quat = state[:, at.root_quat] if root else shift
        turn = rotation_matrix(quat) if root else None
        frames = bodies.frames(joint_pos)
        rows = bodies.rows(frames)
        surfaces = None
        if self.solver is not None:
            contacts = None if contacts is None else contacts.reshape(-1)
            surfaces = self.solver.surfaces(frames, turn, contacts)
        for part in range(self.spec.decimation):
            pull = (gravity if turn is None else into_frame(turn, gravity)).t()
            momentum, mobility = bodies.momentum(rows), bodies.mobility(frames, rows)
            force = effort - self._damping * velocity + (momentum * pull).sum(1)
            ramp, jump = _applied(mobility, dt * force, -dt * bodies.load(frames, rows, velocity))
            # What the robot's own motion does acts at once, forces in a ramp.
            gained, moved = ramp + jump, dt * (velocity + torch.add(jump, ramp, alpha=LATE))
            if root:
                moved = torch.cat((dt * torch.add(velocity[:3], gained[:3], alpha=LATE), moved[3:]))
            if self.solver is not None:
                mended, further = self.solver(
                    frames, velocity, jump, ramp, mobility, joint_pos, surfaces, None if turn is None else (turn, shift)
                )
                gained, moved = gained + mended, moved + further
            else:
                mended = None
            joint_pos = joint_pos + moved[self._root :].t()
            before, velocity = velocity, velocity + gained
            if not root and part + 1 == self.spec.decimation:
                break
            frames = bodies.frames(joint_pos)
            rows = bodies.rows(frames)
            if turn is None:
                continue
            kept = _along(momentum, before if mended is None else before + mended) + dt * self.mass * pull
            shift = shift + out_of_frame(turn, moved[:3].t())
            turning = quat_from_rotvec(moved[3:6].t())
            quat = quat_normalize(quat_mul(quat, turning))
            turn = rotation_matrix(quat)
            into = rotation_matrix(turning).permute(1, 2, 0)
            velocity = torch.cat((_into(into, velocity[:3]), _into(into, velocity[3:6]), velocity[6:]))
            missing = _into(into, kept) - _along(bodies.momentum(rows), velocity)
            velocity = torch.cat((velocity[:3] + missing / self.mass, velocity[3:]))
        joint_vel = velocity[self._root :].t()
        if turn is None:
            change = self.codec.encode(state, torch.cat((joint_pos, joint_vel), dim=-1))
        else:
            # From a root at the origin: differences of places far from it would be rounded.
            home = torch.cat((torch.zeros_like(shift), state[:, at.root_pos.stop :]), dim=-1)
            speeds = [out_of_frame(turn, part.t()) for part in (velocity[:3], velocity[3:6])]
            change = self.codec.encode(home, torch.cat((shift, quat, joint_pos, *speeds, joint_vel), dim=-1))
        return change.reshape(*lead, -1)


def _applied(matrix: Tensor, *vectors: Tensor) -> Sequence[Tensor]:
    """Products of symmetric matrices, shape (M, N, N), with vectors, each of shape (N, M)."""
    rows = torch.stack(vectors).permute(2, 0, 1).contiguous()
    return torch.bmm(rows, matrix).permute(1, 2, 0).contiguous().unbind()


def _along(table: Tensor, velocity: Tensor) -> Tensor:
    """What a table of shape (dim, 3, M) makes of velocities of shape (dim, M), shape (3, M)."""
    return (table * velocity.unsqueeze(1)).sum(0)


def _into(turn: Tensor, vector: Tensor) -> Tensor:
    """Vectors, shape (3, M), in the axes of rotation matrices, shape (3, 3, M)."""
    return (turn * vector.unsqueeze(1)).sum(0)


__all__ = ["Mechanics"]
