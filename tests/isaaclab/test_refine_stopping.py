# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""When rounds of a refinement stop, and which of them is best. No engine."""

from __future__ import annotations

import pytest

from nerd_isaaclab.refine.run import in_words
from nerd_isaaclab.refine.stopping import Gap, StopCfg, judge, measured_gap
from support.demo_results import scored

pytestmark = pytest.mark.unit


def gap(share: float, error: float = 0.0, physx: float = 100.0) -> Gap:
    """A measured gap."""
    return Gap(physx, physx * (1.0 + share), share, error)


def test_a_gap_is_the_models_return_less_that_of_physx_over_the_latters_size():
    """Sign and scale are right also where returns are negative, and the standard error has the same scale."""
    assert measured_gap(scored(200.0, 250.0, 10.0)) == Gap(200.0, 250.0, 0.25, 0.05)
    assert measured_gap(scored(-200.0, -150.0, 10.0)) == Gap(-200.0, -150.0, 0.25, 0.05)
    assert measured_gap(scored(200.0, 150.0, None)) == Gap(200.0, 150.0, -0.25, None)


def test_a_return_within_its_spread_of_zero_is_said_to_tell_little():
    """As for a policy that has learned nothing; of a task that costs, the return is far below zero."""
    assert not measured_gap(scored(-180.0, -179.0, 1.0, spread=200.0)).is_telling
    assert measured_gap(scored(-180.0, -179.0, 1.0, spread=100.0)).is_telling
    assert "--least-return" in in_words(0, measured_gap(scored(180.0, 179.0, 1.0, spread=200.0)))


def test_a_return_of_zero_has_no_share_and_closes_nothing():
    """A share of nothing is not known, and does not count as small."""
    found = measured_gap(scored(0.0, 0.0))
    assert found.share is None
    assert judge([found], StopCfg(target=10.0, rounds=1)).reason is None


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_gap_is_closed_with_two_standard_errors_added(sign: float):
    """A gap below the target closes only if it would with two standard errors more, to either side."""
    cfg = StopCfg(target=0.03)
    assert judge([gap(0.01 * sign, 0.009)], cfg).reason == "closed"
    assert judge([gap(0.01 * sign, 0.011)], cfg).reason is None
    assert judge([gap(0.031 * sign)], cfg).reason is None


def test_a_policy_that_does_nothing_closes_no_gap_where_a_return_is_asked_for():
    """The return in PhysX counts, not the one in the model."""
    cfg = StopCfg(least_return=150.0)
    assert judge([gap(0.01, physx=149.0)], cfg).reason is None
    assert judge([gap(-0.01, physx=151.0)], cfg).reason == "closed"


def test_rounds_without_a_smaller_gap_end_it():
    """As many rounds in a row as the patience; a smaller gap in between begins the count anew. The best is named."""
    cfg = StopCfg(patience=2, rounds=10)
    assert judge([gap(0.2), gap(0.3)], cfg).reason is None
    found = judge([gap(0.2), gap(0.3), gap(-0.25)], cfg)
    assert (found.reason, found.best) == ("no progress", 0)
    assert judge([gap(0.2), gap(0.3), gap(-0.1), gap(0.4)], cfg).reason is None
    assert judge([gap(0.2), gap(0.3), gap(0.3), gap(0.3)], StopCfg(patience=0, rounds=10)).reason is None


def test_rounds_end():
    """The first policy is no round: with three rounds there are four gaps. The best is the smallest, not the last."""
    cfg = StopCfg(rounds=3, patience=0)
    gaps = [gap(0.4), gap(-0.3), gap(0.2), gap(-0.25)]
    assert judge(gaps[:3], cfg).reason is None
    found = judge(gaps, cfg)
    assert (found.reason, found.best) == ("no rounds left", 2)


def test_a_closed_gap_is_the_last_one():
    """The round that closes the gap is best, even if an earlier one of a worse policy was smaller."""
    cfg = StopCfg(least_return=90.0)
    found = judge([gap(0.001, physx=10.0), gap(0.02)], cfg)
    assert (found.reason, found.best) == ("closed", 1)
