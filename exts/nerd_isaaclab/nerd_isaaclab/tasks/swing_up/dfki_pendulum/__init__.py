# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The DFKI's double pendulum as a pendubot and as an acrobot: from hanging to standing."""

from ...register import register_task

AGENT, SCORES = (
    "nerd_isaaclab.tasks.swing_up.dfki_pendulum.ppo_cfg:DfkiPendulumPPORunnerCfg",
    f"{__name__}.scores:SCORES",
)

register_task("NeRD-DFKI-Pendubot", f"{__name__}.env_cfg:PendubotEnvCfg", AGENT, SCORES)
register_task("NeRD-DFKI-Acrobot", f"{__name__}.env_cfg:AcrobotEnvCfg", AGENT, SCORES)
