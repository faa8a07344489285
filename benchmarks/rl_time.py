# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Measure how long a policy takes to train in the model against PhysX: same task, environments, iterations and cores.

    python benchmarks/rl_time.py                          # 60 iterations of NeRD-Ant-Run with 512 environments
    python benchmarks/rl_time.py --task NeRD-Cartpole --model cartpole --json rl_time.json

Trainings take turns, each in a process of its own. The time is that of the whole command, the start of Isaac Lab
included; beside it stand what RSL-RL says of its iterations, and the time of processor that the command took, which
other programs change little. PhysX runs as Isaac Lab starts it, with eight workers, and without any, which is faster on
few cores: the model is measured against both. Nothing else should run meanwhile.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import tyro

WAYS = {
    "physx": ("physx", {}),
    "physx, no workers": ("physx", {"NERD_PHYSX_THREADS": "0"}),
    "neural": ("neural", {}),
}
"""What is measured: mode and environment variables by name."""


@dataclass(frozen=True)
class Options:
    """Measure how long a policy takes to train in the model against PhysX."""

    task: str = "NeRD-Ant-Run"
    """Task to train."""
    model: str = "ant"
    """Shipped model, or the directory of one."""
    num_envs: int = 512
    """Environments."""
    iterations: int = 60
    """Iterations of RSL-RL."""
    turns: int = 2
    """Trainings in each way."""
    json: Path | None = None
    """File to write the numbers to."""


def main(options: Options) -> None:
    """Trains in turns and prints the ratio."""
    from nerd_core.files.provenance import describe_run

    numbers: dict[str, Any] = {"load_before": os.getloadavg()[0], "cores": len(os.sched_getaffinity(0))}
    turns: list[dict[str, dict[str, float]]] = []
    for _ in range(options.turns):
        turns.append({way: train(options, way) for way in WAYS})
        print(", ".join(f"{way} {turns[-1][way]['seconds']:.1f} s" for way in WAYS), flush=True)
    print(f"{options.task}, {options.num_envs} envs, {options.iterations} iterations, neural over")
    for way in list(WAYS)[:-1]:
        ratios = {
            name: median(turn["neural"][name] / turn[way][name] for turn in turns)
            for name in ("seconds", "iteration_s", "processor_s")
        }
        numbers[f"neural over {way}"] = ratios
        print(
            f"  {way}: whole command {ratios['seconds']:.2f}, an iteration {ratios['iteration_s']:.2f}, "
            f"processor {ratios['processor_s']:.2f}"
        )
    if options.json is not None:
        numbers |= {"turns": turns, "run": describe_run()}
        options.json.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")


def train(options: Options, way: str) -> dict[str, float]:
    """Seconds of one training: of the command, of an iteration in the middle of it, and of the processor."""
    from nerd_core.checkpoint_names import shipped_checkpoints

    mode, environment = WAYS[way]
    words = [sys.executable, "-m", "nerd_core", "rl", "train", "--task", options.task, f"env.nerd.mode={mode}"]
    if mode == "neural":
        words.append(f"env.nerd.checkpoint={shipped_checkpoints().get(options.model) or Path(options.model).resolve()}")
    words += ["--num_envs", str(options.num_envs), "--max_iterations", str(options.iterations), "--seed", "0"]
    with tempfile.TemporaryDirectory() as scratch:
        before, start = processor_time(), time.perf_counter()
        done = subprocess.run(words, cwd=scratch, env={**os.environ, **environment}, capture_output=True, text=True)
        seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"training in {way} failed:\n" + "\n".join((done.stdout + done.stderr).splitlines()[-15:]))
    said = [float(value) for value in re.findall(r"Iteration time:\s*([\d.]+)\s*s", done.stdout)]
    if not said:
        raise SystemExit(f"got no line 'Iteration time' from the training in {way}, expected one for each iteration")
    return {
        "seconds": seconds,
        "iteration_s": median(said[len(said) // 3 :]),
        "processor_s": processor_time() - before,
    }


def processor_time() -> float:
    """Time of processor that the ended children of this process took [s]."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
