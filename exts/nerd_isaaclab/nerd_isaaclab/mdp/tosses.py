# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Throwing a body at a reset."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from isaaclab.managers import SceneEntityCfg
from isaaclab.utils.math import matrix_from_quat, quat_from_angle_axis

if TYPE_CHECKING:
    from isaaclab.assets import RigidObject
    from isaaclab.envs import ManagerBasedEnv

Range = tuple[float, float]
"""Lowest and highest value."""

_ROBOT = SceneEntityCfg("robot")

CLEARANCE = 1.0e-3
"""Smallest height of a corner at the start [m]."""

DRAWS = 64
"""Most draws of a start; what is in the ground after all of them is lifted out."""


def toss_box(
    env: ManagerBasedEnv,
    env_ids: torch.Tensor | slice,
    half_extents: tuple[float, float, float],
    heights: Range,
    max_angle: float,
    lin_vel: tuple[Range, Range, Range],
    ang_vel: tuple[Range, Range, Range],
    asset_cfg: SceneEntityCfg = _ROBOT,
) -> None:
    """Throws a box: poses above the ground and velocities, each evenly from a range.

    Args:
        env: The environment.
        env_ids: Environments that are reset, n of them.
        half_extents: Half the lengths of the edges [m].
        heights: Heights of the centre above the origin of the environment [m]. A start in which a corner is less than
            a millimetre above the ground is drawn again.
        max_angle: Largest turn from the initial orientation, about any axis [rad].
        lin_vel: Velocities along the world's axes [m/s].
        ang_vel: Angular velocities about them [rad/s].
        asset_cfg: The box.
    """
    asset: RigidObject = env.scene[asset_cfg.name]
    env_ids = torch.arange(env.num_envs, device=env.device)[env_ids]
    count, device = len(env_ids), env.device
    height, quat = _draw_pose(count, heights, max_angle, device)
    reach = torch.tensor(half_extents, device=device)
    for _ in range(DRAWS):
        below = (height - _lowest(quat, reach) < CLEARANCE).nonzero().squeeze(-1)
        if not len(below):
            break
        height[below], quat[below] = _draw_pose(len(below), heights, max_angle, device)
    height = height.maximum(_lowest(quat, reach) + CLEARANCE)
    place = asset.data.default_root_pose.torch[env_ids, :2]
    pos = torch.cat((place, height[:, None]), dim=-1) + env.scene.env_origins[env_ids]
    ranges = torch.tensor([*lin_vel, *ang_vel], device=device)
    velocity = ranges[:, 0] + (ranges[:, 1] - ranges[:, 0]) * torch.rand(count, 6, device=device)
    asset.write_root_pose_to_sim_index(root_pose=torch.cat((pos, quat), dim=-1), env_ids=env_ids)
    asset.write_root_velocity_to_sim_index(root_velocity=velocity, env_ids=env_ids)


def _draw_pose(count: int, heights: Range, max_angle: float, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Heights [m], shape (count,), and orientations xyzw, shape (count, 4)."""
    height = heights[0] + (heights[1] - heights[0]) * torch.rand(count, device=device)
    axis = torch.nn.functional.normalize(torch.randn(count, 3, device=device), dim=-1)
    angle = max_angle * (2.0 * torch.rand(count, device=device) - 1.0)
    return height, quat_from_angle_axis(angle, axis)


def _lowest(quat: torch.Tensor, half_extents: torch.Tensor) -> torch.Tensor:
    """How far the lowest corner is below the centre [m], shape (n,)."""
    return (matrix_from_quat(quat)[:, 2].abs() * half_extents).sum(dim=-1)
