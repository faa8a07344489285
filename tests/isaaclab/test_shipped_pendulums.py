# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The shipped models of measured pendulums keep what their cards say, on the recordings where they are there."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
import torch

from nerd_core import checkpoint
from nerd_core.checkpoint_names import find_checkpoint
from nerd_core.judging.config import JudgeCfg
from nerd_isaaclab.evaluation.recordings import evaluate_recordings
from support.recorded_files import real_file

pytestmark = pytest.mark.unit


def test_the_driven_pendulum_is_as_good_as_its_card_says():
    """Windows of half a second of the validation split: excitation within .045 rad, all within .100."""
    data = real_file("dfki_double_pendulum_val.h5")
    found = evaluate_recordings("dfki-pendulum", data, "windows", JudgeCfg(seconds=0.5))
    assert found["families"]["sysid_both_driven"]["joint_rmse_rad"] < 0.045
    assert found["joint_rmse_rad"] < 0.100 and found["counts"]["diverged"] == 0


def test_the_passive_pendulum_is_as_good_as_its_card_says():
    """An error of .2 rad is passed after half a second in the mean."""
    data = real_file("ibm_double_pendulum_trainval.h5")
    found = evaluate_recordings("ibm-pendulum", data, "windows", JudgeCfg(window=500, stride=500))
    assert 0.45 < found["horizon_s"] < 0.60


def test_both_can_be_loaded_and_stay_small():
    """They are whole, of the robots that they are named after, and have few weights."""
    for name in ("dfki-pendulum", "ibm-pendulum"):
        predictor = checkpoint.load(find_checkpoint(name))
        assert predictor.spec.name == name
        assert sum(each.numel() for each in predictor.parameters()) < 100


def test_a_horizon_is_counted_to_the_first_error(repo_root: Path, monkeypatch: pytest.MonkeyPatch):
    """The limit of prediction counts steps to the first error of an absolute angle, around the circle; where none
    comes, all of them.
    """
    monkeypatch.syspath_prepend(str(repo_root / "benchmarks"))
    limit = importlib.import_module("passive_pendulum_limit")
    truth = torch.zeros(3, 6, 2)
    angles = truth.clone()
    angles[0, 3:, 0], angles[0, 3:, 1] = 0.3, -0.3  # the second link stands as it should, the first does not
    angles[1, 4:, 0], angles[1, 4:, 1] = 0.15, 0.1  # only both together are too much
    angles[2, 2:, 0] = 2.0 * torch.pi
    assert limit.horizon_steps(angles, truth).tolist() == [3, 4, 5]
