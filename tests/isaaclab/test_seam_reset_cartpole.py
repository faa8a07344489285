# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Histories in the neural step of the Cartpole, through RSL-RL's wrapper."""

from support.seam import run_reset_test


def test_reset_or_teleported_cartpole_goes_on_like_a_fresh_one_and_others_do_not_notice():
    """To the last bit, with a model that remembers four steps."""
    run_reset_test("NeRD-Cartpole")
