# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The cart-pole of Isaac Lab: a rail, a cart on it, a pole on the cart.

Names, sizes, masses and limits are those of Isaac Lab's own asset, of which Newton ships a flattened text copy
(``newton/examples/assets/cartpole_single_pendulum.usda``); where that leaves the inertia to the engine, a uniform solid
is written out.
"""

from __future__ import annotations

from .. import inertia
from ..model import Body, Joint, Robot, Shape

RAIL_LENGTH = 8.0
"""Length [m] of the rail; the cart may go half of it to either side."""
POLE_MASS = 1.0
"""Mass [kg] of the pole."""
POLE_COM = 0.47
"""Distance [m] of the pole's centre of mass from its hinge."""


def build() -> Robot:
    """Return the cart-pole."""
    rail = Shape("box", (0.03, RAIL_LENGTH, 0.03), color=(0.9, 0.6, 0.2))
    cart = Shape("box", (0.2, 0.25, 0.2), color=(0.3, 0.5, 0.7))
    pole = Shape("box", (0.04, 0.06, 1.0), pos=(0.0, 0.0, POLE_COM), color=(0.1, 0.1, 0.3))
    return Robot(
        name="cartpole",
        fixed_base=True,
        bodies=(
            Body("slider", inertia.of_shape(rail, density=1000.0), (rail,)),
            Body("cart", inertia.with_mass(cart, 1.0), (cart,)),
            Body("pole", inertia.with_mass(pole, POLE_MASS), (pole,)),
        ),
        joints=(
            Joint(
                "slider_to_cart",
                "prismatic",
                parent="slider",
                child="cart",
                axis=(0.0, 1.0, 0.0),
                pos=(0.0, 0.0, 0.0),
                limits=(-RAIL_LENGTH / 2, RAIL_LENGTH / 2),
            ),
            Joint(
                "cart_to_pole",
                "revolute",
                parent="cart",
                child="pole",
                axis=(1.0, 0.0, 0.0),
                pos=(0.12, 0.0, 0.0),
            ),
        ),
    )
