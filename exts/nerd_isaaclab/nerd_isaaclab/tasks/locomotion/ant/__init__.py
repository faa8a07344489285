# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The Ant: running forward, spinning, spinning at a given rate. One robot, one scene, three rewards."""

from ...register import register_task

AGENT = "nerd_isaaclab.tasks.locomotion.ppo_cfg:LocomotionPPORunnerCfg"
SCORES = "nerd_isaaclab.tasks.locomotion.scores"

register_task("NeRD-Ant-Run", f"{__name__}.env_cfg:AntRunEnvCfg", AGENT, f"{SCORES}:RUN")
register_task("NeRD-Ant-Spin", f"{__name__}.env_cfg:AntSpinEnvCfg", AGENT, f"{SCORES}:SPIN")
register_task("NeRD-Ant-Spin-Track", f"{__name__}.env_cfg:AntSpinTrackEnvCfg", AGENT, f"{SCORES}:SPIN")
