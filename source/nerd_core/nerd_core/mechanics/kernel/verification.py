# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Whether the kernel of mechanics can be used: it is tried against PyTorch on some states before.

Without Warp, without a compiler, or where the kernel says something else than PyTorch, PyTorch steps, and one warning
says why. :data:`SWITCH` switches the kernel off.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ...contact.contacts import Contacts
from ...files.messages import first_line
from ...robot.physical_parameters import JOINT_FIELDS, PhysicalParameters, own_shape, specified
from ...robot.spec import RobotSpec
from ..constraint_solver import ConstraintSolver
from ..friction_anchors import MEMORY_DIM

if TYPE_CHECKING:
    from .robot import RobotKernel

logger = logging.getLogger(__name__)

SWITCH = "NERD_FUSED"
"""Environment variable; 0 leaves mechanics to PyTorch."""

TRIAL_STATES = 64
"""States on which a kernel has to agree with PyTorch before it is used."""

LARGEST_DIFFERENCE = 1.0e-3
"""Largest difference in half of them, beside one and the size of the number. Rounding makes a hundredth of that."""

MAX_VELOCITIES = 128
"""Most generalised velocities of a robot that a kernel is made for. What a thread keeps grows with their square."""

_kernels_rest = ContextVar("kernels_rest", default=False)

Step = Callable[[Tensor, Tensor, "Contacts | None"], Tensor]

StepWithMemory = Callable[[Tensor, Tensor, "Contacts | None", Tensor], tuple[Tensor, Tensor]]
"""A step of states, controls, contacts and a memory of friction: next states, and the memory after it."""


def verified_kernel(
    spec: RobotSpec,
    solver: ConstraintSolver,
    ramp_mean: float,
    state: Tensor,
    control: Tensor,
    reference: Step,
    parameters: PhysicalParameters | None = None,
    remembering: StepWithMemory | None = None,
) -> RobotKernel | None:
    """The kernel of one robot on one device, after it has agreed with PyTorch there; else None, with a warning that
    says why.

    Args:
        spec: The robot.
        solver: Its solver of contacts, stops and drives.
        ramp_mean: Share of a change of velocity that acts in the mean over a physics step.
        state: Some states, shape (M, S).
        control: Efforts for them, shape (M, C).
        reference: The step in PyTorch, with the arguments and the result of the kernel. It has the parameters.
        parameters: What differs from the specification, in one row, for a kernel that takes parameters.
        remembering: The step with a memory of friction in PyTorch, of a robot whose friction has one: the kernel has
            to agree about states and memories of two steps with one, too.
    """
    if os.environ.get(SWITCH) == "0":
        return None
    if solver.multibody.dim > MAX_VELOCITIES:
        warn_once(f"'{spec.name}' has {solver.multibody.dim} velocities, and a kernel takes {MAX_VELOCITIES} at most")
        return None
    try:
        from .robot import RobotKernel
    except ModuleNotFoundError:
        warn_once("there is no Warp (pip install warp-lang)")
        return None
    except Exception as error:  # another Warp than the one this was written for may fail in many ways
        warn_once(f"Warp is not the one expected ({first_line(error)})")
        return None
    try:
        robot = RobotKernel(spec, solver, ramp_mean, state.device, parameters)
        step = robot if parameters is None else partial(robot, rows=parameters)
        situated = trial(spec, solver, state, control)
        apart = _typical_difference(step, reference, *situated)
        if solver.contacts.own is not None:
            apart = max(apart, _typical_difference(step, reference, *_meeting_trial(spec, solver, state, control)))
        if remembering is not None:
            with_memory = partial(robot.with_memory, rows=parameters)
            nothing = state.new_zeros(len(situated[0]), len(solver.contacts.slots), MEMORY_DIM)
            apart = max(apart, _difference_with_memory(with_memory, remembering, nothing, *situated))
    except Exception as error:  # so may compilers and drivers
        warn_once(f"no kernel was made for '{spec.name}' on {state.device} ({first_line(error)})")
        return None
    if apart < LARGEST_DIFFERENCE:
        return robot
    warn_once(
        f"the kernel for '{spec.name}' on {state.device} is off by {apart:.1g}, expected less than "
        f"{LARGEST_DIFFERENCE:.1g}; please report this ({SWITCH}=0 leaves mechanics to PyTorch without a word)"
    )
    return None


OF_DRIVES = frozenset(JOINT_FIELDS) - {"armature", "lower_limit", "upper_limit"}
"""Parameters of what acts in joints beside efforts and stops, without which a kernel need not be made for drives."""


def trial_parameters(spec: RobotSpec, drives: bool) -> PhysicalParameters:
    """Parameters by which a kernel that takes them is tried: a little off the specification's, in one row.

    Args:
        spec: The robot.
        drives: Whether those of drives are among them.
    """
    own, values = specified(spec), {}
    for name in own.given:
        share = 1.1 if own_shape(spec, name)[:1] == (len(spec.bodies),) else 0.9
        if drives or name not in OF_DRIVES:
            values[name] = (1.0 if name in ("lower_limit", "upper_limit", "gravity") else share) * getattr(own, name)
    of_contacts = {"static_friction": 0.7, "dynamic_friction": 0.6, "restitution": 0.3, "bounce_threshold": 0.2}
    of_contacts |= {"external_force": 0.5, "external_torque": 0.1}
    values |= {name: torch.full(own_shape(spec, name), value) for name, value in of_contacts.items()}
    return PhysicalParameters(**values).map(lambda value: value.unsqueeze(0))


def differentiated_otherwise() -> bool:
    """Whether derivatives are taken that ``no_grad`` does not switch off: forward mode, or transforms of functions."""
    return torch.autograd.forward_ad._current_level >= 0 or torch._C._are_functorch_transforms_active()


@contextmanager
def without_kernels() -> Iterator[None]:
    """Within it mechanics take their steps in PyTorch."""
    token = _kernels_rest.set(True)
    try:
        yield
    finally:
        _kernels_rest.reset(token)


def kernels_rest() -> bool:
    """Whether this is within :func:`without_kernels`."""
    return _kernels_rest.get()


def trial(
    spec: RobotSpec, solver: ConstraintSolver, state: Tensor, control: Tensor
) -> tuple[Tensor, Tensor, Contacts | None]:
    """Some states as they are, and again with their joints at stops; in two of three some slots touch the ground."""
    order, stopped = solver.joints.argsort(), state.clone()
    lower, upper = (limit.flatten()[order].nan_to_num(0.0, 0.0, 0.0) for limit in (solver.lower, solver.upper))
    joint_pos = stopped[:, spec.state.joint_pos]
    joint_pos.copy_(torch.where(joint_pos < 0.0, lower, upper))
    state, control = torch.cat((state, stopped)), control.repeat(2, 1)
    if not solver.max_contacts:
        return state, control, None
    radius = torch.tensor([slot.radius for slot in spec.slots], device=state.device)
    environment, slot = torch.arange(len(state), device=state.device), torch.arange(len(radius), device=state.device)
    gap = 0.004 * ((3 * environment[:, None] + slot) % 7) - 0.002 + 0.1 * (environment[:, None] % 3 == 0)
    normal = torch.tensor([0.0, 0.0, 1.0], device=state.device).repeat(*gap.shape, 1)
    return state, control, Contacts(radius + gap, normal, torch.zeros_like(normal), torch.ones_like(gap).bool())


def _meeting_trial(
    spec: RobotSpec, solver: ConstraintSolver, state: Tensor, control: Tensor
) -> tuple[Tensor, Tensor, Contacts | None]:
    """States with their joints anywhere within their ranges in which bodies of the robot meet, those first that are
    least within each other; any where none meet.
    """
    own, order = solver.contacts.own, solver.joints.argsort()
    assert own is not None  # the caller has looked
    state = state.repeat(8, 1)
    lower, upper = (limit.flatten()[order].clamp(-math.pi, math.pi) for limit in (solver.lower, solver.upper))
    shares = torch.rand(len(state), len(order), generator=torch.Generator().manual_seed(0)).to(state)
    joint_pos = lower + shares * (upper - lower)
    state[:, spec.state.joint_pos] = joint_pos
    met = own.nearest(solver.multibody.frames(joint_pos))
    gap = met.gap.masked_fill(met.gap > met.reach, math.inf).amin(0)
    deepest = gap.masked_fill(gap == math.inf, -math.inf).argsort(descending=True)[:TRIAL_STATES]
    situated = trial(spec, solver, state[deepest], control[:1].expand(len(deepest), -1))
    state, control, contacts = situated
    count = len(deepest)  # the others have their joints at stops, and what not within each other
    return state[:count], control[:count], None if contacts is None else contacts[:count]


def _typical_difference(
    robot: Step, reference: Step, state: Tensor, control: Tensor, contacts: Contacts | None
) -> float:
    """Largest difference of the kernel from PyTorch in an environment, in the median: single ones may differ, for
    where a foot almost slips rounding decides whether it does.
    """
    with torch.autocast(state.device.type, enabled=False), torch.no_grad():
        expected = reference(state, control, contacts)
    return _in_the_median(robot(state, control, contacts), expected)


def _difference_with_memory(
    robot: StepWithMemory,
    reference: StepWithMemory,
    memory: Tensor,
    state: Tensor,
    control: Tensor,
    contacts: Contacts | None,
) -> float:
    """The same of states and memories of friction after a step that begins with an empty ``memory``, and after one that
    begins with where PyTorch has put down feet in that step: the larger one.
    """
    apart = 0.0
    for _ in range(2):
        with torch.autocast(state.device.type, enabled=False), torch.no_grad():
            expected = reference(state, control, contacts, memory)
        said = robot(state, control, contacts, memory)
        apart = max(apart, *(_in_the_median(a.flatten(1), b.flatten(1)) for a, b in zip(said, expected, strict=True)))
        memory = expected[1]
    return apart


def _in_the_median(said: Tensor, expected: Tensor) -> float:
    """Largest difference of numbers of an environment, each beside one and its size, in the median."""
    apart = (said - expected).abs() / (1.0 + expected.abs())
    return float(apart.amax(-1).nan_to_num(math.inf).median())


_warned: set[str] = set()


def warn_once(reason: str, what: str = "mechanics") -> None:
    """Warns once in a process; not where :data:`SWITCH` asks for PyTorch, which is then no surprise.

    Args:
        reason: Why the kernel is not used.
        what: What is left to PyTorch instead.
    """
    if reason not in _warned and os.environ.get(SWITCH) != "0":
        _warned.add(reason)
        logger.warning("%s are left to PyTorch, which is several times slower: %s", what, reason)


__all__ = [
    "OF_DRIVES",
    "SWITCH",
    "TRIAL_STATES",
    "Step",
    "StepWithMemory",
    "differentiated_otherwise",
    "kernels_rest",
    "trial",
    "trial_parameters",
    "verified_kernel",
    "warn_once",
    "without_kernels",
]
