# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Cartpole swing-up: the pole starts at any angle and has to end upright."""

from ...register import register_task

register_task(
    "NeRD-Cartpole",
    f"{__name__}.env_cfg:CartpoleEnvCfg",
    agent="nerd_isaaclab.tasks.swing_up.ppo_cfg:SwingUpPPORunnerCfg",
    scores=f"{__name__}.scores:SCORES",
)
