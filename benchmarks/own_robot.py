# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The robot of docs/bring-your-own-robot.md from its package to a judged policy, in the sizes of a real training.

    python benchmarks/own_robot.py --work runs/own --json docs/evidence/own_robot.json

The page's files are installed into the work folder, and its own commands run with 300,000 transitions, minutes instead
of updates, and 200 iterations. What is finished is kept, so an interrupted benchmark goes on.
"""

from __future__ import annotations

import json
import os
import runpy
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tyro
from first_policies import GUARD, nerd, print_table, summary

TASK = "Solo12-Walk"
"""Task of the page."""

PACKAGE = Path(__file__).parents[1] / "tests" / "support" / "documented_package.py"
"""What installs the page's package."""


@dataclass(frozen=True)
class Options:
    """The page's own robot, in real sizes."""

    work: Path = Path("runs/own")
    """Folder for all that is made."""
    minutes: float = 5.0
    """Budget of the training of the model [min]."""
    transitions: int = 300_000
    """Transitions that are collected."""
    num_envs: int = 128
    """Environments of the training of the policy."""
    iterations: int = 200
    """Its iterations."""
    episodes: int = 128
    """Episodes that are compared."""
    json: Path | None = None
    """File for all numbers."""


def main() -> None:
    """Runs what is missing, and prints how the policy does."""
    options = tyro.cli(Options, description=__doc__)
    work = options.work.absolute()
    install(work)
    seconds = work / "seconds.json"
    taken: dict[str, float] = json.loads(seconds.read_text(encoding="utf-8")) if seconds.exists() else {}
    for name, words in commands(options, work):
        if name not in taken:
            begun = time.perf_counter()
            nerd(words, work, f"{name}.log")
            taken[name] = time.perf_counter() - begun
            seconds.write_text(json.dumps(taken), encoding="utf-8")
    facts = {"num_envs": options.num_envs, "iterations": options.iterations, "seconds": taken["policy"]}
    (work / "training.json").write_text(json.dumps(facts), encoding="utf-8")
    row = {"seconds": taken, "minutes": options.minutes, **summary(work)}
    found = json.loads((work / "evaluation.json").read_text(encoding="utf-8"))
    row["model"] = {name: value for name, value in found.items() if name not in ("curves", "spec")}
    print(f"{100 * row['modes']['neural']['ends'].get(GUARD, 0.0):.1f} % of the episodes were ended by the guard")
    print_table({"solo12": row})
    if options.json is not None:
        from nerd_core.files.provenance import describe_run

        options.json.write_text(json.dumps({"solo12": row, **describe_run()}, indent=1) + "\n", encoding="utf-8")


def install(work: Path) -> None:
    """Installs the page's package into the work folder, for this process and those that it starts; builds its file."""
    site = work / "site"
    site.mkdir(parents=True, exist_ok=True)
    runpy.run_path(str(PACKAGE))["write_package"](site)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))
    nerd(["assets", "build", "solo12"], work, "assets.log")


def commands(options: Options, work: Path) -> Iterator[tuple[str, list[object]]]:
    """Names and words of the page's commands."""
    data, best = work / "data", work / "run" / "best"
    size = ["--transitions", options.transitions]
    yield "data", ["generate", "--task", TASK, "--out", data, *size]
    yield "model", ["train", data, "--out", work / "run", "--minutes", options.minutes]
    size = ["--trajectories", 128, "--steps", 500, "--horizons", 10, 100, 500]
    yield "errors", ["evaluate", "--model", best, *size, "--json", work / "evaluation.json"]
    size = ["--num_envs", options.num_envs, "--max_iterations", options.iterations, "--seed", 0]
    neural = ["env.nerd.mode=neural", f"env.nerd.checkpoint={best}"]
    yield "policy", ["rl", "train", "--task", TASK, *size, *neural]
    policy = sorted(work.glob("logs/rsl_rl/*/*"))[-1]
    size = ["--episodes", options.episodes, "--json", work / "transfer.json"]
    yield "transfer", ["transfer", "--task", TASK, "--policy", policy, "--checkpoint", best, *size]


if __name__ == "__main__":
    main()
