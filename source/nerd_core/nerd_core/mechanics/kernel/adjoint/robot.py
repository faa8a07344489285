# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The step of one robot as a function of PyTorch with a gradient: the kernel that keeps its trace, and its adjoint."""

from __future__ import annotations

from itertools import islice
from typing import Any

import torch
import warp as wp
from torch import Tensor

from ....contact.contacts import Contacts
from ....robot.physical_parameters import PhysicalParameters
from ...kept_traces import traces_are_kept
from ..launcher import ENVS_A_LAUNCH
from ..physical_parameters import parameter_rows
from ..robot import RobotKernel
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
        self._free: list[tuple[int, Any]] = []
        robot.load(self._kept)
        robot.load(self._adjoint)

    def __call__(
        self, state: Tensor, control: Tensor, contacts: Contacts | None, rows: PhysicalParameters | None = None
    ) -> Tensor:
        """States at the end of a control step, with a graph; arguments as of :class:`RobotKernel`."""
        distance, normal, active = self.robot.contact_tensors(contacts)
        inner, outer = self.robot.rules()
        constants = self.robot.solver.constants.exp()
        tensors = state, control, distance, normal, constants, inner, outer
        names = () if rows is None else rows.given
        found: Any = _Step.apply(self, active, names, *tensors, *(getattr(rows, name) for name in names))
        return found

    def keep(self, tensors: tuple[Tensor, ...], active: Tensor, rows: PhysicalParameters) -> tuple[Tensor, _Lease]:
        """The next states, and what their adjoint needs.

        Args:
            tensors: What :meth:`RobotKernel.arguments` takes.
            active: Whether there is any ground below slots.
            rows: Physical parameters.
        """
        lease = _Lease(self, len(tensors[0]))
        next_state = torch.empty_like(tensors[0])
        self.robot.launch(
            self._kept,
            len(next_state),
            [*self.robot.arguments(tensors, active, rows), lease.trace, next_state, self.robot.no_forces],
        )
        return next_state, lease

    def pull(
        self,
        tensors: tuple[Tensor, ...],
        active: Tensor,
        rows: PhysicalParameters,
        lease: _Lease,
        by_next: Tensor,
        wants_weights: bool,
        wanted: tuple[str, ...] = (),
    ) -> tuple[Tensor, ...]:
        """Derivatives by all of ``tensors``, those by constants and rules zero where they are not wanted, and by the
        parameters that are.

        Args:
            tensors: What :meth:`keep` had.
            active: The same.
            rows: The same.
            lease: What it kept.
            by_next: Derivatives by the next states.
            wants_weights: Whether those by constants and rules are wanted.
            wanted: Names of the parameters.
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
        by_rows = {name: state.new_zeros(count, *getattr(rows, name).shape[1:]) for name in wanted}
        gradients.parameters = self.robot.no_parameters
        if wanted:
            gradients.parameters = parameter_rows(PhysicalParameters(**by_rows), self.robot.device)
        gradients.wants_weights, gradients.chunk_size = int(wants_weights), ENVS_A_LAUNCH
        arguments = [
            *self.robot.arguments(tensors, active, rows),
            lease.trace,
            wp.from_torch(by_next.contiguous()),
            gradients,
        ]
        self.robot.launch(self._adjoint, count, arguments)
        of_rows = [
            each if len(getattr(rows, name)) > 1 else each.sum(0, keepdim=True) for name, each in by_rows.items()
        ]
        return *found, *(each.sum(0) for each in shared), *of_rows

    def take_trace(self, count: int) -> Any:
        """Memory for what a step of so many environments keeps: that of an earlier step of as many, or new. Fresh
        memory costs as much time as what is written to it.
        """
        while self._free:
            of, trace = self._free.pop()
            if of == count:
                return trace
        return self._new_trace(count)

    def give_back(self, count: int, trace: Any) -> None:
        """Takes memory back that nothing needs any more."""
        self._free.append((count, trace))

    def _new_trace(self, count: int) -> Any:
        """Memory for what a step keeps."""
        sizes, types, robot = self.robot.sizes, self.robot.types, self.robot.tables
        steps, substeps = robot.decimation, robot.solver.substeps
        rows, contacts = sizes.joints + 3 * sizes.max_contacts, max(1, sizes.max_contacts)
        shapes = {
            "records": (count, steps + 1),
            "bodies": (count, steps + 1, sizes.bodies),
            "grounds": (count, max(1, sizes.slots)),
            "contacts": (count, steps, contacts),
            "whitened_rows": (count, steps, max(1, rows)),
            "inverse_factor": (count, steps, sizes.velocities),
            "inverse_factor_columns": (count, steps, sizes.velocities),
            "rows": (count, steps, substeps + 1, max(1, rows)),
            "solved": (count, steps, substeps, 2 + sizes.joints + sizes.max_contacts),
            "joint_pos": (count, steps, substeps + 1, max(1, sizes.joints)),
            "drives": (count, steps, substeps + 1, sizes.drives),
        }
        trace = types.trace()
        for name, shape in shapes.items():
            dtype = types.trace.vars[name].type.dtype
            setattr(trace, name, wp.empty(shape, dtype=dtype, device=self.robot.device))
        return trace


class _Lease:
    """Memory in use, as long as the graph of a step is there."""

    def __init__(self, owner: RobotGradient, count: int):
        self._owner, self._count, self.trace = owner, count, owner.take_trace(count)

    def __del__(self):
        """Gives the memory back."""
        if hasattr(self, "trace"):
            self._owner.give_back(self._count, self.trace)


class _Step(torch.autograd.Function):
    """A control step, and its adjoint."""

    @staticmethod
    def forward(ctx: Any, owner: RobotGradient, active: Tensor, names: tuple[str, ...], *tensors: Tensor) -> Tensor:
        """See :meth:`RobotGradient.keep`."""
        rows = PhysicalParameters(**dict(zip(names, tensors[SHARED:], strict=True)))
        next_state, lease = owner.keep(tensors[:SHARED], active, rows)
        ctx.owner, ctx.names, ctx.lease = owner, names, lease if traces_are_kept() else None
        ctx.save_for_backward(active, *tensors)
        return next_state

    @staticmethod
    def backward(ctx: Any, *by: Tensor) -> Any:
        """See :meth:`RobotGradient.pull`."""
        if torch.is_grad_enabled():
            raise RuntimeError(
                "got create_graph=True for a step by the kernel of mechanics, expected first derivatives only: set "
                "NERD_FUSED=0, which leaves mechanics to PyTorch, for second ones"
            )
        active, *tensors = ctx.saved_tensors
        shared, needed = tuple(tensors[:SHARED]), ctx.needs_input_grad[3:]
        rows = PhysicalParameters(**dict(zip(ctx.names, tensors[SHARED:], strict=True)))
        lease = ctx.lease or ctx.owner.keep(shared, active, rows)[1]
        wanted = tuple(name for name, each in zip(ctx.names, needed[SHARED:], strict=True) if each)
        wants_weights = any(needed[SHARED - 3 : SHARED])
        found = iter(ctx.owner.pull(shared, active, rows, lease, by[0], wants_weights, wanted))
        of_tensors = [each if wants else None for each, wants in zip(islice(found, SHARED), needed, strict=False)]
        return None, None, None, *of_tensors, *(next(found) if wants else None for wants in needed[SHARED:])


__all__ = ["RobotGradient"]
