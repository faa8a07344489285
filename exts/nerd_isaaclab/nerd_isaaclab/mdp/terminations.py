# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Terminations that a robot of any task can use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from isaaclab.managers import SceneEntityCfg

from .root_terms import root_link_height

if TYPE_CHECKING:
    from isaaclab.assets import Articulation
    from isaaclab.envs import ManagerBasedRLEnv

_ROBOT = SceneEntityCfg("robot")


def root_link_height_below(env: ManagerBasedRLEnv, minimum: float, asset_cfg: SceneEntityCfg = _ROBOT) -> torch.Tensor:
    """Whether the root link is lower than ``minimum`` [m] above the env origin, shape (N,)."""
    return root_link_height(env, asset_cfg)[:, 0] < minimum


def state_diverged(
    env: ManagerBasedRLEnv,
    max_speed: float = 50.0,
    max_joint_speed: float = 200.0,
    asset_cfg: SceneEntityCfg = _ROBOT,
) -> torch.Tensor:
    """Whether the state of the robot is not finite, or moves faster than anything real, shape (N,).

    A simulation that explodes ends here instead of teaching the policy from nonsense.

    Args:
        env: The environment.
        max_speed: Bound of the speed of the root link [m/s].
        max_joint_speed: Bound of the speed of each joint [rad/s or m/s].
        asset_cfg: The robot.
    """
    asset: Articulation = env.scene[asset_cfg.name]
    speed = asset.data.root_link_lin_vel_w.torch.norm(dim=-1)
    pose = asset.data.root_link_pose_w.torch.sum(dim=-1)
    # A comparison with NaN is false, so "not below" also catches what is not a number.
    fine = (speed < max_speed) & torch.isfinite(pose)
    if getattr(asset, "num_joints", 0):  # a free body has none
        joint_speed = asset.data.joint_vel.torch.abs().amax(dim=-1)
        fine &= (joint_speed < max_joint_speed) & torch.isfinite(asset.data.joint_pos.torch.sum(dim=-1))
    return ~fine


def refused_by_guard(env: ManagerBasedRLEnv) -> torch.Tensor:
    """Whether the guard of the learned dynamics held the environment in this step, shape (N,).

    :class:`~nerd_isaaclab.envs.nerd_env.NerdEnv` adds this term to every task, as ``nerd_guard``. Never true while
    the solver steps.
    """
    neural = getattr(env, "nerd", None)
    if neural is None or env.sim.physics_manager is not neural:
        return torch.zeros(env.num_envs, dtype=torch.bool, device=env.device)
    return neural.held
