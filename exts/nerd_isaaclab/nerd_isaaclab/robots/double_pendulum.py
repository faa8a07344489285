# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A double pendulum: two capsules on two hinges, as in the NeRD paper (its section 5 and the released environment)."""

from __future__ import annotations

from .. import inertia
from ..model import Body, Joint, Robot, Shape

LENGTH = 1.5
"""Distance [m] from a hinge to the next, and of the two end centres of a capsule."""
RADIUS = 0.1
"""Radius [m] of the capsules."""
DENSITY = 500.0
"""Density [kg/m^3] of the capsules."""
ARMATURE = 0.1
"""Inertia [kg m^2] added on each hinge."""


def build() -> Robot:
    """Return the double pendulum: both links hang straight down at zero, hinges about y."""
    links = [
        Shape("capsule", (RADIUS, LENGTH, 0.0), pos=(0.0, 0.0, -LENGTH / 2), color=color)
        for color in ((0.2, 0.45, 0.75), (0.9, 0.55, 0.15))
    ]
    # what is bolted to the world needs a mass like any other link, and no shape: the paper's contacts are the links'
    mount = Shape("box", (0.1, 0.1, 0.1), collides=False, color=(0.4, 0.4, 0.4))
    return Robot(
        name="double_pendulum",
        fixed_base=True,
        bodies=(
            Body("mount", inertia.with_mass(mount, 1.0), (mount,)),
            Body("upper", inertia.of_shape(links[0], DENSITY), (links[0],)),
            Body("lower", inertia.of_shape(links[1], DENSITY), (links[1],)),
        ),
        joints=tuple(
            Joint(
                name, "revolute", parent=parent, child=child, axis=(0.0, 1.0, 0.0), pos=(0.0, 0.0, z), armature=ARMATURE
            )
            for name, parent, child, z in (("joint_0", "mount", "upper", 0.0), ("joint_1", "upper", "lower", -LENGTH))
        ),
    )
