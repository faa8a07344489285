# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Measure how many env-steps a second PhysX makes on this CPU: Cartpole and Ant, sizes, processes, thread settings.

    python benchmarks/physx_cpu.py                  # all of it, about 5 minutes
    python benchmarks/physx_cpu.py --quick          # two sizes, half the settings, short: about 1.5 minutes
    python benchmarks/physx_cpu.py --out docs/evidence/physx_cpu.json --doc docs/collecting-on-a-cpu.md

The last keeps the numbers, and writes the table and what follows from it into the document.

One env-step is one control step of one environment (two physics steps), rewards, observations and resets included, with
random actions. Several processes run at the same time and their rates are added. Nothing else should run meanwhile; the
load of the machine before the start is written down with the result.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

TASKS = {"cartpole": "NeRD-Cartpole", "ant": "NeRD-Ant-Run"}
SIZES = (64, 256, 512, 1024)
MARK = "@@ "
"""Begins the lines of a worker that are meant for us; Isaac Lab writes many others."""
MARKER = "<!-- physx_cpu -->"
"""Stands before and after the part of the document that this program writes."""
WARM_UP_STEPS = 20


@dataclass(frozen=True)
class Setting:
    """Threads of a run."""

    processes: int
    """Processes that run at the same time, each with its own engine."""

    omp: int | None
    """``OMP_NUM_THREADS``: threads of PyTorch's operators. None: not set, so as many as there are cores."""

    engine: int | None
    """``NERD_PHYSX_THREADS``: workers of PhysX. None: not set, so Isaac Lab's eight; 0: the calling thread."""

    def label(self) -> str:
        """Return the setting in words."""
        omp = "unset" if self.omp is None else self.omp
        engine = "8 (Isaac Lab's)" if self.engine is None else self.engine
        return f"{self.processes} process{'es' if self.processes > 1 else ''}, OMP {omp}, engine {engine}"


SETTINGS = (
    Setting(1, None, None),
    Setting(1, 1, None),
    Setting(1, 1, 2),
    Setting(1, 1, 1),
    Setting(1, 1, 0),
    Setting(2, None, None),
    Setting(2, 1, None),
    Setting(2, 1, 0),
)
QUICK_SETTINGS = (Setting(1, None, None), Setting(1, 1, None), Setting(1, 1, 0), Setting(2, 1, 0))


def main() -> int:
    """Measure, show, and write what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two sizes, half the settings, short runs")
    parser.add_argument("--seconds", type=float, help="time of one measurement (default: 2, quick: 1)")
    parser.add_argument("--out", type=Path, help="JSON file to write the result to")
    parser.add_argument("--doc", type=Path, help=f"document to write the table into, between two lines '{MARKER}'")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    seconds = arguments.seconds or (1.0 if arguments.quick else 2.0)
    if arguments.worker:
        work(json.loads(arguments.worker), seconds)
        return 0
    sizes = (64, 512) if arguments.quick else SIZES
    settings = QUICK_SETTINGS if arguments.quick else SETTINGS
    started, load = time.perf_counter(), os.getloadavg()[0]
    rows = []
    for number, setting in enumerate(settings, start=1):
        print(f"[{number}/{len(settings)}] {setting.label()}", file=sys.stderr, flush=True)
        rows += measure(setting, sizes, seconds)
    from nerd_isaaclab.launch.host import host_facts

    result = {
        "command": "python benchmarks/physx_cpu.py" + (" --quick" if arguments.quick else ""),
        "unit": "env-steps/s, one env-step being 1/60 s of simulated time in two physics steps",
        "seconds_per_measurement": seconds,
        "load_before": round(load, 2),
        "total_seconds": round(time.perf_counter() - started, 1),
        **host_facts(),
        "rows": rows,
    }
    text = f"{table(result)}\n{conclusions(rows)}"
    print(text)
    if arguments.out is not None:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    if arguments.doc is not None:
        before, _, after = arguments.doc.read_text(encoding="utf-8").split(MARKER)
        arguments.doc.write_text(f"{before}{MARKER}\n\n{text}\n{MARKER}{after}", encoding="utf-8")
    return 0


def measure(setting: Setting, sizes: tuple[int, ...], seconds: float) -> list[dict[str, Any]]:
    """Run one setting and return a row for each robot and size."""
    environment = {name: value for name, value in os.environ.items() if name not in ("OMP_NUM_THREADS",)}
    environment.pop("NERD_PHYSX_THREADS", None)
    if setting.omp is not None:
        environment["OMP_NUM_THREADS"] = str(setting.omp)
    if setting.engine is not None:
        environment["NERD_PHYSX_THREADS"] = str(setting.engine)
    runs = [(robot, size) for robot in TASKS for size in sizes]
    command = [sys.executable, __file__, "--seconds", str(seconds), "--worker", json.dumps(runs)]
    rows = []
    workers: list[subprocess.Popen[str]] = []
    # Into a file: what a worker says on stderr is read only when it has failed, and must not fill a pipe until then.
    with tempfile.TemporaryFile("w+") as errors:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": errors, "text": True}
        try:
            workers += [subprocess.Popen(command, env=environment, **pipes) for _ in range(setting.processes)]
            rows = _rows(setting, runs, workers)
        except EOFError:
            errors.seek(0)
            raise RuntimeError(f"a worker ended early:\n{errors.read()[-3000:]}") from None
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
    return rows


def _rows(setting: Setting, runs: list[tuple[str, int]], workers: list[subprocess.Popen[str]]) -> list[dict[str, Any]]:
    """Let the workers measure each run at the same time."""
    rows = []
    for robot, size in runs:
        for worker in workers:
            read(worker)  # ready
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        rates = [read(worker)["rate"] for worker in workers]
        rows.append({**asdict(setting), "robot": robot, "envs_per_process": size, "rate": round(sum(rates))})
    for worker in workers:
        worker.communicate(timeout=60)
    return rows


def read(worker: subprocess.Popen[str]) -> dict[str, Any]:
    """Return the next message of a worker; raises EOFError if it has ended."""
    stream: IO[str] | None = worker.stdout
    assert stream is not None
    for line in stream:
        if line.startswith(MARK):
            return json.loads(line[len(MARK) :])
    raise EOFError


def work(runs: list[tuple[str, int]], seconds: float) -> None:
    """Measure each robot and size in turn, each time when the parent says so."""
    import gymnasium
    import isaaclab_tasks  # noqa: F401
    import torch
    from isaaclab.app import launch_simulation
    from isaaclab_tasks.utils import resolve_task_config

    import nerd_isaaclab.tasks  # noqa: F401

    torch.manual_seed(0)
    for robot, size in runs:
        cfg, _ = resolve_task_config(TASKS[robot], None, overrides=["physics=ovphysx"])
        cfg.scene.num_envs, cfg.sim.device, cfg.seed = size, "cpu", 0
        with launch_simulation(cfg, argparse.Namespace(device="cpu", visualizer=["none"], headless=True)):
            env = gymnasium.make(TASKS[robot], cfg=cfg).unwrapped
            env.reset()
            actions = [2 * torch.rand(size, env.action_manager.total_action_dim) - 1 for _ in range(16)]
            with torch.inference_mode():
                for step in range(WARM_UP_STEPS):
                    env.step(actions[step % 16])
                send({"ready": True})
                sys.stdin.readline()
                step, start = 0, time.perf_counter()
                while (elapsed := time.perf_counter() - start) < seconds:
                    env.step(actions[step % 16])
                    step += 1
            send({"rate": step * size / elapsed})
            env.close()


def send(message: dict[str, Any]) -> None:
    """Write one message to the parent."""
    print(f"{MARK}{json.dumps(message)}", flush=True)


def table(result: dict[str, Any]) -> str:
    """Return the result as Markdown: a row for each setting, a column for each robot and size."""
    rows = result["rows"]
    columns = list(dict.fromkeys((row["robot"], row["envs_per_process"]) for row in rows))
    settings = list(dict.fromkeys((row["processes"], row["omp"], row["engine"]) for row in rows))
    rates = {
        ((row["processes"], row["omp"], row["engine"]), (row["robot"], row["envs_per_process"])): row["rate"]
        for row in rows
    }
    host, versions = result["host"], result["versions"]
    best = {column: max(rates[setting, column] for setting in settings) for column in columns}
    lines = [
        f"Env-steps a second, envs per process in the head. {host['cpu']}, {host['cores']} cores, "
        f"isaaclab {versions['isaaclab']}, ovphysx {versions['ovphysx']}, torch {versions['torch']}; "
        f"load before the start {result['load_before']}. Made by `{result['command']}`.",
        "",
        "| threads | " + " | ".join(f"{robot} {size}" for robot, size in columns) + " |",
        "|---|" + "---:|" * len(columns),
    ]
    for setting in settings:
        cells = []
        for column in columns:
            rate = rates[setting, column]
            cells.append(f"**{rate:,}**" if rate == best[column] else f"{rate:,}")
        lines.append(f"| {Setting(*setting).label()} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def conclusions(rows: list[dict[str, Any]]) -> str:
    """Return what follows from the rows: the fastest way for each robot, and what each choice is worth."""

    def key(row: dict[str, Any]) -> Setting:
        return Setting(row["processes"], row["omp"], row["engine"])

    lines = []
    for robot in dict.fromkeys(row["robot"] for row in rows):
        own = [row for row in rows if row["robot"] == robot]
        best = max(own, key=lambda row: row["rate"])
        plain = max((row for row in own if key(row) == Setting(1, None, None)), key=lambda row: row["rate"])
        single = max((row for row in own if row["processes"] == 1), key=lambda row: row["rate"])
        lines.append(
            f"- {robot}: fastest with {key(best).label()}, {best['envs_per_process']} envs each: "
            f"{best['rate']:,} env-steps/s. That is {best['rate'] / plain['rate']:.2f} times the best of one process "
            f"with nothing set ({plain['envs_per_process']} envs) and {best['rate'] / single['rate']:.2f} times the "
            f"best of one process ({key(single).label().partition(', ')[2]}, {single['envs_per_process']} envs)."
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
