# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""One control step of a robot by the laws of mechanics, with contacts and stops by rules that are learned.

Newton and Euler say what efforts, gravity and the robot's own motion do to rigid bodies: nothing of that is learned.
The rest is how PhysX takes a physics step: accelerations of its beginning, forces in a ramp, a solver of contacts,
stops and drives (:mod:`nerd_core.contact_solver`), and at the end a floating robot that is turned and shifted in its
velocities until neither its momentum is lost nor the size of its angular momentum. Friction in joints and whatever else
a simulator knows are left to a network.

Where no gradients are asked for, one kernel takes the same step (:mod:`nerd_core.fused`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from .contact_solver import ContactSolver, ContactSolverCfg
from .contacts import Contacts
from .frames import ChangeCodec, quat_from_rotvec, quat_mul, quat_normalize
from .fused import ENOUGH, differentiated_otherwise, proved_robot
from .kinematics import rotation_columns
from .multibody import Multibody, cross, into_axes, out_of_axes
from .spec import RobotSpec

if TYPE_CHECKING:
    from .fused.robot import FusedRobot

TINY = 1.0e-20


class Mechanics(nn.Module):
    """The mechanics of one robot. All its parameters are those of the solver."""

    solver: ContactSolver
    """Contacts, stops and drives."""
    _efforts: Tensor
    _gravity: Tensor

    def __init__(self, spec: RobotSpec, codec: ChangeCodec, solver: ContactSolverCfg, touches: bool = True):
        """Looks up masses, drives and efforts.

        Args:
            spec: The robot, with the inertias of its bodies.
            codec: Writes changes of state.
            solver: Shape of the solver.
            touches: Whether the robot may touch the ground; otherwise the solver looks at joints only.
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
        self.solver = ContactSolver(self.bodies, solver, touches)
        self._late = 0.5 * (1.0 + 1.0 / solver.substeps)
        """Share of a change of velocity that acts in the mean over a physics step: forces act in each substep, so that
        velocities rise in a ramp of stairs."""
        self._root = self.bodies.dim - len(spec.joints)
        place = {name: number for number, name in enumerate(spec.joint_names)}
        efforts = torch.zeros(self.bodies.dim, len(spec.controls))
        for column, control in enumerate(spec.controls):
            efforts[self._root + place[control.joint], column] = 1.0
        self.register_buffer("_efforts", efforts, persistent=False)
        self.register_buffer("_gravity", torch.tensor(spec.gravity).unsqueeze(-1), persistent=False)
        self.mass = sum(body.inertia.mass for body in spec.bodies if body.inertia is not None)
        """Mass of all bodies [kg]."""
        self._fused: dict[torch.device, FusedRobot | None] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Copies make kernels of their own."""
        return {**self.__dict__, "_fused": {}}

    def forward(self, state: Tensor, control: Tensor, contacts: Contacts | None = None) -> Tensor:
        """The change of state, not normalised.

        Args:
            state: States, shape (..., S).
            control: Efforts held over the step, shape (..., C).
            contacts: Contacts of ``state`` of all slots. None only for a robot that touches nothing.

        Returns:
            Shape (..., D).
        """
        lead, state = state.shape[:-1], state.reshape(-1, self.spec.state.dim)
        control = control.reshape(len(state), self._efforts.shape[1])
        contacts = self._contacts_of(state, contacts)
        robot = self._robot_for(state, control, contacts)
        ended = self._ended(state, control, contacts) if robot is None else robot(state, control, contacts)
        return self._change(state, ended).reshape(*lead, self.codec.dim)

    def _contacts_of(self, state: Tensor, contacts: Contacts | None) -> Contacts | None:
        """Contacts with the leading dimension of states (M, S); None for a robot that touches nothing."""
        if not self.solver.touching:
            return None
        count, slots, name = len(state), len(self.spec.slots), self.spec.name
        if contacts is None:
            raise ValueError(f"got no contacts for the solver of '{name}', expected those of its {slots} slots")
        if contacts.distance.shape[-1:] != (slots,) or contacts.distance.numel() not in (slots, slots * count):
            raise ValueError(
                f"got contacts of shape {tuple(contacts.distance.shape)} for {count} states of '{name}', expected one "
                f"of {slots} slots for each state, or one for all"
            )
        contacts = contacts.reshape(-1)
        return contacts.map(lambda each: each.expand(count, *each.shape[1:])) if contacts.lead != (count,) else contacts

    def _robot_for(self, state: Tensor, control: Tensor, contacts: Contacts | None) -> FusedRobot | None:
        """The kernel, if there is one and it can take this step: without derivatives, in single precision."""
        if torch.is_grad_enabled() or torch.compiler.is_compiling() or differentiated_otherwise():
            return None
        tensors = [state, control, self.solver.constants, *(() if contacts is None else contacts.tensors()[:2])]
        if any(each.dtype != torch.float32 or each.device != state.device for each in tensors):
            return None
        if state.device not in self._fused:
            sane = (state.isfinite().all(-1) & control.isfinite().all(-1)).nonzero().flatten()[:ENOUGH]
            if not len(sane):
                return None  # there will be other states
            args = self.spec, self.solver, self._late, state[sane], control[sane]
            self._fused[state.device] = proved_robot(*args, formula=self._ended)
        return self._fused[state.device]

    def _change(self, state: Tensor, ended: Tensor) -> Tensor:
        """The change of state to an end whose root is counted from where it began."""
        if not self._root:
            return self.codec.encode(state, ended)
        # From a root at the origin: differences of places far from it would be rounded.
        pos = self.spec.state.root_pos
        return self.codec.encode(torch.cat((torch.zeros_like(state[:, pos]), state[:, pos.stop :]), dim=-1), ended)

    def _ended(self, state: Tensor, control: Tensor, contacts: Contacts | None) -> Tensor:
        """States at the end of a control step, the root's position counted from where it began, shape (M, S)."""
        with exact_products(state.device):
            return self._advance(state, control, contacts)

    def _advance(self, state: Tensor, control: Tensor, contacts: Contacts | None) -> Tensor:
        """What :meth:`_ended` says."""
        at, bodies, dt = self.spec.state, self.bodies, self.spec.physics_dt
        effort = self._efforts @ control.t()
        root = _Root.at_home(state[:, at.root_quat]) if self._root else None
        turn, shift = (None, None) if root is None else (root.turn, root.shift)
        joint_pos, velocity = state[:, at.joint_pos], bodies.velocity(state, turn)
        frames = bodies.frames(joint_pos)
        rows = bodies.rows(frames)
        surfaces = self.solver.surfaces(frames, turn, contacts)
        for part in range(self.spec.decimation):
            pull = self._gravity if turn is None else into_axes(turn, self._gravity)
            mobility, motion = bodies.mobility(rows), bodies.motion(frames, velocity)
            force = effort + (bodies.momentum(rows) * pull).sum(1)
            ramp, jump = _applied(mobility, dt * force, -dt * bodies.load(frames, rows, motion))
            below = None if surfaces is None else self.solver.touches(frames, motion, surfaces, turn, shift)
            mended, further, joint_pos = self.solver(velocity + jump, ramp, mobility, joint_pos, below)
            before, pushed, velocity = velocity, velocity + mended, velocity + ramp + jump + mended
            if root is None:
                if part + 1 < self.spec.decimation:
                    frames = bodies.frames(joint_pos)
                    rows = bodies.rows(frames)
                continue
            # What the robot's own motion does turns the root at once, and carries it in a ramp, as forces do.
            late = self._late * (ramp + jump)[:3], torch.add(jump[3:6], ramp[3:6], alpha=self._late)
            root, turning = root.moved(dt * (before[:6] + torch.cat(late)) + further[:6])
            start = bodies.whirl(frames, rows, pushed)
            turn, shift, frames = root.turn, root.shift, bodies.frames(joint_pos)
            rows = bodies.rows(frames)
            velocity = torch.cat((into_axes(turning, velocity[:6].view(2, 3, -1)).flatten(0, 1), velocity[6:]))
            after = bodies.whirl(frames, rows, velocity)
            lacking = after.spin * (_length(start.spin) / _length(after.spin) - 1.0)
            faster = bodies.turning(frames, after.centre, lacking)
            missing = into_axes(turning, start.push + dt * self.mass * pull) - after.push
            straight = missing / self.mass - cross(faster, after.centre)
            velocity = torch.cat((velocity[:3] + straight, velocity[3:6] + faster, velocity[6:]))
        joint_vel = velocity[self._root :].t()
        if root is None:
            return torch.cat((joint_pos, joint_vel), dim=-1)
        speeds = out_of_axes(root.turn, velocity[:6].view(2, 3, -1)).flatten(0, 1).t()
        return torch.cat((root.shift.t(), root.quat, joint_pos, speeds, joint_vel), dim=-1)


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
        """The root after it has moved and turned by what is given in its own axes, shape (6, M), and its new
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


def _length(vector: Tensor) -> Tensor:
    """Length of vectors of shape (3, M), never quite zero."""
    return (vector.square().sum(0) + TINY).sqrt()


__all__ = ["Mechanics", "exact_products"]
