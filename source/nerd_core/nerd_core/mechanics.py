# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""One control step of a robot by the laws of mechanics, with contacts and stops by rules that are learned.

Newton and Euler say what efforts, gravity and the robot's own motion do to rigid bodies: nothing of that is learned.
The rest is how PhysX takes a physics step: accelerations of its beginning, forces in a ramp, drives that resist within
it, a solver of contacts and stops (:mod:`nerd_core.contact_solver`), and a root whose velocity is set at the end so
that no momentum is lost. Friction in joints and whatever else a simulator knows are left to a network.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import NamedTuple

import torch
from torch import Tensor, nn

from .contact_solver import ContactSolver, ContactSolverCfg
from .contacts import Contacts
from .frames import ChangeCodec, quat_from_rotvec, quat_mul, quat_normalize
from .kinematics import rotation_columns
from .multibody import LATE, Multibody, into_axes, out_of_axes
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
        self.register_buffer("_gravity", torch.tensor(spec.gravity).unsqueeze(-1), persistent=False)
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
        with exact_products(state.device):
            return self._advance(state, control, contacts)

    def _advance(self, state: Tensor, control: Tensor, contacts: Contacts | None) -> Tensor:
        """What :meth:`forward` says."""
        lead, at, bodies, dt = state.shape[:-1], self.spec.state, self.bodies, self.spec.physics_dt
        state = state.reshape(-1, at.dim)
        effort = self._efforts @ control.reshape(len(state), -1).t()
        root = _Root.at_home(state[:, at.root_quat]) if self._root else None
        turn, shift = (None, None) if root is None else (root.turn, root.shift)
        joint_pos, velocity = state[:, at.joint_pos], bodies.velocity(state, turn)
        frames = bodies.frames(joint_pos)
        rows = bodies.rows(frames)
        momentum, surfaces = bodies.momentum(rows), None
        if self.solver is not None:
            surfaces = self.solver.surfaces(frames, turn, None if contacts is None else contacts.reshape(-1))
        for part in range(self.spec.decimation):
            pull = self._gravity if turn is None else into_axes(turn, self._gravity)
            mobility, motion = bodies.mobility(rows), bodies.motion(frames, velocity)
            force = effort - self._damping * velocity + (momentum * pull).sum(1)
            ramp, jump = _applied(mobility, dt * force, -dt * bodies.load(frames, rows, motion))
            # What the robot's own motion does acts at once, forces in a ramp; the root is carried in a ramp by both.
            gained, moved = ramp + jump, dt * (velocity + torch.add(jump, ramp, alpha=LATE))
            if root is not None:
                moved = torch.cat((dt * torch.add(velocity[:3], gained[:3], alpha=LATE), moved[3:]))
            pushed = velocity
            if self.solver is not None:
                below = None if surfaces is None else self.solver.touches(frames, motion, surfaces, turn, shift)
                mended, further = self.solver(velocity + jump, ramp, mobility, joint_pos, below)
                gained, moved, pushed = gained + mended, moved + further, velocity + mended
            joint_pos, velocity = joint_pos + moved[self._root :].t(), velocity + gained
            if root is None and part + 1 == self.spec.decimation:
                break
            kept = _along(momentum, pushed) + dt * self.mass * pull
            frames = bodies.frames(joint_pos)
            rows = bodies.rows(frames)
            momentum = bodies.momentum(rows)
            if root is not None:
                root, turning = root.moved(moved)
                turn, shift = root.turn, root.shift
                velocity = torch.cat((into_axes(turning, velocity[:6].view(2, 3, -1)).flatten(0, 1), velocity[6:]))
                missing = into_axes(turning, kept) - _along(momentum, velocity)
                velocity = torch.cat((velocity[:3] + missing / self.mass, velocity[3:]))
        joint_vel = velocity[self._root :].t()
        if root is None:
            return self.codec.encode(state, torch.cat((joint_pos, joint_vel), dim=-1)).reshape(*lead, -1)
        # From a root at the origin: differences of places far from it would be rounded.
        home = torch.cat((torch.zeros_like(root.shift.t()), state[:, at.root_pos.stop :]), dim=-1)
        speeds = out_of_axes(root.turn, velocity[:6].view(2, 3, -1)).flatten(0, 1).t()
        ended = torch.cat((root.shift.t(), root.quat, joint_pos, speeds, joint_vel), dim=-1)
        return self.codec.encode(home, ended).reshape(*lead, -1)


class _Root(NamedTuple):
    """Where the root of a floating robot is, from where it began."""

    quat: Tensor
    """Orientation, shape (M, 4)."""
    turn: Tensor
    """The same as rotation matrices, shape (3, 3, M)."""
    shift: Tensor
    """How far it has come, environment axes [m], shape (3, M)."""

    @classmethod
    def at_home(cls, quat: Tensor) -> _Root:
        """The root at the beginning."""
        turn = rotation_columns(quat.t()).contiguous()
        return cls(quat, turn, torch.zeros_like(turn[0]))

    def moved(self, moved: Tensor) -> tuple[_Root, Tensor]:
        """The root after it has moved and turned by the first six rows, in its own axes, shape (dim, M), and its new
        axes in the old ones, shape (3, 3, M).
        """
        turning = quat_from_rotvec(moved[3:6].t())
        quat, into = quat_normalize(quat_mul(self.quat, turning)), rotation_columns(turning.t()).contiguous()
        return _Root(quat, (self.turn.unsqueeze(2) * into).sum(1), self.shift + out_of_axes(self.turn, moved[:3])), into


def exact_products(device: torch.device) -> AbstractContextManager[None]:
    """Within it, products of matrices on a GPU are not rounded to ten bits, as Isaac Lab's trainers have it: a mass
    matrix that is a thousandth off holds no foot. Nothing to do on a CPU.
    """
    return _without_tf32() if device.type == "cuda" else nullcontext()


@contextmanager
def _without_tf32() -> Iterator[None]:
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def _applied(matrix: Tensor, *vectors: Tensor) -> Sequence[Tensor]:
    """Products of symmetric matrices, shape (M, N, N), with vectors, each of shape (N, M)."""
    rows = torch.stack(vectors).permute(2, 0, 1).contiguous()
    return torch.bmm(rows, matrix).permute(1, 2, 0).contiguous().unbind()


def _along(table: Tensor, velocity: Tensor) -> Tensor:
    """What a table of shape (dim, 3, M) makes of velocities of shape (dim, M), shape (3, M)."""
    return (table * velocity.unsqueeze(1)).sum(0)


__all__ = ["Mechanics", "exact_products"]
