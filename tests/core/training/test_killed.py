# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd train`` that is killed at exact points loses nothing, can go on, and ends with the same weights."""

from __future__ import annotations

import pytest

from support.killed_training import End, Trainings
from support.killing_trials import Bench, Trial, all_trials, table

EXACT = {
    "before the first save": Trial("new", End("SIGKILL", 1, of="open .last.writing/manifest.json")),
    "before the first save has its name": Trial("new", End("SIGKILL", 1, of="rename .last.writing last")),
    "between the two renames of 'last'": Trial("new", End("SIGKILL", 2, of="rename .last.writing last")),
    "between the two renames of 'best'": Trial("new", End("SIGKILL", 2, of="rename .best.writing best")),
    "while the last 'last' but one is removed": Trial("new", End("SIGKILL", 1, of="remove manifest.json")),
    "before the earlier run moves": Trial("overwriting", End("SIGKILL", 1, of="rename last .aside")),
    "within the move of the earlier run": Trial("overwriting", End("SIGKILL", 1, of="rename best .aside")),
    "before a new run has begun": Trial("overwriting", End("SIGKILL", 1, of="rename .last.writing last")),
    "before the earlier run has its new name": Trial("overwriting", End("SIGKILL", 1, of="rename .aside previous-")),
    "when the disk is full at the first save": Trial("overwriting", End("full disk", 1, of="open .last.writing")),
}

QUICK = (
    "before the first save",
    "between the two renames of 'last'",
    "within the move of the earlier run",
    "before the earlier run has its new name",
    "when the disk is full at the first save",
)
"""One of each kind; the others, three seconds each, belong to the tier ci."""
TRIALS = [
    pytest.param(trial, id=name, marks=() if name in QUICK else pytest.mark.long) for name, trial in EXACT.items()
]


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """Trainings that were left alone, to compare with."""
    with Trainings() as trainings:
        yield Bench(tmp_path_factory.mktemp("killed"), trainings)


@pytest.mark.parametrize("trial", TRIALS)
def test_a_training_that_was_killed_goes_on_to_the_same_weights(bench, trial):
    """Either --resume or the plain command goes on; nothing that was saved is lost, an earlier run neither."""
    outcome = bench.run(trial)
    assert outcome.code != 0, "the training was not ended: is there still such a point?"
    assert not outcome.faults


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_way_to_end_a_training_loses_anything(bench):
    """Over 100 trainings that are killed, interrupted or find no room, at moments that a seed decides: no fault."""
    outcomes = [bench.run(trial) for trial in all_trials(bench.told)]
    assert len(outcomes) >= 100
    assert not [outcome for outcome in outcomes if outcome.faults], table(outcomes)
