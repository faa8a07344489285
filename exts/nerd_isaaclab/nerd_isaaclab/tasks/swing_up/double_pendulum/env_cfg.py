# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The double pendulum, the published robot for contact with ground of any height and tilt.

Two links of 1.5 m hang 2 m above the ground, so that the lower one can hit it. The publication watches it swing and
collide (zero effort); here both hinges take a torque as well, up to the published 1500 N m. The reward is for standing
up; nothing of the kind is published.
"""

import math

from isaaclab.utils import configclass

from ....robots import double_pendulum
from ..swing_up_env_cfg import SwingUpEnvCfg, reset_joint


@configclass
class EventsCfg:
    """Starts: the upper link level or above, the lower one anywhere; so nothing starts inside the ground."""

    reset_upper = reset_joint("joint_0", position=(0.5 * math.pi, 1.5 * math.pi))
    reset_lower = reset_joint("joint_1")


@configclass
class DoublePendulumEnvCfg(SwingUpEnvCfg):
    """The double pendulum."""

    events: object = EventsCfg()

    def __post_init__(self):
        """Fill in the double pendulum."""
        super().__post_init__()
        self.scene.env_spacing = 8.0
        self.set_robot(double_pendulum.articulation(), max_torque=1500.0, reach=2 * double_pendulum.LENGTH)
