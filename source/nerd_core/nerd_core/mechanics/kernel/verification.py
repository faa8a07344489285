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
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ...contact.contacts import Contacts
from ...files.messages import first_line
from ...robot.spec import RobotSpec
from ..constraint_solver import ConstraintSolver

if TYPE_CHECKING:
    from .adjoint.robot import RobotGradient
    from .robot import RobotKernel

logger = logging.getLogger(__name__)

SWITCH = "NERD_FUSED"
"""Environment variable; 0 leaves mechanics to PyTorch."""

TRIAL_STATES = 64
"""States on which a kernel has to agree with PyTorch before it is used."""

LARGEST_DIFFERENCE = 1.0e-3
"""Largest difference in half of them, beside one and the size of the number. Rounding makes a hundredth of that."""

LARGEST_GRADIENT_DIFFERENCE = 1.0e-2
"""Largest difference of derivatives in half of these states, as a share of their size. Rounding makes a thousandth of
that."""

Step = Callable[[Tensor, Tensor, "Contacts | None"], Tensor]


def verified_kernel(
    spec: RobotSpec, solver: ConstraintSolver, ramp_mean: float, state: Tensor, control: Tensor, reference: Step
) -> RobotKernel | None:
    """The kernel of one robot on one device, after it has agreed with PyTorch there; else None, with a warning that
    says why.

    Args:
        spec: The robot.
        solver: Its solver of contacts, stops and drives.
        ramp_mean: Share of a change of velocity that acts in the mean over a physics step.
        state: Some states, shape (M, S).
        control: Efforts for them, shape (M, C).
        reference: The step in PyTorch, with the arguments and the result of the kernel.
    """
    if os.environ.get(SWITCH) == "0":
        return None
    try:
        from .robot import RobotKernel
    except ModuleNotFoundError:
        _warn_once("there is no Warp (pip install warp-lang)")
        return None
    except Exception as error:  # another Warp than the one this was written for may fail in many ways
        _warn_once(f"Warp is not the one expected ({first_line(error)})")
        return None
    try:
        robot = RobotKernel(spec, solver, ramp_mean, state.device)
        apart = _typical_difference(robot, reference, *_trial(spec, solver, state, control))
    except Exception as error:  # so may compilers and drivers
        _warn_once(f"no kernel was made for '{spec.name}' on {state.device} ({first_line(error)})")
        return None
    if apart < LARGEST_DIFFERENCE:
        return robot
    _warn_once(
        f"the kernel for '{spec.name}' on {state.device} is off by {apart:.1g}, expected less than "
        f"{LARGEST_DIFFERENCE:.1g}; please report this ({SWITCH}=0 leaves mechanics to PyTorch without a word)"
    )
    return None


def verified_gradient(
    spec: RobotSpec, robot: RobotKernel, state: Tensor, control: Tensor, reference: Step
) -> RobotGradient | None:
    """The step with gradients of a kernel that agrees with PyTorch, after its derivatives have agreed, too; else None,
    with a warning that says why.

    Args:
        spec: The robot.
        robot: Its kernel.
        state: Some states, shape (M, S).
        control: Controls for them, shape (M, C).
        reference: The step in PyTorch.
    """
    try:
        from .adjoint.robot import RobotGradient

        found = RobotGradient(robot)
        apart = _gradient_difference(found, reference, *_trial(spec, robot.solver, state, control))
    except Exception as error:
        _warn_once(f"no adjoint of the kernel was made for '{spec.name}' ({first_line(error)})", "gradients")
        return None
    if apart < LARGEST_GRADIENT_DIFFERENCE:
        return found
    _warn_once(
        f"those of the kernel for '{spec.name}' on {state.device} are off by {apart:.1g} of their size, expected less "
        f"than {LARGEST_GRADIENT_DIFFERENCE:.1g}; please report this ({SWITCH}=0 leaves mechanics to PyTorch without a "
        "word)",
        "gradients",
    )
    return None


def differentiated_otherwise() -> bool:
    """Whether derivatives are taken that ``no_grad`` does not switch off: forward mode, or transforms of functions."""
    return torch.autograd.forward_ad._current_level >= 0 or torch._C._are_functorch_transforms_active()


def _trial(
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


def _typical_difference(
    robot: RobotKernel, reference: Step, state: Tensor, control: Tensor, contacts: Contacts | None
) -> float:
    """Largest difference of the kernel from PyTorch in an environment, in the median: single ones may differ, for
    where a foot almost slips rounding decides whether it does.
    """
    with torch.autocast(state.device.type, enabled=False), torch.no_grad():
        expected = reference(state, control, contacts)
    apart = (robot(state, control, contacts) - expected).abs() / (1.0 + expected.abs())
    return float(apart.amax(-1).nan_to_num(math.inf).median())


def _gradient_difference(
    found: RobotGradient, reference: Step, state: Tensor, control: Tensor, contacts: Contacts | None
) -> float:
    """Difference of derivatives from those of PyTorch as a share of their size: by states, controls and contacts in the
    median of all environments, and by what is learned in those that are no further apart; the larger of both.
    """
    learned = [each for each in found.robot.solver.parameters() if each.requires_grad]
    weights = torch.randn(state.shape, generator=torch.Generator().manual_seed(0)).to(state)

    def derivatives(step: Step, counted: Tensor) -> tuple[list[Tensor], Tensor]:
        inputs = [each.detach().requires_grad_() for each in (state, control)]
        touching = None if contacts is None else contacts.map(lambda x: x if x.dtype == torch.bool else _leaf(x))
        inputs += [] if touching is None else [touching.distance, touching.normal]
        said = (step(inputs[0], inputs[1], touching) * weights * counted).sum()
        by = torch.autograd.grad(said, [*inputs, *learned], allow_unused=True)
        by = [torch.zeros_like(x) if each is None else each for x, each in zip([*inputs, *learned], by, strict=True)]
        of_learned = by[len(inputs) :]
        return by[: len(inputs)], torch.cat([x.flatten() for x in of_learned]) if learned else state.new_zeros(0)

    with torch.autocast(state.device.type, enabled=False), torch.enable_grad():
        everywhere = torch.ones_like(state[:, :1])
        ours, theirs = derivatives(found, everywhere)[0], derivatives(reference, everywhere)[0]
        whole = torch.stack([each.flatten(1).norm(dim=-1) for each in theirs]).norm(dim=0)
        apart = torch.zeros_like(whole)
        for a, b in zip(ours, theirs, strict=True):
            size = b.flatten(1).norm(dim=-1) + 1.0e-3 * whole
            apart = apart.maximum((a - b).flatten(1).norm(dim=-1) / size.clamp(min=1.0e-30))
        apart = apart.nan_to_num(math.inf)
        typical = apart.median()
        counted = (apart <= typical).to(state).unsqueeze(-1)
        a, b = derivatives(found, counted)[1], derivatives(reference, counted)[1]
    of_learned = (a - b).norm() / b.norm().clamp(min=1.0e-30) if len(learned) else typical
    return max(float(typical), float(of_learned.nan_to_num(math.inf)))


def _leaf(values: Tensor) -> Tensor:
    """The same numbers, by which derivatives are taken."""
    return values.detach().requires_grad_()


_warned: set[str] = set()


def _warn_once(reason: str, what: str = "mechanics") -> None:
    """Warns once in a process."""
    if reason not in _warned:
        _warned.add(reason)
        whose = "mechanics" if what == "mechanics" else f"{what} of mechanics"
        logger.warning("%s are left to PyTorch, which is several times slower: %s", whose, reason)


__all__ = ["TRIAL_STATES", "SWITCH", "Step", "differentiated_otherwise", "verified_gradient", "verified_kernel"]
