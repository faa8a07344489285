# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The cart-pole of Isaac Lab: a rail, a cart on it, a pole on the cart.

Names, sizes, masses and limits are those of Isaac Lab's own asset, of which Newton ships a flattened text copy
(``newton/examples/assets/cartpole_single_pendulum.usda``); where that leaves the inertia to the engine, a uniform solid
is written out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..usd import inertia
from ..usd.asset import Asset
from ..usd.model import Shape, UsdBody, UsdJoint, UsdRobot
from .record import PublishedFigures, RobotRecord

if TYPE_CHECKING:
    from isaaclab.assets import ArticulationCfg

RAIL_LENGTH = 8.0
"""Length [m] of the rail; the cart may go half of it to either side."""
POLE_MASS = 1.0
"""Mass [kg] of the pole."""
POLE_COM = 0.47
"""Distance [m] of the pole's centre of mass from its hinge."""


def build() -> UsdRobot:
    """Return the cart-pole."""
    rail = Shape("box", (0.03, RAIL_LENGTH, 0.03), color=(0.9, 0.6, 0.2))
    cart = Shape("box", (0.2, 0.25, 0.2), color=(0.3, 0.5, 0.7))
    pole = Shape("box", (0.04, 0.06, 1.0), pos=(0.0, 0.0, POLE_COM), color=(0.1, 0.1, 0.3))
    return UsdRobot(
        name="cartpole",
        fixed_base=True,
        bodies=(
            UsdBody("slider", inertia.of_shape(rail, density=1000.0), (rail,)),
            UsdBody("cart", inertia.with_mass(cart, 1.0), (cart,)),
            UsdBody("pole", inertia.with_mass(pole, POLE_MASS), (pole,)),
        ),
        joints=(
            UsdJoint(
                "slider_to_cart",
                "prismatic",
                parent="slider",
                child="cart",
                axis=(0.0, 1.0, 0.0),
                pos=(0.0, 0.0, 0.0),
                limits=(-RAIL_LENGTH / 2, RAIL_LENGTH / 2),
            ),
            UsdJoint(
                "cart_to_pole",
                "revolute",
                parent="cart",
                child="pole",
                axis=(1.0, 0.0, 0.0),
                pos=(0.12, 0.0, 0.0),
            ),
        ),
    )


ASSET = Asset(
    name="cartpole",
    path="Isaac/IsaacLab/Robots/Classic/Cartpole/cartpole.usd",
    build=build,
    source=(
        "written here; numbers of Isaac Lab's cartpole.usd, flattened in newton 1.6.1 (cartpole_single_pendulum.usda)"
    ),
    licence="BSD-3-Clause",
)


def articulation() -> ArticulationCfg:
    """Cart-pole, no joint damped; the pole stands up at zero. Isaac Lab's own damps the cart by 10 N s/m."""
    from isaaclab.actuators import ImplicitActuatorCfg
    from isaaclab.assets import ArticulationCfg

    from .spawn import spawn

    return ArticulationCfg(
        spawn=spawn(ASSET),
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


ROBOT = RobotRecord(
    name="cartpole",
    asset=ASSET,
    articulation=articulation,
    default_task="NeRD-Cartpole",
    # published: x 3.5 m, any angle, both velocities 10
    first_states={"task_poses": 0.0, "slide": 3.5, "joint_vel": 10.0, "slide_vel": 10.0},
    published=PublishedFigures(
        "NeRD, arXiv 2508.15755",
        passive_errors={  # figure 3
            100: {"base_position_m": 0.0002, "joint_rad": 0.0004},
            500: {"base_position_m": 0.004, "joint_rad": 0.013},
            1000: {"base_position_m": 0.033, "joint_rad": 0.075},
        },
        returns={"NeRD-Cartpole": {"physics": 1212.5, "neural": 1212.6, "gap": 0.0001}},  # table 1
    ),
)
