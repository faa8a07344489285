# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""PPO for the swing-up: two layers of 64, as published."""

from isaaclab.utils import configclass

from ..base_ppo_cfg import PPORunnerCfg


@configclass
class SwingUpPPORunnerCfg(PPORunnerCfg):
    """Agent of all tasks of the family."""

    max_iterations = 200

    def __post_init__(self):
        """Fill in what differs."""
        self.set_networks([64, 64], "tanh", obs_normalization=True)
        # An episode has 300 steps: with 0.99 the upright pole at its end is too far away to pay for the way there.
        self.algorithm.gamma = 0.995
