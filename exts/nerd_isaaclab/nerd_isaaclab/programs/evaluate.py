# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd evaluate``: how far a model's open-loop motion is from the solver's, on fresh roll-outs.

    nerd evaluate --model cartpole --protocol passive
    nerd evaluate --model runs/ant/best --task NeRD-Ant-Run --protocol driven --steps 500 --json ant.json --plot ant.png

Errors are those of the paper: means over all steps up to the horizon and over all trajectories. The roll-outs are
collected with seeds that no training uses, and kept in --data to be used again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.table import Table

from nerd_core.cli.options import read_options
from nerd_core.cli.terminal import console
from nerd_core.files.atomic import write_text
from nerd_core.files.outputs import PICTURES, require_file, require_folder

from ..evaluation.open_loop import EvaluateCfg, EvaluateResult, draw, evaluate


@dataclass
class Evaluate:
    """Measure a model's open-loop errors against the solver on fresh roll-outs."""

    cfg: Annotated[EvaluateCfg, tyro.conf.arg(name="")]
    """What to measure."""
    json: Path | None = None
    """File for the numbers, curves included."""
    plot: Path | None = None
    """File for a picture of the curves, PNG, SVG or PDF."""


def main(argv: list[str]) -> int:
    """Measure a model's open-loop errors against the solver on fresh roll-outs.

    Args:
        argv: Arguments, without the program's name.
    """
    args = read_options(Evaluate, argv, "nerd evaluate", __doc__)
    require_file(args.json, "--json")
    require_file(args.plot, "--plot", PICTURES)
    require_folder(args.cfg.data, "--data")
    result = evaluate(args.cfg)
    _show(result)
    if args.json is not None:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        # errors of a model that diverged are infinite, which Python's JSON can hold
        write_text(args.json, json.dumps(result.plain(), indent=1) + "\n")
    if args.plot is not None:
        draw(result, args.plot)
    return 0


def _show(result: EvaluateResult) -> None:
    _show_table(f"{result.model}, {result.protocol}, {result.trajectories} trajectories", result.horizons)
    lost = len(result.left_guard) + len(result.at_bounds)
    if result.diverged:
        print(f"{result.diverged} trajectories left the finite numbers")
    if not lost:
        return
    for steps, what in ((result.left_guard, "left the guard"), (result.at_bounds, "met the bounds of the model")):
        if steps:
            print(
                f"{len(steps)} trajectories {what}, the first after {steps[0]} steps, half of them by {_middle(steps)}"
            )
    for kind in ("median", "q90"):
        rows = {horizon: {name: spread[name][kind] for name in spread} for horizon, spread in result.spread.items()}
        _show_table(f"{kind} of the trajectories, with the guard holding", rows)


def _middle(steps: tuple[int, ...]) -> int:
    return steps[(len(steps) - 1) // 2]


def _show_table(title: str, rows: Mapping[str, Mapping[str, float | None]]) -> None:
    table = Table(title=title)
    names = next(iter(rows.values()), {})
    for name in ("horizon", *names):
        table.add_column(name.replace("_", " "), justify="right")
    for horizon, values in rows.items():
        table.add_row(horizon, *("-" if value is None else f"{value:.3g}" for value in values.values()))
    console().print(table)
