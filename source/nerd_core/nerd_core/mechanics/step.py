# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""One control step of a robot by the laws of mechanics, with contacts and stops by rules that are learned.

The laws, and the step in PyTorch, stand in :mod:`nerd_core.mechanics.torch_step`. In single precision one kernel takes
the same step, and another pulls gradients back through it (:mod:`nerd_core.mechanics.kernel`). Which of them takes a
step is chosen here.

Example::

    mechanics = Mechanics(spec, ChangeCodec(spec), MechanicsCfg(substeps=4))
    change = mechanics(state, control, contacts)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..contact.contacts import Contacts
from ..robot.change_gradient import encoded
from ..robot.frames import ChangeCodec
from ..robot.physical_parameters import PhysicalParameters
from ..robot.spec import RobotSpec
from .altered import altered
from .config import MechanicsCfg
from .constraint_laws import smooth_share
from .constraint_solver import ConstraintSolver
from .forces import BodyForces, ForceRecorder
from .friction_anchors import MEMORY_DIM
from .kernel.adjoint.verification import verified_gradient
from .kernel.verification import (
    OF_DRIVES,
    TRIAL_STATES,
    Step,
    StepWithMemory,
    differentiated_otherwise,
    kernels_rest,
    trial_parameters,
    verified_kernel,
    warn_once,
)
from .torch_step import TorchMechanics

if TYPE_CHECKING:
    from .kernel.adjoint.robot import RobotGradient
    from .kernel.robot import RobotKernel


class Mechanics(TorchMechanics):
    """The mechanics of one robot, by kernels where they can take a step."""

    def __init__(self, spec: RobotSpec, codec: ChangeCodec, cfg: MechanicsCfg, has_contacts: bool = True):
        """Looks up masses, drives and efforts. Raises ValueError for joints that feel forces it does not know.

        Args:
            spec: The robot, with the inertias of its bodies.
            codec: Writes changes of state.
            cfg: Settings.
            has_contacts: Whether the robot may touch the ground; otherwise the solver looks at joints only.
        """
        super().__init__(spec, codec, cfg, has_contacts)
        self._kernels: dict[tuple[torch.device, bool | None], RobotKernel | None] = {}
        """Kernels by device, and by whether drives are other than the specification's; None for one without parameters
        at all."""
        self._gradients: dict[tuple[torch.device, bool | None], RobotGradient | None] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Copies make kernels of their own."""
        return {**self.__dict__, "_kernels": {}, "_gradients": {}}

    def forward(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None = None,
        parameters: PhysicalParameters | None = None,
    ) -> Tensor:
        """The change of state, not normalised.

        Args:
            state: States, shape (..., S).
            control: Efforts held over the step [N m or N], shape (..., C).
            contacts: Contacts of ``state`` of all slots. None only for a robot that touches nothing.
            parameters: What differs from the specification.

        Returns:
            Shape (..., D).
        """
        lead, state, control, contacts, rows = self._flat(state, control, contacts, parameters)
        step = self._step_for(state, control, contacts, rows)
        next_state = step(state, control, contacts)
        return self._change(state, next_state, self._encode_of(step)).reshape(*lead, self.codec.dim)

    def with_forces(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None = None,
        parameters: PhysicalParameters | None = None,
        joints: bool = True,
        memory: Tensor | None = None,
    ) -> tuple[Tensor, BodyForces]:
        """The change of state, and the forces that made it, with what joints carry if that is asked for; the other
        arguments are those of :meth:`forward` and :meth:`remembering`. Forces have no gradients where the kernel takes
        the step.
        """
        lead, state, control, contacts, rows = self._flat(state, control, contacts, parameters)
        next_state, forces = self._taken_with_forces(state, control, contacts, rows, joints, memory)
        change = self._change(state, next_state).reshape(*lead, self.codec.dim)
        return change, forces.map(lambda each: each.reshape(*lead, *each.shape[1:]))

    @property
    def has_memory(self) -> bool:
        """Whether friction keeps its anchors from step to step, see :mod:`nerd_core.mechanics.friction_anchors`."""
        return isinstance(self.solver, ConstraintSolver) and self.solver.has_memory

    def new_memory(self, count: int, like: Tensor) -> Tensor:
        """The memory of friction of so many environments that nothing has touched yet, shape (count, K, 15).

        Args:
            count: Environments.
            like: A tensor on the device and of the type of states.
        """
        return like.new_zeros(count, len(self.solver.contacts.slots), MEMORY_DIM)

    @torch.no_grad()
    def remembering(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        memory: Tensor,
        parameters: PhysicalParameters | None = None,
    ) -> Tensor:
        """The change of state with a memory of friction, which is changed in place. Without gradients.

        Args:
            state: States, shape (M, S).
            control: Efforts held over the step [N m or N], shape (M, C).
            contacts: Contacts of ``state`` of all slots.
            memory: What the step before left, or :meth:`new_memory`, shape (M, K, 15).
            parameters: What differs from the specification.
        """
        _, state, control, contacts, rows = self._flat(state, control, contacts, parameters)
        kernel = self._kernel_for(state, control, contacts, rows)
        if kernel is not None:
            return self._change(state, kernel(state, control, contacts, rows, memory))
        own = self if rows is None else self.with_parameters(rows)
        return self._change(state, own._next_state(state, control, contacts, memory=memory))

    def with_memory(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        memory: Tensor,
        parameters: PhysicalParameters | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The change of state with a memory of friction, and the memory after it, of shapes (..., D) and (..., K, 15).
        Gradients flow through both, and to the memory before; nothing is changed in place.

        Args:
            state: States, shape (..., S).
            control: Efforts held over the step [N m or N], shape (..., C).
            contacts: Contacts of ``state`` of all slots.
            memory: What the step before left, or :meth:`new_memory`, shape (..., K, 15).
            parameters: What differs from the specification.
        """
        lead, state, control, contacts, rows = self._flat(state, control, contacts, parameters)
        memory = memory.reshape(len(state), *memory.shape[-2:])
        step = self._step_with_memory(state, control, contacts, memory, rows)
        next_state, after = step(state, control, contacts, memory)
        change = self._change(state, next_state, self._encode_of(step))
        return change.reshape(*lead, -1), after.reshape(*lead, *after.shape[1:])

    def smoothed(self, smoothing_time: float) -> Mechanics:
        """The same mechanics with smoother contacts, see :attr:`MechanicsCfg.smoothing_time`; weights are shared."""
        if not isinstance(self.solver, ConstraintSolver):
            return self  # contacts that give way are smooth
        share = smooth_share(self.spec.physics_dt / self.solver.substeps, smoothing_time)
        return altered(self, {}, {"solver": altered(self.solver, {}, smooth_share=share)}, _kernels={}, _gradients={})

    def update_statistics(self, state: Tensor, control: Tensor, contacts: Contacts | None) -> None:
        """Takes transitions of the training data into the units of what networks inside see: here there are none."""

    def finalise_statistics(self) -> None:
        """Fixes those units."""

    def penalty(self) -> Tensor | float:
        """What networks inside add to the loss."""
        return 0.0

    def _flat(
        self, state: Tensor, control: Tensor, contacts: Contacts | None, parameters: PhysicalParameters | None
    ) -> tuple[torch.Size, Tensor, Tensor, Contacts | None, PhysicalParameters | None]:
        """The leading dimensions of states, and everything with one of them; parameters as rows, None for none."""
        lead, rows = state.shape[:-1], None
        if parameters is not None and parameters.given:
            rows = parameters.rows(self.spec, lead, state)
        state = state.reshape(-1, self.spec.state.dim)
        return lead, state, self._flat_control(control, state.shape[0]), self._contacts_of(state, contacts), rows

    def _flat_control(self, control: Tensor, count: int) -> Tensor:
        """Controls as a step takes them, shape (M, C), of ``count`` states."""
        return control.reshape(count, self._effort_matrix.shape[1])

    def _contacts_of(self, state: Tensor, contacts: Contacts | None) -> Contacts | None:
        """Contacts with the leading dimension of states (M, S); None for a robot that touches nothing."""
        if not self.solver.max_contacts:
            return None
        count, slots, name = state.shape[0], len(self.spec.slots), self.spec.name
        if contacts is None:
            raise ValueError(f"got no contacts for the solver of '{name}', expected those of its {slots} slots")
        if contacts.distance.shape[-1:] != (slots,) or contacts.distance.numel() not in (slots, slots * count):
            raise ValueError(
                f"got contacts of shape {tuple(contacts.distance.shape)} for {count} states of '{name}', expected one "
                f"of {slots} slots for each state, or one for all"
            )
        contacts = contacts.reshape(-1)
        return contacts.map(lambda each: each.expand(count, *each.shape[1:])) if contacts.lead != (count,) else contacts

    def _step_for(
        self, state: Tensor, control: Tensor, contacts: Contacts | None, rows: PhysicalParameters | None
    ) -> Step:
        """What takes this step: the kernel where it can, with its adjoint where gradients are asked for, else
        PyTorch.
        """
        kernel = self._kernel_for(state, control, contacts, rows)
        if kernel is None:
            return self._torch_step(rows)
        if not self._wants_gradient(state, control, contacts, rows):
            return partial(kernel, rows=rows)
        gradient = self._gradient_for(kernel, state, control, rows)
        return self._torch_step(rows) if gradient is None else partial(gradient, rows=rows)

    def _step_with_memory(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        memory: Tensor,
        rows: PhysicalParameters | None,
    ) -> StepWithMemory:
        """What takes this step with a memory, as :meth:`_step_for`."""
        kernel = self._kernel_for(state, control, contacts, rows)
        if kernel is not None and memory.dtype == state.dtype:
            if not self._wants_gradient(state, control, contacts, rows, memory):
                return partial(kernel.with_memory, rows=rows)
            gradient = self._gradient_for(kernel, state, control, rows)
            if gradient is not None:
                return partial(gradient.with_memory, rows=rows)
        return self._torch_step_with_memory(rows)

    def _wants_gradient(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        rows: PhysicalParameters | None,
        *others: Tensor,
    ) -> bool:
        """Whether derivatives of a step are asked for, by anything that it is made of."""
        inputs = [state, control, *others, *self.solver.parameters()]
        inputs += [] if contacts is None else contacts.tensors()[:2]
        inputs += [] if rows is None else [getattr(rows, name) for name in rows.given]
        return torch.is_grad_enabled() and any(each.requires_grad for each in inputs)

    def _gradient_for(
        self, kernel: RobotKernel, state: Tensor, control: Tensor, rows: PhysicalParameters | None
    ) -> RobotGradient | None:
        """The kernel's adjoint, made and tried when it is asked for first; None where PyTorch differentiates."""
        kind = _kind(state, rows)
        if kind not in self._gradients:
            states, controls = _finite(state, control)
            if not len(states):
                return None  # there will be other states
            parameters = self._trial_parameters(state, kind)
            remembers = self._torch_step_with_memory if self.has_memory else None
            args = self.spec, kernel, states, controls, self._torch_step, parameters, remembers
            self._gradients[kind] = verified_gradient(*args)
        return self._gradients[kind]

    def _encode_of(self, step: Callable[..., Any]) -> Callable[[Tensor, Tensor], Tensor]:
        """What writes the changes of a step: behind the kernel's adjoint, which has first derivatives only, derivatives
        by hand.
        """
        made = getattr(step, "func", None)  # steps are partial functions of what was made for them
        made = getattr(made, "__self__", made)
        if any(each is made for each in self._gradients.values() if each is not None):
            return partial(encoded, self.codec)
        return self.codec.encode

    def _torch_step(self, rows: PhysicalParameters | None) -> Step:
        """The step in PyTorch."""
        return (self if rows is None else self.with_parameters(rows))._next_state

    def _torch_step_with_memory(self, rows: PhysicalParameters | None) -> StepWithMemory:
        """The step with a memory in PyTorch."""
        return (self if rows is None else self.with_parameters(rows))._with_memory

    def _trial_parameters(self, state: Tensor, kind: tuple[torch.device, bool | None]) -> PhysicalParameters | None:
        """Parameters by which kernels of a kind are tried."""
        drives = kind[1]
        return None if drives is None else trial_parameters(self.spec, drives).map(lambda each: each.to(state))

    def _taken_with_forces(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        rows: PhysicalParameters | None,
        joints: bool,
        memory: Tensor | None = None,
    ) -> tuple[Tensor, BodyForces]:
        """The states at the end of a control step, and the forces in it, of M environments."""
        kernel = None if torch.is_grad_enabled() else self._kernel_for(state, control, contacts, rows)
        is_asked = kernel is None or joints  # the kernel takes rows of parameters itself
        own = self.with_parameters(rows) if rows is not None and is_asked else self
        if kernel is not None:
            next_state, kept = kernel.with_forces(state, control, contacts, rows, memory)
        else:
            recorder = ForceRecorder(self.spec)
            next_state, kept = own._next_state(state, control, contacts, recorder, memory), recorder.kept()
        joint_wrenches = self._wrenches(own, kept, rows) if joints else ()
        return next_state, BodyForces(kept.normal, kept.friction, *joint_wrenches)

    def _unknown_to_kernels(self) -> str:
        """What of these mechanics no kernel knows; empty for nothing."""
        if self.actuators.source is not None or self.actuators.remembering:
            return "motors that remember, or whose efforts a task computes"
        if not isinstance(self.solver, ConstraintSolver):
            return "contacts that give way"
        return "smooth contacts" if self.solver.smooth_share < 1.0 else ""

    def _kernel_for(
        self, state: Tensor, control: Tensor, contacts: Contacts | None, rows: PhysicalParameters | None
    ) -> RobotKernel | None:
        """The kernel, if there is one and it can take this step: in single precision, and differentiated backwards at
        most.
        """
        if torch.compiler.is_compiling() or differentiated_otherwise() or kernels_rest():
            return None
        tensors = [state, control, self.solver.constants, *(() if contacts is None else contacts.tensors()[:2])]
        if any(each.dtype != torch.float32 or each.device != state.device for each in tensors):
            return None
        strange = self._unknown_to_kernels()
        if strange:
            warn_once(f"the kernel for '{self.spec.name}' does not know {strange}")
            return None
        assert isinstance(self.solver, ConstraintSolver)  # the others are not known
        kind = _kind(state, rows)
        if kind not in self._kernels:
            states, controls = _finite(state, control)
            if not len(states):
                return None  # there will be other states
            parameters = self._trial_parameters(state, kind)
            args = self.spec, self.solver, self._ramp_mean, states, controls
            remembering = self._torch_step_with_memory(parameters) if self.has_memory else None
            self._kernels[kind] = verified_kernel(*args, self._torch_step(parameters), parameters, remembering)
        return self._kernels[kind]


def _kind(state: Tensor, rows: PhysicalParameters | None) -> tuple[torch.device, bool | None]:
    """Which kernel a step takes: of a device, and whether drives are other than the specification's."""
    return state.device, None if rows is None else bool(OF_DRIVES & set(rows.given))


def _finite(state: Tensor, control: Tensor) -> tuple[Tensor, Tensor]:
    """The first of the states that are finite with their controls, for a trial."""
    finite = (state.isfinite().all(-1) & control.isfinite().all(-1)).nonzero().flatten()[:TRIAL_STATES]
    return state[finite].detach(), control[finite].detach()


__all__ = ["Mechanics"]
