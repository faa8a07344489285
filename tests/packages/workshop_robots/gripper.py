# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""An arm of four joints that leads its hand to a commanded place; each of its two fingers has a drive of its own."""

import torch
from isaaclab.envs import ManagerBasedRLEnvCfg, mdp
from isaaclab.managers import (
    EventTermCfg,
    ObservationGroupCfg,
    ObservationTermCfg,
    RewardTermCfg,
    TerminationTermCfg,
)
from isaaclab.utils import configclass

from .physics import PhysicsCfg, SceneCfg, drive, robot

STRAIGHT = (0.0, 0.0)


def distance(env) -> torch.Tensor:
    """From the hand to where it should be [m]."""
    asset, command = env.scene["robot"], env.command_manager.get_command("place")
    hand = asset.data.body_pos_w.torch[:, asset.body_names.index("hand")] - asset.data.root_pos_w.torch
    return (hand - command[:, :3]).norm(dim=-1)


def nearness(env) -> torch.Tensor:
    """One where the hand should be, near zero ten centimetres away."""
    return 1.0 - torch.tanh(distance(env) / 0.1)


@configclass
class ActionsCfg:
    arm = mdp.JointPositionActionCfg(asset_name="robot", joint_names=["turn", "shoulder", "elbow", "wrist"], scale=0.5)
    fingers = mdp.JointPositionActionCfg(asset_name="robot", joint_names=["finger_.*"], scale=0.015)


@configclass
class CommandsCfg:
    place = mdp.UniformPoseCommandCfg(
        asset_name="robot",
        body_name="hand",
        resampling_time_range=(3.0, 3.0),
        ranges=mdp.UniformPoseCommandCfg.Ranges(
            pos_x=(0.3, 0.45), pos_y=(-0.2, 0.2), pos_z=(0.2, 0.45), roll=STRAIGHT, pitch=STRAIGHT, yaw=STRAIGHT
        ),
    )


@configclass
class ObservationsCfg:
    @configclass
    class PolicyCfg(ObservationGroupCfg):
        """What the policy sees."""

        pos = ObservationTermCfg(func=mdp.joint_pos_rel)
        vel = ObservationTermCfg(func=mdp.joint_vel_rel)
        place = ObservationTermCfg(func=mdp.generated_commands, params={"command_name": "place"})
        action = ObservationTermCfg(func=mdp.last_action)

    policy: PolicyCfg = PolicyCfg()


@configclass
class EventsCfg:
    start = EventTermCfg(
        func=mdp.reset_joints_by_offset,
        mode="reset",
        params={"position_range": (-0.2, 0.2), "velocity_range": (0.0, 0.0)},
    )


@configclass
class RewardsCfg:
    distance = RewardTermCfg(func=distance, weight=-0.5)
    nearness = RewardTermCfg(func=nearness, weight=1.0)
    smooth = RewardTermCfg(func=mdp.action_rate_l2, weight=-0.005)


@configclass
class TerminationsCfg:
    time_out = TerminationTermCfg(func=mdp.time_out, time_out=True)


@configclass
class EnvCfg(ManagerBasedRLEnvCfg):
    """Reach a place."""

    scene: SceneCfg = SceneCfg(num_envs=64, env_spacing=2.5)
    observations: ObservationsCfg = ObservationsCfg()
    actions: ActionsCfg = ActionsCfg()
    commands: CommandsCfg = CommandsCfg()
    events: EventsCfg = EventsCfg()
    rewards: RewardsCfg = RewardsCfg()
    terminations: TerminationsCfg = TerminationsCfg()

    def __post_init__(self):
        self.decimation = 2
        self.episode_length_s = 6.0
        self.sim.dt = 1 / 60
        self.sim.physics = PhysicsCfg()
        self.scene.robot = robot(
            "gripper",
            {"shoulder": 0.5, "elbow": 1.2, "wrist": -0.2, "finger_.*": 0.02, "turn": 0.0},
            {"arm": drive("turn|shoulder|elbow|wrist", 120.0, 12.0), "fingers": drive("finger_.*", 800.0, 20.0)},
        )
