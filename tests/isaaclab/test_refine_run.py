# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The smoke tier of ``nerd refine`` on the real engine, for a model of mechanics and for a network."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nerd_core import checkpoint
from nerd_isaaclab.policies.load import load_policy
from nerd_isaaclab.programs.refine import main

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


@pytest.mark.parametrize("model", ["cartpole", "cartpole-network"])
def test_a_round_is_run_and_kept(model: str, tmp_path: Path):
    """Both kinds of models go through a whole round; the model that is kept has the first one's settings, and the
    gaps are those of a policy that was really played in both modes.
    """
    words = ["--task", "NeRD-Cartpole", "--model", model, "--out", str(tmp_path / "out"), "--smoke"]
    assert main(words) == 0
    numbers = json.loads((tmp_path / "out/report.json").read_text())
    assert [row["round"] for row in numbers["rounds"]] == [0, 1]
    assert numbers["rounds"][1]["transitions"] == 3_712
    assert all(row["physx"] != row["neural"] for row in numbers["rounds"])
    done = checkpoint.load(tmp_path / "out/train-1/best")
    assert done.cfg == checkpoint.load(tmp_path / "out/model").cfg
    assert load_policy(tmp_path / "out/policy").obs_dim > 0
