# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Scores of the DFKI's double pendulum: how high its tip is, and whether it stands at the end."""

import torch

from ....robots.dfki_pendulum import LENGTHS
from ...scores import Score

UPRIGHT = 0.45
"""Height of the tip over the shoulder from which it counts as upright [m], of .5; that of the published benchmark."""


def tip_height(env) -> torch.Tensor:
    """Height of the tip over the shoulder [m], shape (N,)."""
    robot = env.scene["robot"]
    upper, elbow = (robot.data.joint_pos.torch[:, robot.joint_names.index(name)] for name in ("shoulder", "elbow"))
    return -LENGTHS[0] * upper.cos() - LENGTHS[1] * (upper + elbow).cos()


SCORES = (
    Score("upright_at_end", "share", lambda env: tip_height(env) > UPRIGHT, "hold"),
    Score("tip_height", "m", tip_height, "mean"),
)
