# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What each choice of a network model is worth, at equal processor time, on motion of PhysX that was held out.

    python benchmarks/ablations.py --robot pendulum --json docs/evidence/ablations_pendulum.json
    python benchmarks/ablations.py --robot ant --seconds 120 --json docs/evidence/ablations_ant.json
    python benchmarks/ablations.py --robot pendulum --smoke --work runs/ablations-smoke
    python benchmarks/ablations.py --page docs/ablations.md        # the page alone, from the files of evidence

Every row differs from the base in one choice: the kind of network, its window, what it is told, how the next state is
written, in which axes, with which units, by which loss. The base is trained with further seeds, too (--again): rows no
farther from it than these are from each other say nothing. First a few updates are timed, then the row gets as many as
its share of processor time (--seconds) allows, on one thread: a network that is twice as dear gets half as many. The
learning rate falls over just these, so a row is a function of its seed and its number of updates. Data and finished
rows stay in the work folder, so an interrupted study goes on; with --page the page is written, too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import tyro
from rich.console import Console

REPO = Path(__file__).resolve().parents[1]
PAGE, EVIDENCE, IMAGES = "docs/ablations.md", "docs/evidence", "docs/images"

TIMED = (4, 20)
"""Updates of the two short trainings whose difference gives the time of one."""

TIMED_SECONDS = 1.0
"""Where that difference is shorter [s], the longer one is made again with more updates, until it is not."""

MOST_GROWTH = 4
"""By how much more at a time."""

HORIZONS = (10, 30, 100)
"""Steps over which errors are means."""

BASE = "base"
"""Name of the row that the others differ from."""


@dataclass(frozen=True)
class Options:
    """What each choice of a network model is worth."""

    robot: Literal["pendulum", "ant", "cartpole"] = "pendulum"
    """Whose motion is learned."""
    seconds: float = 45.0
    """Processor time of each training [s]."""
    work: Path = Path("runs/ablations")
    """Folder for data and finished rows."""
    only: tuple[str, ...] = ()
    """Rows; all by default."""
    seed: int = 0
    """Seed of weights and batches."""
    again: int = 3
    """Further trainings of the base, with the next seeds: how far they are apart is chance."""
    json: Path | None = None
    """File for all numbers."""
    page: Path | None = None
    """Write the page of all robots whose numbers stand in docs/evidence, and do nothing else."""
    smoke: bool = False
    """Tiny sizes, to see that it runs; its numbers say nothing."""
    row: str | None = None
    """Used by the program itself: row to run in this process."""


@dataclass(frozen=True)
class Robot:
    """Whose motion is learned, and from which data."""

    task: str
    """The task."""
    transitions: int
    """Transitions to learn from."""
    data: tuple[str, ...]
    """Words for both collections."""
    train: tuple[str, ...]
    """Words for that of the training data."""
    floating: bool = False
    """Whether it has a frame of its own."""
    touches: bool = True
    """Whether it touches a ground."""


ROBOTS = {
    "pendulum": Robot(
        "NeRD-Double-Pendulum-Ground-1",
        153_600,
        ("--ground", "random-planes", "--shares", "zero=.8", "random=.05", "held=.05", "ou=.1"),
        ("--steps", "60", "--num-envs", "512", "--seed", "41"),
    ),
    "ant": Robot("NeRD-Ant-Run", 300_000, (), ("--steps", "100", "--num-envs", "256", "--seed", "31"), floating=True),
    "cartpole": Robot(
        "NeRD-Cartpole",
        150_000,
        ("--ranges", "slide=4.0", "slide_vel=3.0", "joint_vel=10"),
        ("--steps", "60", "--num-envs", "256", "--seed", "8"),
        touches=False,
    ),
}
"""The robots by name. The pendulum falls onto a plane of any tilt, another in each trajectory."""


@dataclass(frozen=True)
class Row:
    """One choice."""

    group: str
    """What is chosen."""
    name: str
    """How."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """What differs from the base; :func:`build` reads it."""
    needs: Literal["any", "ground", "frame"] = "any"
    """Which robots it is for: all, those that touch a ground, or those with a frame of their own."""


ROWS = (
    Row("base", BASE),
    Row("network", "perceptron", {"network": "mlp"}),
    Row("network", "transformer, window 10", {"network": "transformer", "window": 10}),
    Row("network", "GRU", {"network": "gru"}),
    Row("network", "LSTM", {"network": "lstm"}),
    Row("window", "window 5", {"window": 5}),
    Row("window", "window 10", {"window": 10}),
    Row("window", "transformer, window 1", {"network": "transformer", "window": 1}),
    Row("what is known", "end to end: contacts not seen", {"contacts": False}, "ground"),
    Row("what is known", "contacts as published: no motion of slots", {"contact_motion": False}, "ground"),
    Row("what is known", "mechanics with learned rules", {"mechanics": True}),
    Row("next state", "itself, not its change", {"codec": "absolute"}),
    Row("next state", "positions not integrated", {"integration": "none"}),
    Row("axes", "of the world", {"codec": "world"}, "frame"),
    Row("units", "input not normalised", {"unnormalised": "input"}),
    Row("units", "output not normalised", {"unnormalised": "output"}),
    Row("loss", "mean of squares, as published", {"squares": True}),
    Row("loss", "one mean over all regimes", {"regimes": False}),
    Row("loss", "roll-outs of 8 steps in the second half", {"rollout": 8}),
)
"""All choices. The base is the preset 'residual' that sees how slots move: window 1, changes of state, positions
integrated, robot's axes, all normalised, logarithms of squares in each regime, single steps."""


def main() -> int:
    """Runs what is missing, shows it, and writes numbers and page."""
    options = tyro.cli(Options, description=__doc__)
    if options.page is not None:
        from ablation_page import write_page

        write_page(REPO / EVIDENCE, options.page)
        return 0
    if options.smoke:
        options = replace(options, seconds=1.0, work=options.work / "smoke")
    work = options.work / options.robot
    if options.row is not None:
        run_row(next(row for row in rows_of(options) if row.name == options.row), options)
        return 0
    unknown = set(options.only) - {row.name for row in rows_of(options)}
    if unknown:
        raise SystemExit(f"got --only {sorted(unknown)}, expected some of {[row.name for row in rows_of(options)]}")
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    generate(options)
    rows = [row for row in rows_of(options) if not options.only or row.name in options.only]
    again = [replace(options, seed=options.seed + 1 + number) for number in range(options.again)]
    plan = [(row, options) for row in rows] + [(row, each) for row in rows if row.name == BASE for each in again]
    done: list[dict[str, Any]] = []
    for number, (row, chosen) in enumerate(plan, 1):
        path = place(work, row, chosen)
        if not path.is_file():
            left = (len(plan) - number + 1) * 1.4 * options.seconds
            console.print(f"[{number}/{len(plan)}] {row.group}: {row.name}; about {left / 60:.0f} min to the end")
            command = [sys.executable, __file__, *words_of(chosen), "--row", row.name]
            subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=True)
        done.append(json.loads(path.read_text("utf-8")))
        show(done[-1])
    if options.json is not None:
        from nerd_core.files.provenance import describe_run

        told = {"robot": options.robot, "seconds": options.seconds, "smoke": options.smoke}
        told |= {"rows": done[: len(rows)], "base_again": done[len(rows) :]}
        options.json.write_text(json.dumps({**told, **describe_run(seeds={"seed": options.seed})}, indent=1) + "\n")
    return 0


def rows_of(options: Options) -> list[Row]:
    """The rows that a robot can have."""
    robot = ROBOTS[options.robot]
    possible = {"any": True, "ground": robot.touches, "frame": robot.floating}
    return [row for row in ROWS if possible[row.needs]]


def words_of(options: Options) -> list[str]:
    """Words that repeat the options in a process for one row."""
    parent = options.work.parent if options.smoke else options.work
    words = ["--robot", options.robot, "--seconds", str(options.seconds), "--work", str(parent)]
    return [*words, "--seed", str(options.seed), *(["--smoke"] if options.smoke else [])]


def place(work: Path, row: Row, options: Options) -> Path:
    """Where a finished row is kept."""
    name = "".join(c if c.isalnum() else "-" for c in row.name)
    return work / f"{name}-{options.seconds:g}s-{options.seed}.json"


def generate(options: Options) -> None:
    """Collects what is not there: data to learn from, and others to judge by."""
    robot, tiny = ROBOTS[options.robot], options.smoke
    plans = {
        "train": (*robot.train, "--transitions", str(6_400 if tiny else robot.transitions)),
        "held-out": ("--steps", "100", "--num-envs", "256", "--seed", "777", "--transitions", "25600"),
    }
    if tiny:
        plans["held-out"] = ("--steps", "20", "--num-envs", "32", "--seed", "777", "--transitions", "640")
    for name, words in plans.items():
        folder = options.work / options.robot / name
        if (folder / "report.json").exists():
            continue
        command = ["generate", "--task", robot.task, "--out", str(folder), *robot.data, *words]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        subprocess.run([sys.executable, "-m", "nerd_core", *command], env=environment, check=True)


def build(row: Row, robot: Robot, spec: Any) -> tuple[Any, Any]:
    """A model with fresh weights, and the settings of its training.

    Args:
        row: What differs from the base.
        robot: The robot.
        spec: Its specification.
    """
    from ablation_variants import AbsoluteCodec, leave_unnormalised, see_the_world, use_codec

    from nerd_core.network.architectures.residual import ResidualMlpCfg
    from nerd_core.network.architectures.transformer import transformer_cfg
    from nerd_core.network.token_config import TokenCfg
    from nerd_core.predictor.config import PredictorCfg
    from nerd_core.predictor.predictor import Predictor
    from nerd_core.robot.frames import ChangeCfg
    from nerd_core.training.config import RolloutCfg
    from nerd_core.training.presets import PRESETS

    change = dict(row.changes)
    kind, window = change.pop("network", "residual"), change.pop("window", 1)
    codec, unnormalised = change.pop("codec", None), change.pop("unnormalised", None)
    change.pop("squares", None)
    training = PRESETS["residual"].training
    seen = robot.touches and change.pop("contacts", True)
    token = TokenCfg(
        limits=True,
        contacts=seen,
        contact_motion=change.pop("contact_motion", True),
        root="published" if codec == "world" else "minimal",
    )
    integration = change.pop("integration", "trapezoid")
    if change.pop("mechanics", False):
        cfg = replace(
            PRESETS["mechanics"].predictor, token=replace(PRESETS["mechanics"].predictor.token, contacts=seen)
        )
        training = PRESETS["mechanics"].training
    else:
        networks = {
            "residual": ResidualMlpCfg(kinks=64, window=window),
            "transformer": replace(transformer_cfg("tiny"), window=window),
            **{name: PRESETS[name].predictor.network for name in ("mlp", "gru", "lstm")},
        }
        cfg = PredictorCfg(network=networks[kind], token=token, change=ChangeCfg(integration=integration))
        if cfg.network is not None and cfg.network.has_memory:
            length = 3 * window if window > 1 else 30
            training = replace(training, window_length=length, batch_size=max(64, 2048 // length))
    if "rollout" in change:
        training = replace(training, rollout=RolloutCfg(steps=change.pop("rollout")))
    training = replace(training, validations=1, normaliser_transitions=20_000, **change)
    predictor = Predictor(spec, cfg)
    if codec == "absolute":
        use_codec(predictor, AbsoluteCodec)
    elif codec == "world":
        see_the_world(predictor)
    if unnormalised:
        leave_unnormalised(predictor, unnormalised)
    return predictor, training


def run_row(row: Row, options: Options) -> None:
    """Times, trains and measures one row.

    Args:
        row: The row.
        options: What was asked for.
    """
    import torch
    from ablation_variants import plain_squares

    from nerd_core.data.dataset import TrajectoryDataset
    from nerd_core.training import losses
    from nerd_core.training.metrics import open_loop
    from nerd_core.training.run import train

    work, robot = options.work / options.robot, ROBOTS[options.robot]
    data = TrajectoryDataset.open(work / "train")
    held_out = TrajectoryDataset.open(work / "held-out", spec=data.spec)
    if row.changes.get("squares"):
        losses.mean_log = plain_squares

    def fit(updates: int) -> tuple[Any, float, str]:
        torch.manual_seed(options.seed)
        predictor, training = build(row, robot, data.spec)
        begun = time.process_time()
        try:
            training = replace(training, updates=updates, minutes=None, seed=options.seed)
            train(predictor, data, None, training, quiet=True)
        except ValueError as error:
            return predictor, time.process_time() - begun, str(error).partition("\n")[0]
        return predictor, time.process_time() - begun, ""

    few, many = TIMED
    fit(few)  # what is imported and compiled once is no part of an update
    fewer = fit(few)[1]
    while (longer := fit(many)[1] - fewer) < TIMED_SECONDS and many < TIMED[1] * MOST_GROWTH**3:
        many = few + round((many - few) * min(MOST_GROWTH, 1.2 * TIMED_SECONDS / max(longer, 1.0e-3)))
    per_update = max(1.0e-4, longer / (many - few))
    updates = max(TIMED[0], round(options.seconds / per_update))
    predictor, seconds, failure = fit(updates)
    found: dict[str, Any] = {
        "group": row.group,
        "name": row.name,
        "updates": updates,
        "milliseconds_per_update": 1000.0 * per_update,
        "processor_seconds": round(seconds, 1),
        "parameters": sum(param.numel() for param in predictor.parameters()),
        "transitions": data.transitions,
        "trajectories": len(held_out),
        "failure": failure,
    }
    if not failure:
        horizon = min(max(HORIZONS), int(held_out.length.max()))
        found |= measured(open_loop(predictor, held_out, horizon, len(held_out)))
    place(work, row, options).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def measured(errors: Any) -> dict[str, Any]:
    """What is kept of roll-outs: means and medians over the trajectories, those that left the guard held there.

    Args:
        errors: Their :class:`~nerd_core.training.metrics.OpenLoopErrors`.
    """
    reached = [horizon for horizon in HORIZONS if horizon <= errors.steps] or [errors.steps]
    table = {str(horizon): errors.spread(horizon) for horizon in reached}
    return {"errors": table, "lost": len(errors.left_guard)}


def show(found: Mapping[str, Any]) -> None:
    """Prints a row as a line of a table."""
    if found["failure"]:
        print(f"| {found['name']} | {found['updates']:,} | {found['failure']} |", flush=True)
        return
    cells = [" / ".join(f"{one['mean']:.2g}" for one in values.values()) for values in found["errors"].values()]
    print(f"| {found['name']} | {found['updates']:,} | {' | '.join(cells)} | {found['lost']} lost |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
