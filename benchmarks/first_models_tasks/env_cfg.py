# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""ANYmal C with position drives (PD and the limits of a DC motor) in place of the learned model of its drives."""

from isaaclab.utils import configclass
from isaaclab_assets.robots.anymal import ANYDRIVE_3_SIMPLE_ACTUATOR_CFG
from isaaclab_tasks.contrib.velocity.config.anymal_c.flat_env_cfg import AnymalCFlatEnvCfg


@configclass
class AnymalCFlatPdEnvCfg(AnymalCFlatEnvCfg):
    """``IsaacContrib-Velocity-Flat-AnymalC`` with Isaac Lab's simple drives."""

    def __post_init__(self):
        super().__post_init__()
        self.scene.robot.actuators["legs"] = ANYDRIVE_3_SIMPLE_ACTUATOR_CFG
