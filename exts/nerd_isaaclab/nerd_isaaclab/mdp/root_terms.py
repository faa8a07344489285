# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Observations of a floating root, taken at the origin of the root link.

Isaac Lab's ``base_lin_vel`` and its relatives speak of the centre of mass where link and centre differ; a learned state
is the pose and the velocity of the link origin, so these terms read that. "Up" is the world's z, "forward" its x.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from isaaclab.managers import SceneEntityCfg
from isaaclab.utils.math import quat_apply

if TYPE_CHECKING:
    from isaaclab.assets import Articulation
    from isaaclab.envs import ManagerBasedEnv

_ROBOT = SceneEntityCfg("robot")
"""Default asset. It selects no joints or bodies, so that no term can change it for another."""


def root_link_height(env: ManagerBasedEnv, asset_cfg: SceneEntityCfg = _ROBOT) -> torch.Tensor:
    """Height of the root link above the env origin [m], shape (N, 1)."""
    return _robot(env, asset_cfg).data.root_link_pos_w.torch[:, 2:3] - env.scene.env_origins[:, 2:3]


def root_link_lin_vel_w(env: ManagerBasedEnv, asset_cfg: SceneEntityCfg = _ROBOT) -> torch.Tensor:
    """Linear velocity of the root link origin in world axes [m/s], shape (N, 3)."""
    return _robot(env, asset_cfg).data.root_link_lin_vel_w.torch


def root_link_ang_vel_w(env: ManagerBasedEnv, asset_cfg: SceneEntityCfg = _ROBOT) -> torch.Tensor:
    """Angular velocity of the root link in world axes [rad/s], shape (N, 3)."""
    return _robot(env, asset_cfg).data.root_link_ang_vel_w.torch


def root_up_proj(env: ManagerBasedEnv, asset_cfg: SceneEntityCfg = _ROBOT) -> torch.Tensor:
    """Cosine of the angle between the root link's z and the world's z, shape (N, 1)."""
    quat = _robot(env, asset_cfg).data.root_link_quat_w.torch
    # The third entry of the third row of the rotation matrix of (x, y, z, w).
    return 1.0 - 2.0 * quat[:, :2].square().sum(dim=-1, keepdim=True)


def root_heading_proj(env: ManagerBasedEnv, asset_cfg: SceneEntityCfg = _ROBOT) -> torch.Tensor:
    """Cosine of the angle between the root link's x and the world's x, shape (N, 1)."""
    data = _robot(env, asset_cfg).data
    return quat_apply(data.root_link_quat_w.torch, data.FORWARD_VEC_B.torch)[:, :1]


def _robot(env: ManagerBasedEnv, asset_cfg: SceneEntityCfg) -> Articulation:
    return env.scene[asset_cfg.name]
