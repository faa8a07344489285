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
import os
from typing import TYPE_CHECKING

import torch

from ..contact_solver import ContactSolver
from ..spec import RobotSpec

if TYPE_CHECKING:
    from .robot import FusedRobot

logger = logging.getLogger(__name__)

SWITCH = "NERD_FUSED"
"""Environment variable; 0 leaves mechanics to PyTorch."""


def fused_robot(spec: RobotSpec, solver: ContactSolver, late: float, device: torch.device) -> FusedRobot | None:
    """The kernel of one robot on one device; None where there is none, with the reason in the log.

    Args:
        spec: The robot.
        solver: Its solver of contacts, stops and drives.
        late: Share of a change of velocity that acts in the mean over a physics step.
        device: Where states live.
    """
    if os.environ.get(SWITCH) == "0":
        return None
    try:
        from .robot import FusedRobot
    except ImportError:
        logger.info("mechanics are left to PyTorch: there is no Warp, which makes them faster (pip install warp-lang)")
        return None
    try:
        return FusedRobot(spec, solver, late, device)
    except Exception as error:  # compilers and drivers raise kinds of their own
        logger.warning(
            "mechanics are left to PyTorch, which is several times slower: Warp made no kernel for '%s' on %s (%s)",
            *(spec.name, device, str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__),
        )
        return None


__all__ = ["SWITCH", "fused_robot"]
