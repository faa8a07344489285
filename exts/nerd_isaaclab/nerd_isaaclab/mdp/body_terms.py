# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Observations and rewards of points that a body carries: a tool to be brought to a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from isaaclab.managers import SceneEntityCfg
from isaaclab.utils.math import quat_apply

if TYPE_CHECKING:
    from isaaclab.assets import Articulation
    from isaaclab.envs import ManagerBasedEnv, ManagerBasedRLEnv

Point = tuple[float, float, float]


def point_of_body(env: ManagerBasedEnv, asset_cfg: SceneEntityCfg, offset: Point) -> torch.Tensor:
    """Position of a point of one body, relative to the origin of the environment [m], shape (N, 3).

    Args:
        env: The environment.
        asset_cfg: The robot, with one body.
        offset: The point in the frame of the body [m].
    """
    return points_of_bodies(env, asset_cfg, (offset,))[:, 0]


def points_of_bodies(env: ManagerBasedEnv, asset_cfg: SceneEntityCfg, offsets: tuple[Point, ...]) -> torch.Tensor:
    """Positions of the same points of some bodies, relative to the origin of the environment [m], shape (N, P, 3).

    Args:
        env: The environment.
        asset_cfg: The robot, with its bodies.
        offsets: The points in the frame of each body [m].
    """
    asset: Articulation = env.scene[asset_cfg.name]
    pose = asset.data.body_link_pose_w.torch[:, asset_cfg.body_ids]
    points = torch.tensor(offsets, device=env.device).expand(*pose.shape[:2], -1, -1)
    quat = pose[..., None, 3:].expand(*points.shape[:-1], -1)
    world = quat_apply(quat.reshape(-1, 4), points.reshape(-1, 3)).reshape(points.shape) + pose[..., None, :3]
    return world.flatten(1, 2) - env.scene.env_origins[:, None]


def distance_to_target(env: ManagerBasedRLEnv, command: str, asset_cfg: SceneEntityCfg, offset: Point) -> torch.Tensor:
    """Distance of a point of a body from the commanded one [m], shape (N,).

    Args:
        env: The environment.
        command: Name of the command.
        asset_cfg: The robot, with one body.
        offset: The point in the frame of the body [m].
    """
    target = env.command_manager.get_command(command)
    return (point_of_body(env, asset_cfg, offset) - target).norm(dim=-1)


def nearness_to_target(
    env: ManagerBasedRLEnv, command: str, asset_cfg: SceneEntityCfg, offset: Point, sharpness: tuple[float, ...]
) -> torch.Tensor:
    """``sum_a 1 / (exp(a d) + 1e-4 + exp(-a d))`` of the distance ``d`` from the commanded point, a half each where
    it is reached.

    Args:
        env: The environment.
        command: Name of the command.
        asset_cfg: The robot, with one body.
        offset: The point in the frame of the body [m].
        sharpness: The numbers ``a`` [1/m].
    """
    distance = distance_to_target(env, command, asset_cfg, offset)
    scaled = torch.stack([a * distance for a in sharpness])
    return (1.0 / (scaled.exp() + 1.0e-4 + (-scaled).exp())).sum(dim=0)


def point_below(
    env: ManagerBasedRLEnv, asset_cfg: SceneEntityCfg, offsets: tuple[Point, ...], minimum: float
) -> torch.Tensor:
    """Whether one of some points is lower than a height above the env origin, shape (N,).

    Args:
        env: The environment.
        asset_cfg: The robot, with its bodies.
        offsets: The points in the frame of each body [m].
        minimum: The height [m].
    """
    return (points_of_bodies(env, asset_cfg, offsets)[..., 2] < minimum).any(dim=-1)
