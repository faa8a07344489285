# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""PPO for locomotion: the published network (128, 64, 32), and few envs."""

from isaaclab.utils import configclass

from ..base_ppo_cfg import PPORunnerCfg


@configclass
class LocomotionPPORunnerCfg(PPORunnerCfg):
    """Agent of the family."""

    max_iterations = 250

    def __post_init__(self):
        """Fill in what differs."""
        self.set_networks([128, 64, 32], "elu", obs_normalization=True)
        self.algorithm.entropy_coef = 0.0


@configclass
class WalkPPORunnerCfg(LocomotionPPORunnerCfg):
    """Agent of a quadruped that walks, which explores little: one that has learned to walk with much noise falls
    without it, on landing from where it starts.
    """

    def __post_init__(self):
        """Fill in what differs."""
        super().__post_init__()
        self.set_networks([128, 64, 32], "elu", obs_normalization=True, init_std=0.25)
