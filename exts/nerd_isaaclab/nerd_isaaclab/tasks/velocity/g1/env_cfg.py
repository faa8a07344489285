# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Unitree G1 at a commanded velocity, its joints led by position drives of the engine.

The gains are of the size of Isaac Lab's for the stock G1, but ankles are stiff enough that the robot stands without a
policy; efforts are limited as the URDF says. Some terms are those of a biped: staying up is worth something, feet swing
one at a time, and it turns and walks sideways slowly.
"""

from isaaclab.actuators import ImplicitActuatorCfg
from isaaclab.managers import RewardTermCfg, TerminationTermCfg
from isaaclab.utils import configclass
from isaaclab_tasks.core.velocity import mdp
from isaaclab_tasks.core.velocity.velocity_env_cfg import RewardsCfg, TerminationsCfg

from ....robots import g1
from ..velocity_env_cfg import VelocityEnvCfg

LEG, ANKLE, WAIST = [".*_hip_.*", ".*_knee_joint"], [".*_ankle_.*"], ["waist_.*"]
ARM, WRIST = [".*_shoulder_.*", ".*_elbow_joint"], [".*_wrist_.*"]


def drive(joints: list[str], stiffness: float, damping: float) -> ImplicitActuatorCfg:
    """Return a position drive; the largest efforts are those of the file.

    Args:
        joints: Expressions for the names of the joints.
        stiffness: Its stiffness [N m/rad].
        damping: Its damping [N m s/rad].
    """
    return ImplicitActuatorCfg(joint_names_expr=joints, stiffness=stiffness, damping=damping, armature=g1.ARMATURE)


@configclass
class G1RewardsCfg(RewardsCfg):
    """Rewards of the family, and one for every step on its feet."""

    alive = RewardTermCfg(func=mdp.is_alive, weight=1.0)


@configclass
class G1TerminationsCfg(TerminationsCfg):
    """Terminations of the family, and one that needs no contact sensor: a biped may fall onto its hands."""

    fallen = TerminationTermCfg(func=mdp.root_height_below_minimum, params={"minimum_height": 0.5})


@configclass
class G1VelocityEnvCfg(VelocityEnvCfg):
    """Walk on two legs."""

    rewards: G1RewardsCfg = G1RewardsCfg()
    terminations: G1TerminationsCfg = G1TerminationsCfg()

    def __post_init__(self):
        """Fill in the robot, and what a biped needs."""
        super().__post_init__()
        actuators = {
            "legs": drive(LEG, 300.0, 8.0),
            "ankles": drive(ANKLE, 250.0, 8.0),
            "waist": drive(WAIST, 300.0, 8.0),
            "arms": drive(ARM, 40.0, 3.0),
            "wrists": drive(WRIST, 10.0, 0.5),
        }
        self.set_robot(g1.articulation(), actuators, base="torso_link", feet=".*_ankle_roll_link")
        self.actions.joint_pos.scale = 0.25
        self.rewards.feet_air_time.func = mdp.feet_air_time_positive_biped
        self.rewards.feet_air_time.params["threshold"] = 0.4
        self.rewards.flat_orientation_l2.weight = -1.0
        self.rewards.dof_torques_l2.weight = -2.0e-6
        self.rewards.lin_vel_z_l2.weight = -0.2
        self.commands.base_velocity.ranges.lin_vel_x = (0.0, 1.0)
        self.commands.base_velocity.ranges.lin_vel_y = (-0.5, 0.5)
        # it begins at rest on its default pose: pushed at half a metre a second nobody stands without a step
        self.events.reset_base.params["velocity_range"] = {}
        self.events.reset_robot_joints.params["position_range"] = (1.0, 1.0)
