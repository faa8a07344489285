# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Configurations of the robots that ``nerd assets build`` makes, ready for effort control.

They always use the files built here, also where NVIDIA's assets can be reached: a dynamics model is trained for one
robot, and this way everybody has the same one. Stock tasks keep their own configurations (see
:mod:`nerd_isaaclab.assets.root`).
"""

from __future__ import annotations

import isaaclab.sim as sim_utils
from isaaclab.actuators import ImplicitActuatorCfg
from isaaclab.assets import ArticulationCfg
from isaaclab_newton.sim.schemas import NewtonArticulationCfg
from isaaclab_physx.sim.schemas import PhysxArticulationCfg, PhysxRigidBodyCfg

from .build import asset_path


def _spawn(name: str, disable_gravity: bool = False) -> sim_utils.UsdFileCfg:
    """Return how a robot's file is brought into a scene.

    Args:
        name: Name of the asset.
        disable_gravity: Whether gravity leaves this robot alone.
    """
    return sim_utils.UsdFileCfg(
        usd_path=str(asset_path(name)),
        activate_contact_sensors=True,
        rigid_props=PhysxRigidBodyCfg(
            disable_gravity=disable_gravity,
            linear_damping=0.0,
            angular_damping=0.0,
            max_linear_velocity=1000.0,
            max_angular_velocity=1000.0,
            max_depenetration_velocity=10.0,
            enable_gyroscopic_forces=True,
        ),
        articulation_props=[
            PhysxArticulationCfg(
                enabled_self_collisions=False,
                solver_position_iteration_count=4,
                solver_velocity_iteration_count=0,
                sleep_threshold=0.005,
                stabilization_threshold=0.001,
            ),
            NewtonArticulationCfg(self_collision_enabled=False),
        ],
    )


CARTPOLE_CFG = ArticulationCfg(
    spawn=_spawn("cartpole"),
    init_state=ArticulationCfg.InitialStateCfg(
        pos=(0.0, 0.0, 2.0), joint_pos={"slider_to_cart": 0.0, "cart_to_pole": 0.0}
    ),
    actuators={
        "cart": ImplicitActuatorCfg(
            joint_names_expr=["slider_to_cart"], joint_effort_limit=400.0, stiffness=0.0, damping=0.0
        ),
        "pole": ImplicitActuatorCfg(
            joint_names_expr=["cart_to_pole"], joint_effort_limit=400.0, stiffness=0.0, damping=0.0
        ),
    },
)
"""Cart-pole, both joints free of damping; the pole stands up at zero. Isaac Lab's own damps the cart by 10 N s/m."""


ANT_CFG = ArticulationCfg(
    spawn=_spawn("ant"),
    init_state=ArticulationCfg.InitialStateCfg(
        pos=(0.0, 0.0, 0.5),
        joint_pos={
            ".*_leg": 0.0,
            "front_left_foot": 0.785398,
            "front_right_foot": -0.785398,
            "left_back_foot": -0.785398,
            "right_back_foot": 0.785398,
        },
    ),
    actuators={
        "legs": ImplicitActuatorCfg(
            joint_names_expr=[".*"], joint_effort_limit=15.0, stiffness=0.0, damping=0.1, armature=0.05
        )
    },
)
"""Ant under effort control. Damping and armature are Isaac Lab's: one dynamics model serves its stock tasks too."""
