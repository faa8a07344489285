# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Writes the page of ``ablations.py``: a table and a plot for each robot, from the files of evidence alone."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from ablation_chance import bases_of, chance_of, conclusions, factor_words, in_common, judged, middle, relative
from ablations import BASE, ROBOTS, Options, rows_of

from nerd_core.files.atomic import write_text
from nerd_core.files.figures import BLUE, ORANGE, log_scale, new_figure, save_figure

HEAD = """<!-- Copyright (c) 2026, The nerd_isaaclab developers. SPDX-License-Identifier: BSD-3-Clause -->

# What each choice is worth

Written by `python benchmarks/ablations.py --page docs/ablations.md` from `docs/evidence/ablations_*.json`. Every row is
one model that differs from the base in the named choice alone, trained for about the same processor time on one thread
on the same data of PhysX: a network twice as dear gets half as many updates. A first training tells what an update
costs; what comes before the updates is not counted, so that some took longer (*seconds*, mechanics most). *Over the
base* is the geometric mean over the quantities of the error, as a multiple of that of the base (the geometric mean of
its trainings): above one the choice is worse. Errors are temporal means over held-out open-loop roll-outs; one that
leaves the guard stays where it left it, and is counted.

What is chance is measured: the base is trained several times with other seeds, and a row counts as *better* or *worse*
only where such a training would not be in 95 of 100 cases (Student's t; of twenty rows one is counted for nothing).
Budgets are short, which favours what learns fast: networks with memory would gain most from more time, and the base,
whose loss asks as much of rare regimes as of the usual one, too. Errors that have grown as large as the motion itself
grow no further, so that factors over a long horizon are nearer to one.

The base: gated residual perceptron without memory, which sees contacts and how slots move; changes of state in the
robot's axes, positions integrated; input and output normalised; logarithms of squares within each regime; single steps.
"""


def write_page(evidence: Path, page: Path) -> None:
    """Writes the page and its plots.

    Args:
        evidence: Folder with ``ablations_<robot>.json``.
        page: The page; plots go to ``images`` beside it.
    """
    paths = {robot: evidence / f"ablations_{robot}.json" for robot in ROBOTS}
    told = {robot: json.loads(path.read_text("utf-8")) for robot, path in paths.items() if path.is_file()}
    if not told:
        raise SystemExit(
            f"got no ablations_<robot>.json in {evidence}, expected at least one: run without --page first"
        )
    for robot, numbers in told.items():
        draw(numbers, page.parent / "images" / f"ablations-{robot}.png")
    parts = [HEAD, *(section(robot, numbers) for robot, numbers in told.items())]
    real = {robot: judged(numbers, horizons_of(numbers)[-1]) for robot, numbers in told.items() if not numbers["smoke"]}
    if common := in_common({robot: found for robot, found in real.items() if found}):
        parts.append(f"## What holds for {' and '.join(real)}\n\nAt the longest horizon. {common}\n")
    write_text(page, "\n".join(parts))


def horizons_of(told: Mapping[str, Any]) -> list[str]:
    """The horizons at which errors were taken."""
    bases = bases_of(told)
    if not bases:
        raise SystemExit(f"got no training of '{BASE}' that succeeded, expected one: the others are measured by it")
    return list(bases[0]["errors"])


def section(robot: str, told: Mapping[str, Any]) -> str:
    """What stands on the page of one robot.

    Args:
        robot: Its name.
        told: The numbers.
    """
    rows: Sequence[Mapping[str, Any]] = told["rows"]
    horizons = horizons_of(told)
    base, shown = middle(bases_of(told)), ends_of(horizons)
    units = " / ".join(name.replace("_", " ") for name in base["errors"][horizons[0]])
    lines = [
        f"## {robot.capitalize()}",
        "",
        f"`{ROBOTS[robot].task}`, {base['transitions']:,} transitions, {told['seconds']:g} s of processor time each, "
        f"{base['trajectories']} held-out roll-outs; errors: {units}."
        + (" A run in tiny sizes: **its numbers say nothing**." if told["smoke"] else ""),
        "",
        *(line for each in shown if not told["smoke"] for line in (conclusions(told, each), "")),
        f"![error of each choice over that of the base](images/ablations-{robot}.png)",
        "",
        "| | choice | updates | seconds | "
        + " | ".join(f"{each} steps" for each in horizons)
        + " | left the guard | "
        + " | ".join(f"over the base, {each} steps" for each in shown)
        + " |",
        "|---|---|---:|---:|" + "---:|" * (len(horizons) + 1 + len(shown)),
    ]
    verdicts = {each: judged(told, each) for each in shown}
    group = ""
    for row in (*rows, *told.get("base_again", ())):
        cells = [row["group"] if row["group"] != group else "", row["name"], f"{row['updates']:,}"]
        cells.append(f"{row['processor_seconds']:.0f}")
        group = row["group"]
        if row["failure"]:
            cells += ["-"] * (len(horizons) + 1)
        else:
            cells += [" / ".join(number(each["mean"]) for each in row["errors"][h].values()) for h in horizons]
            cells += [str(row["lost"])]
        for each in shown:
            _, verdict = verdicts[each].get(row["name"], (0.0, ""))
            factor = factor_words(relative(row, base, each))
            is_told = verdict in ("better", "worse") and not row["failure"] and not told["smoke"]
            cells.append(f"{factor} {verdict}" if is_told else factor)
        lines.append("| " + " | ".join(cells) + " |")
    ran = {row["name"] for row in rows}
    missing = [row.name for row in rows_of(Options(robot=cast(Any, robot))) if row.name not in ran]
    if missing:
        lines += ["", "Not run: " + "; ".join(missing) + "."]
    return "\n".join(lines) + "\n"


def ends_of(horizons: Sequence[str]) -> list[str]:
    """The shortest and the longest horizon."""
    return list(dict.fromkeys((horizons[0], horizons[-1])))


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
    bases = bases_of(told)
    base, shown = middle(bases), ends_of(horizons_of(told))
    with new_figure(7.2, 0.28 * len(rows) + 1.0) as (figure, (axes,)):
        for horizon, colour, shift in zip(shown, (BLUE, ORANGE), (-0.15, 0.15), strict=False):
            values = [relative(row, base, horizon) for row in rows]
            places = [index + shift for index in range(len(rows))]
            axes.plot(values, places, "o", ms=4, color=colour, label=f"{horizon} steps")
            if (chance := chance_of(bases, horizon)) is not None:
                axes.axvspan(1.0 / chance.factor, chance.factor, color=colour, alpha=0.12, lw=0)
        axes.axvline(1.0, color="0.6", lw=0.8)
        axes.set_yticks(range(len(rows)), labels=[row["name"] for row in rows])
        axes.invert_yaxis()
        log_scale(axes, "x")
        axes.set_xlabel("error over that of the base; shaded: chance")
        axes.legend()
        save_figure(figure, path)


__all__ = ["draw", "section", "write_page"]
