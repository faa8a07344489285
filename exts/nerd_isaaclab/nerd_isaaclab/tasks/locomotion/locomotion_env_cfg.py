# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Running, spinning and walking for a robot with a floating base, after the published tasks (NeRD, arXiv 2508.15755,
and its released code). Which robot, its torques and its heights are filled in by :meth:`LocomotionEnvCfg.set_robot`.

Rewards of a control step, ``up`` and ``heading`` being the cosines of the root's z and x with the world's:

* run: ``v_x + 0.1 up + heading``;
* spin: ``w_z + up``;
* spin-track: ``5 exp(-(w_z - 5)^2 - 0.1 w_x^2 - 0.1 w_y^2) + 0.1 up``;
* walk: ``max(0, exp(-|v_xy - velocity|^2) + 0.5 exp(-w_z^2) - 2.5e-5 sum tau^2)``, after the published ANYmal tasks.

Isaac Lab multiplies rewards by the control step (1/60 s), so a return here is 1/60 of the published one. The published
world is y-up, this one z-up. Observations are the published numbers, 29 for an Ant: height, quaternion (x, y, z, w),
linear and angular velocity in world axes, joint angles, joint velocities, ``up``, ``heading``.
"""

from dataclasses import MISSING

import isaaclab.sim as sim_utils
from isaaclab.assets import ArticulationCfg, AssetBaseCfg
from isaaclab.envs.mdp import JointEffortActionCfg
from isaaclab.managers import EventTermCfg, ObservationGroupCfg, ObservationTermCfg, RewardTermCfg
from isaaclab.managers import TerminationTermCfg as DoneTermCfg
from isaaclab.scene import InteractiveSceneCfg
from isaaclab.terrains import TerrainImporterCfg
from isaaclab.utils import configclass, replace

from ... import mdp
from ..base_env_cfg import JointTorquesCfg, TaskEnvCfg


@configclass
class LocomotionSceneCfg(InteractiveSceneCfg):
    """A robot on flat ground."""

    terrain = TerrainImporterCfg(
        prim_path="/World/ground",
        terrain_type="plane",
        collision_group=-1,
        physics_material=sim_utils.RigidBodyMaterialCfg(
            friction_combine_mode="average",
            restitution_combine_mode="average",
            static_friction=1.0,
            dynamic_friction=1.0,
            restitution=0.0,
        ),
        debug_vis=False,
    )
    robot: ArticulationCfg = MISSING  # pyright: ignore[reportAssignmentType]  (filled in by set_robot)
    light = AssetBaseCfg(
        prim_path="/World/light", spawn=sim_utils.DistantLightCfg(color=(0.75, 0.75, 0.75), intensity=3000.0)
    )


@configclass
class ObservationsCfg:
    """The published numbers: 13 of the root, two of each joint, two directions."""

    @configclass
    class PolicyCfg(ObservationGroupCfg):
        """Observations of the policy, in this order."""

        height = ObservationTermCfg(func=mdp.root_link_height)
        quat = ObservationTermCfg(func=mdp.root_quat_w, params={"make_quat_unique": True})
        lin_vel = ObservationTermCfg(func=mdp.root_link_lin_vel_w)
        ang_vel = ObservationTermCfg(func=mdp.root_link_ang_vel_w)
        joint_pos = ObservationTermCfg(func=mdp.joint_pos)
        joint_vel = ObservationTermCfg(func=mdp.joint_vel)
        up = ObservationTermCfg(func=mdp.root_up_proj)
        heading = ObservationTermCfg(func=mdp.root_heading_proj)

    policy: PolicyCfg = PolicyCfg()


@configclass
class EventsCfg:
    """Starts: above the ground, upright and facing forward within a tenth of a radian, joints near their defaults."""

    reset_root = EventTermCfg(
        func=mdp.reset_root_state_uniform,  # pyright: ignore[reportArgumentType]  (a term may be a class)
        mode="reset",
        params={
            "pose_range": {"z": (0.0, 0.0), "roll": (-0.1, 0.1), "pitch": (-0.1, 0.1), "yaw": (-0.1, 0.1)},
            "velocity_range": {},
        },
    )
    reset_joints = EventTermCfg(
        func=mdp.reset_joints_by_offset,
        mode="reset",
        params={"position_range": (-0.2, 0.2), "velocity_range": (-0.1, 0.1)},
    )


@configclass
class RunRewardsCfg:
    """``v_x + 0.1 up + heading``."""

    forward = RewardTermCfg(func=mdp.forward_speed, weight=1.0)
    up = RewardTermCfg(func=mdp.up, weight=0.1)
    heading = RewardTermCfg(func=mdp.heading, weight=1.0)


@configclass
class SpinRewardsCfg:
    """``w_z + up``."""

    spin = RewardTermCfg(func=mdp.spin_rate, weight=1.0)
    up = RewardTermCfg(func=mdp.up, weight=1.0)


@configclass
class SpinTrackRewardsCfg:
    """``5 exp(-(w_z - 5)^2 - 0.1 w_x^2 - 0.1 w_y^2) + 0.1 up``."""

    spin = RewardTermCfg(func=mdp.spin_rate_tracking_exp, weight=5.0, params={"target": 5.0, "tilt_weight": 0.1})
    up = RewardTermCfg(func=mdp.up, weight=0.1)


@configclass
class WalkRewardsCfg:
    """``max(0, exp(-|v_xy - velocity|^2) + 0.5 exp(-w_z^2) - 2.5e-5 sum tau^2)``."""

    walk = RewardTermCfg(func=mdp.walking, weight=1.0, params={"velocity": (1.0, 0.0), "effort_weight": 2.5e-5})


@configclass
class TerminationsCfg:
    """End of the time, a fall, or a simulation that exploded."""

    time_out = DoneTermCfg(func=mdp.time_out, time_out=True)
    fallen = DoneTermCfg(func=mdp.root_link_height_below, params={"minimum": 0.0})
    diverged = DoneTermCfg(func=mdp.state_diverged)


@configclass
class LocomotionEnvCfg(TaskEnvCfg):
    """Run along the world's x, unless a task has other rewards."""

    scene: LocomotionSceneCfg = LocomotionSceneCfg(num_envs=512, env_spacing=5.0, clone_in_fabric=True)
    observations: ObservationsCfg = ObservationsCfg()
    actions: JointTorquesCfg = JointTorquesCfg()
    events: EventsCfg = EventsCfg()
    rewards: object = RunRewardsCfg()
    terminations: TerminationsCfg = TerminationsCfg()
    episode_steps: int = 500

    def __post_init__(self):
        """Give the feet the friction of the ground."""
        super().__post_init__()
        self.sim.physics_material.static_friction = 1.0
        self.sim.physics_material.dynamic_friction = 1.0
        self.sim.physics_material.restitution = 0.0

    def set_robot(
        self, robot: ArticulationCfg, torque: JointEffortActionCfg, min_height: float, drop: tuple[float, float]
    ):
        """Fill in the robot. A robot's task calls it after ``__post_init__``.

        Args:
            robot: Its configuration.
            torque: What turns an action into torques.
            min_height: Height of the root [m] below which the robot counts as fallen.
            drop: Lowest and highest start above the initial position of the configuration [m]. High enough for the feet
                to be clear of the ground in every start: the solver would throw the robot up.
        """
        self.scene.robot = replace(robot, prim_path="{ENV_REGEX_NS}/Robot")
        self.actions.torque = torque
        self.terminations.fallen.params["minimum"] = min_height
        self.events.reset_root.params["pose_range"]["z"] = drop  # pyright: ignore[reportIndexIssue]
