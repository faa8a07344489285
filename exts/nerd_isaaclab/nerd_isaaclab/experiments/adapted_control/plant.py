# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The task: a Franka with gravity and firm drives brings its tool to one target after the other.

Targets, tool and reward are those of ``NeRD-Franka-Reach-Torque``, the published ones. What differs: gravity pulls, for
without it a payload at rest weighs nothing; actions are the targets of drives with Isaac Lab's stiffer gains, and so is
what a motor loses; and no episode ends.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

TASK = "NeRD-Franka-Reach-Torque"
"""The task that is changed."""

RATE = 60.0
"""Control steps a second [Hz]."""


def reach_under_gravity(env_cfg: Any) -> None:
    """Changes the configuration of :data:`TASK`.

    Args:
        env_cfg: The configuration, changed in place.
    """
    from ... import mdp
    from ...evaluation.adaptation_worker import endless
    from ...robots import franka
    from ...tasks.reach.franka.env_cfg import ARM

    endless(env_cfg)
    env_cfg.scene.robot.spawn.rigid_props.disable_gravity = False
    arm = env_cfg.scene.robot.actuators["arm"]
    arm.stiffness, arm.damping = franka.ARM_STIFFNESS, franka.ARM_DAMPING
    env_cfg.actions.torque = mdp.JointPositionActionCfg(
        asset_name="robot", joint_names=[ARM], scale=1.0, use_default_offset=False
    )
    env_cfg.events.reset_joints.params["position_range"] = (0.0, 0.0)  # all start alike: targets make the difference
    env_cfg.set_control_rate(RATE, 2)


def tool_of(spec: Any) -> tuple[int, Tensor]:
    """Body with the tool, and the tool in its frame [m].

    Args:
        spec: The robot.
    """
    from ...tasks.reach.franka.env_cfg import TOOL

    body, offset = TOOL
    return spec.body_names.index(body), torch.tensor(offset)


def targets_of(seed: int, starts: int, number: int) -> Tensor:
    """Targets in the task's box, relative to the origins of the environments [m], shape (number, starts, 3).

    Args:
        seed: Their seed.
        starts: Sequences of them.
        number: Length of a sequence.
    """
    from ...tasks.reach.franka.env_cfg import TARGETS

    low, high = (torch.tensor(corner) for corner in TARGETS)
    share = torch.rand(number, starts, 3, generator=torch.Generator().manual_seed(seed))
    return low + (high - low) * share


__all__ = ["RATE", "TASK", "reach_under_gravity", "targets_of", "tool_of"]
