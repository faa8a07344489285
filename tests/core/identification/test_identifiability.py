# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What the data tell: combinations that no motion tells of are found, and uncertainty covers the truth."""

from __future__ import annotations

import math

import torch

from nerd_core.identification.cost import CostCfg, RolloutCost, Windows
from nerd_core.identification.drivers import DescentCfg, descend
from nerd_core.identification.identifiability import identifiability
from nerd_core.identification.parameterisation import Parameterisation
from support.identified_arm import arm, model, motion


def test_what_does_not_move_is_untold():
    """A planar arm tells nothing of how far its centres of mass lie along the axes of its hinges."""
    spec = arm()
    found = identifiability(RolloutCost(model(spec), Parameterisation(spec, ["centres"]), motion(model(spec))))
    told_of = " ".join(each.in_words for each in found.untold)
    assert len(found.untold) == 2 and "upper y" in told_of and "lower y" in told_of
    assert all(math.isinf(each.deviation) for each in found.untold)
    assert "No motion of the data tells of" in found.in_words()
    assert torch.isinf(found.deviations[1]) and torch.isfinite(found.deviations[2])


def test_a_combination_that_cannot_be_told_is_named():
    """Friction at a joint that never moves is untold, that of the other is told."""
    spec = arm()
    windows = motion(model(spec))
    still = Windows(torch.zeros_like(windows.state), torch.zeros_like(windows.control))
    found = identifiability(RolloutCost(model(spec), Parameterisation(spec, ["viscous_frictions"]), still))
    assert len(found.untold) == 2
    moving = identifiability(RolloutCost(model(spec), Parameterisation(spec, ["viscous_frictions"]), windows))
    assert moving.untold == () and "determine 2 of 2" in moving.in_words()


def test_deviations_cover_the_truth():
    """With noise on the measured states, the truth lies within four standard deviations, which are not large."""
    windows = motion(model(arm()), count=48)
    noise = torch.randn(windows.state.shape, generator=torch.Generator().manual_seed(1)).double()
    noisy = Windows(windows.state + 0.002 * noise, windows.control)
    spec = arm()
    cost = RolloutCost(model(spec), Parameterisation(spec, ["masses", "frictions"]), noisy, CostCfg(prior=1000.0))
    descend(cost, DescentCfg(growth=(1.0,), iterations=20))
    deviations = identifiability(cost).deviations
    assert bool((cost.variables.free.detach().abs() < 4.0 * deviations).all())
    assert bool((deviations < 0.05).all() and (deviations > 1e-5).all())
