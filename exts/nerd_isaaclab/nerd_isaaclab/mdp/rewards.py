# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Reward terms of the published tasks, each of shape (N,)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from isaaclab.envs.mdp import joint_pos
from isaaclab.managers import SceneEntityCfg

from .joint_terms import joint_pos_wrapped
from .root_terms import root_heading_proj, root_link_ang_vel_w, root_link_lin_vel_w, root_up_proj

if TYPE_CHECKING:
    from isaaclab.envs import ManagerBasedRLEnv

_ROBOT = SceneEntityCfg("robot")


def constant(env: ManagerBasedRLEnv) -> torch.Tensor:
    """One. Unlike ``is_alive`` also on the step that ends an episode, as published."""
    return torch.ones(env.num_envs, device=env.device)


def joint_pos_l2(env: ManagerBasedRLEnv, asset_cfg: SceneEntityCfg = _ROBOT) -> torch.Tensor:
    """Sum over the joints of the squared position [m^2]. Isaac Lab's ``joint_pos_target_l2`` would wrap it."""
    return joint_pos(env, asset_cfg).square().sum(dim=-1)


def joint_pos_wrapped_l2(env: ManagerBasedRLEnv, asset_cfg: SceneEntityCfg = _ROBOT) -> torch.Tensor:
    """Sum over the joints of the squared wrapped angle [rad^2]."""
    return joint_pos_wrapped(env, asset_cfg).square().sum(dim=-1)


def forward_speed(env: ManagerBasedRLEnv, asset_cfg: SceneEntityCfg = _ROBOT) -> torch.Tensor:
    """Speed of the root link along the world's x [m/s]."""
    return root_link_lin_vel_w(env, asset_cfg)[:, 0]


def spin_rate(env: ManagerBasedRLEnv, asset_cfg: SceneEntityCfg = _ROBOT) -> torch.Tensor:
    """Rate at which the root link turns about the world's z [rad/s]."""
    return root_link_ang_vel_w(env, asset_cfg)[:, 2]


def spin_rate_tracking_exp(
    env: ManagerBasedRLEnv, target: float, tilt_weight: float, asset_cfg: SceneEntityCfg = _ROBOT
) -> torch.Tensor:
    """Closeness of the turning rate to a target: ``exp(-(w_z - target)^2 - tilt_weight (w_x^2 + w_y^2))``.

    Args:
        env: The environment.
        target: Wanted rate about the world's z [rad/s].
        tilt_weight: Weight of the rates about the two horizontal axes [s^2/rad^2].
        asset_cfg: The robot.
    """
    rate = root_link_ang_vel_w(env, asset_cfg)
    return torch.exp(-((rate[:, 2] - target) ** 2) - tilt_weight * rate[:, :2].square().sum(dim=-1))


def last_link_height(env: ManagerBasedRLEnv, reach: float, asset_cfg: SceneEntityCfg = _ROBOT) -> torch.Tensor:
    """Height of the last link's centre of mass over the root, in parts of the reach.

    Args:
        env: The environment.
        reach: Length of the stretched robot [m].
        asset_cfg: The robot.
    """
    data = env.scene[asset_cfg.name].data
    return (data.body_com_pos_w.torch[:, -1, 2] - data.root_link_pos_w.torch[:, 2]) / reach


def up(env: ManagerBasedRLEnv, asset_cfg: SceneEntityCfg = _ROBOT) -> torch.Tensor:
    """Cosine of the angle between the root link's z and the world's z."""
    return root_up_proj(env, asset_cfg)[:, 0]


def heading(env: ManagerBasedRLEnv, asset_cfg: SceneEntityCfg = _ROBOT) -> torch.Tensor:
    """Cosine of the angle between the root link's x and the world's x."""
    return root_heading_proj(env, asset_cfg)[:, 0]


def walking(
    env: ManagerBasedRLEnv, velocity: tuple[float, float], effort_weight: float, asset_cfg: SceneEntityCfg = _ROBOT
) -> torch.Tensor:
    """``max(0, exp(-|v_xy - velocity|^2) + 0.5 exp(-w_z^2) - effort_weight sum tau^2)``, in the axes of the world.

    Args:
        env: The environment.
        velocity: Wanted velocity along the world's x and y [m/s].
        effort_weight: Weight of the squared efforts of a control step [1/(N m)^2].
        asset_cfg: The robot.
    """
    error = root_link_lin_vel_w(env, asset_cfg)[:, :2] - torch.tensor(velocity, device=env.device)
    tracking = torch.exp(-error.square().sum(dim=-1))
    straight = 0.5 * torch.exp(-(root_link_ang_vel_w(env, asset_cfg)[:, 2] ** 2))
    effort = env.scene[asset_cfg.name].data.joint_effort_target.torch.square().sum(dim=-1)
    return (tracking + straight - effort_weight * effort).clamp(min=0.0)
