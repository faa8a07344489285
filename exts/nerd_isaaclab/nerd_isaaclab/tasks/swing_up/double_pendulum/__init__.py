# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Double pendulum above the ground: learn to stand up, or watch it swing and hit the ground."""

from ...register import register_task

register_task(
    "NeRD-Double-Pendulum",
    f"{__name__}.env_cfg:DoublePendulumEnvCfg",
    agent="nerd_isaaclab.tasks.swing_up.ppo_cfg:SwingUpPPORunnerCfg",
)
