# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Basin hopping on link lengths: the pendulums are what they say, and the smoke run finds the truth more often."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from nerd_core.dynamics import rollout
from nerd_core.experiments.basin_hopping import EXPERIMENT, FIRST, BasinHoppingCfg, Pendulums, rods
from nerd_core.identification.many_starts import ManyStartsCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.physical_parameters import specification_with

CFG = replace(EXPERIMENT.smoke, steps=20)


def test_a_pendulum_with_given_lengths_is_the_one_that_is_made_with_them():
    """Rods of other lengths move as those of a specification with these lengths."""
    pendulums, lengths = Pendulums(CFG), torch.tensor([[1.2, 0.7]])
    parameters = rods(lengths).map(lambda each: each[0])
    spec = specification_with(pendulums.predictor.spec, parameters)
    made = Predictor(spec, PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0, substeps=1))).eval()
    with torch.no_grad():
        states = rollout(made, torch.tensor([FIRST]), torch.zeros(1, CFG.steps, 0))
    expected = states[:, 1:, spec.state.joint_pos]
    torch.testing.assert_close(pendulums.motion(lengths), expected, rtol=0.0, atol=1e-3)


def test_lengths_scale_time():
    """Rods four times as long swing half as fast: the law of pendulums, whatever the code says of lengths."""
    slow, fast = (
        Pendulums(replace(CFG, dt=dt, substeps=40, truth=truth)).truth
        for dt, truth in ((0.1, (4.0, 4.0)), (0.05, (1.0, 1.0)))
    )
    assert fast.std() > 0.3
    torch.testing.assert_close(slow, fast, rtol=0.0, atol=0.02)


def test_the_smoke_run_hops_to_the_truth():
    """From starts where local search fails, hops find the truth; the figures are shares of the same starts."""
    settings = replace(CFG, steps=50, grid=3, landscape=4, search=ManyStartsCfg(hops=6, iterations=15))
    figures = EXPERIMENT.run(settings, lambda _: None).figures
    assert figures["starts"] == 9
    assert 0.0 < figures["found_share_local"] < figures["found_share_hopping"] <= 1.0


def test_a_truth_out_of_the_box_is_refused():
    """Contradictory settings are one message."""
    with pytest.raises(ValueError, match="within the box"):
        BasinHoppingCfg(truth=(0.05, 1.0))
