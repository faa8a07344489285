# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A stock task that needs a file of NVIDIA's server alone, without it: for ``benchmarks/first_models.py``."""

import gymnasium

gymnasium.register(
    id="Velocity-Flat-AnymalC-PD",
    entry_point="isaaclab.envs:ManagerBasedRLEnv",
    disable_env_checker=True,
    kwargs={"env_cfg_entry_point": f"{__name__}.env_cfg:AnymalCFlatPdEnvCfg"},
)
