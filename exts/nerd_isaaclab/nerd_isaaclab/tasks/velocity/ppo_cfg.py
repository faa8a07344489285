# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""PPO for walking: the sizes of Isaac Lab's flat tasks, and bounded actions, as data are collected."""

from isaaclab.utils import configclass

from ..base_ppo_cfg import PPORunnerCfg


@configclass
class VelocityPPORunnerCfg(PPORunnerCfg):
    """Agent of all tasks of the family."""

    num_steps_per_env = 24
    max_iterations = 300
    obs_groups = {"actor": ["policy"], "critic": ["policy"]}

    def __post_init__(self):
        """Fill in the networks."""
        self.set_networks([128, 128, 128], "elu", obs_normalization=False)
