# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Cartpole swing-up: the pole starts at any angle and has to end upright."""

import gymnasium as gym

from ..env_class import ENV_CLASS

gym.register(
    id="NeRD-Cartpole",
    entry_point=ENV_CLASS,
    disable_env_checker=True,
    kwargs={
        "env_cfg_entry_point": f"{__name__}.cartpole_env_cfg:CartpoleEnvCfg",
        "rsl_rl_cfg_entry_point": f"{__name__}.agents.rsl_rl_ppo_cfg:CartpolePPORunnerCfg",
        "default_agent": "rsl_rl",
        "score_entry_point": f"{__name__}.scores:SCORES",
    },
)

gym.register(
    id="NeRD-Cartpole-Play",
    entry_point=ENV_CLASS,
    disable_env_checker=True,
    kwargs={
        "env_cfg_entry_point": f"{__name__}.cartpole_env_cfg:CartpolePlayEnvCfg",
        "rsl_rl_cfg_entry_point": f"{__name__}.agents.rsl_rl_ppo_cfg:CartpolePPORunnerCfg",
        "default_agent": "rsl_rl",
        "score_entry_point": f"{__name__}.scores:SCORES",
    },
)
