# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Every number that a user of nerd_isaaclab can set has a range, which is checked where the settings are made."""

from __future__ import annotations

import pytest

from nerd_core.files.bounds import bounds_of, range_in_words
from support.settings import make, numbers_of, right_values, settings_of, wrong_values

pytestmark = pytest.mark.unit

SETTINGS = settings_of(
    "nerd_isaaclab",
    commands=("nerd_isaaclab.programs.", "nerd_isaaclab.assets.cli"),
    # what tasks are made of, by Isaac Lab's own classes
    but=("nerd_isaaclab.tasks.", "nerd_isaaclab.recorders.", "nerd_isaaclab.mdp."),
)
each_with_numbers = pytest.mark.parametrize("kind", [kind for kind in SETTINGS if numbers_of(kind)])


def test_the_walk_finds_what_is_there():
    """Settings of collections, evaluations and commands are among those found."""
    assert {"CollectCfg", "EvaluateCfg", "ScoreCfg", "NerdCfg", "Generate", "Replay"} <= {
        kind.__name__ for kind in SETTINGS
    }


@each_with_numbers
def test_every_number_has_a_range(kind):
    """No field that holds numbers was made without saying which are sensible."""
    assert [item.name for item in numbers_of(kind) if bounds_of(item) is None] == []


@each_with_numbers
def test_what_is_just_outside_is_refused(kind):
    """A number just beyond an end of its range, NaN and the infinities are refused by an error with name and range."""
    for name, value in wrong_values(kind):
        words = range_in_words(kind.__dataclass_fields__[name].metadata["bounds"])
        with pytest.raises(ValueError, match=f"got {name}=") as refused:
            make(kind, **{name: value})
        assert str(refused.value).endswith(words)


@each_with_numbers
def test_what_is_at_the_ends_is_accepted(kind):
    """A number at an end that belongs to the range, or just within one that does not, is no reason to refuse."""
    for name, value in right_values(kind):
        try:
            make(kind, **{name: value})
        except ValueError as other:  # of settings that do not go together
            assert f"got {name}=" not in str(other)
