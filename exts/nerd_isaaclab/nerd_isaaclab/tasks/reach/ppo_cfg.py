# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""PPO for reaching: a perceptron where the published one has a memory, since it sees velocities."""

from isaaclab.utils import configclass

from ..base_ppo_cfg import PPORunnerCfg


@configclass
class ReachPPORunnerCfg(PPORunnerCfg):
    """Agent of all tasks of the family."""

    max_iterations = 200

    def __post_init__(self):
        """Fill in what differs."""
        self.set_networks([128, 64], "elu", obs_normalization=True, init_std=0.5)
        self.algorithm.entropy_coef = 0.0
