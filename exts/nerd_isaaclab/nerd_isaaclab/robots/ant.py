# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The Ant: a ball with four two-part legs, names and dimensions as in Isaac Lab's ``ant_instanceable``.

Numbers are those of Newton's ``nv_ant.xml``: density 5, and as in MuJoCo the overlap of two shapes counts twice. A
joint is called like the body it moves, as Isaac Lab's tasks expect. The collision shapes are the paper's 25 slots: one
ball, four stubs on it, four upper and four lower legs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from ..usd import inertia
from ..usd.asset import Asset
from ..usd.model import Shape, UsdBody, UsdJoint, UsdRobot, Vec, scale, turning, unit
from .record import PublishedFigures, RobotRecord

if TYPE_CHECKING:
    from isaaclab.assets import ArticulationCfg

DENSITY = 5.0
"""Density [kg/m^3] of every shape."""
TORSO_RADIUS = 0.25
"""Radius [m] of the ball."""
LIMB_RADIUS = 0.08
"""Radius [m] of the capsules."""
_ORANGE, _GREEN = (0.97, 0.38, 0.06), (0.46, 0.73, 0.0)


class _Leg(NamedTuple):
    """What differs between the four legs."""

    name: str
    side: tuple[float, float]
    """Signs of x and y in which the leg points."""
    ankle_axis: Vec
    ankle_range: tuple[float, float]
    """Limits [deg] of the ankle."""


_LEGS = (
    _Leg("front_left", (1.0, 1.0), (-1.0, 1.0, 0.0), (30.0, 100.0)),
    _Leg("front_right", (-1.0, 1.0), (1.0, 1.0, 0.0), (-100.0, -30.0)),
    _Leg("left_back", (-1.0, -1.0), (-1.0, 1.0, 0.0), (-100.0, -30.0)),
    _Leg("right_back", (1.0, -1.0), (1.0, 1.0, 0.0), (30.0, 100.0)),
)


def build() -> UsdRobot:
    """Return the Ant."""
    torso = [Shape("sphere", (TORSO_RADIUS, 0.0, 0.0), color=_ORANGE, name="torso_geom")]
    bodies: list[UsdBody] = []
    joints: list[UsdJoint] = []
    for place, leg in enumerate(_LEGS, start=1):
        half: Vec = (0.2 * leg.side[0], 0.2 * leg.side[1], 0.0)
        torso.append(_limb(half, _ORANGE, f"aux_{place}_geom"))
        for part, length, limits, axis, parent, at in (
            ("leg", half, (-40.0, 40.0), (0.0, 0.0, 1.0), "torso", half),
            ("foot", scale(half, 2.0), leg.ankle_range, unit(leg.ankle_axis), f"{leg.name}_leg", half),
        ):
            shape = _limb(length, _GREEN if part == "foot" else _ORANGE, f"{leg.name}_{part}_geom")
            name = f"{leg.name}_{part}"
            bodies.append(UsdBody(name, inertia.of_shape(shape, DENSITY), (shape,)))
            low, high = (math.radians(limit) for limit in limits)
            joints.append(
                UsdJoint(
                    name,
                    "revolute",
                    parent=parent,
                    child=name,
                    axis=axis,
                    pos=at,
                    limits=(low, high),
                    armature=0.01,
                    # an ankle cannot be at zero; half a right angle is where the task starts it too
                    start=math.copysign(math.radians(45.0), low) if part == "foot" else 0.0,
                )
            )
    mass = inertia.total([inertia.of_shape(shape, DENSITY) for shape in torso])
    return UsdRobot("ant", (UsdBody("torso", mass, tuple(torso)), *bodies), tuple(joints))


def _limb(end: Vec, color: Vec, name: str) -> Shape:
    """Return a capsule from the body's origin to ``end`` [m]."""
    length = math.sqrt(end[0] ** 2 + end[1] ** 2 + end[2] ** 2)
    return Shape(
        "capsule",
        (LIMB_RADIUS, length, 0.0),
        pos=scale(end, 0.5),
        quat=turning((0.0, 0.0, 1.0), unit(end)),
        color=color,
        name=name,
    )


ASSET = Asset(
    name="ant",
    path="Isaac/Robots/IsaacSim/Ant/ant_instanceable.usd",
    build=build,
    source="written here; numbers of newton 1.6.1 nv_ant.xml (Apache-2.0)",
    licence="BSD-3-Clause",
)


def articulation() -> ArticulationCfg:
    """Ant under effort control. Damping and armature are Isaac Lab's: one dynamics model serves its stock tasks too."""
    from isaaclab.actuators import ImplicitActuatorCfg
    from isaaclab.assets import ArticulationCfg

    from .spawn import spawn

    return ArticulationCfg(
        spawn=spawn(ASSET),
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


ROBOT = RobotRecord(
    name="ant",
    asset=ASSET,
    articulation=articulation,
    default_task="NeRD-Ant-Run",
    first_states={"task_poses": 0.0},  # as published: the wide ranges alone
    published=PublishedFigures(
        "NeRD, arXiv 2508.15755",
        # figure 3
        passive_errors={500: {"base_position_m": 0.057, "base_orientation_rad": 0.095, "joint_rad": 0.077}},
        returns={  # table 1; its Ant has other masses and efforts: gaps can be compared, returns only roughly
            "NeRD-Ant-Run": {"physics": 2541.5, "neural": 2649.5, "gap": 0.0425},
            "NeRD-Ant-Spin": {"physics": 2624.7, "neural": 3076.2, "gap": 0.1721},
            "NeRD-Ant-Spin-Track": {"physics": 1630.2, "neural": 1670.5, "gap": 0.0247},
        },
    ),
)
