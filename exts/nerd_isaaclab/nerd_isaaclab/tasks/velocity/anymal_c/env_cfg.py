# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""ANYmal C at a commanded velocity.

Isaac Lab's own task drives it by a network of its actuators, a file that is not at hand everywhere. Here its joints are
drives of the engine with the gains of the NeRD paper, or DC motors with those of Isaac Lab's simple model of the same
actuators, whose torque falls with the speed.
"""

from isaaclab.actuators import DCMotorCfg, ImplicitActuatorCfg
from isaaclab.utils import configclass

from ....robots import anymal_c
from ..velocity_env_cfg import VelocityEnvCfg

JOINTS = [".*HAA", ".*HFE", ".*KFE"]
MAX_TORQUE = 80.0
"""Largest torque of a joint [N m]."""


@configclass
class AnymalCVelocityEnvCfg(VelocityEnvCfg):
    """Walk, with position drives of the engine."""

    def __post_init__(self):
        """Fill in the robot."""
        super().__post_init__()
        legs = ImplicitActuatorCfg(joint_names_expr=JOINTS, joint_effort_limit=MAX_TORQUE, stiffness=85.0, damping=2.0)
        self.set_robot(anymal_c.articulation(), {"legs": legs}, base="base", feet=".*FOOT")


@configclass
class AnymalCDcMotorVelocityEnvCfg(VelocityEnvCfg):
    """Walk, with DC motors that act in every physics step."""

    def __post_init__(self):
        """Fill in the robot."""
        super().__post_init__()
        legs = DCMotorCfg(
            joint_names_expr=JOINTS,
            saturation_effort=120.0,
            actuator_effort_limit=MAX_TORQUE,
            actuator_velocity_limit=7.5,
            stiffness=40.0,
            damping=5.0,
        )
        self.set_robot(anymal_c.articulation(), {"legs": legs}, base="base", feet=".*FOOT")
