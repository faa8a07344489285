# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Double pendulum above the ground: learn to stand up, or watch it swing and hit one of seven grounds."""

from ...register import register_task

AGENT = "nerd_isaaclab.tasks.swing_up.ppo_cfg:SwingUpPPORunnerCfg"

register_task("NeRD-Double-Pendulum", f"{__name__}.env_cfg:DoublePendulumEnvCfg", AGENT)
for _column in range(7):
    register_task(f"NeRD-Double-Pendulum-Ground-{_column}", f"{__name__}.passive_env_cfg:Ground{_column}EnvCfg", AGENT)
