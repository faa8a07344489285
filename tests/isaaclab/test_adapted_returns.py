# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Figures of what a change takes of a return, and how much of it a controller regains, are what they say."""

from __future__ import annotations

import math

import pytest
import torch

from nerd_isaaclab.experiments.adapted_control.returns import Group, figures_of, groups_of, regained
from nerd_isaaclab.experiments.adapted_control.run import AdaptedControlCfg, AdaptedControlError
from nerd_isaaclab.experiments.adapted_control.worker import known_numbers

GROUPS = groups_of(("payload", "motor"))
STARTS = 3
CHANGED_AT = 4


def rewards_of(after: dict[str, float], before: float = 100.0) -> torch.Tensor:
    """Rewards of ten steps: the same for all before the change, then a number by group; starts differ."""
    rewards = torch.full((10, len(GROUPS), STARTS), before)
    rewards[CHANGED_AT:] = torch.tensor([after[group.name] for group in GROUPS])[:, None]
    return rewards + torch.arange(STARTS)


AFTER = {
    "nothing_specification": 10.0,
    "nothing_adapted": 9.9,
    "payload_specification": 2.0,
    "payload_adapted": 8.0,
    "payload_told": 10.0,
    "motor_specification": 5.0,
    "motor_adapted": 4.0,
    "motor_told": 9.0,
}


def test_groups_are_the_unchanged_robots_and_each_change_with_each_knowledge():
    """Two groups that nothing happens to, and three for each change."""
    assert [group.name for group in GROUPS] == list(AFTER)


def test_figures_are_those_of_the_returns_after_the_change():
    """What was before the change does not count; lost and regained are shares of means over the starts; a controller
    that is worse than the specification's regains less than nothing.
    """
    figures = figures_of(GROUPS, rewards_of(AFTER), CHANGED_AT, seed=0)
    assert figures["nothing_specification_return"] == pytest.approx(6 * 11.0)
    assert figures["payload_adapted_returns"] == pytest.approx([6 * 8.0, 6 * 9.0, 6 * 10.0])
    assert figures["payload_lost_share"] == pytest.approx(8.0 / 11.0)
    assert figures["payload_regained"] == pytest.approx(0.75)
    assert figures["payload_regained_told"] == pytest.approx(1.0)
    assert figures["motor_regained"] == pytest.approx(-0.2)
    assert figures["motor_regained_told"] == pytest.approx(0.8)
    assert figures["nothing_gain_share"] == pytest.approx(-0.1 / 11.0, abs=1e-5)


def test_the_spread_is_that_of_the_starts():
    """Equal starts have none; starts of which one regains nothing have a wide one around the share of the means, and
    starts are drawn together with their unchanged and specified twins.
    """
    unchanged, lost = torch.tensor([10.0, 20.0, 30.0, 40.0]), torch.tensor([0.0, 10.0, 20.0, 30.0])
    alike = regained(unchanged, lost, lost + 7.0)
    assert alike.share == pytest.approx(0.7) and alike.high - alike.low < 1e-9
    one = regained(unchanged, lost, lost + torch.tensor([0.0, 8.0, 8.0, 8.0]))
    assert one.share == pytest.approx(0.6)
    assert one.low == pytest.approx(0.2, abs=0.11) and one.high == pytest.approx(0.8)


def test_nothing_is_regained_where_nothing_is_lost():
    """A change that costs nothing gives no share at all."""
    same = torch.tensor([1.0, 2.0])
    assert math.isnan(regained(same, same, same + 1.0).share)


def test_what_changes_must_be_followed():
    """A change that adaptation is not told to follow is refused before an engine starts, and the words are named."""
    with pytest.raises(AdaptedControlError, match="got the change motor, .* expected motors among them"):
        AdaptedControlCfg(words=("payload",))
    assert AdaptedControlCfg(words=("payload",), changes=("payload",)).words == ("payload",)


def test_controllers_know_what_their_group_says():
    """The specification is nothing at all, whatever is true or estimated; others have the estimates, or the truth."""
    truth, estimate = torch.full((len(GROUPS) * STARTS, 2), 1.0), torch.full((len(GROUPS) * STARTS, 2), 3.0)
    known = known_numbers(GROUPS, truth, estimate).unflatten(0, (-1, STARTS))
    expected = {"specification": 0.0, "adapted": 3.0, "told": 1.0}
    for group, numbers in zip(GROUPS, known, strict=True):
        assert torch.equal(numbers, torch.full((STARTS, 2), expected[group.knows]))
    assert Group("payload", "told").name == "payload_told"
