# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Line charts for the report: drawn by Matplotlib, then written into the page as SVG in the colours of the page.

Colours become the page's CSS variables, so that a chart follows the light and the dark scheme. Texts stay texts in the
page's font. A legend is HTML, which wraps on a narrow page.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from xml.etree import ElementTree

WIDTH, HEIGHT = 320, 215
"""Size of a chart [1/72 inch]; the page scales it to the width that it has."""

COLORS = ("BLUE", "ORANGE", "GREEN")
"""Colours by number, named as in :mod:`nerd_core.files.figures`; in the page they are ``--c0``, ``--c1``, ``--c2``."""


@dataclass(frozen=True)
class Line:
    """One curve."""

    name: str
    """Name in the legend, also shown when pointed at; empty: not in the legend."""
    x: Sequence[float]
    """Horizontal values."""
    y: Sequence[float | None]
    """Vertical values. The curve has a gap where one is not finite, or on a logarithmic axis not positive."""
    color: int = 0
    """Number of the colour."""
    dashed: bool = False
    """Whether it is dashed."""


@dataclass(frozen=True)
class Mark:
    """One figure to compare with, drawn as a diamond."""

    name: str
    """What it is, shown when pointed at."""
    x: float
    """Horizontal value."""
    y: float
    """Vertical value."""
    color: int = 0
    """Number of the colour."""


def chart(
    title: str, lines: Sequence[Line], x_label: str, y_label: str, marks: Sequence[Mark] = (), log: str = ""
) -> str:
    """A chart as HTML. The group of each curve has the class ``line-<number>``, that of each mark ``mark-<number>``.

    Args:
        title: What it shows, for those who cannot see it.
        lines: The curves.
        x_label: Name and unit of the horizontal axis.
        y_label: Name and unit of the vertical axis.
        marks: Figures to compare with.
        log: Which axes are logarithmic: ``""``, ``"x"``, ``"y"`` or ``"xy"``.
    """
    from nerd_core.files import figures

    curves = [(line.x, [_drawable(value, "y" in log) for value in line.y]) for line in lines]
    if not marks and all(math.isnan(value) for _, values in curves for value in values):
        return "<p>No finite values to draw.</p>"
    colors = [getattr(figures, name) for name in COLORS]
    with figures.new_figure(WIDTH / 72, HEIGHT / 72) as (figure, (axes,)):
        axes.grid(visible=False, axis="x")
        axes.spines["left"].set_visible(False)
        axes.margins(x=0.0)
        axes.set(xlabel=x_label, ylabel=y_label)
        figures.log_scale(axes, *log)
        for number, (line, (x, y)) in enumerate(zip(lines, curves, strict=True)):
            style = (0, (3.5, 2.5)) if line.dashed else "-"
            axes.plot(x, y, color=colors[line.color], linestyle=style, gid=f"line-{number}", clip_on=False)
        for number, mark in enumerate(marks):
            face = {"markerfacecolor": "white", "markersize": 6.0, "markeredgewidth": 1.5}
            color = colors[mark.color]
            axes.plot([mark.x], [mark.y], "D", color=color, gid=f"mark-{number}", clip_on=False, zorder=3, **face)
        if "x" not in log:
            axes.set_xlim(left=min(0.0, axes.get_xlim()[0]))
        drawn = ElementTree.fromstring(figures.svg_text(figure))
    variables = {color: f"var(--c{number})" for number, color in enumerate(colors)}
    variables |= {figures.INK: "var(--soft)", figures.FAINT: "var(--soft)", figures.GRID: "var(--line)"}
    variables["#ffffff"] = "var(--card)"
    said = {f"line-{number}": line.name for number, line in enumerate(lines)}
    said |= {f"mark-{number}": mark.name for number, mark in enumerate(marks)}
    return _for_page(drawn, title, variables, said) + _legend(lines, bool(marks))


def _drawable(value: float | None, log: bool) -> float:
    """The value, or NaN, which leaves a gap."""
    return math.nan if value is None or not math.isfinite(value) or (log and value <= 0) else value


def _for_page(root: ElementTree.Element, title: str, variables: Mapping[str, str], said: Mapping[str, str]) -> str:
    """A drawing of Matplotlib as an element of a page.

    What would reach beyond the drawing goes: its style sheet would hold for the whole page, and identifiers, which
    several charts share, become classes.

    Args:
        root: The drawing. It is changed.
        title: What it shows.
        variables: Variable of the page for each colour.
        said: Text to show when pointed at, by the identifier of a group.
    """
    for parent in reversed(list(root.iter())):  # children before parents, which may be empty then
        for child in list(parent):
            kind = child.tag.rpartition("}")[2]
            if kind in ("metadata", "style", "clipPath") or (kind in ("g", "defs") and len(child) == 0):
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        plain = {name.replace("{http://www.w3.org/1999/xlink}", "xlink:"): value for name, value in element.items()}
        plain.pop("clip-path", None)
        if element.tag == "g" and "id" in plain:
            plain["class"] = plain.pop("id")
            if said.get(plain["class"]):
                ElementTree.SubElement(element, "title").text = said[plain["class"]]
        if "style" in plain:
            style = re.sub(r"font-family:[^;]*;\s*", "", plain["style"])
            plain["style"] = re.sub(r"#[0-9a-f]{6}", lambda color: variables[color[0]], style)
        element.attrib.clear()
        element.attrib.update(plain)
    root.attrib.clear()
    root.attrib.update({"class": "chart", "viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img", "aria-label": title})
    return re.sub(r"\s+", " ", ElementTree.tostring(root, encoding="unicode", short_empty_elements=False))


def _legend(lines: Sequence[Line], has_marks: bool) -> str:
    items = {(line.name, line.color, line.dashed) for line in lines if line.name}
    keys = [
        f'<span class="key"><i class="swatch c{color}{" dashed" if dashed else ""}"></i>{escape(name)}</span>'
        for name, color, dashed in sorted(items, key=lambda item: (item[1], item[2], item[0]))
    ]
    if has_marks:
        keys.append('<span class="key"><i class="diamond"></i>the paper</span>')
    return f'<div class="legend">{"".join(keys)}</div>'
