# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The Franka, reaching with joint positions and with joint torques: one robot and one model for both."""

from ...register import register_task

AGENT = "nerd_isaaclab.tasks.reach.ppo_cfg:ReachPPORunnerCfg"
SCORES = "nerd_isaaclab.tasks.reach.scores:SCORES"

register_task("NeRD-Franka-Reach-Position", f"{__name__}.env_cfg:FrankaReachPositionEnvCfg", AGENT, SCORES)
register_task("NeRD-Franka-Reach-Torque", f"{__name__}.env_cfg:FrankaReachTorqueEnvCfg", AGENT, SCORES)
