# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""ANYmal C: walking forward and sideways, as published. Isaac Lab's own velocity task is in ``tasks/velocity``."""

from ...register import register_task

AGENT = "nerd_isaaclab.tasks.locomotion.ppo_cfg:WalkPPORunnerCfg"
SCORES = "nerd_isaaclab.tasks.locomotion.scores:WALK"

register_task("NeRD-AnymalC-Forward", f"{__name__}.env_cfg:AnymalCForwardEnvCfg", AGENT, SCORES)
register_task("NeRD-AnymalC-Sideways", f"{__name__}.env_cfg:AnymalCSidewaysEnvCfg", AGENT, SCORES)
