# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Double pendulum above the ground: learn to stand up, or watch it swing and hit the ground."""

import gymnasium as gym

from ..env_class import ENV_CLASS

gym.register(
    id="NeRD-Double-Pendulum",
    entry_point=ENV_CLASS,
    disable_env_checker=True,
    kwargs={
        "env_cfg_entry_point": f"{__name__}.double_pendulum_env_cfg:DoublePendulumEnvCfg",
        "rsl_rl_cfg_entry_point": f"{__name__}.agents.rsl_rl_ppo_cfg:DoublePendulumPPORunnerCfg",
        "default_agent": "rsl_rl",
    },
)

gym.register(
    id="NeRD-Double-Pendulum-Play",
    entry_point=ENV_CLASS,
    disable_env_checker=True,
    kwargs={
        "env_cfg_entry_point": f"{__name__}.double_pendulum_env_cfg:DoublePendulumPlayEnvCfg",
        "rsl_rl_cfg_entry_point": f"{__name__}.agents.rsl_rl_ppo_cfg:DoublePendulumPPORunnerCfg",
        "default_agent": "rsl_rl",
    },
)
