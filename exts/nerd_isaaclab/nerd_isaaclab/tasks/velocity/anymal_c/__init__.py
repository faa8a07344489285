# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""ANYmal C at a commanded velocity: with drives of the engine, and with DC motors."""

from ...register import register_task

AGENT = "nerd_isaaclab.tasks.velocity.ppo_cfg:VelocityPPORunnerCfg"

register_task("NeRD-Velocity-AnymalC", f"{__name__}.env_cfg:AnymalCVelocityEnvCfg", AGENT)
register_task("NeRD-Velocity-AnymalC-DC-Motor", f"{__name__}.env_cfg:AnymalCDcMotorVelocityEnvCfg", AGENT)
