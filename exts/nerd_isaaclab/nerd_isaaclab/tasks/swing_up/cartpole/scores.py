# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Scores of the swing-up."""

import torch
from isaaclab.utils.math import wrap_to_pi

from ...scores import Score
from .env_cfg import POLE

UPRIGHT = 0.2
"""Largest angle from upright that counts as upright [rad]."""


def pole_angle(env) -> torch.Tensor:
    """Angle of the pole from upright [rad], shape (N,)."""
    robot = env.scene["robot"]
    return wrap_to_pi(robot.data.joint_pos.torch[:, robot.joint_names.index(POLE)]).abs()


SCORES = (
    Score("upright_at_end", "share", lambda env: pole_angle(env) < UPRIGHT, "hold"),
    Score("pole_angle", "rad", pole_angle, "mean"),
)
