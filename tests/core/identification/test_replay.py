# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The judge of an identification: errors by hand, and when a model is refused."""

from __future__ import annotations

import math

import pytest
import torch

from nerd_core.identification.cost import Windows
from nerd_core.identification.replay import ReplayError, gate, replay
from support.identified_arm import arm, heavier, model, motion


def test_errors_are_those_by_hand():
    """A window's error is the root of its mean square over the steps behind the first, joints are averaged, windows
    too; pooled, squares are averaged over windows first. Angles are compared around the circle.
    """
    predictor = model(arm()).float()
    windows = motion(predictor, count=2, steps=4)
    windows = Windows(windows.state.float(), windows.control.float())
    predictor = predictor.float()
    state = windows.state.clone()
    state[0, 1:, 0] += torch.tensor([0.1, 0.1, 0.3, 0.3])
    state[1, 1:, 1] += 2.0 * math.pi + 0.4
    found = replay(predictor, Windows(state, windows.control))
    first, second = math.sqrt((0.01 + 0.01 + 0.09 + 0.09) / 4), 0.4
    assert found.mean["joint_rad"] == pytest.approx((first + second) / 4, abs=1e-4)
    assert found.pooled["joint_rad"] == pytest.approx((first + second) / math.sqrt(2) / 2, abs=1e-4)
    assert found.windows == 2


def test_a_better_model_has_smaller_errors():
    """The model that moved has no error, a heavier one has."""
    truth = model(arm())
    windows = motion(truth)
    assert replay(truth, windows).mean["joint_rad"] < 1e-9
    assert replay(model(heavier(arm(), 1.5)), windows).mean["joint_rad"] > 0.01


def test_the_gate_refuses_what_is_worse():
    """A model that replays held-out motion worse, or not at all, is refused, with both numbers."""
    good, bad = (ReplayError({"joint_rad": value}, {"joint_rad": value}, 3) for value in (0.1, 0.2))
    assert gate(bad, good) == "" and gate(good, good) == ""
    assert "0.1 -> 0.2" in gate(good, bad)
    lost = ReplayError({"joint_rad": math.inf}, {"joint_rad": math.inf}, 3)
    assert gate(good, lost) and gate(lost, good) == ""
    before = ReplayError({"joint_rad": 0.1, "joint_m": 0.1}, {}, 3)
    for rad, metres, may in ((0.05, 0.101, True), (0.05, 0.11, False), (0.1, 0.101, False), (0.099, 0.101, False)):
        assert (gate(before, ReplayError({"joint_rad": rad, "joint_m": metres}, {}, 3)) == "") == may
    unknown = ReplayError({"joint_rad": math.nan}, {"joint_rad": math.nan}, 3)
    assert gate(good, unknown)
