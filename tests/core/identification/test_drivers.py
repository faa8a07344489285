# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Local and global search: known truth is found."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from nerd_core.identification.cost import CostCfg, RolloutCost
from nerd_core.identification.drivers import DescentCfg, HoppingCfg, descend, hop
from nerd_core.identification.parameterisation import IdentificationError, Parameterisation
from nerd_core.predictor.transmission_prior import TransmissionCfg
from support.identified_arm import arm, heavier, model, motion


def test_lbfgs_finds_the_truth():
    """From masses that are a third too large and friction that is twice too large, both are found to a thousandth."""
    windows, start = motion(model(arm())), heavier(arm(friction=0.1), 1.33)
    parameterisation = Parameterisation(start, ["masses", "frictions"])
    cost = RolloutCost(model(start), parameterisation, windows, CostCfg(prior=1000.0))
    descend(cost, DescentCfg(growth=(0.3, 1.0), iterations=30))
    values = parameterisation.values(cost.variables.free.detach())
    torch.testing.assert_close(values["masses"][1:], torch.tensor([0.5, 0.6]).double(), rtol=1e-3, atol=0.0)
    torch.testing.assert_close(values["frictions"], torch.tensor([0.05, 0.05]).double(), rtol=5e-3, atol=0.0)


def test_least_squares_find_the_truth_and_learned_weights():
    """Masses a third too large, and a gain and a load of the transmission, are found in a few iterations."""
    true = model(arm(), TransmissionCfg(hidden=0, substeps=1))
    with torch.no_grad():
        true.prior.mechanics.transmission.gain.copy_(torch.tensor([-0.1, 0.05]))
        true.prior.mechanics.transmission.load.copy_(torch.tensor([0.2, 0.0]))
    start = heavier(arm(), 1.33)
    predictor, parameterisation = (
        model(start, TransmissionCfg(hidden=0, substeps=1)),
        Parameterisation(start, ["masses"]),
    )
    cost = RolloutCost(predictor, parameterisation, motion(true), learn_weights=True)
    descend(cost, DescentCfg("least_squares", (0.3, 1.0), iterations=10))
    values = parameterisation.values(cost.variables.free.detach())["masses"][1:]
    found = predictor.prior.mechanics.transmission
    torch.testing.assert_close(values, torch.tensor([0.5, 0.6]).double(), rtol=0.01, atol=0.0)
    torch.testing.assert_close(found.gain.detach(), torch.tensor([-0.1, 0.05]).double(), rtol=0.0, atol=0.01)
    torch.testing.assert_close(found.load.detach(), torch.tensor([0.2, 0.0]).double(), rtol=0.0, atol=0.01)


def test_adam_goes_downhill():
    """Adam on some windows at a time lowers the cost of all."""
    start = heavier(arm(), 1.3)
    cost = RolloutCost(model(start), Parameterisation(start, ["masses"]), motion(model(arm()), steps=12))
    before = cost.value()
    after = descend(cost, DescentCfg("adam", (1.0,), iterations=8, batch=4, learning_rate=0.1))
    assert after < 0.3 * before


def test_what_cannot_be_rolled_out_is_refused():
    """A start whose roll-outs are not finite is one clear message."""
    spec = arm()
    cost = RolloutCost(model(spec), Parameterisation(spec, ["masses"]), motion(model(spec), count=2, steps=3))
    with torch.no_grad():
        cost.variables.free.fill_(torch.nan)
    with pytest.raises(IdentificationError, match="not finite before any search"):
        descend(cost)


def valley(place: np.ndarray) -> tuple[np.ndarray, float]:
    """The bottom of the basin of a place on a line of basins, each deeper the nearer it is to 3."""
    bottom = np.round(place)
    return bottom, float(np.abs(bottom - 3.0).sum())


@pytest.mark.parametrize("workers", [1, 2])
def test_hopping_leaves_a_poor_basin(workers: int):
    """From a poor basin the deepest one is found, in one process or in several."""
    best = hop(valley, np.array([-4.0, 8.0]), HoppingCfg(hops=200, workers=workers, step=1.0))
    assert best.value == 0.0 and best.place.tolist() == [3.0, 3.0]


def test_no_hops_are_a_local_search():
    """Without hops the basin of the start is the answer."""
    assert hop(valley, np.array([-4.2]), HoppingCfg()).place.tolist() == [-4.0]


def test_basins_that_are_not_finite_are_passed_over():
    """A local search that fails does not end the hopping."""

    def search(place: np.ndarray) -> tuple[np.ndarray, float]:
        return (place, math.inf) if place[0] > 0 else valley(place)

    assert hop(search, np.array([-4.0]), HoppingCfg(hops=40, step=2.0)).place.tolist() == [0.0]
