# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Two robots of a package that knows nothing of this repository, as somebody's workshop would publish them."""

import gymnasium

gymnasium.register(
    id="Workshop-Stilts",
    entry_point="isaaclab.envs:ManagerBasedRLEnv",
    disable_env_checker=True,
    kwargs={
        "env_cfg_entry_point": f"{__name__}.stilts:EnvCfg",
        "rsl_rl_cfg_entry_point": f"{__name__}.agent:AgentCfg",
    },
)
gymnasium.register(
    id="Workshop-Gripper",
    entry_point="isaaclab.envs:ManagerBasedRLEnv",
    disable_env_checker=True,
    kwargs={
        "env_cfg_entry_point": f"{__name__}.gripper:EnvCfg",
        "rsl_rl_cfg_entry_point": f"{__name__}.agent:AgentCfg",
    },
)
