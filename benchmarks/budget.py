# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Measure what accuracy on Cartpole costs: in minutes, in transitions, and without each of the choices of the recipe.

    python benchmarks/budget.py --work runs/budget --json docs/evidence/budget.json --plot docs/images/budget.png
    python benchmarks/budget.py --work runs/budget --only "1 min" "one mean over everything"

Every row trains one model on one thread and rolls it out on the same held-out passive trajectories of PhysX. Data and
finished rows are kept in the work folder, so an interrupted study goes on. Rows differ from the base in the named
choice alone. Minutes are those of the clock, so at most one other job may run, and that on another core.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import tyro

TASK = "NeRD-Cartpole"
BASE_MINUTES = 1.0
HORIZONS = (100, 500, 1000)


@dataclass(frozen=True)
class Options:
    """Measure what accuracy on Cartpole costs."""

    work: Path = Path("runs/budget")
    """Folder for data and finished rows."""
    json: Path | None = None
    """File for all numbers."""
    plot: Path | None = None
    """Picture of error against minutes and transitions."""
    only: tuple[str, ...] = ()
    """Rows to run; all by default."""
    row: str | None = None
    """Used by the program itself: row to run in this process."""


@dataclass(frozen=True)
class Row:
    """One training."""

    group: str
    """Part of the study."""
    name: str
    """What differs from the base."""
    minutes: float = BASE_MINUTES
    """Budget [min]."""
    transitions: int | None = None
    """How many of the transitions are used; all by default."""
    data: str = "mixed"
    """Which data set."""
    changes: dict[str, Any] = field(default_factory=dict)
    """Changes of model, token and training."""


DATA = {
    "mixed": (
        *("--transitions", "1500000", "--steps", "60", "--seed", "8"),
        *("--shares", "zero=0.4", "random=0.2", "held=0.15", "ou=0.15", "spline=0.1"),
        *("--ranges", "slide=4.0", "slide_vel=3.0", "joint_vel=10"),
    ),
    "published": ("--transitions", "1500000", "--steps", "100", "--seed", "9", "--shares", "random=1"),
}
"""Data sets: words for ``nerd generate``. The second has the published ranges, lengths and efforts."""

ROWS = (
    *(Row("minutes", f"{minutes:g} min", minutes=minutes) for minutes in (0.5, 1.0, 2.0, 4.0)),
    *(
        Row("mechanics", f"mechanics and rules, {minutes:g} min", minutes=minutes, changes={"model": "mechanics"})
        for minutes in (0.5, 1.0, 2.0, 4.0)
    ),
    *(Row("transitions", f"{count:,} transitions", transitions=count) for count in (30_000, 100_000, 300_000)),
    Row("choices", "one mean over everything", changes={"regimes": False}),
    Row("choices", "weight by share of the data", changes={"regime_power": 1.0}),
    Row("choices", "stops not seen", changes={"limits": False}),
    Row("choices", "no rectifiers", changes={"kinks": 0}),
    Row("choices", "plain perceptron 3 x 160", changes={"model": "mlp"}),
    Row("choices", "transformer 'tiny', window 10", changes={"model": "tiny"}),
    Row("choices", "window 3", changes={"window": 3}),
    Row("choices", "width 48", changes={"width": 48, "hidden": 64, "kinks": 32}),
    Row("choices", "width 192", changes={"width": 192, "hidden": 256, "kinks": 128}),
    Row("choices", "AdamW", changes={"optimiser": "adamw", "lr": 1.0e-3}),
    Row("choices", "roll-outs of 8 steps in the second half", changes={"rollout": 8}),
    Row("choices", "whole differences of positions", changes={"integration": "none"}),
    Row("choices", "published ranges and efforts", data="published"),
)


def main() -> None:
    """Runs what is missing, prints the table, writes numbers and picture."""
    options = tyro.cli(Options, description=__doc__)
    if options.row is not None:
        run(next(row for row in ROWS if row.name == options.row), options.work)
        return
    for name, words in DATA.items():
        generate(options.work / name, *words)
    generate(
        options.work / "held-out",
        *("--transitions", "512000", "--steps", "1000", "--seed", "500", "--initial", "task", "--shares", "zero=1"),
    )
    rows = [row for row in ROWS if not options.only or row.name in options.only]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for row in rows:
        if not place(options.work, row).exists():
            command = [sys.executable, __file__, "--work", str(options.work), "--row", row.name]
            subprocess.run(command, env=environment, check=True)
        show(json.loads(place(options.work, row).read_text(encoding="utf-8")))
    done = [json.loads(place(options.work, row).read_text(encoding="utf-8")) for row in rows]
    if options.json is not None:
        from nerd_core.files.provenance import describe_run

        options.json.write_text(json.dumps({"rows": done, **describe_run()}, indent=1) + "\n", encoding="utf-8")
    if options.plot is not None:
        draw(done, options.plot)


def place(work: Path, row: Row) -> Path:
    """Where a finished row is kept."""
    return work / f"{''.join(c if c.isalnum() else '-' for c in row.name)}.json"


def generate(folder: Path, *words: str) -> None:
    """Collects a data set, unless it is there."""
    if (folder / "report.json").exists():
        return
    command = [sys.executable, "-m", "nerd_core", "generate", "--task", TASK, "--out", str(folder), *words]
    subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=True)


def run(row: Row, work: Path) -> None:
    """Trains and measures one row."""
    import numpy as np
    import torch

    from nerd_core.data.dataset import TrajectoryDataset
    from nerd_core.network.architectures.mlp import MlpCfg
    from nerd_core.network.architectures.residual import ResidualMlpCfg
    from nerd_core.predictor.predictor import Predictor
    from nerd_core.robot.frames import ChangeCfg
    from nerd_core.training.config import RolloutCfg
    from nerd_core.training.metrics import open_loop
    from nerd_core.training.presets import PRESETS
    from nerd_core.training.run import train

    torch.manual_seed(0)
    change = dict(row.changes)
    kind = change.pop("model", "residual")
    predictor_cfg, training = PRESETS[kind].predictor, PRESETS[kind].training
    network = predictor_cfg.network
    if kind == "residual":
        shape: dict[str, Any] = {"kinks": 64} | {
            key: change.pop(key) for key in ("width", "hidden", "kinks", "window") if key in change
        }
        network = ResidualMlpCfg(**shape)
        training = replace(training, window_length=network.window)
    elif kind == "mlp":
        network = MlpCfg(hidden=(160, 160, 160))
    elif kind == "mechanics":
        training = replace(training, batch_size=2048)
    token = replace(predictor_cfg.token, contacts=False, limits=change.pop("limits", True))
    predictor_cfg = replace(
        predictor_cfg,
        network=network,
        token=token,
        change=ChangeCfg(integration=change.pop("integration", "trapezoid")),
    )
    if "optimiser" in change:
        optimiser = replace(training.optimiser, kind=change.pop("optimiser"), lr=change.pop("lr"))
        training = replace(training, optimiser=optimiser)
    if "rollout" in change:
        training = replace(training, rollout=RolloutCfg(steps=change.pop("rollout")))
    training = replace(training, minutes=row.minutes, updates=None, **change)

    data = TrajectoryDataset.open(work / row.data).split("train")
    if row.transitions is not None:
        data = data.select(np.cumsum(data.length) <= row.transitions)
    predictor = Predictor(data.spec, predictor_cfg)
    result = train(predictor, data, None, training, quiet=True)
    held_out = TrajectoryDataset.open(work / "held-out", spec=data.spec)
    table = open_loop(predictor, held_out, max(HORIZONS), 512).table(HORIZONS)
    found = {
        "group": row.group,
        "name": row.name,
        "minutes": row.minutes,
        "transitions": data.transitions,
        "updates": result.updates,
        "parameters": sum(param.numel() for param in predictor.parameters()),
        "errors": {
            horizon: {name: values[name] for name in ("joint_m", "joint_rad")} for horizon, values in table.items()
        },
    }
    place(work, row).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def show(found: dict[str, Any]) -> None:
    """Prints a row as a line of a table."""
    cells = [f"{values['joint_m']:.2g} / {values['joint_rad']:.2g}" for values in found["errors"].values()]
    print(f"| {found['name']} | {found['transitions']:,} | {found['updates']:,} | {' | '.join(cells)} |", flush=True)


def draw(done: list[dict[str, Any]], path: Path) -> None:
    """Draws errors against minutes and transitions."""
    from nerd_core.files.figures import BLUE, GREEN, ORANGE, log_scale, new_figure, save_figure

    base = next((row for row in done if row["group"] == "minutes" and row["minutes"] == BASE_MINUTES), None)
    groups = (
        ("minutes", "minutes", "a network"),
        ("mechanics", "minutes", "mechanics and rules"),
        ("transitions", "transitions", f"a network, {BASE_MINUTES:g} min"),
    )
    with new_figure(10.4, 3.4, columns=len(groups), sharey=True) as (figure, panels):
        for axes, (group, along, title) in zip(panels, groups, strict=True):
            rows = [row for row in done if row["group"] == group]
            if group == "transitions" and base is not None:
                rows.append(base)
            rows.sort(key=lambda row: row[along])
            for horizon, colour in zip(HORIZONS, (BLUE, ORANGE, GREEN), strict=True):
                for quantity, style in (("joint_m", "-"), ("joint_rad", "--")):
                    values = [row["errors"][str(horizon)][quantity] for row in rows]
                    unit = "cart [m]" if quantity == "joint_m" else "pole [rad]"
                    label = f"{horizon} steps, {unit}"
                    axes.plot([row[along] for row in rows], values, style, marker="o", ms=3, color=colour, label=label)
            axes.set_title(title)
            log_scale(axes, "x", "y")
            axes.set_xlabel("minutes of training" if along == "minutes" else along)
            if along == "minutes":
                minutes = sorted({row[along] for row in rows})
                axes.set_xticks(minutes, labels=[f"{each:g}" for each in minutes])
                axes.minorticks_off()
        panels[0].set_ylabel("mean error up to the horizon")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right center")
        save_figure(figure, path)


if __name__ == "__main__":
    main()
