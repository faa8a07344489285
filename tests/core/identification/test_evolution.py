# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The evolution strategy finds the deepest of many basins, and the parameters of a robot."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from nerd_core.identification.cost import RolloutCost
from nerd_core.identification.evolution import EvolutionCfg, Value, evolve
from nerd_core.identification.parameterisation import IdentificationError, Parameterisation
from support.identified_arm import arm, heavier, model, motion

pytest.importorskip("cma", reason="needs the package cma")


def rastrigin(place: np.ndarray) -> float:
    """Many basins, the deepest at one; infinite beyond a wall."""
    away = place - 1.0
    if place[0] < -3.0:
        return math.inf
    return float(np.sum(away**2 - np.cos(2.0 * math.pi * away) + 1.0))


def test_the_deepest_of_many_basins_is_found_and_a_seed_decides_all():
    """From a poor basin the strategy ends at the deepest, the same with the same seed, past places without a cost."""
    cfg = EvolutionCfg(generations=80, population=40, step=2.0, seed=3)
    best, again = (evolve(rastrigin, np.array([-2.0, 3.0]), cfg) for _ in range(2))
    assert best.value < 1e-3 and np.abs(best.place - 1.0).max() < 0.05
    assert np.array_equal(best.place, again.place)


def test_processes_change_nothing():
    """Two processes judge as one does."""
    one, two = (
        evolve(rastrigin, np.array([2.0, 2.0]), EvolutionCfg(generations=3, workers=workers)) for workers in (1, 2)
    )
    assert one.value == two.value and np.array_equal(one.place, two.place)


def test_the_start_is_kept_where_nothing_is_better():
    """What is given back is never worse than the start."""
    best = evolve(rastrigin, np.array([1.0, 1.0]), EvolutionCfg(generations=2, population=4, step=1.0))
    assert best.value == 0.0


def test_masses_of_an_arm_are_found():
    """Without gradients, masses that are a third too large come near to the truth."""
    start, windows = heavier(arm(), 1.33), motion(model(arm()), count=4, steps=10)
    parameterisation = Parameterisation(start, ["masses"])
    cost = RolloutCost(model(start), parameterisation, windows)
    before = cost.value()
    best = evolve(Value(cost), np.zeros(parameterisation.dim), EvolutionCfg(generations=8, population=6))
    assert best.value < 0.1 * before
    masses = parameterisation.values(torch.from_numpy(best.place))["masses"][1:]
    torch.testing.assert_close(masses, torch.tensor([0.5, 0.6]).double(), rtol=0.1, atol=0.0)


def test_what_cannot_evolve_is_one_message():
    """One number, and a population of three, are refused."""
    with pytest.raises(IdentificationError, match="at least two"):
        evolve(rastrigin, np.zeros(1), EvolutionCfg(generations=1))
    with pytest.raises(ValueError, match="at least 4"):
        EvolutionCfg(population=3)
