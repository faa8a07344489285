# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How a policy that learned in a robot's first model does in PhysX: the models of ``first_models.py``, by commands.

    python benchmarks/first_policies.py --work runs/first --json docs/evidence/first_policies.json
    python benchmarks/first_policies.py --work runs/first --only franka --num-envs 128

For each robot whose task has an agent ``nerd rl train --max_iterations 100 env.nerd.mode=neural
env.nerd.checkpoint=MODEL`` trains, and ``nerd transfer`` plays the policy in the model and in PhysX from the same
starts. First models learn no contact forces, so terms that read them are removed by the overrides that ``nerd doctor``
names, in both modes. What is finished stays in the work folder, so an interrupted benchmark goes on; rows of robots
that ``--only`` leaves out stay in the file, each with its own provenance.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from first_models import TASKS, install_package, merge_rows

WITHOUT_FORCES = ("env.rewards.feet_air_time=null", "env.terminations.base_contact=null")
"""What removes the terms of the walking tasks that read contact forces."""

CLIPPED = ("agent.clip_actions=1",)
"""What bounds the actions of stock agents, as the data do."""

OVERRIDES: dict[str, tuple[str, ...]] = {
    "cartpole": (),
    "ant": (),
    "pendulum": (),
    "stilts": (),
    "gripper": (),
    "franka": CLIPPED,
    "anymal": WITHOUT_FORCES,
    "anymal-dc": WITHOUT_FORCES,
    "go2": (*WITHOUT_FORCES, *CLIPPED),
    "g1": WITHOUT_FORCES,
}
"""Robots whose tasks have agents, and the overrides of their commands."""

GUARD = "nerd_guard"
"""Termination of episodes in which the guard held the robot."""


PROVENANCE = "provenance.json"
"""File in the folder of a policy with what was run, where and when."""


@dataclass(frozen=True)
class Options:
    """How policies of first models transfer."""

    work: Path = Path("runs/first")
    """Folder with the models, and for the policies."""
    num_envs: int = 256
    """Environments of a training."""
    iterations: int = 100
    """Iterations of a training."""
    episodes: int = 128
    """Episodes that are compared."""
    only: tuple[str, ...] = ()
    """Robots; all by default."""
    json: Path | None = None
    """File for all numbers; rows of other robots in it stay."""


def main() -> None:
    """Trains and compares what is missing, and prints the table."""
    from nerd_core.files.provenance import describe_run

    options = tyro.cli(Options, description=__doc__)
    install_package(options.work)
    rows = {}
    for name in options.only or OVERRIDES:
        model, folder = (options.work / "runs" / name / "best").absolute(), options.work / "policies" / name
        if not model.exists():
            print(f"{name}: there is no model yet")
            continue
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "training.json").exists():
            train(options, name, model, folder)
        if not (folder / "transfer.json").exists():
            compare(options, name, model, folder)
            (folder / PROVENANCE).write_text(json.dumps(describe_run()), encoding="utf-8")
        rows[name] = summary(folder) | {"provenance": json.loads((folder / PROVENANCE).read_text(encoding="utf-8"))}
        if options.json is not None:
            merge_rows(options.json, {name: rows[name]})
    print_table(rows)


def train(options: Options, name: str, model: Path, folder: Path) -> None:
    """Trains a policy in a model."""
    words = ["rl", "train", "--task", TASKS[name], "--num_envs", options.num_envs]
    words += [
        "--max_iterations",
        options.iterations,
        "--seed",
        0,
        "env.nerd.mode=neural",
        f"env.nerd.checkpoint={model}",
    ]
    begun = time.perf_counter()
    nerd([*words, *OVERRIDES[name]], folder, "train.log")
    facts = {"num_envs": options.num_envs, "iterations": options.iterations, "seconds": time.perf_counter() - begun}
    (folder / "training.json").write_text(json.dumps(facts), encoding="utf-8")


def compare(options: Options, name: str, model: Path, folder: Path) -> None:
    """Plays the policy in the model and in PhysX."""
    policy = sorted(folder.glob("logs/rsl_rl/*/*"))[-1].absolute()
    words = ["transfer", "--task", TASKS[name], "--policy", policy, "--checkpoint", model]
    words += ["--episodes", options.episodes, "--json", (folder / "transfer.json").absolute()]
    nerd([*words, *(word for word in OVERRIDES[name] if word.startswith("env."))], folder, "transfer.log")


def nerd(words: list[Any], folder: Path, log: str) -> None:
    """Runs a command of ``nerd`` in a folder, and keeps what it prints there."""
    command = [sys.executable, "-m", "nerd_core", *map(str, words)]
    with (folder / log).open("w", encoding="utf-8") as stream:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, cwd=folder, env=environment, stdout=stream, stderr=subprocess.STDOUT)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[2:])} ended with {done.returncode}: see {folder / log}")


def summary(folder: Path) -> dict[str, Any]:
    """What a comparison says, without its single episodes."""
    from nerd_isaaclab.policies.runs import load_curve

    found = json.loads((folder / "transfer.json").read_text(encoding="utf-8"))
    curve = load_curve(sorted(folder.glob("logs/rsl_rl/*/*"))[-1])
    modes = {
        name: {key: mode[key] for key in ("scores", "terms", "commands", "ends")}
        for name, mode in found["modes"].items()
    }
    return {
        "training": json.loads((folder / "training.json").read_text(encoding="utf-8")),
        "return_while_training": {"first": curve["return"][0], "last": curve["return"][-1]},
        "episodes": found["episodes"],
        "reward_gap": found["reward_gap"],
        "differences": found["differences"],
        "ended_by_guard": modes["neural"]["ends"].get(GUARD, 0.0),
        "modes": modes,
    }


def print_table(rows: dict[str, dict[str, Any]]) -> None:
    """A table in Markdown."""
    print("| robot | training | return in the model | in PhysX | difference | length | ended by the guard |")
    print("|---" * 7 + "|")
    for name, row in rows.items():
        physx, neural = (row["modes"][mode]["scores"] for mode in ("physx", "neural"))
        cells = [f"{mode['return']['mean']:.3g} ± {mode['return']['std']:.2g}" for mode in (neural, physx)]
        gap = row["differences"]["return"]
        error = "" if gap["standard_error"] is None else f" ± {gap['standard_error']:.1g}"
        lengths = f"{neural['length']['mean']:.0f} / {physx['length']['mean']:.0f}"
        learned = row["return_while_training"]
        told = f"{learned['first']:.3g} to {learned['last']:.3g}, {row['training']['seconds']:.0f} s"
        share = f"{100 * row['ended_by_guard']:.1f} %"
        print(f"| {name} | {told} | {cells[0]} | {cells[1]} | {gap['mean']:+.2g}{error} | {lengths} | {share} |")


if __name__ == "__main__":
    main()
