# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The cube of ContactNets, thrown as in the NeRD paper's released environment.

Heights, velocities and orientations of the throws are the published ones, and so is the control rate of 148 Hz, that
of the camera which filmed the real cube. So is the friction of .15; restitution is zero.
"""

from isaaclab.utils import configclass

from ....robots import cube
from ..toss_env_cfg import TossEnvCfg

RATE = 148.0
"""Control steps a second [Hz]."""


@configclass
class CubeTossEnvCfg(TossEnvCfg):
    """Throw the cube."""

    def __post_init__(self):
        """Fill in the cube."""
        super().__post_init__()
        self.set_control_rate(RATE)
        half = 0.5 * cube.SIDE
        self.set_body(cube.articulation(), half_extents=(half, half, half), heights=(0.9 * half, 5.0 * half))
