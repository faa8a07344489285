# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The report of an identification as one HTML page: values with deviations, what the data tell, held-out errors.

Example::

    write_text(out / "report.html", page(report))
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from ..robot.spec import RobotSpec
from .parameterisation import GROUPS
from .report import Report

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1b2733; max-width: 60em; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse; margin: 1em 0 } td, th { padding: .15em .8em; border-bottom: 1px solid #e3e4e1 }
th { text-align: left } td { text-align: right } td:first-child { text-align: left } .warn { color: #c0392b }
svg { max-width: 100%; height: auto }
"""

LEAST_DRAWN, MOST_DRAWN = 0.02, 8
"""Smallest largest change of a value for which a chart is drawn, and the most groups of values that are."""


def page(report: Report, spec: RobotSpec) -> str:
    """The page.

    Args:
        report: What was found.
        spec: The robot, whose names the values have.
    """
    told = report.identifiability
    data = report.data
    parts = [
        f"<h1>Identification of {escape(report.robot)}</h1>",
        f"<p>From {data['windows']} windows of {data['seconds']:g} s, judged on {data['held_out_windows']} others. "
        f"Cost {report.cost[0]:.4g} &rarr; {report.cost[1]:.4g}.</p>",
    ]
    if report.refused:
        parts.append(f'<p class="warn">The model is refused: {escape(report.refused)}.</p>')
    parts.append("<h2>Held-out motion</h2>")
    rows = [
        (name, f"{report.before.mean[name]:.4g}", f"{value:.4g}", f"{report.after.pooled[name]:.4g}")
        for name, value in report.after.mean.items()
    ]
    parts.append(_table(("mean error of a window", "before", "after", "after, pooled"), rows))
    if report.values:
        parts += ["<h2>Values</h2>", _chart(report, spec)]
    for group, of in report.values.items():
        parts.append(f"<h3>{escape(group)} [{escape(GROUPS[group].unit)}]</h3>")
        found = [
            (name, f"{before:.5g}", f"{after:.5g}", f"{deviation:.2g}", _change(before, after))
            for name, before, after, deviation in _rows(group, of, spec)
        ]
        parts.append(_table(("", "before", "after", "deviation", "change"), found))
    if told is not None:
        parts.append("<h2>What the data tell</h2>")
        parts += [f"<p>{escape(line)}</p>" for line in told.in_words().split("\n")]
    title = f"Identification of {escape(report.robot)}"
    head = f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
    return f"{head}</head><body>\n" + "\n".join(parts) + "\n</body></html>\n"


def _rows(group: str, of: dict[str, Any], spec: RobotSpec) -> Iterator[tuple[str, float, float, float]]:
    """Name, value before and after, and deviation of each number of a group."""
    names = {"bodies": spec.body_names, "joints": spec.joint_names}.get(GROUPS[group].of, "xyz")
    for name, *numbers in zip(names, of["before"], of["after"], of["deviation"], strict=True):
        flat = [list(_flat(each)) for each in numbers]
        for place, three in enumerate(zip(*flat, strict=True)):
            yield (f"{name} {place + 1}" if len(flat[0]) > 1 else name, *three)


def _flat(value: Any) -> Iterator[float]:
    if isinstance(value, list):
        for each in value:
            yield from _flat(each)
    else:
        yield value


def _change(before: float, after: float) -> str:
    return f"{after / before - 1.0:+.1%}" if before else ""


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = ["<tr>" + "".join(f"<th>{escape(each)}</th>" for each in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{escape(each)}</td>" for each in row) + "</tr>" for row in rows]
    return "<table>" + "\n".join(lines) + "</table>"


def _chart(report: Report, spec: RobotSpec) -> str:
    """Changes of positive values with their deviations, group by group."""
    from ..files.figures import BLUE, FAINT, new_figure, svg_text

    drawn = []
    for group, of in report.values.items():
        rows = [row for row in _rows(group, of, spec) if row[1] > 0.0 and row[2] > 0.0]
        if GROUPS[group].bounded and any(abs(math.log(row[2] / row[1])) > LEAST_DRAWN for row in rows):
            drawn.append((group, rows))
    drawn = drawn[:MOST_DRAWN]
    if not drawn:
        return ""
    with new_figure(7.0, 0.6 + 0.18 * sum(len(rows) + 2 for _, rows in drawn), len(drawn), 1) as (figure, panels):
        for axes, (group, rows) in zip(panels, drawn, strict=True):
            places = list(range(len(rows)))
            changes = [100.0 * (after / before - 1.0) for _, before, after, _ in rows]
            errors = [100.0 * min(deviation / before, 1.0) for _, before, _, deviation in rows]
            axes.errorbar(changes, places, xerr=errors, fmt="o", color=BLUE, markersize=4, ecolor=FAINT)
            axes.set_yticks(places, [name for name, *_ in rows])
            axes.invert_yaxis()
            axes.set_title(group, fontsize=9)
        panels[-1].set_xlabel("change [%]; whiskers are standard deviations, at most 100 %")
        return svg_text(figure)


__all__ = ["page"]
