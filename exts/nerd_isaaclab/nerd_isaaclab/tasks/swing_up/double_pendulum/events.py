# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How the double pendulum starts over a ground of any height and tilt."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from ....robots.double_pendulum import HINGE, LENGTH, RADIUS
from .grounds import GROUNDS, Ground

if TYPE_CHECKING:
    from isaaclab.envs import ManagerBasedEnv

CLEARANCE = 1.0e-3
"""Smallest gap between a link and the ground at the start [m]."""

TRIES = 64
"""Draws before a pendulum is put upright."""


def reset_above_ground(
    env: ManagerBasedEnv, env_ids: torch.Tensor, column: int, max_speed: float, asset_name: str = "robot"
) -> None:
    """Puts pendulums anywhere with the lower link level or above, and clear of the ground.

    Args:
        env: The environment.
        env_ids: Which environments.
        column: Number of the ground below them, in :data:`~.grounds.GROUNDS`.
        max_speed: Largest velocity of a joint to either side [rad/s].
        asset_name: The robot in the scene.
    """
    robot = env.scene[asset_name]
    count = len(robot.data.default_joint_pos.torch[env_ids])  # ids, or a slice for all
    joint_pos = draw_joint_pos(count, GROUNDS[column]).to(env.device)
    joint_vel = (max_speed * (2.0 * torch.rand(count, 2) - 1.0)).to(env.device)
    robot.write_joint_position_to_sim_index(position=joint_pos, env_ids=env_ids)
    robot.write_joint_velocity_to_sim_index(velocity=joint_vel, env_ids=env_ids)


def draw_joint_pos(count: int, ground: Ground | None) -> torch.Tensor:
    """Angles of both joints [rad], shape (N, 2), from the default generator.

    Args:
        count: Number of pendulums, N.
        ground: The plane that nothing touches; None for none.
    """
    found = torch.tensor([math.pi, 0.0]).repeat(count, 1)
    waiting = torch.ones(count, dtype=torch.bool)
    for _ in range(TRIES):
        upper = math.pi * (2.0 * torch.rand(count) - 1.0)
        lower = math.pi * (0.5 + torch.rand(count))
        drawn = torch.stack((upper, lower - upper), dim=-1)
        drawn[:, 1] = torch.remainder(drawn[:, 1] + math.pi, 2.0 * math.pi) - math.pi
        taken = waiting & (gap(drawn, ground) > CLEARANCE)
        found = torch.where(taken[:, None], drawn, found)
        waiting &= ~taken
        if not waiting.any():
            break
    return found


def gap(joint_pos: torch.Tensor, ground: Ground | None) -> torch.Tensor:
    """Distance of the nearest link from the ground [m], shape (N,).

    Args:
        joint_pos: Angles [rad], shape (N, 2); at zero the pendulum hangs straight down.
        ground: The plane; None for none, infinitely far away.
    """
    if ground is None:
        return torch.full((len(joint_pos),), math.inf)
    absolute = joint_pos.cumsum(dim=-1)
    zero = torch.zeros_like(absolute)
    links = LENGTH * torch.stack((-absolute.sin(), zero, -absolute.cos()), dim=-1)
    ends = torch.tensor(HINGE) + torch.nn.functional.pad(links.cumsum(dim=1), (0, 0, 1, 0))
    return (ends @ torch.tensor(ground.normal)).amin(dim=-1) - ground.offset - RADIUS
