# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""ANYmal C, walking forward and sideways at 1 m/s.

Numbers are the published ones: actions are joint positions about a stance, half a radian each, which a controller turns
into torques once in a control step (85 N m/rad, 2 N m s/rad); starts 0.7 m high, joints at half to one and a half times
the stance; the end of an episode is 1,000 steps, the base lower than 0.4 m, or base or knees within a centimetre of the
ground. Torques are not clamped there; here the robot's 80 N m are kept.
"""

from isaaclab.managers import EventTermCfg, SceneEntityCfg
from isaaclab.managers import TerminationTermCfg as DoneTermCfg
from isaaclab.utils import configclass

from .... import mdp
from ....robots import anymal_c
from ..locomotion_env_cfg import LocomotionEnvCfg, WalkRewardsCfg
from ..locomotion_env_cfg import TerminationsCfg as FallsCfg

STANCE = {
    "L[FH]_HAA": 0.03,
    "R[FH]_HAA": -0.03,
    ".*F_HFE": 0.4,
    ".*H_HFE": -0.4,
    ".*F_KFE": -0.8,
    ".*H_KFE": 0.8,
}
"""Default position of each joint [rad]."""

ALMOST_TOUCHING = 0.01
"""Gap to the ground at which base and knees end an episode [m]."""


@configclass
class TerminationsCfg(FallsCfg):
    """A fall is also a base or a knee that is about to touch the ground."""

    base_down = DoneTermCfg(
        func=mdp.point_below,
        params={
            "asset_cfg": SceneEntityCfg("robot", body_names=["base"]),
            "offsets": ((-anymal_c.BASE_LENGTH / 2, 0.0, 0.0), (anymal_c.BASE_LENGTH / 2, 0.0, 0.0)),
            "minimum": anymal_c.BASE_RADIUS + ALMOST_TOUCHING,
        },
    )
    knee_down = DoneTermCfg(
        func=mdp.point_below,
        params={
            "asset_cfg": SceneEntityCfg("robot", body_names=[".*_THIGH"]),
            "offsets": anymal_c.KNEE_ENDS,
            "minimum": anymal_c.KNEE_RADIUS + ALMOST_TOUCHING,
        },
    )


@configclass
class AnymalCForwardEnvCfg(LocomotionEnvCfg):
    """Walk along the world's x."""

    rewards: WalkRewardsCfg = WalkRewardsCfg()
    terminations: TerminationsCfg = TerminationsCfg()
    episode_steps: int = 1000

    def __post_init__(self):
        """Fill in ANYmal, its controller and its starts."""
        super().__post_init__()
        robot = anymal_c.articulation()
        robot.init_state.joint_pos = dict(STANCE)
        robot.init_state.pos = (0.0, 0.0, 0.7)
        controller = mdp.HeldPdActionCfg(
            asset_name="robot",
            joint_names=[".*HAA", ".*HFE", ".*KFE"],
            scale=0.5,
            stiffness=85.0,
            damping=2.0,
            effort_limit=80.0,
        )
        self.set_robot(robot, controller, min_height=0.4, drop=(0.0, 0.0))
        for axis in ("roll", "pitch", "yaw"):
            self.events.reset_root.params["pose_range"][axis] = (0.0, 0.0)  # pyright: ignore[reportIndexIssue]
        self.events.reset_joints = EventTermCfg(
            func=mdp.reset_joints_scaled, mode="reset", params={"scale": (0.5, 1.5), "max_speed": 0.1}
        )


@configclass
class AnymalCSidewaysEnvCfg(AnymalCForwardEnvCfg):
    """Walk along the world's y."""

    def __post_init__(self):
        """Ask for the other velocity."""
        super().__post_init__()
        self.rewards.walk.params["velocity"] = (0.0, 1.0)
