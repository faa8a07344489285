# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A planar robot that runs on two telescopic legs: rails along x and z and a hinge hold it in its plane."""

import torch
from isaaclab.envs import ManagerBasedRLEnvCfg, mdp
from isaaclab.managers import (
    EventTermCfg,
    ObservationGroupCfg,
    ObservationTermCfg,
    RewardTermCfg,
    SceneEntityCfg,
    TerminationTermCfg,
)
from isaaclab.utils import configclass

from .physics import PhysicsCfg, SceneCfg, drive, robot

PITCH = SceneEntityCfg("robot", joint_names=["pitch"])


def forward_speed(env) -> torch.Tensor:
    """Speed along the rail [m/s], up to two."""
    asset = env.scene["robot"]
    return asset.data.joint_vel.torch[:, asset.joint_names.index("rail_x")].clamp(-2.0, 2.0)


@configclass
class ActionsCfg:
    hips = mdp.JointPositionActionCfg(asset_name="robot", joint_names=[".*_hip"], scale=0.5)
    pistons = mdp.JointPositionActionCfg(asset_name="robot", joint_names=[".*_piston"], scale=0.04)


@configclass
class ObservationsCfg:
    @configclass
    class PolicyCfg(ObservationGroupCfg):
        """What the policy sees."""

        pos = ObservationTermCfg(
            func=mdp.joint_pos_rel,
            params={"asset_cfg": SceneEntityCfg("robot", joint_names=["rail_z", "pitch", ".*_hip", ".*_piston"])},
        )
        vel = ObservationTermCfg(func=mdp.joint_vel_rel)
        action = ObservationTermCfg(func=mdp.last_action)

    policy: PolicyCfg = PolicyCfg()


@configclass
class EventsCfg:
    start = EventTermCfg(
        func=mdp.reset_joints_by_offset,
        mode="reset",
        params={"position_range": (-0.03, 0.03), "velocity_range": (-0.1, 0.1)},
    )


@configclass
class RewardsCfg:
    speed = RewardTermCfg(func=forward_speed, weight=2.0)
    alive = RewardTermCfg(func=mdp.is_alive, weight=1.0)
    smooth = RewardTermCfg(func=mdp.action_rate_l2, weight=-0.01)


@configclass
class TerminationsCfg:
    time_out = TerminationTermCfg(func=mdp.time_out, time_out=True)
    tipped = TerminationTermCfg(
        func=mdp.joint_pos_out_of_manual_limit, params={"asset_cfg": PITCH, "bounds": (-0.8, 0.8)}
    )


@configclass
class EnvCfg(ManagerBasedRLEnvCfg):
    """Run along the rail."""

    scene: SceneCfg = SceneCfg(num_envs=64, env_spacing=4.0)
    observations: ObservationsCfg = ObservationsCfg()
    actions: ActionsCfg = ActionsCfg()
    events: EventsCfg = EventsCfg()
    rewards: RewardsCfg = RewardsCfg()
    terminations: TerminationsCfg = TerminationsCfg()

    def __post_init__(self):
        self.decimation = 4
        self.episode_length_s = 6.0
        self.sim.dt = 1 / 200
        self.sim.physics = PhysicsCfg()
        self.scene.robot = robot(
            "stilts",
            {"rail_z": 0.46},
            {"hips": drive(".*_hip", 60.0, 2.0), "pistons": drive(".*_piston", 3000.0, 60.0)},
        )
