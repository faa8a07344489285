# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Double pendulum above the ground: learn to stand up, or watch it swing and hit one of seven grounds."""

from ...register import register_task

AGENT = "nerd_isaaclab.tasks.swing_up.ppo_cfg:SwingUpPPORunnerCfg"

register_task("NeRD-Double-Pendulum", f"{__name__}.env_cfg:DoublePendulumEnvCfg", AGENT)
# One by one: ids are read from the sources, without importing them.
register_task("NeRD-Double-Pendulum-Ground-0", f"{__name__}.passive_env_cfg:Ground0EnvCfg", AGENT)
register_task("NeRD-Double-Pendulum-Ground-1", f"{__name__}.passive_env_cfg:Ground1EnvCfg", AGENT)
register_task("NeRD-Double-Pendulum-Ground-2", f"{__name__}.passive_env_cfg:Ground2EnvCfg", AGENT)
register_task("NeRD-Double-Pendulum-Ground-3", f"{__name__}.passive_env_cfg:Ground3EnvCfg", AGENT)
register_task("NeRD-Double-Pendulum-Ground-4", f"{__name__}.passive_env_cfg:Ground4EnvCfg", AGENT)
register_task("NeRD-Double-Pendulum-Ground-5", f"{__name__}.passive_env_cfg:Ground5EnvCfg", AGENT)
register_task("NeRD-Double-Pendulum-Ground-6", f"{__name__}.passive_env_cfg:Ground6EnvCfg", AGENT)
