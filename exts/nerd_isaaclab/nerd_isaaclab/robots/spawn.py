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
from isaaclab.assets import ArticulationCfg, RigidObjectCfg
from isaaclab_newton.sim.schemas import NewtonArticulationCfg
from isaaclab_physx.sim.schemas import PhysxArticulationCfg, PhysxRigidBodyCfg

from .build import asset_path

_ARTICULATION = [
    PhysxArticulationCfg(
        enabled_self_collisions=False,
        solver_position_iteration_count=4,
        solver_velocity_iteration_count=0,
        sleep_threshold=0.005,
        stabilization_threshold=0.001,
    ),
    NewtonArticulationCfg(self_collision_enabled=False),
]


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
        articulation_props=None if name == "cube" else _ARTICULATION,
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


DOUBLE_PENDULUM_CFG = ArticulationCfg(
    spawn=_spawn("double_pendulum"),
    init_state=ArticulationCfg.InitialStateCfg(pos=(0.0, 0.0, 2.0), joint_pos={"joint_.*": 0.0}),
    actuators={
        "hinges": ImplicitActuatorCfg(
            joint_names_expr=["joint_.*"], joint_effort_limit=1500.0, stiffness=0.0, damping=0.0, armature=0.1
        )
    },
)
"""Double pendulum, 2 m above the ground as in the paper: stretched out it would reach 1.1 m below it."""


FRANKA_CFG = ArticulationCfg(
    spawn=_spawn("franka", disable_gravity=True),
    init_state=ArticulationCfg.InitialStateCfg(
        joint_pos={
            "panda_joint1": 0.0,
            "panda_joint2": -0.569,
            "panda_joint3": 0.0,
            "panda_joint4": -2.810,
            "panda_joint5": 0.0,
            "panda_joint6": 3.037,
            "panda_joint7": 0.741,
            "panda_finger_joint.*": 0.04,
        },
    ),
    actuators={
        "arm": ImplicitActuatorCfg(
            joint_names_expr=["panda_joint[1-7]"],
            joint_effort_limit={"panda_joint[1-4]": 87.0, "panda_joint[5-7]": 12.0},
            stiffness=0.0,
            damping=0.0,
        ),
        "hand": ImplicitActuatorCfg(
            joint_names_expr=["panda_finger_joint.*"], joint_effort_limit=200.0, stiffness=2000.0, damping=100.0
        ),
    },
)
"""Panda without gravity, as in the paper: efforts on the seven joints of the arm, the gripper held by its drive."""


ANYMAL_C_CFG = ArticulationCfg(
    spawn=_spawn("anymal_c"),
    init_state=ArticulationCfg.InitialStateCfg(
        pos=(0.0, 0.0, 0.6),
        joint_pos={".*HAA": 0.0, ".*F_HFE": 0.4, ".*H_HFE": -0.4, ".*F_KFE": -0.8, ".*H_KFE": 0.8},
    ),
    actuators={
        "legs": ImplicitActuatorCfg(
            joint_names_expr=[".*HAA", ".*HFE", ".*KFE"], joint_effort_limit=80.0, stiffness=0.0, damping=0.0
        )
    },
)
"""ANYmal C under effort control: it falls unless a controller of the task holds it up."""


CUBE_CFG = RigidObjectCfg(
    spawn=_spawn("cube"),
    init_state=RigidObjectCfg.InitialStateCfg(pos=(0.0, 0.0, 0.2)),
)
"""The tossed cube. A rigid object: Isaac Lab's ``ovphysx`` backend cannot hold an articulation without a joint."""
