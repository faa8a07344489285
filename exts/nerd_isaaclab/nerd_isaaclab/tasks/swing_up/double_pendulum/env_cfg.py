# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Configuration of the double pendulum, the published robot for contact with ground of any height and tilt.

Two links of 1.5 m hang 2 m above the ground, so that the lower one can hit it. The publication watches it swing and
collide (zero effort); here both hinges take a torque as well, up to the published 1500 N m. The reward is for standing
up: the height of the lower link over the root, less a little for speed; nothing of the kind is published.
"""

import math

import isaaclab.sim as sim_utils
import torch
from isaaclab.assets import ArticulationCfg, AssetBaseCfg
from isaaclab.managers import EventTermCfg, ObservationGroupCfg, ObservationTermCfg, RewardTermCfg, SceneEntityCfg
from isaaclab.managers import TerminationTermCfg as DoneTermCfg
from isaaclab.scene import InteractiveSceneCfg
from isaaclab.utils import configclass, replace

from ... import mdp
from ...assets.robots import DOUBLE_PENDULUM_CFG
from ..base_env_cfg import TaskEnvCfg

MAX_TORQUE = 1500.0
"""Torque of a full action on a hinge [N m], as published."""

REACH = 3.0
"""Length of both links [m]."""


def link_height(env) -> torch.Tensor:
    """Height of the lower link's centre of mass over the root, in parts of the reach, shape (N,)."""
    robot = env.scene["robot"]
    height = robot.data.body_com_pos_w.torch[..., 2]
    return (height[:, -1] - robot.data.root_link_pos_w.torch[:, 2]) / REACH


@configclass
class DoublePendulumSceneCfg(InteractiveSceneCfg):
    """A double pendulum above flat ground."""

    ground = AssetBaseCfg(prim_path="/World/ground", spawn=sim_utils.GroundPlaneCfg(size=(100.0, 100.0)))
    robot: ArticulationCfg = replace(DOUBLE_PENDULUM_CFG, prim_path="{ENV_REGEX_NS}/Robot")
    light = AssetBaseCfg(
        prim_path="/World/light", spawn=sim_utils.DistantLightCfg(color=(0.9, 0.9, 0.9), intensity=2500.0)
    )


@configclass
class ActionsCfg:
    """Two numbers in [-1, 1]: the torques of the hinges."""

    torque = mdp.JointEffortActionCfg(
        asset_name="robot", joint_names=[".*"], scale=MAX_TORQUE, clip={".*": (-MAX_TORQUE, MAX_TORQUE)}
    )


@configclass
class ObservationsCfg:
    """Four numbers: wrapped angles and angular velocities."""

    @configclass
    class PolicyCfg(ObservationGroupCfg):
        """Observations of the policy, in this order."""

        joint_pos = ObservationTermCfg(func=mdp.joint_pos_wrapped)
        joint_vel = ObservationTermCfg(func=mdp.joint_vel)

    policy: PolicyCfg = PolicyCfg()


def _hinge(name: str) -> SceneEntityCfg:
    return SceneEntityCfg("robot", joint_names=[name])


@configclass
class EventsCfg:
    """Starts: the upper link level or above, the lower one anywhere; so nothing starts inside the ground."""

    reset_upper = EventTermCfg(
        func=mdp.reset_joints_by_offset,
        mode="reset",
        params={
            "asset_cfg": _hinge("joint_0"),
            "position_range": (0.5 * math.pi, 1.5 * math.pi),
            "velocity_range": (-1.0, 1.0),
        },
    )
    reset_lower = EventTermCfg(
        func=mdp.reset_joints_by_offset,
        mode="reset",
        params={
            "asset_cfg": _hinge("joint_1"),
            "position_range": (-math.pi, math.pi),
            "velocity_range": (-1.0, 1.0),
        },
    )


@configclass
class RewardsCfg:
    """Up, and slowly."""

    height = RewardTermCfg(func=link_height, weight=1.0)
    speed = RewardTermCfg(func=mdp.joint_vel_l2, weight=-1.0e-3)


@configclass
class TerminationsCfg:
    """End of the time, or a simulation that exploded."""

    time_out = DoneTermCfg(func=mdp.time_out, time_out=True)
    diverged = DoneTermCfg(func=mdp.state_diverged)


@configclass
class DoublePendulumEnvCfg(TaskEnvCfg):
    """The double pendulum."""

    scene: DoublePendulumSceneCfg = DoublePendulumSceneCfg(num_envs=512, env_spacing=8.0, clone_in_fabric=True)
    observations: ObservationsCfg = ObservationsCfg()
    actions: ActionsCfg = ActionsCfg()
    events: EventsCfg = EventsCfg()
    rewards: RewardsCfg = RewardsCfg()
    terminations: TerminationsCfg = TerminationsCfg()
    episode_steps: int = 300


@configclass
class DoublePendulumPlayEnvCfg(DoublePendulumEnvCfg):
    """The same with few envs, to be watched."""

    def __post_init__(self):
        """Apply Isaac Lab's settings for playback."""
        super().__post_init__()
        self.play_mode()
