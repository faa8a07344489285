# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Keeps Isaac Lab from sending what actuators say to an engine that rests.

Actuators are computed as always, and what they say can be read; with all environments neural nobody in the engine
follows it. When the engine steps again, Isaac Lab sends them before its first step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isaaclab.assets import Articulation


def hold_commands(robot: Articulation) -> None:
    """Sends no commands of actuators to the engine from now on."""
    actuators: Any = robot.actuators
    actuators.submit_commands = _send_nothing


def send_commands(robot: Articulation) -> None:
    """Sends commands of actuators to the engine again."""
    actuators: Any = robot.actuators
    vars(actuators).pop("submit_commands", None)


def _send_nothing() -> None:
    """Sends nothing."""


__all__ = ["hold_commands", "send_commands"]
