# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The step of one robot as a function of PyTorch with a gradient: the kernel that keeps its trace, and its adjoint."""

from __future__ import annotations

import math
from itertools import islice
from typing import Any

import torch
import warp as wp
from torch import Tensor

from ....contact.contacts import Contacts
from ....robot.physical_parameters import PhysicalParameters
from ...kept_traces import traces_are_kept
from ..friction_anchors import VECTORS
from ..launcher import ENVS_A_LAUNCH
from ..physical_parameters import parameter_rows
from ..robot import RobotKernel, anchors_in
from ..step import make_kernel
from .step import make_adjoint

SHARED = 7
"""Tensors that every step has: state, control, distance, normal, and the three of weights."""


class RobotGradient:
    """Steps one robot on one device, with gradients by states, controls, contacts, constants and rules, and by physical
    parameters of environments where its kernel knows these.
    """

    def __init__(self, robot: RobotKernel):
        """Compiles the kernels, which takes many seconds, or finds them in Warp's cache.

        Args:
            robot: The kernel without gradients.
        """
        self.robot = robot
        self._kept = make_kernel(robot.sizes, robot.types, is_kept=True)
        self._adjoint, self._gradients_type = make_adjoint(robot.sizes, robot.types)
        self._free: list[tuple[tuple[int, bool], Any]] = []
        self._free_rows: list[_RowGradients] = []
        robot.load(self._kept)
        robot.load(self._adjoint)

    def __call__(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        rows: PhysicalParameters | None = None,
        memory: Tensor | None = None,
    ) -> Tensor:
        """States at the end of a control step, with a graph; arguments as of :class:`RobotKernel`. With a memory, what
        :meth:`with_memory` says.
        """
        distance, normal, active = self.robot.contact_tensors(contacts)
        inner, outer = self.robot.rules()
        constants = self.robot.solver.constants.exp()
        tensors = state, control, distance, normal, constants, inner, outer
        names = () if rows is None else rows.given
        found: Any = _Step.apply(self, active, names, memory, *tensors, *(getattr(rows, name) for name in names))
        return found

    def with_memory(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        memory: Tensor,
        rows: PhysicalParameters | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The next states and the memory of friction after the step, with a graph; that before it is kept."""
        found: Any = self(state, control, contacts, rows, memory)
        return found

    def keep(
        self, tensors: tuple[Tensor, ...], active: Tensor, rows: PhysicalParameters, memory: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None, _Lease]:
        """The next states, the memory after the step, and what their adjoint needs.

        Args:
            tensors: What :meth:`RobotKernel.arguments` takes.
            active: Whether there is any ground below slots.
            rows: Physical parameters.
            memory: The memory of friction before the step; None for none.
        """
        arguments = self.robot.arguments(tensors, active, rows)
        lease = _Lease(self, len(tensors[0]), memory is not None, arguments)
        next_state, after = torch.empty_like(tensors[0]), None
        if memory is not None:
            after = memory.detach().clone(memory_format=torch.contiguous_format)
            arguments[2].memory = anchors_in(after)
        self.robot.launch(self._kept, len(next_state), [*arguments, lease.trace, next_state, self.robot.no_forces])
        return next_state, after, lease

    def pull(
        self,
        tensors: tuple[Tensor, ...],
        rows: PhysicalParameters,
        lease: _Lease,
        by_next: Tensor,
        wants_weights: bool,
        wanted: tuple[str, ...] = (),
        by_memory: Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        """Derivatives by all of ``tensors``, those by constants and rules zero where they are not wanted, and by the
        parameters that are; of a step with a memory those by the memory before it at the end.

        Args:
            tensors: What :meth:`keep` had.
            rows: The same.
            lease: What it kept.
            by_next: Derivatives by the next states.
            wants_weights: Whether those by constants and rules are wanted.
            wanted: Names of the parameters.
            by_memory: Derivatives by the memory after a step that had one.
        """
        state, control, distance, normal, constants, inner, outer = tensors
        count, gradients = len(state), self._gradients_type()
        chunks = -(-count // ENVS_A_LAUNCH) if wants_weights else 0
        found = [torch.zeros_like(each) for each in (state, control)]
        found += [each.new_zeros(count, *each.shape[1:]) for each in (distance, normal)]
        shared = [each.new_zeros(chunks, *each.shape) for each in (constants, inner, outer)]
        gradients.state, gradients.control = (wp.from_torch(each) for each in found[:2])
        gradients.distance, gradients.normal = wp.from_torch(found[2]), wp.from_torch(found[3], dtype=wp.vec3)
        types = self.robot.types
        gradients.constants = wp.from_torch(shared[0])
        gradients.inner = wp.from_torch(shared[1], dtype=types.features)
        gradients.outer = wp.from_torch(shared[2], dtype=types.factors)
        by_rows = self._take_rows(count, {name: getattr(rows, name).shape[1:] for name in wanted})
        gradients.parameters = by_rows.arrays
        gradients.wants_weights, gradients.chunk_size = int(wants_weights), ENVS_A_LAUNCH
        before = state.new_zeros(0, 0, VECTORS * 3)
        if by_memory is not None:
            before = torch.empty_like(by_memory, memory_format=torch.contiguous_format)
        gradients.memory = anchors_in(before)
        arguments = [
            *lease.arguments,
            lease.trace,
            wp.from_torch(by_next.contiguous()),
            anchors_in(before if by_memory is None else by_memory.contiguous()),
            gradients,
        ]
        self.robot.launch(self._adjoint, count, arguments)
        parts = by_rows.copies()
        of_rows = [parts[name] if len(getattr(rows, name)) > 1 else parts[name].sum(0, keepdim=True) for name in wanted]
        self._free_rows.append(by_rows)
        of_memory = [] if by_memory is None else [before]
        return *found, *(each.sum(0) for each in shared), *of_rows, *of_memory

    def _take_rows(self, count: int, shapes: dict[str, torch.Size]) -> _RowGradients:
        """Memory for derivatives by parameters, of an earlier step that asked for the same ones, or new."""
        while self._free_rows:
            found = self._free_rows.pop()
            if found.count == count and found.shapes == shapes:
                return found
        return _RowGradients(count, shapes, self.robot)

    def take_trace(self, count: int, remembers: bool) -> Any:
        """Memory for what a step of so many environments keeps, with a memory of friction or without: that of an
        earlier step of as many, or new. Fresh memory costs as much time as what is written to it.
        """
        while self._free:
            of, trace = self._free.pop()
            if of == (count, remembers):
                return trace
        return self._new_trace(count, remembers)

    def give_back(self, count: int, remembers: bool, trace: Any) -> None:
        """Takes memory back that nothing needs any more."""
        self._free.append(((count, remembers), trace))

    def _new_trace(self, count: int, remembers: bool) -> Any:
        """Memory for what a step keeps."""
        sizes, types, robot = self.robot.sizes, self.robot.types, self.robot.tables
        steps, substeps = robot.decimation, robot.solver.substeps
        rows, contacts = sizes.joints + 3 * sizes.max_contacts, max(1, sizes.max_contacts)
        shapes = {
            "records": (count, steps + 1),
            "bodies": (count, steps + 1, sizes.bodies),
            "grounds": (count, max(1, sizes.slots)),
            "contacts": (count, steps, contacts),
            "responses": (count, steps, sizes.bodies),
            "whitened_rows": (count, steps, max(1, rows)),
            "inverse_factor": (count, steps, sizes.velocities),
            "inverse_factor_columns": (count, steps, sizes.velocities),
            "rows": (count, steps, substeps + 1, max(1, rows)),
            "solved": (count, steps, substeps, 2 + sizes.joints + sizes.max_contacts),
            "joint_pos": (count, steps, substeps + 1, max(1, sizes.joints)),
            "drives": (count, steps, substeps + 1, sizes.drives),
        }
        if remembers:
            shapes["anchors"] = (count, steps, substeps + 1, contacts)
            shapes["memory"] = (count, steps + 1, sizes.slots, VECTORS)
        trace = types.trace()
        for name, shape in shapes.items():
            dtype = types.trace.vars[name].type.dtype
            setattr(trace, name, wp.empty(shape, dtype=dtype, device=self.robot.device))
        return trace


class _RowGradients:
    """Memory into which the adjoint writes derivatives by parameters of environments, all of one piece: arrays of Warp
    take a hundredth of a step to make, each.
    """

    def __init__(self, count: int, shapes: dict[str, torch.Size], robot: RobotKernel):
        self.count, self.shapes = count, shapes
        self._sizes = [count * math.prod(shape) for shape in shapes.values()]
        self._memory = torch.zeros(sum(self._sizes), dtype=torch.float32, device=wp.device_to_torch(robot.device))
        # What is not written, as it has no derivative, stays zero.
        self.arrays = robot.no_parameters
        if shapes:
            self.arrays = parameter_rows(PhysicalParameters(**self._parts(self._memory)), robot.device)

    def copies(self) -> dict[str, Tensor]:
        """What was written, by name of the parameter, each of shape (count, ...)."""
        return self._parts(self._memory.clone())

    def _parts(self, memory: Tensor) -> dict[str, Tensor]:
        parts = zip(self.shapes.items(), memory.split(self._sizes), strict=True)
        return {name: part.view(self.count, *shape) for (name, shape), part in parts}


class _Lease:
    """Memory in use, as long as the graph of a step is there, and what its kernels read."""

    def __init__(self, owner: RobotGradient, count: int, remembers: bool, arguments: list[Any]):
        self._owner, self._kind, self.arguments = owner, (count, remembers), arguments
        self.trace = owner.take_trace(count, remembers)

    def __del__(self):
        """Gives the memory back."""
        if hasattr(self, "trace"):
            self._owner.give_back(*self._kind, self.trace)


class _Step(torch.autograd.Function):
    """A control step, and its adjoint."""

    @staticmethod
    def forward(
        ctx: Any,
        owner: RobotGradient,
        active: Tensor,
        names: tuple[str, ...],
        memory: Tensor | None,
        *tensors: Tensor,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """See :meth:`RobotGradient.keep`."""
        rows = PhysicalParameters(**dict(zip(names, tensors[SHARED:], strict=True)))
        next_state, after, lease = owner.keep(tensors[:SHARED], active, rows, memory)
        ctx.owner, ctx.names, ctx.lease = owner, names, lease if traces_are_kept() else None
        ctx.save_for_backward(active, memory, *tensors)
        return next_state if after is None else (next_state, after)

    @staticmethod
    def backward(ctx: Any, *by: Tensor) -> Any:
        """See :meth:`RobotGradient.pull`."""
        if torch.is_grad_enabled():
            raise RuntimeError(
                "got create_graph=True for a step by the kernel of mechanics, expected first derivatives only: set "
                "NERD_FUSED=0, which leaves mechanics to PyTorch, for second ones"
            )
        active, memory, *tensors = ctx.saved_tensors
        shared, needed = tuple(tensors[:SHARED]), ctx.needs_input_grad[4:]
        rows = PhysicalParameters(**dict(zip(ctx.names, tensors[SHARED:], strict=True)))
        lease = ctx.lease or ctx.owner.keep(shared, active, rows, memory)[2]
        wanted = tuple(name for name, each in zip(ctx.names, needed[SHARED:], strict=True) if each)
        wants_weights = any(needed[SHARED - 3 : SHARED])
        by_memory = None if memory is None else by[1]
        found = iter(ctx.owner.pull(shared, rows, lease, by[0], wants_weights, wanted, by_memory))
        of_tensors = [each if wants else None for each, wants in zip(islice(found, SHARED), needed, strict=False)]
        of_rows = [next(found) if wants else None for wants in needed[SHARED:]]
        return None, None, None, next(found, None), *of_tensors, *of_rows


__all__ = ["RobotGradient"]
