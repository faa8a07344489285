# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The page of an identification says what the report says, and nothing in a name is code."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

from nerd_core.identification.replay import ReplayError
from nerd_core.identification.report import Report
from nerd_core.identification.report_page import page
from support.identified_arm import arm


def report(refused: str = "") -> Report:
    """A report with a value for each link and joint."""
    error = ReplayError({"joint_rad": 0.123}, {"joint_rad": 0.2}, 4)
    values = {
        "masses": {"before": [1.0, 0.5, 0.6], "after": [1.0, 0.55, 0.3], "deviation": [0.0, 0.01, 0.02]},
        "centres": {"before": [[0.0] * 3] * 3, "after": [[0.0, 0.0, 0.7]] * 3, "deviation": [[0.0] * 3] * 3},
        "gravity": {"before": [0.0, 0.0, -9.81], "after": [0.0, 0.1, -9.8], "deviation": [0.0] * 3},
    }
    data = {"windows": 12, "held_out_windows": 4, "seconds": 0.5}
    return Report("arm", data, (), (0.5, 0.01), values, None, error, error, refused, {})


class Tags(HTMLParser):
    """Which elements stand in a page, and all of its text."""

    def __init__(self, text: str):
        super().__init__()
        self.names, self.text = set(), ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)

    def handle_data(self, data):
        self.text += data


def test_the_page_has_all_numbers_by_name():
    """Each value stands beside its name, before and after; changes are shares, and a chart shows them."""
    told = Tags(page(report(), arm()))
    for word in ("upper", "0.55", "+10.0%", "-50.0%", "lower 3", "0.123", "kg", "12 windows"):
        assert word in told.text, word
    assert "svg" in told.names and "refused" not in told.text


def test_names_are_text():
    """What stands in a specification or in a reason is shown as it is, and is no element of the page."""
    spec = arm()
    base, upper, lower = spec.bodies
    bodies = base, replace(upper, name="<script>x"), replace(lower, parent="<script>x")
    told = Tags(page(report("<script>worse"), replace(spec, bodies=bodies)))
    assert "script" not in told.names and "<script>x" in told.text and "<script>worse" in told.text
