# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Scores of reaching."""

import torch

from ..scores import Score

NEAR = 0.02
"""Distance that counts as reached [m]."""


def distance(env) -> torch.Tensor:
    """Distance of the tool from its target [m], shape (N,)."""
    term = env.reward_manager.get_term_cfg("distance")
    return term.func(env, **term.params)


SCORES = (
    Score("distance", "m", distance, "mean"),
    Score("reached_at_end", "share", lambda env: distance(env) < NEAR, "hold", hold_s=0.1),
)
