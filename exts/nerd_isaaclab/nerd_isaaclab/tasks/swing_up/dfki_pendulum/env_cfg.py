# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Swing-up of the DFKI's double pendulum by one motor, as in its benchmark: the other may give no more than .5 N m, to
make up for its friction. 50 actions a second, as torques that are held; the reward is that of the family.
"""

import math

from isaaclab.envs.mdp import JointEffortActionCfg
from isaaclab.managers import RewardTermCfg, SceneEntityCfg
from isaaclab.utils import configclass

from .... import mdp
from ....robots import dfki_pendulum
from ...base_env_cfg import joint_efforts
from ..swing_up_env_cfg import RewardsCfg, SwingUpEnvCfg, reset_joint

MOTOR, PASSIVE = 5.0, 0.5
"""Torques of full actions of the motor that swings up and of the one that only makes up for friction [N m]."""


@configclass
class ActionsCfg:
    """Two numbers in [-1, 1]: the torques of both motors."""

    shoulder: JointEffortActionCfg = joint_efforts(MOTOR, "shoulder")
    elbow: JointEffortActionCfg = joint_efforts(PASSIVE, "elbow")


@configclass
class AcrobotActionsCfg:
    """The same with the elbow's motor as the one that swings up."""

    shoulder: JointEffortActionCfg = joint_efforts(PASSIVE, "shoulder")
    elbow: JointEffortActionCfg = joint_efforts(MOTOR, "elbow")


@configclass
class EventsCfg:
    """Starts: most of the circle for the upper link, anything for the lower one, so that standing is seen, too."""

    reset_upper = reset_joint("shoulder", velocity=(-0.5, 0.5))
    reset_lower = reset_joint("elbow", position=(-0.5 * math.pi, 0.5 * math.pi), velocity=(-0.5, 0.5))


@configclass
class PendulumRewardsCfg(RewardsCfg):
    """Up, slowly, and without rattling."""

    speed = RewardTermCfg(func=mdp.joint_vel_l2, weight=-2.0e-3, params={"asset_cfg": SceneEntityCfg("robot")})
    rattling = RewardTermCfg(func=mdp.action_rate_l2, weight=-1.0e-2)


@configclass
class PendubotEnvCfg(SwingUpEnvCfg):
    """The shoulder's motor swings up."""

    actions: object = ActionsCfg()
    events: object = EventsCfg()
    rewards: object = PendulumRewardsCfg()

    def __post_init__(self):
        """Fill in the pendulum and its pace: steps of 5 ms, as its model has them."""
        super().__post_init__()
        self.scene.env_spacing = 2.0
        self.set_control_rate(50.0, 4)
        self.set_articulation(dfki_pendulum.articulation(), reach=sum(dfki_pendulum.LENGTHS))


@configclass
class AcrobotEnvCfg(PendubotEnvCfg):
    """The elbow's motor swings up."""

    actions: object = AcrobotActionsCfg()
