# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The Ant, running and spinning.

Two numbers differ from the published ones. The published robot takes 400 N m for a full action on an Ant of other
masses; here it is 7.5 N m, as in Isaac Lab's own Ant task for the same robot. And the state of a joint starts up to
0.2 rad off its default. An episode lasts 500 steps, or until the root is lower than 0.3 m.
"""

from isaaclab.utils import configclass

from ....robots import ant
from ...base_env_cfg import joint_efforts
from ..locomotion_env_cfg import LocomotionEnvCfg, SpinRewardsCfg, SpinTrackRewardsCfg


@configclass
class AntRunEnvCfg(LocomotionEnvCfg):
    """Run along the world's x."""

    def __post_init__(self):
        """Fill in the Ant. Isaac Lab's own starts at 0.5 m, its feet up to 5 cm inside the ground, and is thrown up at
        up to 6 m/s.
        """
        super().__post_init__()
        self.set_robot(ant.articulation(), joint_efforts(7.5), min_height=0.3, drop=(0.18, 0.28))


@configclass
class AntSpinEnvCfg(AntRunEnvCfg):
    """Turn about the world's z as fast as possible."""

    rewards: object = SpinRewardsCfg()


@configclass
class AntSpinTrackEnvCfg(AntRunEnvCfg):
    """Turn about the world's z at 5 rad/s."""

    rewards: object = SpinTrackRewardsCfg()
