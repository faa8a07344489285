# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd evaluate``: how far a model's open-loop motion is from the solver's, on fresh roll-outs.

.. code-block:: bash

    nerd evaluate --model cartpole --protocol passive
    nerd evaluate --model runs/ant/best --task NeRD-Ant-Run --protocol driven --steps 500 --json ant.json --plot ant.png

Errors are those of the paper: means over all steps up to the horizon and over all trajectories. The roll-outs are
collected with seeds that no training uses, and kept in ``--data`` to be judged on again.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console
from rich.table import Table

from ..models import find_model
from . import generate

SEED = 500
"""Seed of the roll-outs, as published; training data have others."""

TASKS = {"cartpole": "NeRD-Cartpole", "ant_instanceable": "NeRD-Ant-Run", "double_pendulum": "NeRD-Double-Pendulum"}
"""Task of each robot for which none is named, by the name in its specification."""

SHARES = {"passive": {"zero": 1.0}, "driven": {"random": 1.0}}
"""Excitation of each protocol."""


@dataclass
class Evaluate:
    """Measure a model's open-loop errors against the solver on fresh roll-outs."""

    model: str
    """Directory of the model, or the name of a shipped one."""
    task: str | None = None
    """Task whose solver is the truth and whose resets are the first states; by default that of this package for the
    model's robot."""
    protocol: Literal["passive", "driven"] = "passive"
    """``passive``: no effort. ``driven``: controls drawn anew at each step over their whole range."""
    initial: Literal["task", "wide"] = "task"
    """First states: as the task resets its robot, or from the wide ranges of training data."""
    teacher_mode: Literal["continuous", "rewritten"] = "continuous"
    """How the solver runs; see ``nerd generate``. Judge in the mode of the training data."""
    trajectories: int = 512
    """Number of roll-outs."""
    steps: int = 1000
    """Length of the roll-outs [control steps]."""
    horizons: tuple[int, ...] = (100, 500, 1000)
    """Horizons of the table."""
    seed: int = SEED
    """Seed of the roll-outs."""
    data: Path | None = None
    """Folder to keep the roll-outs in; one that is there is used again. By default they are thrown away."""
    json: Path | None = None
    """File for the numbers, curves included."""
    plot: Path | None = None
    """File for a picture of the curves, PNG, SVG or PDF."""
    physics: str = "ovphysx"
    """Physics preset of the task."""
    overrides: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Changes of the task's configuration, ``env.<field>=<value>``."""


def main(argv: list[str]) -> int:
    """Measure a model's open-loop errors against the solver on fresh roll-outs.

    Args:
        argv: Arguments, without the program's name.
    """
    args = tyro.cli(Evaluate, args=argv, prog="nerd evaluate", description=__doc__)
    from nerd_core import checkpoint

    predictor = checkpoint.load(find_model(args.model)).eval()
    args = replace(args, task=args.task or default_task(predictor.spec.name))
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.data or Path(scratch)
        code = generate.main(_collection(args, folder))
        if code:
            return code
        result = evaluate(args, predictor, folder)
    _show(result, args.horizons)
    if args.json is not None:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if args.plot is not None:
        draw(result, args.plot)
    return 0


def default_task(robot: str) -> str:
    """The task of this package that is about a robot.

    Args:
        robot: Name of the robot in its specification.
    """
    if robot not in TASKS:
        known = ", ".join(f"{name} ({task})" for name, task in TASKS.items())
        raise ValueError(f"got a model of '{robot}' and no task, expected --task: only {known} have a default")
    return TASKS[robot]


def evaluate(args: Evaluate, predictor, folder: Path) -> dict:
    """Rolls a model out from the first states of recorded roll-outs, with their controls.

    Args:
        args: What to measure.
        predictor: The model.
        folder: Roll-outs of the solver.

    Returns:
        Plain values: errors by horizon, curves over the horizon, and where both came from.
    """
    from nerd_core.data.dataset import TrajectoryDataset
    from nerd_core.metrics import open_loop
    from nerd_core.provenance import describe_run

    dataset = TrajectoryDataset.open(folder, spec=predictor.spec)
    print(f"rolling out {args.trajectories} trajectories of {args.steps} steps", file=sys.stderr)
    errors = open_loop(predictor, dataset, args.steps, args.trajectories)
    names = _published_names(predictor.spec)
    horizons = {
        horizon: {name: table.get(source) for name, source in names.items()}
        for horizon, table in errors.table(args.horizons).items()
    }
    return {
        "model": Path(args.model).name,
        "task": args.task,
        "protocol": args.protocol,
        "initial": args.initial,
        "teacher_mode": args.teacher_mode,
        "trajectories": errors.trajectories,
        "diverged": errors.diverged,
        "horizons": horizons,
        "curves": {name: curve.tolist() for name, curve in errors.curves.items()},
        "spec": predictor.spec.content_hash,
        **describe_run(seeds={"roll-outs": args.seed}),
    }


def draw(result: dict, path: Path) -> None:
    """Draws the running means of the errors over the horizon.

    Args:
        result: What :func:`evaluate` gave.
        path: Picture to write.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    main_curves = {name: curve for name, curve in result["curves"].items() if not name.startswith("joint/")}
    figure, axes = plt.subplots(1, len(main_curves), figsize=(4.2 * len(main_curves), 3.2), squeeze=False)
    for axis, (name, curve) in zip(axes[0], main_curves.items(), strict=True):
        steps = np.arange(1, len(curve) + 1)
        axis.plot(steps, np.cumsum(curve) / steps, color="#1f5fa8", label="mean up to the horizon")
        axis.plot(steps, curve, color="#1f5fa8", alpha=0.35, linewidth=1, label="at the horizon")
        axis.set(xscale="log", yscale="log", xlabel="horizon [control steps]", ylabel=name.replace("_", " "))
        axis.grid(alpha=0.3, which="both", linewidth=0.4)
    axes[0][0].legend(frameon=False, fontsize=8)
    figure.suptitle(f"{result['model']}: {result['protocol']}, {result['trajectories']} trajectories", fontsize=10)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _collection(args: Evaluate, folder: Path) -> list[str]:
    """Arguments of ``nerd generate`` that collect the roll-outs: one batch, one engine."""
    shares = [f"{kind}={share:g}" for kind, share in SHARES[args.protocol].items()]
    words = {
        "--task": args.task,
        "--out": folder,
        "--transitions": args.trajectories * args.steps,
        "--steps": args.steps,
        "--num-envs": args.trajectories,
        "--seed": args.seed,
        "--initial": args.initial,
        "--teacher-mode": args.teacher_mode,
        "--physics": args.physics,
    }
    return [str(word) for pair in words.items() for word in pair] + ["--shares", *shares, *args.overrides]


def _published_names(spec) -> dict[str, str]:
    """What the paper's names stand for: on a fixed base the position of the base is that of its sliding joint."""
    base = "base_position_m" if spec.floating_base else "joint_m"
    return {
        "base_position_m": base,
        "base_orientation_rad": "base_orientation_rad",
        "joint_rad": "joint_rad",
    }


def _show(result: dict, horizons: tuple[int, ...]) -> None:
    table = Table(title=f"{result['model']}, {result['protocol']}, {result['trajectories']} trajectories")
    names = next(iter(result["horizons"].values()), {})
    for name in ("horizon", *names):
        table.add_column(name.replace("_", " "), justify="right")
    for horizon, values in result["horizons"].items():
        table.add_row(horizon, *("-" if value is None else f"{value:.3g}" for value in values.values()))
    Console().print(table)
    if result["diverged"]:
        print(f"{result['diverged']} trajectories left the finite numbers")
