# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Throwing a box onto flat ground and watching it come to rest. There is no action: what is learned is its dynamics."""

from dataclasses import MISSING

import isaaclab.sim as sim_utils
from isaaclab.assets import AssetBaseCfg, RigidObjectCfg
from isaaclab.managers import EventTermCfg, ObservationGroupCfg, ObservationTermCfg, RewardTermCfg
from isaaclab.managers import TerminationTermCfg as DoneTermCfg
from isaaclab.scene import InteractiveSceneCfg
from isaaclab.utils import configclass, replace
from isaaclab_physx.sim.spawners.materials import PhysxRigidBodyMaterialCfg

from ... import mdp
from ..base_env_cfg import TaskEnvCfg, distant_light

FRICTION = 0.15
"""Friction of the body on the ground, at rest and sliding; the published one of the cube."""

TOSS_SPACING = 6.0
"""Distance of the environments [m]: a throw of 3.5 m/s that slides on does not reach its neighbour's in an episode."""


def slippery() -> PhysxRigidBodyMaterialCfg:
    """The material of the ground, smoother than any body: the smaller friction of the two counts."""
    return PhysxRigidBodyMaterialCfg(
        static_friction=FRICTION, dynamic_friction=FRICTION, restitution=0.0, friction_combine_mode="min"
    )


@configclass
class TossSceneCfg(InteractiveSceneCfg):
    """A free body above flat ground."""

    ground = AssetBaseCfg(
        prim_path="/World/ground",
        spawn=sim_utils.GroundPlaneCfg(size=(100.0, 100.0), physics_material=slippery()),
    )
    robot: RigidObjectCfg = MISSING  # pyright: ignore[reportAssignmentType]  (filled in by set_body)
    light = distant_light()


@configclass
class ObservationsCfg:
    """The state of the body."""

    @configclass
    class PolicyCfg(ObservationGroupCfg):
        """In this order."""

        height = ObservationTermCfg(func=mdp.root_link_height)
        quat = ObservationTermCfg(func=mdp.root_quat_w, params={"make_quat_unique": True})
        lin_vel = ObservationTermCfg(func=mdp.root_link_lin_vel_w)
        ang_vel = ObservationTermCfg(func=mdp.root_link_ang_vel_w)

    policy: PolicyCfg = PolicyCfg()


@configclass
class NoActionsCfg:
    """Nothing acts."""


@configclass
class EventsCfg:
    """Starts: thrown."""

    toss = EventTermCfg(
        func=mdp.toss_box,
        mode="reset",
        params={
            "half_extents": MISSING,
            "heights": MISSING,
            "max_angle": 0.523599,
            "lin_vel": ((-3.5, 3.5), (-3.5, 3.5), (-1.0, 0.2)),
            "ang_vel": ((-10.0, 12.0), (-10.0, 8.0), (-7.0, 4.0)),
        },
    )


@configclass
class RewardsCfg:
    """None that anything could earn: a task has to have one."""

    alive = RewardTermCfg(func=mdp.is_alive, weight=1.0)


@configclass
class TerminationsCfg:
    """End of the time, or a simulation that exploded."""

    time_out = DoneTermCfg(func=mdp.time_out, time_out=True)
    diverged = DoneTermCfg(func=mdp.state_diverged)


@configclass
class TossEnvCfg(TaskEnvCfg):
    """Throw a box, and watch."""

    scene: TossSceneCfg = TossSceneCfg(num_envs=512, env_spacing=TOSS_SPACING, clone_in_fabric=True)
    observations: object = ObservationsCfg()
    actions: object = NoActionsCfg()
    events: object = EventsCfg()
    rewards: object = RewardsCfg()
    terminations: object = TerminationsCfg()
    episode_steps: int = 160

    def set_body(
        self,
        body: RigidObjectCfg,
        half_extents: tuple[float, float, float],
        heights: tuple[float, float],
    ):
        """Fill in the body. Its task calls it after ``__post_init__``.

        Args:
            body: Its configuration.
            half_extents: Half the lengths of its edges [m].
            heights: Lowest and highest start of its centre [m]. Starts in which a corner would be inside the ground
                are drawn anew.
        """
        self.scene.robot = replace(body, prim_path="{ENV_REGEX_NS}/Robot")
        self.events.toss.params["half_extents"] = half_extents
        self.events.toss.params["heights"] = heights
