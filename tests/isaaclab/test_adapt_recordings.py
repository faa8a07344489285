# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd adapt data`` on a file of recordings: at the steps of a model whose friction is not that of the file."""

from __future__ import annotations

import json
from pathlib import Path

from nerd_isaaclab.programs import adapt
from support.recorded_files import driven_pendulum_file


def test_recordings_are_followed_at_the_steps_of_an_identified_model(tmp_path: Path):
    """The file says another friction than the shipped model has found; its runs are followed all the same, and errors
    of the specification and of what is adapted are reported.
    """
    log, out = driven_pendulum_file(tmp_path / "arm.h5"), tmp_path / "out"
    words = ["data", str(log), "--model", "dfki-pendulum", "--trajectories", "2", "--words", "payload"]
    assert adapt.main([*words, "--settle", "3", "--out", str(out)]) == 0
    found = json.loads((out / "adapt.json").read_text(encoding="utf-8"))
    errors = found["groups"]["all"]["errors"]["joint_rad"]["last_second"]
    assert 0.0 < errors["specification"] < 10.0 and 0.0 < errors["adapted"] < 10.0
