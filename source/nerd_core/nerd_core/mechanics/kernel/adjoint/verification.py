# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Whether the adjoint of the kernel can be used: its derivatives are tried against those of PyTorch on some states
before. This file can be imported without Warp.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ....contact.contacts import Contacts
from ....files.messages import first_line
from ....robot.physical_parameters import PhysicalParameters
from ....robot.spec import RobotSpec
from ...constraint_solver import ConstraintSolver
from ...friction_anchors import MEMORY_DIM
from ..verification import SWITCH, Step, StepWithMemory, trial, warn_once

if TYPE_CHECKING:
    from ..robot import RobotKernel
    from .robot import RobotGradient

StepWith = Callable[["PhysicalParameters | None"], Step]
"""A step, given the rows of parameters."""

StepWithMemoryOf = Callable[["PhysicalParameters | None"], StepWithMemory]
"""A step with a memory of friction, given the rows of parameters."""

LARGEST_DIFFERENCE = 1.0e-2
"""Largest difference of derivatives in half of the states, as a share of their size. Rounding makes a thousandth of
that."""


def verified_gradient(
    spec: RobotSpec,
    robot: RobotKernel,
    state: Tensor,
    control: Tensor,
    reference: StepWith,
    parameters: PhysicalParameters | None = None,
    remembering: StepWithMemoryOf | None = None,
) -> RobotGradient | None:
    """The step with gradients of a kernel that agrees with PyTorch, after its derivatives have agreed, too; else None,
    with a warning that says why.

    Args:
        spec: The robot.
        robot: Its kernel.
        state: Some states, shape (M, S).
        control: Controls for them, shape (M, C).
        reference: The step in PyTorch, given the rows of parameters.
        parameters: What differs from the specification, in one row, for a kernel that takes parameters.
        remembering: The step with a memory in PyTorch, given the rows of parameters, of a robot whose friction has one:
            that one is tried then.
    """
    strange = unknown_contacts(robot.solver)
    if strange:
        warn_once(f"the adjoint of the kernel for '{spec.name}' does not know {strange}", "gradients of mechanics")
        return None
    try:
        from .robot import RobotGradient

        found = RobotGradient(robot)
        situated = trial(spec, robot.solver, state, control)
        rows = parameters or PhysicalParameters()
        if remembering is None:
            apart = _gradient_difference(found, reference, rows, *situated)
        else:
            memory = _trial_memory(robot, parameters, *situated)
            apart = _gradient_difference(found, remembering, rows, *situated, memory)
    except Exception as error:
        warn_once(
            f"no adjoint of the kernel was made for '{spec.name}' ({first_line(error)})", "gradients of mechanics"
        )
        return None
    if apart < LARGEST_DIFFERENCE:
        return found
    warn_once(
        f"those by the kernel for '{spec.name}' on {state.device} are off by {apart:.1g} of their size, expected less "
        f"than {LARGEST_DIFFERENCE:.1g}; please report this ({SWITCH}=0 leaves mechanics to PyTorch without a "
        "word)",
        "gradients of mechanics",
    )
    return None


def unknown_contacts(solver: ConstraintSolver) -> str:
    """What contacts of a robot are that the kernel knows and its adjoint does not; empty for nothing."""
    if solver.contacts.own is not None:
        return "contact between bodies of the robot"
    return "contacts that are patches" if solver.law.has_patches else ""


def _trial_memory(
    robot: RobotKernel,
    parameters: PhysicalParameters | None,
    state: Tensor,
    control: Tensor,
    contacts: Contacts | None,
) -> Tensor:
    """Where feet were put down a step before, shape (M, K, 15)."""
    nothing = state.new_zeros(len(state), robot.sizes.slots, MEMORY_DIM)
    rows = None if parameters is None else parameters.map(lambda x: x.expand(len(state), *x.shape[1:]))
    return robot.with_memory(state, control, contacts, nothing, rows)[1]


def _gradient_difference(
    found: RobotGradient,
    reference: StepWith | StepWithMemoryOf,
    parameters: PhysicalParameters,
    state: Tensor,
    control: Tensor,
    contacts: Contacts | None,
    memory: Tensor | None = None,
) -> float:
    """Difference of derivatives from those of PyTorch as a share of their size: by states, controls, contacts and
    physical parameters in the median of all environments, and by what is learned in those that are no further apart;
    the larger of both.
    """
    learned = [each for each in found.robot.solver.parameters() if each.requires_grad]
    remembered = () if memory is None else (memory,)
    generator = torch.Generator().manual_seed(0)
    weights = [torch.randn(each.shape, generator=generator).to(state) for each in (state, *remembered)]

    def ours(rows: PhysicalParameters | None) -> Callable[..., Any]:
        return partial(found if memory is None else found.with_memory, rows=rows)

    def derivatives(step: Callable[..., Any], counted: Tensor) -> tuple[list[Tensor], Tensor]:
        inputs = [each.detach().requires_grad_() for each in (state, control)]
        touching = None if contacts is None else contacts.map(lambda x: x if x.dtype == torch.bool else _leaf(x))
        before = [_leaf(each) for each in remembered]
        inputs += before if touching is None else [touching.distance, touching.normal, *before]
        rows = parameters.map(lambda x: _leaf(x.expand(len(state), *x.shape[1:])))
        inputs += [getattr(rows, name) for name in rows.given]
        taken = step(rows if rows.given else None)(inputs[0], inputs[1], touching, *before)
        parts = zip(taken if before else (taken,), weights, strict=True)
        said = [(each * weight).flatten(1).sum(1, keepdim=True) * counted for each, weight in parts]
        by = torch.autograd.grad(torch.stack(said).sum(), [*inputs, *learned], allow_unused=True)
        by = [torch.zeros_like(x) if each is None else each for x, each in zip([*inputs, *learned], by, strict=True)]
        of_learned, of_rows = by[len(inputs) :], len(inputs) - len(rows.given)
        if rows.inertia is not None:  # a symmetric matrix: what stands on either side of the diagonal counts together
            place = of_rows + rows.given.index("inertia")
            by[place] = by[place] + by[place].mT
        return by[: len(inputs)], torch.cat([x.flatten() for x in of_learned]) if learned else state.new_zeros(0)

    with torch.autocast(state.device.type, enabled=False), torch.enable_grad():
        everywhere = torch.ones_like(state[:, :1])
        by_kernel, by_torch = derivatives(ours, everywhere)[0], derivatives(reference, everywhere)[0]
        whole = torch.stack([_sizes(each) for each in by_torch]).norm(dim=0)
        apart = torch.zeros_like(whole)
        for a, b in zip(by_kernel, by_torch, strict=True):
            size = _sizes(b) + 1.0e-3 * whole
            apart = apart.maximum(_sizes(a - b) / size.clamp(min=1.0e-30))
        apart = apart.nan_to_num(math.inf)
        typical = apart.median()
        counted = (apart <= typical).to(state).unsqueeze(-1)
        a, b = derivatives(ours, counted)[1], derivatives(reference, counted)[1]
    of_learned = (a - b).norm() / b.norm().clamp(min=1.0e-30) if len(learned) else typical
    return max(float(typical), float(of_learned.nan_to_num(math.inf)))


def _sizes(values: Tensor) -> Tensor:
    """Length of all numbers of each environment, shape (M,)."""
    return values.reshape(len(values), -1).norm(dim=-1)


def _leaf(values: Tensor) -> Tensor:
    """The same numbers, by which derivatives are taken."""
    return values.detach().requires_grad_()


__all__ = ["LARGEST_DIFFERENCE", "verified_gradient"]
