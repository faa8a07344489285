# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Bringing the tool of an arm to a point, after the published Franka tasks (NeRD, arXiv 2508.15755, and its released
code). Which robot, its actions and its tool are filled in by :meth:`ReachEnvCfg.set_robot`.

The reward of a control step, of the distance ``d`` of the tool from the point, is ``-d`` and, for ``a`` of 50 and 300,
``1 / (exp(a d) + 1e-4 + exp(-a d))``: at most 1. Isaac Lab multiplies rewards by the control step. The published
policy sees joint angles, the tool and the point, and has a memory (LSTM); here it sees joint velocities as well, and
needs none.
"""

from dataclasses import MISSING
from typing import Any

from isaaclab.assets import ArticulationCfg
from isaaclab.managers import (
    EventTermCfg,
    ObservationGroupCfg,
    ObservationTermCfg,
    RewardTermCfg,
    SceneEntityCfg,
)
from isaaclab.managers import TerminationTermCfg as DoneTermCfg
from isaaclab.scene import InteractiveSceneCfg
from isaaclab.utils import configclass, replace

from ... import mdp
from ..base_env_cfg import JointTorquesCfg, TaskEnvCfg, distant_light

TARGET = "target"
"""Name of the command."""


@configclass
class ReachSceneCfg(InteractiveSceneCfg):
    """An arm, and nothing that it could touch."""

    robot: ArticulationCfg = MISSING  # pyright: ignore[reportAssignmentType]  (filled in by set_robot)
    light = distant_light()


@configclass
class CommandsCfg:
    """Where the tool should be."""

    target = mdp.TargetPointCommandCfg(low=MISSING, high=MISSING)  # pyright: ignore[reportArgumentType]


@configclass
class ObservationsCfg:
    """Joints, tool and target."""

    @configclass
    class PolicyCfg(ObservationGroupCfg):
        """Observations of the policy, in this order."""

        joint_pos = ObservationTermCfg(func=mdp.joint_pos)
        joint_vel = ObservationTermCfg(func=mdp.joint_vel)
        tool = ObservationTermCfg(func=mdp.point_of_body)
        target = ObservationTermCfg(func=mdp.generated_commands, params={"command_name": TARGET})

    policy: PolicyCfg = PolicyCfg()


@configclass
class EventsCfg:
    """Starts: near the default."""

    reset_joints = EventTermCfg(
        func=mdp.reset_joints_by_offset,
        mode="reset",
        params={"position_range": (-0.125, 0.125), "velocity_range": (0.0, 0.0)},
    )


@configclass
class RewardsCfg:
    """The published sum, in two terms."""

    distance = RewardTermCfg(func=mdp.distance_to_target, weight=-1.0)
    nearness = RewardTermCfg(func=mdp.nearness_to_target, weight=1.0, params={"sharpness": (50.0, 300.0)})


@configclass
class TerminationsCfg:
    """End of the time, or a simulation that exploded."""

    time_out = DoneTermCfg(func=mdp.time_out, time_out=True)
    diverged = DoneTermCfg(func=mdp.state_diverged)


@configclass
class ReachEnvCfg(TaskEnvCfg):
    """Bring the tool to a point."""

    scene: ReachSceneCfg = ReachSceneCfg(num_envs=512, env_spacing=3.0, clone_in_fabric=True)
    commands: CommandsCfg = CommandsCfg()
    observations: ObservationsCfg = ObservationsCfg()
    actions: JointTorquesCfg = JointTorquesCfg()
    events: EventsCfg = EventsCfg()
    rewards: RewardsCfg = RewardsCfg()
    terminations: TerminationsCfg = TerminationsCfg()
    episode_steps: int = 128

    def set_robot(
        self,
        robot: ArticulationCfg,
        joints: str,
        tool: tuple[str, tuple[float, float, float]],
        box: tuple[tuple[float, float, float], tuple[float, float, float]],
    ):
        """Fill in the robot. A robot's task calls it after ``__post_init__``, and sets ``actions.torque``.

        Args:
            robot: Its configuration.
            joints: Expression for the names of the joints that the policy sees and that start anywhere.
            tool: Body with the tool, and the tool in its frame [m].
            box: Corners of the box of targets, relative to the origin of the environment [m].
        """
        self.scene.robot = replace(robot, prim_path="{ENV_REGEX_NS}/Robot")
        body, offset = tool
        target = self.commands.target
        target.body, target.offset = body, offset
        target.low, target.high = box
        for term in (self.observations.policy.joint_pos, self.observations.policy.joint_vel, self.events.reset_joints):
            term.params["asset_cfg"] = SceneEntityCfg("robot", joint_names=[joints])

        def tool_of() -> dict[str, Any]:
            return {"asset_cfg": SceneEntityCfg("robot", body_names=[body]), "offset": offset}

        self.observations.policy.tool.params.update(tool_of())
        for term in (self.rewards.distance, self.rewards.nearness):
            term.params.update(tool_of(), command=TARGET)
