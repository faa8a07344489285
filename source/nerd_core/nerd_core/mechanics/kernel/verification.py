# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Mechanics in one kernel: the step of :class:`~nerd_core.mechanics.Mechanics`, compiled by Warp for the processor or a
GPU, without gradients.

PyTorch takes some three thousand small operations for a step, each over all environments; here a thread takes one
environment through all of it, and leaves out what touches nothing. This is the only place that knows Warp, which Isaac
Lab brings; without it, and for gradients, PyTorch steps.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..contact_solver import ContactSolver
from ..contacts import Contacts
from ..spec import RobotSpec

if TYPE_CHECKING:
    from .robot import FusedRobot

logger = logging.getLogger(__name__)

SWITCH = "NERD_FUSED"
"""Environment variable; 0 leaves mechanics to PyTorch."""

ENOUGH = 64
"""States on which a kernel has to agree with PyTorch before it is used."""

AGREED = 1.0e-3
"""Largest difference in half of them, beside one and the size of the number. Rounding makes a hundredth of that."""

Formula = Callable[[Tensor, Tensor, "Contacts | None"], Tensor]


def proved_robot(
    spec: RobotSpec, solver: ContactSolver, late: float, state: Tensor, control: Tensor, formula: Formula
) -> FusedRobot | None:
    """The kernel of one robot on one device, after it has agreed with PyTorch there; else None, with the reason said.

    Args:
        spec: The robot.
        solver: Its solver of contacts, stops and drives.
        late: Share of a change of velocity that acts in the mean over a physics step.
        state: Some states, shape (M, S).
        control: Efforts for them, shape (M, C).
        formula: What PyTorch says of a step, as the kernel does.
    """
    if os.environ.get(SWITCH) == "0":
        return None
    try:
        from .robot import FusedRobot
    except ModuleNotFoundError:
        _tell("there is no Warp (pip install warp-lang)")
        return None
    except Exception as error:  # another Warp than the one this was written for may fail in many ways
        _tell(f"Warp is not the one expected ({_first_line(error)})")
        return None
    try:
        robot = FusedRobot(spec, solver, late, state.device)
        apart = _typical_difference(robot, formula, *_trial(spec, solver, state, control))
    except Exception as error:  # so may compilers and drivers
        _tell(f"no kernel was made for '{spec.name}' on {state.device} ({_first_line(error)})")
        return None
    if apart < AGREED:
        return robot
    _tell(
        f"the kernel for '{spec.name}' on {state.device} is off by {apart:.1g}, expected less than {AGREED:.1g}; "
        f"please report this ({SWITCH}=0 leaves mechanics to PyTorch without a word)"
    )
    return None


def differentiated_otherwise() -> bool:
    """Whether derivatives are taken that ``no_grad`` does not switch off: forward mode, or transforms of functions."""
    return torch.autograd.forward_ad._current_level >= 0 or torch._C._are_functorch_transforms_active()


def _trial(
    spec: RobotSpec, solver: ContactSolver, state: Tensor, control: Tensor
) -> tuple[Tensor, Tensor, Contacts | None]:
    """Some states as they are, and again with their joints at stops; in two of three some slots touch the ground."""
    order, stopped = solver.joints.argsort(), state.clone()
    lower, upper = (limit.flatten()[order].nan_to_num(0.0, 0.0, 0.0) for limit in (solver.lower, solver.upper))
    joint_pos = stopped[:, spec.state.joint_pos]
    joint_pos.copy_(torch.where(joint_pos < 0.0, lower, upper))
    state, control = torch.cat((state, stopped)), control.repeat(2, 1)
    if not solver.touching:
        return state, control, None
    radius = torch.tensor([slot.radius for slot in spec.slots], device=state.device)
    environment, slot = torch.arange(len(state), device=state.device), torch.arange(len(radius), device=state.device)
    gap = 0.004 * ((3 * environment[:, None] + slot) % 7) - 0.002 + 0.1 * (environment[:, None] % 3 == 0)
    normal = torch.tensor([0.0, 0.0, 1.0], device=state.device).repeat(*gap.shape, 1)
    return state, control, Contacts(radius + gap, normal, torch.zeros_like(normal), torch.ones_like(gap).bool())


def _typical_difference(
    robot: FusedRobot, formula: Formula, state: Tensor, control: Tensor, contacts: Contacts | None
) -> float:
    """Largest difference of the kernel from PyTorch in an environment, in the median: single ones may differ, for
    where a foot almost slips rounding decides whether it does.
    """
    with torch.autocast(state.device.type, enabled=False):
        said = formula(state, control, contacts)
    apart = (robot(state, control, contacts) - said).abs() / (1.0 + said.abs())
    return float(apart.amax(-1).nan_to_num(math.inf).median())


_told: set[str] = set()


def _tell(reason: str) -> None:
    """Warns once in a process."""
    if reason not in _told:
        _told.add(reason)
        logger.warning("mechanics are left to PyTorch, which is several times slower: %s", reason)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


__all__ = ["ENOUGH", "SWITCH", "differentiated_otherwise", "proved_robot"]
