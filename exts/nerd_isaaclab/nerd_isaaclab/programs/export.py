# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Keep a training run as small files: the policy, the learning curve as numbers and as a picture, and the command.

    nerd rl export --run logs/rsl_rl/nerd_cartpole/<run> --out models/policies/NeRD-Cartpole

writes ``policy.safetensors``, ``curve.csv``, ``curve.svg`` and ``run.json`` into the folder.
"""

from __future__ import annotations

import argparse
import csv
import importlib.metadata
import json
import os
import platform
from pathlib import Path
from typing import Any


def main(argv: list[str]) -> int:
    """Keep a training run as small files."""
    parser = argparse.ArgumentParser(
        prog="nerd rl export", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run", type=Path, required=True, help="log folder of the run")
    parser.add_argument("--out", type=Path, required=True, help="folder to write into")
    parser.add_argument("--checkpoint", type=Path, help="checkpoint to take (default: the run's last)")
    parser.add_argument("--command", help="the command that made the run, to be kept with it")
    arguments = parser.parse_args(argv)
    from .policy import Policy
    from .runs import last_checkpoint, load_agent, load_curve, load_task

    agent = load_agent(arguments.run)
    checkpoint = arguments.checkpoint or last_checkpoint(arguments.run)
    curve = load_curve(arguments.run)
    facts = {
        "task": load_task(arguments.run),
        "command": arguments.command or f"nerd rl train --task {load_task(arguments.run)}",
        "iterations": int(checkpoint.stem.rpartition("_")[2]) + 1,
        "training_seconds": curve["seconds"][-1],
        "seed": agent.get("seed"),
        **host_facts(),
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    Policy.from_rsl_rl(checkpoint, agent, facts).save(arguments.out / "policy.safetensors")
    (arguments.out / "run.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    _write_csv(curve, arguments.out / "curve.csv")
    _draw(curve, str(facts["task"]), arguments.out / "curve.svg")
    for path in sorted(arguments.out.iterdir()):
        print(f"{path}  {path.stat().st_size / 1000:.1f} kB")
    return 0


def host_facts() -> dict[str, Any]:
    """Return what a result depends on besides its seed: the machine and the versions."""
    packages = ("isaaclab", "ovphysx", "rsl-rl-lib", "torch", "warp-lang")
    versions = {}
    for name in packages:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    return {
        "host": {"cpu": _cpu_name(), "cores": len(os.sched_getaffinity(0)), "python": platform.python_version()},
        "versions": versions,
    }


def _cpu_name() -> str:
    """Name of the processor as Linux gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _write_csv(curve: dict[str, list[float]], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(curve)
        writer.writerows(zip(*curve.values(), strict=True))


def _draw(curve: dict[str, list[float]], title: str, path: Path) -> None:
    """Draw the mean return against the time."""
    import matplotlib

    matplotlib.use("svg")
    # Without these two the same numbers would give another file each time.
    matplotlib.rcParams["svg.hashsalt"] = "nerd"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 3.2))
    axes.plot([seconds / 60 for seconds in curve["seconds"]], curve["return"], linewidth=1.5)
    axes.set(title=title, xlabel="training time [min]", ylabel="mean return of an episode")
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
