# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The Ant: running forward, spinning, spinning at a given rate. One robot, one scene, three rewards."""

import gymnasium as gym

from ..env_class import ENV_CLASS

gym.register(
    id="NeRD-Ant-Run",
    entry_point=ENV_CLASS,
    disable_env_checker=True,
    kwargs={
        "env_cfg_entry_point": f"{__name__}.ant_env_cfg:AntRunEnvCfg",
        "rsl_rl_cfg_entry_point": f"{__name__}.agents.rsl_rl_ppo_cfg:AntRunPPORunnerCfg",
        "default_agent": "rsl_rl",
        "score_entry_point": f"{__name__}.scores:RUN",
    },
)

gym.register(
    id="NeRD-Ant-Run-Play",
    entry_point=ENV_CLASS,
    disable_env_checker=True,
    kwargs={
        "env_cfg_entry_point": f"{__name__}.ant_env_cfg:AntRunPlayEnvCfg",
        "rsl_rl_cfg_entry_point": f"{__name__}.agents.rsl_rl_ppo_cfg:AntRunPPORunnerCfg",
        "default_agent": "rsl_rl",
        "score_entry_point": f"{__name__}.scores:RUN",
    },
)

gym.register(
    id="NeRD-Ant-Spin",
    entry_point=ENV_CLASS,
    disable_env_checker=True,
    kwargs={
        "env_cfg_entry_point": f"{__name__}.ant_env_cfg:AntSpinEnvCfg",
        "rsl_rl_cfg_entry_point": f"{__name__}.agents.rsl_rl_ppo_cfg:AntSpinPPORunnerCfg",
        "default_agent": "rsl_rl",
        "score_entry_point": f"{__name__}.scores:SPIN",
    },
)

gym.register(
    id="NeRD-Ant-Spin-Play",
    entry_point=ENV_CLASS,
    disable_env_checker=True,
    kwargs={
        "env_cfg_entry_point": f"{__name__}.ant_env_cfg:AntSpinPlayEnvCfg",
        "rsl_rl_cfg_entry_point": f"{__name__}.agents.rsl_rl_ppo_cfg:AntSpinPPORunnerCfg",
        "default_agent": "rsl_rl",
        "score_entry_point": f"{__name__}.scores:SPIN",
    },
)

gym.register(
    id="NeRD-Ant-Spin-Track",
    entry_point=ENV_CLASS,
    disable_env_checker=True,
    kwargs={
        "env_cfg_entry_point": f"{__name__}.ant_env_cfg:AntSpinTrackEnvCfg",
        "rsl_rl_cfg_entry_point": f"{__name__}.agents.rsl_rl_ppo_cfg:AntSpinTrackPPORunnerCfg",
        "default_agent": "rsl_rl",
        "score_entry_point": f"{__name__}.scores:SPIN",
    },
)

gym.register(
    id="NeRD-Ant-Spin-Track-Play",
    entry_point=ENV_CLASS,
    disable_env_checker=True,
    kwargs={
        "env_cfg_entry_point": f"{__name__}.ant_env_cfg:AntSpinTrackPlayEnvCfg",
        "rsl_rl_cfg_entry_point": f"{__name__}.agents.rsl_rl_ppo_cfg:AntSpinTrackPPORunnerCfg",
        "default_agent": "rsl_rl",
        "score_entry_point": f"{__name__}.scores:SPIN",
    },
)
