# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Scores of running, spinning and walking."""

from ... import mdp
from ..scores import Score

RUN = (
    Score("forward_speed", "m/s", mdp.forward_speed, "mean"),
    Score("standing_at_end", "share", lambda env: mdp.root_up_proj(env)[:, 0] > 0.5, "hold"),
)
SPIN = (
    Score("spin_rate", "rad/s", mdp.spin_rate, "mean"),
    Score("standing_at_end", "share", lambda env: mdp.root_up_proj(env)[:, 0] > 0.5, "hold"),
)
WALK = (
    Score("forward_speed", "m/s", mdp.forward_speed, "mean"),
    Score("sideways_speed", "m/s", lambda env: mdp.root_link_lin_vel_w(env)[:, 1], "mean"),
    Score("turning_rate", "rad/s", lambda env: mdp.spin_rate(env).abs(), "mean"),
    Score("standing_at_end", "share", lambda env: mdp.root_up_proj(env)[:, 0] > 0.5, "hold"),
)
