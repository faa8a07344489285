# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How a robot's file is brought into a scene: solver settings that all robots share.

The robots always use the files built here, also where NVIDIA's assets can be reached: a dynamics model is trained for
one robot, and this way everybody has the same one. Stock tasks keep their own configurations (see
:mod:`nerd_isaaclab.assets.root`).
"""

from __future__ import annotations

import isaaclab.sim as sim_utils
from isaaclab_newton.sim.schemas import NewtonArticulationCfg
from isaaclab_physx.sim.schemas import PhysxArticulationCfg, PhysxRigidBodyCfg

from ..usd.asset import Asset

FASTEST_SPIN = 5000.0
"""Largest angular velocity of a free body [degrees/s]: one that is thrown meets no limit."""

FREE_BODY_ITERATIONS = {"solver_position_iteration_count": 4, "solver_velocity_iteration_count": 0}
"""Iterations of the solver for a body without joints: as for a robot."""


def spawn(asset: Asset, disable_gravity: bool = False, articulated: bool = True) -> sim_utils.UsdFileCfg:
    """Return how a robot's file is brought into a scene.

    Args:
        asset: The file.
        disable_gravity: Whether gravity leaves this robot alone.
        articulated: Whether it has joints.
    """
    return sim_utils.UsdFileCfg(
        usd_path=str(asset.file),
        activate_contact_sensors=True,
        rigid_props=PhysxRigidBodyCfg(
            disable_gravity=disable_gravity,
            linear_damping=0.0,
            angular_damping=0.0,
            max_linear_velocity=1000.0,
            max_angular_velocity=1000.0 if articulated else FASTEST_SPIN,
            max_depenetration_velocity=10.0,
            enable_gyroscopic_forces=True,
            **({} if articulated else FREE_BODY_ITERATIONS),
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
        ]
        if articulated
        else None,
    )
