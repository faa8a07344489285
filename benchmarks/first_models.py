# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How good the first model of a robot is when nobody knows an option: data, training and 128 held-out roll-outs.

    python benchmarks/first_models.py --work runs/first --json docs/evidence/first_models.json
    python benchmarks/first_models.py --work runs/first --only anymal go2 --json docs/evidence/first_models.json

For each robot ``nerd generate --task TASK --transitions 300000`` collects, ``nerd train DATA --out RUN --minutes M``
trains, where M is what collecting has left of five minutes, and the model is rolled out from the first states of
trajectories of 500 steps that another seed drew. Data, finished runs and their numbers are kept in the work folder, so
an interrupted benchmark goes on. Rows of robots that ``--only`` leaves out stay in the file as they are, each with its
own provenance. Minutes are those of the clock: let nothing else run.
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

TASKS = {
    "anymal": "NeRD-Velocity-AnymalC",
    "anymal-dc": "NeRD-Velocity-AnymalC-DC-Motor",
    "go2": "NeRD-Isaac-Velocity-Flat-UnitreeGo2",
    "franka": "NeRD-Isaac-Reach-Franka",
    "pendulum": "NeRD-Double-Pendulum",
    "cartpole": "NeRD-Cartpole",
    "ant": "NeRD-Ant-Run",
    "g1": "NeRD-Velocity-G1",
    "stilts": "NeRD-Workshop-Stilts",
    "gripper": "NeRD-Workshop-Gripper",
}
"""Robots and their tasks. The last two are of a package that knows nothing of this repository."""

PACKAGE = Path(__file__).parents[1] / "tests" / "support" / "workshop_robots.py"
"""What installs that package."""

MEASURED = "measured.json"
"""File in the folder of a run with what was measured of its model."""

HORIZONS = (10, 100, 500)
ROLLOUTS = 128
TRANSITIONS = 300_000

QUANTITIES = {"base_position_m": "m", "base_orientation_rad": "rad", "joint_rad": "joints rad", "joint_m": "joints m"}
"""Quantities, and how the table calls them."""


@dataclass(frozen=True)
class Options:
    """How good first models are."""

    work: Path = Path("runs/first")
    """Folder for data and runs."""
    minutes: float = 5.0
    """Budget of each robot, its data included [min]."""
    updates: int | None = None
    """Budget of each training in updates instead, for a machine that is busy."""
    only: tuple[str, ...] = ()
    """Robots; all by default."""
    json: Path | None = None
    """File for all numbers; rows of other robots in it stay."""


def main() -> None:
    """Collects, trains and measures what is missing, and prints the table."""
    from nerd_core.files.provenance import describe_run

    options = tyro.cli(Options, description=__doc__)
    rows = {}
    for name in options.only or TASKS:
        install_package(options.work)
        collecting = collect(options.work, name)
        run = options.work / "runs" / name
        training = training_minutes(options.minutes, collecting)
        if not (run / "best").exists():
            minutes, updates = ("--minutes", round(training, 2)), ("--updates", options.updates)
            budget = minutes if options.updates is None else updates
            nerd(["train", options.work / "data" / name, "--out", run, *budget], may_fail=True)
        if not (run / "best").exists():
            print(f"{name}: the training failed")
            continue
        if not (run / MEASURED).exists():
            row = measure(run, options.work / "data" / f"{name}-test")
            row |= {"minutes": training if options.updates is None else None, "collecting_minutes": collecting}
            row |= {"provenance": describe_run()}
            (run / MEASURED).write_text(json.dumps(row), encoding="utf-8")
        rows[name] = json.loads((run / MEASURED).read_text(encoding="utf-8"))
        if options.json is not None:
            merge_rows(options.json, {name: rows[name]})
    print_table(rows)


def training_minutes(budget: float, collecting: float) -> float:
    """What collecting leaves of a robot's budget, half of it at least [min]."""
    return max(budget - collecting, 0.5 * budget)


def merge_rows(path: Path, rows: dict[str, Any]) -> None:
    """Puts rows into a file of results, in the order of :data:`TASKS`; those of other robots stay as they are.

    Args:
        path: The file; need not exist.
        rows: New rows, by robot.
    """
    known = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else {}
    merged = known | rows
    ordered = {name: merged[name] for name in [*TASKS, *merged] if name in merged}
    path.write_text(json.dumps({"rows": ordered}, indent=1) + "\n", encoding="utf-8")


def install_package(work: Path) -> None:
    """Installs the package of the last two robots into the work folder, for this process and those that it starts."""
    site = str((work / "site").absolute())
    if site not in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (site, os.environ.get("PYTHONPATH"))))
        Path(site).mkdir(parents=True, exist_ok=True)
        runpy.run_path(str(PACKAGE))["write_package"](Path(site))


def collect(work: Path, name: str) -> float:
    """Collects data to learn from, and roll-outs to judge by, unless they are there; minutes that the former took."""
    held_out = ("--steps", 500, "--num-envs", ROLLOUTS, "--seed", 777)
    for folder, count, words in ((name, TRANSITIONS, ()), (f"{name}-test", 500 * ROLLOUTS, held_out)):
        out = work / "data" / folder
        if not (out / "report.json").exists():
            nerd(["generate", "--task", TASKS[name], "--out", out, "--transitions", count, *words])
    report = json.loads((work / "data" / name / "report.json").read_text(encoding="utf-8"))
    return report["seconds"] / 60.0


def nerd(words: list[Any], may_fail: bool = False) -> None:
    """Runs a command of ``nerd``."""
    command = [sys.executable, "-m", "nerd_core", *map(str, words)]
    subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=not may_fail)


def measure(run: Path, held_out: Path) -> dict[str, Any]:
    """Roll-outs of a model, against the solver's."""
    import torch

    from nerd_core import checkpoint
    from nerd_core.data.dataset import TrajectoryDataset
    from nerd_core.training.metrics import open_loop

    torch.set_num_threads(1)
    predictor = checkpoint.load(run / "best")
    errors = open_loop(predictor, TrajectoryDataset.open(held_out), max(HORIZONS), ROLLOUTS)
    config = checkpoint.read_config(run / "best")
    trials = run / "trials.json"
    return {
        "preset": json.loads(trials.read_text(encoding="utf-8"))["preset"] if trials.exists() else None,
        "trained": config.results["validation"],
        "rollouts": errors.trajectories,
        "left_guard": list(errors.left_guard),
        "at_bounds": list(errors.at_bounds),
        "spread": {str(horizon): errors.spread(horizon) for horizon in HORIZONS},
    }


def print_table(rows: dict[str, dict[str, Any]]) -> None:
    """A table in Markdown: medians of the mean errors up to each horizon."""
    print(
        "| robot | training | preset | left the guard | met the bounds | "
        + " | ".join(f"{h} steps" for h in HORIZONS)
        + " |"
    )
    print("|---" * (5 + len(HORIZONS)) + "|")
    for name, row in rows.items():
        errors = []
        for horizon in HORIZONS:
            spread = row["spread"][str(horizon)]
            errors.append(", ".join(f"{spread[key]['median']:.2g} {QUANTITIES[key]}" for key in spread))
        lost = f"{len(row['left_guard'])} | {len(row['at_bounds'])}"
        told = (
            "" if row["minutes"] is None else f"{row['minutes']:.2g} min, "
        ) + f"{row['trained']['update']:,} updates"
        print(f"| {name} | {told} | {row['preset']} | {lost} | " + " | ".join(errors) + " |")


if __name__ == "__main__":
    main()
