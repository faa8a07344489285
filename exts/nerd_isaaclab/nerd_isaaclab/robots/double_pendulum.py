# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A double pendulum: two capsules on two hinges, as in the NeRD paper (its section 5 and the released environment)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..usd import inertia
from ..usd.asset import Asset
from ..usd.model import Shape, UsdBody, UsdJoint, UsdRobot
from .record import RobotRecord

if TYPE_CHECKING:
    from isaaclab.assets import ArticulationCfg

LENGTH = 1.5
"""Distance [m] from a hinge to the next, and of the two end centres of a capsule."""
RADIUS = 0.1
"""Radius [m] of the capsules."""
DENSITY = 500.0
"""Density [kg/m^3] of the capsules."""
HINGE = (0.0, 0.0, 2.0)
"""Where it hangs above the origin of its environment [m]."""
ARMATURE = 0.1
"""Inertia [kg m^2] added on each hinge."""


def build() -> UsdRobot:
    """Return the double pendulum: both links hang straight down at zero, hinges about y."""
    links = [
        Shape("capsule", (RADIUS, LENGTH, 0.0), pos=(0.0, 0.0, -LENGTH / 2), color=color)
        for color in ((0.2, 0.45, 0.75), (0.9, 0.55, 0.15))
    ]
    # what is fixed to the world needs a mass like any other link, and no shape: the paper's contacts are the links'
    mount = Shape("box", (0.1, 0.1, 0.1), collides=False, color=(0.4, 0.4, 0.4))
    return UsdRobot(
        name="double_pendulum",
        fixed_base=True,
        bodies=(
            UsdBody("mount", inertia.with_mass(mount, 1.0), (mount,)),
            UsdBody("upper", inertia.of_shape(links[0], DENSITY), (links[0],)),
            UsdBody("lower", inertia.of_shape(links[1], DENSITY), (links[1],)),
        ),
        joints=tuple(
            UsdJoint(
                name, "revolute", parent=parent, child=child, axis=(0.0, 1.0, 0.0), pos=(0.0, 0.0, z), armature=ARMATURE
            )
            for name, parent, child, z in (("joint_0", "mount", "upper", 0.0), ("joint_1", "upper", "lower", -LENGTH))
        ),
    )


ASSET = Asset(
    name="double_pendulum",
    path="NeRD/Robots/double_pendulum.usda",
    build=build,
    source="written here; numbers of the NeRD paper (arXiv 2508.15755)",
    licence="BSD-3-Clause",
)


def articulation() -> ArticulationCfg:
    """Double pendulum, 2 m above the ground as in the paper: stretched out it would reach 1.1 m below it."""
    from isaaclab.actuators import ImplicitActuatorCfg
    from isaaclab.assets import ArticulationCfg

    from .spawn import spawn

    return ArticulationCfg(
        spawn=spawn(ASSET),
        init_state=ArticulationCfg.InitialStateCfg(pos=HINGE, joint_pos={"joint_.*": 0.0}),
        actuators={
            "hinges": ImplicitActuatorCfg(
                joint_names_expr=["joint_.*"], joint_effort_limit=1500.0, stiffness=0.0, damping=0.0, armature=0.1
            )
        },
    )


ROBOT = RobotRecord(
    name="double_pendulum",
    asset=ASSET,
    articulation=articulation,
    default_task="NeRD-Double-Pendulum",
    # published: any angles, 2 pi rad/s at the first hinge and 4 pi rad/s at the second; at that speed the tip moves
    # 0.3 m in a physics step and sinks deep into a plane before the solver notices
    first_states={"task_poses": 0.0, "joint_vel": math.pi},
)
