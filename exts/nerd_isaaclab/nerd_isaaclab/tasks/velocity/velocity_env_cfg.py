# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Walking at a commanded velocity: Isaac Lab's own velocity task, with its commands, observations and rewards.

Two things differ from the stock task. The ground is a plane, so nothing scans it. And every robot is the same one:
masses and centres of mass are not randomised, since a model of the dynamics is a model of one robot.
"""

from typing import Any

from isaaclab.assets import ArticulationCfg
from isaaclab.utils import configclass
from isaaclab_tasks.core.velocity.velocity_env_cfg import LocomotionVelocityRoughEnvCfg

from ...envs.nerd_env_cfg import NerdCfg
from ..base_env_cfg import PhysicsPresetsCfg


@configclass
class VelocityEnvCfg(LocomotionVelocityRoughEnvCfg):
    """Walk at a commanded velocity. A robot's task calls :meth:`set_robot` after ``__post_init__``."""

    nerd: NerdCfg = NerdCfg()
    """Which dynamics step the robot."""

    def __post_init__(self):
        """Take the stock task onto a plane, with its rewards for flat ground."""
        super().__post_init__()
        self.sim.physics = PhysicsPresetsCfg()
        self.scene.terrain.terrain_type = "plane"
        self.scene.terrain.terrain_generator = None
        self.scene.terrain.visual_material = None  # the stock one is a download
        self.scene.sky_light.spawn.texture_file = None
        self.scene.height_scanner = None
        self.observations.policy.height_scan = None
        self.curriculum.terrain_levels = None
        self.events.add_base_mass = None
        self.events.base_com = None
        self.rewards.flat_orientation_l2.weight = -5.0
        self.rewards.dof_torques_l2.weight = -2.5e-5
        self.rewards.feet_air_time.weight = 0.5
        self.rewards.undesired_contacts = None

    def set_robot(self, robot: ArticulationCfg, actuators: dict[str, Any], base: str, feet: str) -> None:
        """Fill in a robot.

        Args:
            robot: Its configuration.
            actuators: What drives its joints towards the positions that a policy asks for.
            base: Name of the body that must not touch the ground.
            feet: Expression for the names of the feet.
        """
        robot.prim_path = "{ENV_REGEX_NS}/Robot"
        robot.actuators = actuators
        robot.spawn.activate_contact_sensors = True
        robot.soft_joint_pos_limit_factor = 0.95
        self.scene.robot = robot
        self.rewards.feet_air_time.params["sensor_cfg"].body_names = feet
        self.terminations.base_contact.params["sensor_cfg"].body_names = base
        self.events.base_external_force_torque = None
