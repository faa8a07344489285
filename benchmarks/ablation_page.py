# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Writes the page of ``ablations.py``: a table and a plot for each robot, from the files of evidence alone."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ablations import BASE, ROBOTS, ROWS, relative

from nerd_core.files.atomic import write_text
from nerd_core.files.figures import BLUE, ORANGE, log_scale, new_figure, save_figure

HEAD = """<!-- Copyright (c) 2026, The nerd_isaaclab developers. SPDX-License-Identifier: BSD-3-Clause -->

# What each choice is worth

Written by `python benchmarks/ablations.py --page docs/ablations.md` from `docs/evidence/ablations_*.json`. Every row is
one model that differs from the base in the named choice alone, trained for the same processor time on one thread on the
same data of PhysX: a network twice as dear gets half as many updates. *Over the base* is the geometric mean over
the quantities of the error at the longest horizon, as a multiple of that of the base: above one the choice is worse.
Errors are temporal means over held-out open-loop roll-outs; one that leaves the guard stays where it left it, and is
counted. One seed and a short budget: a factor below 1.3 or so is chance, and networks with memory would gain most from
more time.

The base: gated residual perceptron without memory, which sees contacts and how slots move; changes of state in the
robot's axes, positions integrated; input and output normalised; logarithms of squares within each regime; single steps.
"""


def write_page(evidence: Path, page: Path) -> None:
    """Writes the page and its plots.

    Args:
        evidence: Folder with ``ablations_<robot>.json``.
        page: The page; plots go to ``images`` beside it.
    """
    parts = [HEAD]
    for robot in ROBOTS:
        path = evidence / f"ablations_{robot}.json"
        if path.is_file():
            told = json.loads(path.read_text("utf-8"))
            draw(told, page.parent / "images" / f"ablations-{robot}.png")
            parts.append(section(robot, told))
    if len(parts) == 1:
        raise SystemExit(
            f"got no ablations_<robot>.json in {evidence}, expected at least one: run without --page first"
        )
    write_text(page, "\n".join(parts))


def section(robot: str, told: Mapping[str, Any]) -> str:
    """What stands on the page of one robot.

    Args:
        robot: Its name.
        told: The numbers.
    """
    rows: Sequence[Mapping[str, Any]] = told["rows"]
    base = next(row for row in rows if row["name"] == BASE)
    horizons = list(base["errors"])
    names = list(base["errors"][horizons[0]])
    units = " / ".join(name.replace("_", " ") for name in names)
    lines = [
        f"## {robot.capitalize()}",
        "",
        f"`{ROBOTS[robot].task}`, {base['transitions']:,} transitions, {told['seconds']:g} s of processor time each, "
        f"{base['trajectories']} held-out roll-outs; errors: {units}."
        + (" A run in tiny sizes: **its numbers say nothing**." if told["smoke"] else ""),
        "",
        f"![error of each choice over that of the base](images/ablations-{robot}.png)",
        "",
        "| | choice | updates | "
        + " | ".join(f"{each} steps" for each in horizons)
        + " | left the guard | over the base |",
        "|---|---|---:|" + "---:|" * (len(horizons) + 2),
    ]
    group = ""
    for row in rows:
        cells = [row["group"] if row["group"] != group else "", row["name"], f"{row['updates']:,}"]
        group = row["group"]
        if row["failure"]:
            cells += ["-"] * len(horizons) + ["-", "failed"]
        else:
            cells += [" / ".join(number(each["mean"]) for each in row["errors"][h].values()) for h in horizons]
            cells += [str(row["lost"]), f"{relative(row, base, horizons[-1]):.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    missing = sorted({row.name for row in ROWS if row.needs == "any"} - {row["name"] for row in rows})
    if missing:
        lines += ["", "Not run: " + "; ".join(missing) + "."]
    return "\n".join(lines) + "\n"


def number(value: float) -> str:
    """An error for people."""
    return f"{value:.2g}" if math.isfinite(value) else "lost"


def draw(told: Mapping[str, Any], path: Path) -> None:
    """Draws the error of each row over that of the base.

    Args:
        told: The numbers.
        path: The picture.
    """
    rows = [row for row in told["rows"] if not row["failure"]]
    base = next(row for row in rows if row["name"] == BASE)
    horizons = list(base["errors"])
    shown = tuple(dict.fromkeys((horizons[0], horizons[-1])))
    with new_figure(7.2, 0.28 * len(rows) + 1.0) as (figure, (axes,)):
        for horizon, colour, shift in zip(shown, (BLUE, ORANGE), (-0.15, 0.15), strict=False):
            values = [relative(row, base, horizon) for row in rows]
            places = [index + shift for index in range(len(rows))]
            axes.plot(values, places, "o", ms=4, color=colour, label=f"{horizon} steps")
        axes.axvline(1.0, color="0.6", lw=0.8)
        axes.set_yticks(range(len(rows)), labels=[row["name"] for row in rows])
        axes.invert_yaxis()
        log_scale(axes, "x")
        axes.set_xlabel("error over that of the base")
        axes.legend()
        save_figure(figure, path)


__all__ = ["draw", "section", "write_page"]
