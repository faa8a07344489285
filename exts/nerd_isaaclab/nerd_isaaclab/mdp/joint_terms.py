# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Observations of joints that turn without limits: an angle is the same after a full turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from isaaclab.managers import SceneEntityCfg
from isaaclab.utils.math import wrap_to_pi

if TYPE_CHECKING:
    from isaaclab.assets import Articulation
    from isaaclab.envs import ManagerBasedEnv


_ROBOT = SceneEntityCfg("robot")


def joint_pos_wrapped(env: ManagerBasedEnv, asset_cfg: SceneEntityCfg = _ROBOT) -> torch.Tensor:
    """Joint angles wrapped to [-pi, pi] [rad], shape (N, J)."""
    asset: Articulation = env.scene[asset_cfg.name]
    return wrap_to_pi(asset.data.joint_pos.torch[:, asset_cfg.joint_ids])
