# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""PPO of RSL-RL as all families train with it, sized for two CPU cores. A family sets its network and what differs."""

from isaaclab.utils import configclass
from isaaclab_rl.rsl_rl import RslRlMLPModelCfg, RslRlOnPolicyRunnerCfg, RslRlPpoAlgorithmCfg


@configclass
class PPORunnerCfg(RslRlOnPolicyRunnerCfg):
    """Base of the agents."""

    num_steps_per_env = 32
    save_interval = 50
    clip_actions = 1.0
    algorithm = RslRlPpoAlgorithmCfg(
        value_loss_coef=1.0,
        use_clipped_value_loss=True,
        clip_param=0.2,
        entropy_coef=0.005,
        num_learning_epochs=5,
        num_mini_batches=4,
        learning_rate=1.0e-3,
        schedule="adaptive",
        gamma=0.99,
        lam=0.95,
        desired_kl=0.01,
        max_grad_norm=1.0,
    )

    def set_networks(
        self, hidden_dims: list[int], activation: str, obs_normalization: bool, init_std: float = 1.0
    ) -> None:
        """Give actor and critic a perceptron each.

        Args:
            hidden_dims: Widths of its layers.
            activation: Name of its activation.
            obs_normalization: Whether observations are normalised by their running mean and spread.
            init_std: Standard deviation of the actions at the beginning.
        """
        settings = {"hidden_dims": hidden_dims, "activation": activation, "obs_normalization": obs_normalization}
        exploration = RslRlMLPModelCfg.GaussianDistributionCfg(init_std=init_std)
        self.actor = RslRlMLPModelCfg(**settings, distribution_cfg=exploration)
        self.critic = RslRlMLPModelCfg(**settings)
