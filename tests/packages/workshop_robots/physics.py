# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Engine, scene and drives as both tasks have them."""

from pathlib import Path

import isaaclab.sim as sim_utils
from isaaclab.actuators import ImplicitActuatorCfg
from isaaclab.assets import ArticulationCfg
from isaaclab.scene import InteractiveSceneCfg
from isaaclab.terrains import TerrainImporterCfg
from isaaclab.utils import configclass
from isaaclab_ov.physics import OvPhysxCfg
from isaaclab_tasks.utils import PresetCfg


@configclass
class PhysicsCfg(PresetCfg):
    """PhysX without Kit."""

    ovphysx: OvPhysxCfg = OvPhysxCfg()
    default: OvPhysxCfg = ovphysx


@configclass
class SceneCfg(InteractiveSceneCfg):
    """A robot on a plane."""

    terrain = TerrainImporterCfg(prim_path="/World/ground", terrain_type="plane")
    robot: ArticulationCfg = None


def drive(joints: str, stiffness: float, damping: float) -> ImplicitActuatorCfg:
    """A position drive of the engine; limits are those of the robot's file."""
    return ImplicitActuatorCfg(joint_names_expr=[joints], stiffness=stiffness, damping=damping)


def robot(name: str, joint_pos: dict[str, float], actuators: dict[str, ImplicitActuatorCfg]) -> ArticulationCfg:
    """A robot from the file beside this one."""
    return ArticulationCfg(
        prim_path="{ENV_REGEX_NS}/Robot",
        spawn=sim_utils.UsdFileCfg(usd_path=str(Path(__file__).with_name(f"{name}.usda"))),
        init_state=ArticulationCfg.InitialStateCfg(joint_pos=joint_pos),
        actuators=actuators,
    )
