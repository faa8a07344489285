# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The torque-driven double pendulum of the DFKI (design C.1), with the numbers identified from its recordings.

Lengths are those of the design; masses, friction and rotors those of the first identification, in which the policies of
its tasks were scored. Only combinations of masses and inertias are determined by motion in a plane, and those of the
shipped model ``dfki-pendulum`` differ by up to 4 %; its hinges are drier (.26 and .16 N m), since less of it depends on
the load. What the transmission loses under load is in the learned model, and not in the engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..usd.asset import Asset
from ..usd.model import MassProperties, Shape, UsdBody, UsdJoint, UsdRobot
from .record import RobotRecord

if TYPE_CHECKING:
    from isaaclab.assets import ArticulationCfg

LENGTHS = (0.2, 0.3)
"""Lengths of the links [m]."""
MASSES = (0.644, 0.652)
"""Their masses [kg]."""
CENTRES = (0.1346, 0.2507)
"""Distances of their centres of mass from their hinges [m]."""
MOMENTS = (0.01416, 0.00833)
"""Their moments of inertia about their centres of mass and the axes of the hinges [kg m^2]."""
ARMATURES = {"shoulder": 0.00258, "elbow": 0.00335}
"""Inertias of the rotors behind their gears [kg m^2]."""
FRICTIONS = {"shoulder": 0.1246, "elbow": 0.0856}
"""Dry friction of the hinges [N m]."""
VISCOUS_FRICTIONS = {"shoulder": 0.0009, "elbow": 0.0078}
"""Viscous friction of the hinges [N m s/rad]."""
LARGEST_EFFORT = 10.0
"""Largest effort of a motor [N m]."""


def build() -> UsdRobot:
    """Return the pendulum: both links hang straight down at zero, hinges about y. It collides with nothing."""
    names = tuple(ARMATURES)
    links = []
    for name, length, mass, centre, moment in zip(
        ("upper_link", "lower_link"), LENGTHS, MASSES, CENTRES, MOMENTS, strict=True
    ):
        inertia = ((moment, 0.0, 0.0), (0.0, moment, 0.0), (0.0, 0.0, moment))
        shape = Shape("box", (0.02, 0.02, length), pos=(0.0, 0.0, -length / 2), collides=False, color=(0.2, 0.45, 0.75))
        links.append(UsdBody(name, MassProperties(mass, (0.0, 0.0, -centre), inertia), (shape,)))
    mount = Shape("box", (0.06, 0.06, 0.06), collides=False, color=(0.4, 0.4, 0.4))
    of_mount = MassProperties(1.0, (0.0, 0.0, 0.0), ((0.01, 0.0, 0.0), (0.0, 0.01, 0.0), (0.0, 0.0, 0.01)))
    return UsdRobot(
        name="dfki_pendulum",
        fixed_base=True,
        bodies=(UsdBody("base", of_mount, (mount,)), *links),
        joints=tuple(
            UsdJoint(
                name,
                "revolute",
                parent=parent,
                child=child,
                axis=(0.0, 1.0, 0.0),
                pos=(0.0, 0.0, z),
                armature=ARMATURES[name],
                max_effort=LARGEST_EFFORT,
            )
            for name, parent, child, z in zip(
                names, ("base", "upper_link"), ("upper_link", "lower_link"), (0.0, -LENGTHS[0]), strict=True
            )
        ),
    )


ASSET = Asset(
    name="dfki_pendulum",
    path="NeRD/Robots/dfki_pendulum.usda",
    build=build,
    source="written here; numbers identified from recordings (Wiebe et al. 2024, doi:10.1109/MRA.2023.3341257)",
    licence="BSD-3-Clause",
)


def articulation() -> ArticulationCfg:
    """The pendulum, one metre above the ground, with motors that are torques and hinges with dry friction."""
    from isaaclab.actuators import ImplicitActuatorCfg
    from isaaclab.assets import ArticulationCfg

    from .spawn import spawn

    return ArticulationCfg(
        spawn=spawn(ASSET),
        init_state=ArticulationCfg.InitialStateCfg(pos=(0.0, 0.0, 1.0), joint_pos={".*": 0.0}),
        actuators={
            "motors": ImplicitActuatorCfg(
                joint_names_expr=[".*"],
                joint_effort_limit=LARGEST_EFFORT,
                stiffness=0.0,
                damping=0.0,
                armature=dict(ARMATURES),
                friction=dict(FRICTIONS),
                dynamic_friction=dict(FRICTIONS),
                viscous_friction=dict(VISCOUS_FRICTIONS),
            )
        },
    )


ROBOT = RobotRecord(
    name="dfki_pendulum",
    asset=ASSET,
    articulation=articulation,
    default_task="NeRD-DFKI-Pendubot",
    # the fastest of the recordings turn at 17 rad/s
    first_states={"task_poses": 0.0, "joint_vel": 8.0},
)
