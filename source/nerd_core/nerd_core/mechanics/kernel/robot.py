# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The kernel of one robot on one device: the tables that it reads, and how it is launched."""

from __future__ import annotations

import contextlib
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
import warp as wp
from torch import Tensor

from ..contact_rules import Rules
from ..contact_solver import CONSTANTS, ContactSolver
from ..contacts import Contacts
from ..frames import rotation_matrix
from ..kinematics import local_transform
from ..spec import IDENTITY_QUAT, RobotSpec
from .bodies import Link
from .solver import AnswersOfRules, Joint, Slot, Solver
from .step import Layout, Sizes, make_kernel

VERY_FAR = 1.0e9
"""A stop where there is none [rad or m]."""

SHARE = 64
"""Environments that a thread of the processor takes at a time."""


class FusedRobot:
    """Steps one robot on one device, without gradients. Weights are read anew in each call."""

    def __init__(self, spec: RobotSpec, solver: ContactSolver, late: float, device: torch.device):
        """Makes the tables and compiles the kernel, which takes seconds, or finds it in Warp's cache.

        Args:
            spec: The robot.
            solver: Its solver of contacts, stops and drives.
            late: Share of a change of velocity that acts in the mean over a physics step.
            device: Where states live.
        """
        with wp.ScopedLogLevel(wp.LOG_WARNING):
            wp.init()
        assert list(CONSTANTS) == ["push", "push of a stop", "fastest push", "home", "friction", "carried", "turned"]
        self._solver, self._device = solver, wp.device_from_torch(device)
        root = 6 if spec.floating_base else 0
        carried = [spec.joint_names.index(body.joint) for body in spec.bodies if body.joint is not None]
        velocities = {joint: root + number for number, joint in enumerate(carried)}
        slots = _slots(spec, solver) if solver.touching else []
        self._sizes = Sizes(
            velocities=root + len(spec.joints),
            bodies=len(spec.bodies),
            joints=len(spec.joints),
            slots=len(slots),
            touching=solver.touching,
            hidden=max(1, solver.cfg.hidden),
        )
        self._kernel = make_kernel(self._sizes)
        with wp.ScopedLogLevel(wp.LOG_WARNING):
            self._kernel.module.load(self._device, block_dim=1 if self._device.is_cpu else None)
        self._features = wp.types.vector(length=self._sizes.hidden, dtype=wp.float32)
        efforts = [velocities[spec.joint_names.index(control.joint)] for control in spec.controls]
        self._tables = [
            _layout(spec, late),
            wp.array(_links(spec, velocities), dtype=Link, device=self._device),
            wp.array(_joints(spec, solver, velocities), dtype=Joint, device=self._device),
            wp.array(slots, dtype=Slot, device=self._device),
            wp.array(efforts, dtype=wp.int32, device=self._device),
            _numbers(spec, solver),
        ]
        self._scales = wp.array(solver.cfg.scales, dtype=wp.float32, device=self._device)
        none = torch.zeros(1, 0, dtype=torch.float32, device=device)
        self._nothing = none, none.new_zeros(1, 0, 3), none.bool()
        self._pool: ThreadPoolExecutor | None = None
        self._pool_of = 0
        wp.synchronize_device(self._device)  # the tables were sent on a stream of Warp's own

    @torch.no_grad()
    def __call__(self, state: Tensor, control: Tensor, contacts: Contacts | None) -> Tensor:
        """States at the end of a control step, the root's position counted from where it began.

        Args:
            state: States, shape (M, S).
            control: Efforts held over the step, shape (M, C).
            contacts: Contacts of ``state`` of all slots, leading dimension (M,). None for a robot that touches nothing.
        """
        distance, normal, active = self._nothing
        if contacts is not None and self._sizes.slots:
            distance, normal, active = contacts.distance, contacts.normal.contiguous(), contacts.active
        ended = torch.empty_like(state)
        inner, outer = self._rules()
        arrays = [
            wp.from_torch(self._solver.constants.exp()),
            self._scales,
            wp.from_torch(inner, dtype=self._features),
            wp.from_torch(outer, dtype=AnswersOfRules),
            *map(wp.from_torch, (state.detach(), control.detach(), distance.detach())),
            wp.from_torch(normal.detach(), dtype=wp.vec3),
            *map(wp.from_torch, (active, ended)),
        ]
        arguments = [*self._tables, *arrays]
        if state.is_cuda:
            stream = wp.stream_from_torch(torch.cuda.current_stream(state.device))
            wp.launch(self._kernel, len(state), [0, *arguments], device=self._device, stream=stream)
        else:
            self._share_out(len(state), arguments)
        return ended

    def _share_out(self, count: int, arguments: list[Any]) -> None:
        """Steps environments on the threads that PyTorch has, each of which takes some whenever it has done the last:
        PyTorch's own threads are busy waiting for a while after its operations, and may have a core for themselves.
        """
        begins = iter(range(0, count, SHARE))

        def work() -> None:
            for first in begins:
                envs = min(SHARE, count - first)
                wp.launch(self._kernel, envs, [first, *arguments], device=self._device)

        helpers = min(torch.get_num_threads(), -(-count // SHARE)) - 1
        if helpers > 0 and self._pool_of != os.getpid():  # a process that was forked has no threads of its parent
            self._pool, self._pool_of = ThreadPoolExecutor(thread_name_prefix="fused"), os.getpid()
        others = []
        with contextlib.suppress(RuntimeError):  # the interpreter is about to end, and starts no threads any more
            for _ in range(helpers):
                assert self._pool is not None
                others.append(self._pool.submit(work))
        work()
        for other in others:
            other.result()

    def _rules(self) -> tuple[Tensor, Tensor]:
        """Weights of the rules of all substeps with their biases behind them, as the kernel reads them."""
        rules = [each for each in self._solver.rules if isinstance(each, Rules)]
        if not rules:
            none = self._solver.constants.new_zeros(1, 1, 8)
            return none[:, :, :1].contiguous(), none
        layers = ([each.inner for each in rules], [each.outer for each in rules])
        inner, outer = (
            torch.stack([torch.cat((layer.weight.t(), layer.bias.unsqueeze(0))) for layer in of_all])
            for of_all in layers
        )
        return inner, torch.nn.functional.pad(outer, (0, 8 - outer.shape[-1]))


def _links(spec: RobotSpec, velocities: dict[int, int]) -> list[Any]:
    """What stays the same of each body."""
    index, links = {name: number for number, name in enumerate(spec.body_names)}, []
    for body in spec.bodies:
        number = None if body.joint is None else spec.joint_names.index(body.joint)
        joint = None if number is None else spec.joints[number]
        local = local_transform(body, joint)
        if body.parent is None:  # a root that floats stands at the origin of its own axes
            pose = (IDENTITY_QUAT, (0.0, 0.0, 0.0)) if spec.floating_base else (spec.root_quat, spec.root_pos)
            turn, shift = (torch.tensor(each, dtype=torch.double) for each in pose)
            local["_constant"] = torch.cat((rotation_matrix(turn), shift[:, None]), -1)
        inertia = body.inertia
        assert inertia is not None  # Multibody has looked
        (xx, yy, zz), (xy, xz, yz) = inertia.moments, inertia.products
        child = rotation_matrix(torch.tensor(body.child_quat, dtype=torch.double))
        link = Link()
        link.parent = -1 if body.parent is None else index[body.parent]
        link.joint = -1 if number is None else number
        link.velocity = -1 if number is None else velocities[number]
        link.slides = int(joint is not None and joint.kind == "prismatic")
        link.turn, link.shift = _matrix(local["_constant"]), _vector(local["_constant"])
        link.turn_cos, link.shift_cos = _matrix(local["_cosine"]), _vector(local["_cosine"])
        link.turn_sin, link.shift_sin = _matrix(local["_sine"]), _vector(local["_sine"])
        link.slide = _vector(local["_slide"])
        if joint is not None:
            link.axis = wp.vec3(*(child @ torch.tensor(joint.axis, dtype=torch.double)).tolist())
            link.rotor = joint.armature
        link.origin = wp.vec3(*body.child_pos)
        link.mass, link.centre = inertia.mass, wp.vec3(*inertia.centre)
        link.inertia = wp.mat33(xx, xy, xz, xy, yy, yz, xz, yz, zz)
        links.append(link)
    return links


def _joints(spec: RobotSpec, solver: ContactSolver, velocities: dict[int, int]) -> list[Any]:
    """What stays the same of each joint, in the order of the solver."""
    joints = []
    for row, number in enumerate(solver.joints.tolist()):
        lower, upper = solver.lower[row].item(), solver.upper[row].item()
        joint = Joint()
        joint.place, joint.velocity = number, velocities[number]
        joint.stopped = int(solver.stopped[row])
        joint.lower, joint.upper = max(lower, -VERY_FAR), min(upper, VERY_FAR)
        joint.damping = spec.joints[number].damping
        joint.usual = solver.usual[solver.touching + row].item()
        joints.append(joint)
    return joints


def _slots(spec: RobotSpec, solver: ContactSolver) -> list[Any]:
    """What stays the same of each slot, in the order of the solver."""
    slots = []
    for number in solver.slots.tolist():
        of_spec, slot = spec.slots[number], Slot()
        slot.place, slot.body = number, spec.body_names.index(of_spec.body)
        slot.point, slot.radius = wp.vec3(*of_spec.point), of_spec.radius
        slots.append(slot)
    return slots


def _numbers(spec: RobotSpec, solver: ContactSolver) -> Any:
    """Numbers of the solver."""
    cfg, numbers = solver.cfg, Solver()
    numbers.dt, numbers.substeps, numbers.softer = spec.physics_dt, cfg.substeps, 1.0 + cfg.soft
    numbers.reach, numbers.reach_by_radius = cfg.reach, cfg.reach_by_radius
    numbers.usual = solver.usual[0].item() if solver.touching else 1.0
    numbers.hidden = cfg.hidden
    return numbers


def _layout(spec: RobotSpec, late: float) -> Any:
    """Where the parts of a state begin."""
    at, layout = spec.state, Layout()
    layout.floating = int(spec.floating_base)
    layout.root_quat, layout.joint_pos, layout.joint_vel = at.root_quat.start, at.joint_pos.start, at.joint_vel.start
    layout.lin_vel, layout.ang_vel = at.root_lin_vel.start, at.root_ang_vel.start
    layout.decimation, layout.late, layout.gravity = spec.decimation, late, wp.vec3(*spec.gravity)
    return layout


def _matrix(local: Tensor) -> Any:
    """The rotation in a matrix of shape (3, 4)."""
    return wp.mat33(*local[:, :3].flatten().tolist())


def _vector(local: Tensor) -> Any:
    """The position in a matrix of shape (3, 4)."""
    return wp.vec3(*local[:, 3].tolist())


__all__ = ["FusedRobot"]
