# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Writes an installed package with a task of its own, as somebody would who has never heard of this repository."""

from __future__ import annotations

from pathlib import Path

TASK = "Their-Swing"
"""Id of its task."""

_ROBOT = """#usda 1.0
(
    defaultPrim = "swing"
    kilogramsPerUnit = 1
    metersPerUnit = 1
    upAxis = "Z"
)
def Xform "swing" (prepend apiSchemas = ["PhysicsArticulationRootAPI"])
{
    def Xform "post" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
    {
        point3f physics:centerOfMass = (0, 0, 0)
        float3 physics:diagonalInertia = (0.01, 0.01, 0.01)
        float physics:mass = 1
        quatf physics:principalAxes = (1, 0, 0, 0)
    }
    def Xform "seat" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
    {
        point3f physics:centerOfMass = (0, 0, -0.8)
        float3 physics:diagonalInertia = (0.05, 0.05, 0.02)
        float physics:mass = 2
        quatf physics:principalAxes = (1, 0, 0, 0)
        def Sphere "ball" (prepend apiSchemas = ["PhysicsCollisionAPI"])
        {
            double radius = 0.1
            double3 xformOp:translate = (0, 0, -0.8)
            uniform token[] xformOpOrder = ["xformOp:translate"]
        }
    }
    def PhysicsFixedJoint "bolt"
    {
        rel physics:body1 = </swing/post>
    }
    def PhysicsRevoluteJoint "hinge" (prepend apiSchemas = ["PhysicsDriveAPI:angular"])
    {
        uniform token physics:axis = "Y"
        rel physics:body0 = </swing/post>
        rel physics:body1 = </swing/seat>
        point3f physics:localPos0 = (0, 0, 0)
        point3f physics:localPos1 = (0, 0, 0)
        quatf physics:localRot0 = (1, 0, 0, 0)
        quatf physics:localRot1 = (1, 0, 0, 0)
        float drive:angular:physics:damping = 0
        float drive:angular:physics:stiffness = 0
    }
}
"""

_INIT = f"""import gymnasium

gymnasium.register(
    id="{TASK}",
    entry_point="their_tasks.swing:SwingEnv",
    disable_env_checker=True,
    kwargs={{"env_cfg_entry_point": "their_tasks.swing:SwingEnvCfg"}},
)
"""

_SWING = '''from pathlib import Path

import torch
import isaaclab.sim as sim_utils
from isaaclab.actuators import ImplicitActuatorCfg
from isaaclab.assets import ArticulationCfg
from isaaclab.envs import ManagerBasedRLEnv, ManagerBasedRLEnvCfg, mdp
from isaaclab.managers import EventTermCfg, ObservationGroupCfg, ObservationTermCfg, RewardTermCfg, TerminationTermCfg
from isaaclab.scene import InteractiveSceneCfg
from isaaclab.utils import configclass
from isaaclab_ov.physics import OvPhysxCfg
from isaaclab_tasks.utils import PresetCfg


class SwingEnv(ManagerBasedRLEnv):
    """Remembers how high the seat has been."""

    def __init__(self, cfg, render_mode=None, **kwargs):
        super().__init__(cfg, render_mode, **kwargs)
        self.highest = torch.full((self.num_envs,), -10.0, device=self.device)

    def step(self, action):
        result = super().step(action)
        self.highest = torch.maximum(self.highest, height(self))
        return result


def height(env):
    return -torch.cos(env.scene["robot"].data.joint_pos.torch[:, 0])


@configclass
class PhysicsCfg(PresetCfg):
    ovphysx: OvPhysxCfg = OvPhysxCfg()
    default: OvPhysxCfg = ovphysx


@configclass
class SceneCfg(InteractiveSceneCfg):
    robot = ArticulationCfg(
        prim_path="{ENV_REGEX_NS}/Swing",
        spawn=sim_utils.UsdFileCfg(usd_path=str(Path(__file__).with_name("swing.usda"))),
        init_state=ArticulationCfg.InitialStateCfg(pos=(0.0, 0.0, 2.0)),
        actuators={"hinge": ImplicitActuatorCfg(joint_names_expr=["hinge"], stiffness=0.0, damping=0.1)},
    )


@configclass
class ActionsCfg:
    push = mdp.JointEffortActionCfg(asset_name="robot", joint_names=["hinge"], scale=5.0)


@configclass
class ObservationsCfg:
    @configclass
    class PolicyCfg(ObservationGroupCfg):
        angle = ObservationTermCfg(func=mdp.joint_pos_rel)
        speed = ObservationTermCfg(func=mdp.joint_vel_rel)

    policy: PolicyCfg = PolicyCfg()


@configclass
class EventsCfg:
    start = EventTermCfg(
        func=mdp.reset_joints_by_offset,
        mode="reset",
        params={"position_range": (-0.5, 0.5), "velocity_range": (-0.5, 0.5)},
    )


@configclass
class RewardsCfg:
    height = RewardTermCfg(func=height, weight=2.0)


@configclass
class TerminationsCfg:
    time_out = TerminationTermCfg(func=mdp.time_out, time_out=True)


@configclass
class SwingEnvCfg(ManagerBasedRLEnvCfg):
    scene: SceneCfg = SceneCfg(num_envs=16, env_spacing=3.0)
    observations: ObservationsCfg = ObservationsCfg()
    actions: ActionsCfg = ActionsCfg()
    events: EventsCfg = EventsCfg()
    rewards: RewardsCfg = RewardsCfg()
    terminations: TerminationsCfg = TerminationsCfg()

    def __post_init__(self):
        self.decimation = 3
        self.episode_length_s = 4.0
        self.sim.dt = 1 / 150
        self.sim.physics = PhysicsCfg()
'''


def write_package(folder: Path) -> Path:
    """Writes the package as ``pip`` leaves one behind: a module folder and its metadata.

    Args:
        folder: Where to. Put it on ``sys.path`` and Isaac Lab finds the task by its entry point.
    """
    package, metadata = folder / "their_tasks", folder / "their_tasks-0.1.dist-info"
    package.mkdir()
    metadata.mkdir()
    (package / "__init__.py").write_text(_INIT)
    (package / "swing.py").write_text(_SWING)
    (package / "swing.usda").write_text(_ROBOT)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: their-tasks\nVersion: 0.1\n")
    (metadata / "entry_points.txt").write_text("[isaaclab.tasks]\ntheir_tasks = their_tasks\n")
    return folder
