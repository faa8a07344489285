# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd experiment mpc`` in PhysX, with its smallest settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from nerd_isaaclab.experiments.mpc.run import EXPERIMENT


@pytest.mark.long  # half a minute; parts are tested in test_mpc_planning
def test_a_quadruped_walks_with_the_programme_and_with_the_network(tmp_path: Path):
    """Four Go2s walk with the programme without a fall, under pushes and new targets. A network that has learned from
    12 s of that falls at most a few times where a planner that looks at nothing falls many times, keeps the velocity
    better, and is several times as fast as the programme.
    """
    said: list[str] = []
    result = EXPERIMENT.run(EXPERIMENT.smoke, said.append)
    figures = result.figures
    assert figures["falls_qp"] == 0 and figures["velocity_error_qp"] < 0.06
    assert figures["falls_even"] >= 8
    assert figures["falls_network"] <= 0.3 * figures["falls_even"]
    assert figures["velocity_error_network"] < 0.75 * figures["velocity_error_even"]
    assert 0.0 < figures["network_ms"] < 0.3 * figures["qp_ms"]
    assert figures["transitions"] == EXPERIMENT.smoke.transitions
    assert any(words.startswith("examples: 1200 of 1200") for words in said)
    (drawn,) = result.write_plots(tmp_path)
    assert drawn.stat().st_size > 10_000
