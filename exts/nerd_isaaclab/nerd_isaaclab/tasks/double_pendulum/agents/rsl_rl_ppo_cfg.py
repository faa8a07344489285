# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""PPO of RSL-RL for the double pendulum: that of the Cartpole."""

from isaaclab.utils import configclass

from ...cartpole.agents.rsl_rl_ppo_cfg import CartpolePPORunnerCfg


@configclass
class DoublePendulumPPORunnerCfg(CartpolePPORunnerCfg):
    """The Cartpole's, under a name of its own."""

    experiment_name = "nerd_double_pendulum"
