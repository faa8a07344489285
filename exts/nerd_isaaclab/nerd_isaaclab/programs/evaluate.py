# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd evaluate``: how far a model's open-loop motion is from the solver's, on fresh roll-outs, or from recordings.

    nerd evaluate --model cartpole --protocol passive
    nerd evaluate --model runs/ant/best --task NeRD-Ant-Run --protocol driven --steps 500 --json ant.json --plot ant.png
    nerd evaluate --model ant --protocol driven --policy policies/NeRD-Ant-Run --given actions --steps 100
    nerd evaluate --model runs/cube/best --data cube.h5 --protocol windows --window 80 --json cube.json
    nerd evaluate --model runs/cube/best --data cube.h5 --protocol flights --split val
    nerd evaluate --model runs/arm/best --data arm.h5 --protocol windows --seconds 0.5

Errors are those of the paper: means over all steps up to the horizon and over all trajectories. The roll-outs are
collected with seeds that no training uses, and kept in --data to be used again. With a file of recordings of the real
mechanism as --data no engine starts; errors are then those of docs/real-data.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.table import Table

from nerd_core.cli.options import read_options
from nerd_core.cli.terminal import console
from nerd_core.files.atomic import write_text
from nerd_core.files.outputs import PICTURES, require_file, require_folder
from nerd_core.judging.config import JudgeCfg
from nerd_core.recordings.reading import is_recording

from ..evaluation.open_loop import EvaluateCfg, EvaluateResult, draw, evaluate
from ..evaluation.recordings import evaluate_recordings


@dataclass
class Evaluate:
    """Measure a model's open-loop errors against the solver on fresh roll-outs, or against recordings."""

    cfg: Annotated[EvaluateCfg, tyro.conf.arg(name="")]
    """What to measure."""
    recorded: Annotated[JudgeCfg, tyro.conf.arg(name="")] = field(default_factory=JudgeCfg)
    """Which stretches of recordings, where --data is a file of them."""
    columns: Path | None = None
    """Map of the columns of recordings, where they are no HDF5 file."""
    json: Path | None = None
    """File for the numbers, curves included."""
    plot: Path | None = None
    """File for a picture of the curves, PNG, SVG or PDF."""


def main(argv: list[str]) -> int:
    """Measure a model's open-loop errors against the solver on fresh roll-outs, or against recordings of a real robot.

    Args:
        argv: Arguments, without the program's name.
    """
    args = read_options(Evaluate, argv, "nerd evaluate", __doc__)
    require_file(args.json, "--json")
    require_file(args.plot, "--plot", PICTURES)
    if args.cfg.data is not None and is_recording(args.cfg.data):
        return _against_recordings(args)
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


def _against_recordings(args: Evaluate) -> int:
    """Judges on a file of recordings. Whole flights where they are asked for, otherwise windows."""
    cfg = args.cfg
    if cfg.protocol == "driven" or args.plot is not None or cfg.overrides:
        raise ValueError(
            "got recordings with --protocol driven, --plot or overrides of a task, expected --protocol windows or "
            "flights, and none of the others"
        )
    result = evaluate_recordings(
        cfg.model, str(cfg.data), "flights" if cfg.protocol == "flights" else "windows", args.recorded, args.columns
    )
    _show_judgement(result)
    if args.json is not None:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        write_text(args.json, json.dumps(result, indent=1) + "\n")
    return 0


def _show_judgement(result: dict[str, Any]) -> None:
    counts = result["counts"]
    length = "whole runs" if result["window"] is None else f"windows of {result['window']} steps"
    _show_table(
        f"{result['model']} on {counts['recordings']} recordings ({', '.join(result['split'])}): "
        f"{counts['windows']:,} {length}",
        {name: table for name, table in result["spread"].items()},
        first="error",
    )
    if result["position_share_of_width"] is not None:
        share, angle = result["position_share_of_width"], result["rotation_deg"]
        print(f"position: {share:.1%} of the width; rotation: {angle:.1f} degrees")
    for what in ("families", "phases"):
        if len(result[what]) > 1:
            _show_table(f"means by {what}", result[what], first=what)
    if counts["left_guard"]:
        print(f"{counts['left_guard']} windows left the guard, {counts['diverged']} of them the finite numbers")


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


def _show_table(title: str, rows: Mapping[str, Mapping[str, float | None]], first: str = "horizon") -> None:
    table = Table(title=title)
    names = next(iter(rows.values()), {})
    for name in (first, *names):
        table.add_column(name.replace("_", " "), justify="right")
    for horizon, values in rows.items():
        table.add_row(horizon, *("-" if value is None else f"{value:.3g}" for value in values.values()))
    console().print(table)
