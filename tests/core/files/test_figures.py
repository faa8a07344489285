# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Figures in one style."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest

from nerd_core.files.figures import BLUE, log_scale, new_figure, save_figure, svg_text


def draw(path: Path | None = None, name: str = "a $x$ & <b>") -> str:
    """A small figure, saved if there is a path; its SVG."""
    with new_figure(3, 2) as (figure, (axes,)):
        axes.plot([1, 2, 3], [0.1, 1.0, 10.0], "o-", color=BLUE, label=name)
        axes.set(title=name)
        axes.legend()
        log_scale(axes, "y")
        if path is not None:
            save_figure(figure, path)
        return svg_text(figure)


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_same_numbers_same_bytes(ending: str, tmp_path: Path):
    """The same figure drawn twice is the same file, whatever the format; the folder for it is made."""
    for name in ("one", "two"):
        draw(tmp_path / name / f"figure.{ending}")
    first, second = ((tmp_path / name / f"figure.{ending}").read_bytes() for name in ("one", "two"))
    assert first == second


def test_names_are_no_formulas():
    """Dollars, backslashes and what looks like markup are shown letter by letter."""
    for name in ("a $x$ & <b>", r"$\frac{1}{0}$", "one $"):
        texts = [
            element.text for element in ElementTree.fromstring(draw(name=name)).iter() if element.tag.endswith("text")
        ]
        assert texts.count(name) == 2


@pytest.mark.parametrize("top", [1.5, 8.0, 30.0, 1e5])
def test_logarithmic_axes_have_two_labels_at_least(top: float):
    """However little an axis spans, a reader finds its scale: two labels or more, plain numbers without formulas."""
    with new_figure(3, 2) as (figure, (axes,)):
        axes.plot([1, 2], [0.9 * 1e-4, 1e-4 * top])
        log_scale(axes, "y")
        figure.draw_without_rendering()
        low, high = axes.get_ylim()
        ticks = [*axes.yaxis.get_major_ticks(), *axes.yaxis.get_minor_ticks()]
        shown = {tick.label1.get_text(): tick.get_loc() for tick in ticks if low <= tick.get_loc() <= high}
    labels = {text: place for text, place in shown.items() if text}
    assert len(labels) >= 2
    assert all(float(text) == pytest.approx(place) for text, place in labels.items())


def test_style_ends_with_the_figure():
    """Other programs' figures are left as they are."""
    before = dict(matplotlib.rcParams)
    draw()
    assert dict(matplotlib.rcParams) == before


def test_values_that_are_not_positive_leave_a_gap():
    """On a logarithmic axis zeros are left out, and are not drawn far below the panel."""
    with new_figure(3, 2) as (figure, (axes,)):
        axes.plot([1, 2, 3], [1.0, 0.0, 10.0], gid="curve", clip_on=False)
        log_scale(axes, "y")
        root = ElementTree.fromstring(svg_text(figure))
    curve = next(element for element in root.iter() if element.get("id") == "curve")
    heights = np.array(curve[0].get("d", "").replace("M", "").replace("L", "").split(), float)[1::2]
    assert heights.size == 2 and (heights < 144).all()
