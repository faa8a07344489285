# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Standing up for a robot with a fixed base whose joints are hinges. The reward is the height of the last link over the
root, less a little for speed. Which robot, its efforts and its reach are filled in by :meth:`SwingUpEnvCfg.set_robot`.
"""

import math
from dataclasses import MISSING

import isaaclab.sim as sim_utils
from isaaclab.assets import ArticulationCfg, AssetBaseCfg
from isaaclab.managers import EventTermCfg, ObservationGroupCfg, ObservationTermCfg, RewardTermCfg, SceneEntityCfg
from isaaclab.managers import TerminationTermCfg as DoneTermCfg
from isaaclab.scene import InteractiveSceneCfg
from isaaclab.utils import configclass, replace

from ... import mdp
from ..base_env_cfg import JointTorquesCfg, TaskEnvCfg, distant_light, joint_efforts


@configclass
class SwingUpSceneCfg(InteractiveSceneCfg):
    """A robot with a fixed base above flat ground."""

    ground = AssetBaseCfg(prim_path="/World/ground", spawn=sim_utils.GroundPlaneCfg(size=(100.0, 100.0)))
    robot: ArticulationCfg = MISSING  # pyright: ignore[reportAssignmentType]  (filled in by set_robot)
    light = distant_light()


@configclass
class ObservationsCfg:
    """Wrapped angles and angular velocities."""

    @configclass
    class PolicyCfg(ObservationGroupCfg):
        """Observations of the policy, in this order."""

        joint_pos = ObservationTermCfg(func=mdp.joint_pos_wrapped)
        joint_vel = ObservationTermCfg(func=mdp.joint_vel)

    policy: PolicyCfg = PolicyCfg()


def reset_joint(
    joint: str, position: tuple[float, float] = (-math.pi, math.pi), velocity: tuple[float, float] = (-1.0, 1.0)
) -> EventTermCfg:
    """A joint starts anywhere in a range.

    Args:
        joint: Expression for its name.
        position: Range of its position about the default [rad or m].
        velocity: Range of its velocity [rad/s or m/s].
    """
    return EventTermCfg(
        func=mdp.reset_joints_by_offset,
        mode="reset",
        params={
            "asset_cfg": SceneEntityCfg("robot", joint_names=[joint]),
            "position_range": position,
            "velocity_range": velocity,
        },
    )


@configclass
class EventsCfg:
    """Starts: every hinge anywhere."""

    reset_joints = reset_joint(".*")


@configclass
class RewardsCfg:
    """Up, and slowly."""

    height = RewardTermCfg(func=mdp.last_link_height, weight=1.0, params={"reach": MISSING})
    speed = RewardTermCfg(func=mdp.joint_vel_l2, weight=-1.0e-3)


@configclass
class TerminationsCfg:
    """End of the time, or a simulation that exploded."""

    time_out = DoneTermCfg(func=mdp.time_out, time_out=True)
    diverged = DoneTermCfg(func=mdp.state_diverged)


@configclass
class SwingUpEnvCfg(TaskEnvCfg):
    """Stand up, from anywhere."""

    scene: SwingUpSceneCfg = SwingUpSceneCfg(num_envs=512, env_spacing=4.0, clone_in_fabric=True)
    observations: object = ObservationsCfg()
    actions: object = JointTorquesCfg()
    events: object = EventsCfg()
    rewards: object = RewardsCfg()
    terminations: object = TerminationsCfg()
    episode_steps: int = 300

    def set_robot(self, robot: ArticulationCfg, max_torque: float, reach: float):
        """Fill in the robot. A robot's task calls it after ``__post_init__``.

        Args:
            robot: Its configuration.
            max_torque: Torque of a full action on a hinge [N m].
            reach: Length of the stretched robot [m]: the unit of the height in the reward.
        """
        self.set_articulation(robot, reach)
        self.actions.torque = joint_efforts(max_torque)

    def set_articulation(self, robot: ArticulationCfg, reach: float):
        """Fill in a robot whose actions are its own. A robot's task calls it after ``__post_init__``.

        Args:
            robot: Its configuration.
            reach: Length of the stretched robot [m]: the unit of the height in the reward.
        """
        self.scene.robot = replace(robot, prim_path="{ENV_REGEX_NS}/Robot")
        self.rewards.height.params["reach"] = reach
