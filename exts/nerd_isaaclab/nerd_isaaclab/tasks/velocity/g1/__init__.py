# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Unitree G1, a humanoid of 29 joints, at a commanded velocity."""

from ...register import register_task

AGENT = "nerd_isaaclab.tasks.velocity.ppo_cfg:VelocityPPORunnerCfg"

register_task("NeRD-Velocity-G1", f"{__name__}.env_cfg:G1VelocityEnvCfg", AGENT)
