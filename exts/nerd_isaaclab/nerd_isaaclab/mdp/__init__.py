# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Terms of our own for observations, rewards and terminations, next to all of Isaac Lab's.

A task configuration imports this module as ``mdp``, as it would import ``isaaclab.envs.mdp``.
"""

from isaaclab.envs.mdp import *

from .actions import HeldPdActionCfg
from .adaptation_terms import adapted_numbers
from .body_terms import distance_to_target, nearness_to_target, point_below, point_of_body
from .commands import TargetPointCommandCfg
from .events import reset_joints_scaled
from .joint_terms import joint_pos_wrapped
from .rewards import (
    constant,
    forward_speed,
    heading,
    joint_pos_l2,
    joint_pos_wrapped_l2,
    last_link_height,
    spin_rate,
    spin_rate_tracking_exp,
    up,
    walking,
)
from .root_terms import (
    root_heading_proj,
    root_link_ang_vel_w,
    root_link_height,
    root_link_lin_vel_w,
    root_up_proj,
)
from .terminations import refused_by_guard, root_link_height_below, state_diverged
from .tosses import toss_box
