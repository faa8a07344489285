# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The Franka without gravity, reaching with joint positions and with joint torques.

Numbers are the published ones: start, targets, gains, limits of torques, 120 control steps a second. In the position
task an action moves the target of a joint by up to 1/32 rad from where the joint is now, and a controller makes a
torque of it. The published policy of positions acts 60 times a second, and the controller twice as often; here both act
at 120 Hz, so its 128 steps are 256.
"""

from isaaclab.utils import configclass

from .... import mdp
from ....robots import franka
from ...base_env_cfg import joint_efforts
from ..reach_env_cfg import ReachEnvCfg

ARM = "panda_joint[1-7]"
START = {
    "panda_joint1": 0.0,
    "panda_joint2": -0.7853,
    "panda_joint3": 0.0,
    "panda_joint4": -2.3575,
    "panda_joint5": 0.0,
    "panda_joint6": 1.5703,
    "panda_joint7": 0.7857,
    "panda_finger_joint.*": 0.04,
}
"""Default position of each joint [rad, m]."""
TOOL = ("panda_link7", (0.0, 0.0, 0.21207))
"""Body with the tool, and the tool in its frame [m]."""
TARGETS = ((0.3, -0.35, 0.05), (0.7, 0.35, 0.45))
"""Corners of the box of targets [m]."""
LIMITS = {"panda_joint[1-4]": 87.0, "panda_joint[5-7]": 12.0}
"""Largest torques [N m]."""


@configclass
class FrankaReachTorqueEnvCfg(ReachEnvCfg):
    """Actions are torques."""

    def __post_init__(self):
        """Fill in the Franka."""
        super().__post_init__()
        self.set_control_rate(120.0, physics_steps=1)
        robot = franka.articulation()
        robot.init_state.joint_pos = dict(START)
        self.set_robot(robot, ARM, TOOL, TARGETS)
        self.set_actions()

    def set_actions(self):
        """Choose what an action is."""
        self.actions.torque = joint_efforts(1.0, ARM)
        self.actions.torque.scale = dict(LIMITS)
        self.actions.torque.clip = {joints: (-limit, limit) for joints, limit in LIMITS.items()}


@configclass
class FrankaReachPositionEnvCfg(FrankaReachTorqueEnvCfg):
    """Actions are joint positions, relative to where the joints are."""

    episode_steps: int = 256

    def set_actions(self):
        """Choose what an action is."""
        self.actions.torque = mdp.HeldPdActionCfg(
            asset_name="robot",
            joint_names=[ARM],
            scale=0.125 / 4,
            relative=True,
            stiffness={"panda_joint[1-4]": 600.0, "panda_joint5": 250.0, "panda_joint6": 150.0, "panda_joint7": 50.0},
            damping={"panda_joint[1-4]": 5.0, "panda_joint5": 3.0, "panda_joint6": 2.5, "panda_joint7": 1.5},
            effort_limit=LIMITS,
        )
