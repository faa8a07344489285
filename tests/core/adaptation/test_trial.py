# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A trial of adaptation judges as it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from nerd_core.adaptation.config import AdaptCfg
from nerd_core.adaptation.directions import AdaptationError
from nerd_core.adaptation.report import draw_trial, plain_report
from nerd_core.adaptation.trial import Motion, Trial, try_adaptation
from support.adapting_arm import COUNT, adapting_arm, motion_of


def made(adapted: list[float], told: list[float], changed: float | None = 1.0) -> Trial:
    """A trial with given errors of one environment, four moments a second."""
    seconds = [0.25 * (each + 1) for each in range(len(adapted))]
    column = {name: torch.tensor(each)[:, None] for name, each in (("adapted", adapted), ("told", told))}
    errors = {"specification": {"joint_rad": torch.full((len(adapted), 1), 1.0)}}
    errors |= {name: {"joint_rad": value} for name, value in column.items()}
    steps = len(adapted)
    return Trial(("payload",), seconds, torch.zeros(steps, 1, 1), torch.zeros(steps, 1).bool(), errors, changed)


@pytest.mark.parametrize(
    ("adapted", "expected"),
    [
        ([0.1] * 8, 0.0),
        ([0.1, 0.1, 0.1, 1.0, 1.0, 0.1, 0.1, 0.1], 0.5),  # 1.25 s is the last moment beyond: met at 1.5 s
        ([0.1, 0.1, 0.1, 1.0, 0.1, 0.1, 0.16, 0.1], 1.0),  # comes back beyond 1.5 times at 1.75 s
        ([0.1, 0.1, 0.1, 1.0, 0.1, 0.1, 0.1, 0.16], None),
        ([9.0, 9.0, 9.0, 0.14, 0.14, 0.14, 0.14, 0.14], 0.0),  # what was before the change does not count
    ],
)
def test_the_truth_is_met_when_the_error_stays_within_one_and_a_half_times(adapted: list[float], expected):
    """Seconds count from the change to the first moment from which on the error stays within 1.5 times."""
    assert made(adapted, [0.1] * 8).seconds_until_met("joint_rad") == expected
    assert made(adapted, [0.1] * 8, None).seconds_until_met("joint_rad") is None


def test_a_trial_finds_a_payload_and_reports_it(tmp_path: Path):
    """On an arm with a payload the adapted model ends far below the specification's, as the one that is told does; in
    the group without one it is never worse. Report and picture are written.
    """
    arm = adapting_arm()
    numbers = torch.zeros(COUNT, 3)
    numbers[COUNT // 2 :, 0] = 0.2
    motion = motion_of(arm, numbers, steps=250, changed_at=100, noise=0.01)
    cfg = AdaptCfg(("payload", "motors"), every=1, budget=100.0, settle=10)
    trial = try_adaptation(arm, motion, cfg)
    groups = {"nothing": slice(0, COUNT // 2), "payload": slice(COUNT // 2, COUNT)}
    report = json.loads(json.dumps(plain_report(trial, groups)))
    of = {name: group["errors"]["joint_rad"] for name, group in report["groups"].items()}
    last = of["payload"]["last_second"]
    assert max(last["adapted"], last["told"]) < 0.3 * last["specification"]
    assert of["nothing"]["share_of_moments_worse"] == 0.0
    assert abs(report["groups"]["payload"]["estimates"]["payload"]["mean"] - 0.2) < 0.03
    before = of["payload"]["before"]
    assert before["told"] == pytest.approx(before["specification"]), "the truth before the change is the specification"
    draw_trial(trial, groups, tmp_path / "adapt.png")
    assert (tmp_path / "adapt.png").stat().st_size > 1000


def test_motion_that_is_too_short_is_refused():
    """Motion without room for one prediction ends with a message."""
    arm = adapting_arm()
    motion = motion_of(arm, torch.zeros(COUNT, 3), steps=20, changed_at=0)
    with pytest.raises(AdaptationError, match="expected at least"):
        try_adaptation(arm, Motion(motion.states, motion.controls), AdaptCfg())
