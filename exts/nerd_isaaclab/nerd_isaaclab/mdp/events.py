# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Starts that Isaac Lab does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from isaaclab.assets import Articulation
    from isaaclab.envs import ManagerBasedEnv


def reset_joints_scaled(
    env: ManagerBasedEnv,
    env_ids: torch.Tensor,
    scale: tuple[float, float],
    max_speed: float,
    asset_name: str = "robot",
) -> None:
    """Joints start at multiples of their defaults, with small velocities. Isaac Lab's ``reset_joints_by_scale`` scales
    velocities too, and so leaves those at zero that are zero by default.

    Args:
        env: The environment.
        env_ids: Which environments.
        scale: Smallest and largest multiple.
        max_speed: Largest velocity to either side [rad/s].
        asset_name: The robot in the scene.
    """
    robot: Articulation = env.scene[asset_name]
    default = robot.data.default_joint_pos.torch[env_ids]
    low, high = scale
    limits = robot.data.soft_joint_pos_limits.torch[env_ids]
    joint_pos = default * (low + (high - low) * torch.rand_like(default))
    joint_pos = joint_pos.clamp(limits[..., 0], limits[..., 1])
    joint_vel = max_speed * (2.0 * torch.rand_like(default) - 1.0)
    robot.write_joint_position_to_sim_index(position=joint_pos, env_ids=env_ids)
    robot.write_joint_velocity_to_sim_index(velocity=joint_vel, env_ids=env_ids)
