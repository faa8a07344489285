# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""PPO of RSL-RL for the swing-up. Small enough that two CPU cores learn it in minutes."""

from isaaclab.utils import configclass
from isaaclab_rl.rsl_rl import RslRlMLPModelCfg, RslRlOnPolicyRunnerCfg, RslRlPpoAlgorithmCfg


@configclass
class SwingUpPPORunnerCfg(RslRlOnPolicyRunnerCfg):
    """Two layers of 64, as published."""

    num_steps_per_env = 32
    max_iterations = 200
    save_interval = 50
    clip_actions = 1.0
    actor = RslRlMLPModelCfg(
        hidden_dims=[64, 64],
        activation="tanh",
        obs_normalization=True,
        distribution_cfg=RslRlMLPModelCfg.GaussianDistributionCfg(init_std=1.0),
    )
    critic = RslRlMLPModelCfg(hidden_dims=[64, 64], activation="tanh", obs_normalization=True)
    algorithm = RslRlPpoAlgorithmCfg(
        value_loss_coef=1.0,
        use_clipped_value_loss=True,
        clip_param=0.2,
        entropy_coef=0.005,
        num_learning_epochs=5,
        num_mini_batches=4,
        learning_rate=1.0e-3,
        schedule="adaptive",
        # An episode has 300 steps: with 0.99 the upright pole at its end is too far away to pay for the way there.
        gamma=0.995,
        lam=0.95,
        desired_kl=0.01,
        max_grad_norm=1.0,
    )
