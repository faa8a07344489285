# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd generate``: collect trajectories of a task's robot from the solver.

.. code-block:: bash

    nerd generate --task NeRD-Cartpole --out data/cartpole --transitions 1000000 --workers 2
    nerd generate --task NeRD-Ant-Run --out data/ant --steps 200 --shares random=1
    nerd generate --task NeRD-Isaac-Cartpole --out data/passive --initial task --shares zero=1 env.scene.env_spacing=5

Killed, or ended with ctrl-C, it goes on where it stopped when the same command is run again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

from nerd_core.data.manifest import write_manifest
from nerd_core.serialization import to_plain

from ..collect.collect_cfg import CollectCfg
from ..collect.excitation import DEFAULT_SHARES, ExcitationError, check_shares
from ..collect.initial_states import InitialStateCfg
from .task_ids import check_task


@dataclass
class Generate:
    """Collect trajectories of a task's robot from the solver.

    Words like ``env.scene.env_spacing=5`` behind the options change the task, as for ``isaaclab train``.
    """

    task: str
    """Id of the task, see ``nerd list-envs``."""
    out: Path
    """Folder of the dataset; one that is there is continued."""
    transitions: int = 1_000_000
    """Number of control steps to record."""
    steps: int = 100
    """Length of a trajectory [control steps]."""
    num_envs: int = 512
    """Environments of each worker."""
    workers: int = 1
    """Processes, each with an engine and a shard of its own."""
    seed: int = 0
    """Seed of everything that is drawn."""
    shares: tuple[str, ...] = tuple(f"{kind}={share:g}" for kind, share in DEFAULT_SHARES.items())
    """Share of trajectories by kind of excitation: random, held, ou, spline, pd, zero."""
    initial: Literal["wide", "task"] = "wide"
    """First states: drawn from wide ranges, or as the task resets its robot."""
    ranges: InitialStateCfg = field(default_factory=InitialStateCfg)
    """The wide ranges."""
    teacher_mode: Literal["continuous", "rewritten"] = "continuous"
    """``rewritten`` drops the solver's friction history before each step: see docs/collecting.md."""
    contacts: Literal["none", "geometry"] = "none"
    """Contacts to store with each step; by default they are computed from states and ground when they are needed."""
    physics: str = "ovphysx"
    """Physics preset of the task that teaches."""
    device: str = "auto"
    """Device of the simulation; ``auto`` is the GPU where there is one."""
    overrides: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Changes of the task's configuration, ``env.<field>=<value>``."""


def main(argv: list[str]) -> int:
    """Collect trajectories of a task's robot from the solver.

    Args:
        argv: Arguments, without the program's name.
    """
    args = tyro.cli(Generate, args=argv, prog="nerd generate", description=__doc__)
    check_task(args.task)
    check_shares(read_shares(args.shares))
    for name in ("transitions", "steps", "num_envs", "workers"):
        if getattr(args, name) < 1:
            raise ValueError(f"got --{name.replace('_', '-')} {getattr(args, name)}, expected at least 1")
    args.out.mkdir(parents=True, exist_ok=True)
    workers = [_Worker(args, shard) for shard in range(args.workers)]
    started = time.monotonic()
    try:
        code = _watch(workers, args.transitions)
    except KeyboardInterrupt:
        for worker in workers:
            worker.stop()
        print("\nstopped; what is finished is safe, the same command goes on", file=sys.stderr)
        return 130
    if code:
        return code
    write_manifest(args.out)
    _report(workers, args.out, time.monotonic() - started)
    return 0


class _Worker:
    """A process that fills one shard, and what it last said."""

    def __init__(self, args: Generate, shard: int):
        order = {
            "cfg": _collect_cfg(args),
            "out": str(args.out),
            "shard": shard,
            "transitions": args.transitions // args.workers + (shard < args.transitions % args.workers),
            "device": _device(args.device),
            "overrides": list(args.overrides),
        }
        self.log = args.out / f"worker-{shard:03d}.log"
        self.progress: dict = {"transitions": 0, "trajectories": 0, "dropped": {}, "kinds": {}}
        self.begun_with: int | None = None
        self.error: str | None = None
        with open(self.log, "w", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "nerd_isaaclab.collect.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                # the solver's own workers and OpenMP would fight for the cores
                env={**os.environ, "OMP_NUM_THREADS": "1"},
                start_new_session=True,  # ctrl-C is ours to pass on
            )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order))
        self._process.stdin.close()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said = json.loads(line)
            self.error = said.get("error", self.error)
            self.progress = said.get("progress", self.progress)
            if self.begun_with is None and "progress" in said:
                self.begun_with = self.progress["transitions"]

    @property
    def code(self) -> int | None:
        """Exit code; None while it runs."""
        return self._process.poll()

    def stop(self) -> None:
        """Ends the process. What its shard has finished is safe."""
        self._process.terminate()
        self._process.wait()


def _watch(workers: list[_Worker], transitions: int) -> int:
    """Shows how far the workers are until all have ended; if one fails the others are stopped."""
    with tqdm(total=transitions, unit="step", unit_scale=True, desc="generate", disable=None) as bar:
        while True:
            codes = [worker.code for worker in workers]
            done = min(transitions, sum(worker.progress["transitions"] for worker in workers))
            if bar.n == 0 and all(worker.begun_with is not None for worker in workers):
                bar.initial = sum(worker.begun_with or 0 for worker in workers)
            bar.update(done - bar.n)
            failed = [worker for worker, code in zip(workers, codes, strict=True) if code]
            if failed:
                for worker in workers:
                    worker.stop()
                bar.close()
                time.sleep(0.2)  # its last words may still be on their way
                text = failed[0].error or f"a worker ended with code {failed[0].code}; its last words:\n" + _tail(
                    failed[0].log
                )
                print(f"nerd generate: {text}", file=sys.stderr)
                return 2
            if all(code == 0 for code in codes):
                bar.update(transitions - bar.n)
                return 0
            time.sleep(0.2)


def _report(workers: list[_Worker], out: Path, seconds: float) -> None:
    """Prints what was collected, and writes it beside the data."""
    total = sum(worker.progress["transitions"] for worker in workers)
    new = total - sum(worker.begun_with or 0 for worker in workers)
    report = {
        "transitions": total,
        "trajectories": sum(worker.progress["trajectories"] for worker in workers),
        "new_transitions": new,
        "seconds": round(seconds, 1),
        "transitions_per_second": round(new / seconds),
        "dropped": _sum(worker.progress["dropped"] for worker in workers),
        "kinds": _sum(worker.progress["kinds"] for worker in workers),
    }
    (out / "report.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    for worker in workers:
        worker.log.unlink(missing_ok=True)
    table = Table(show_header=False, title=f"collected in {out.name}")
    for name, value in report.items():
        if isinstance(value, dict):
            value = ", ".join(f"{key}: {count:,}" for key, count in value.items()) or "none"
        table.add_row(name.replace("_", " "), f"{value:,}" if isinstance(value, int) else str(value))
    Console().print(table)


def read_shares(words: tuple[str, ...]) -> dict[str, float]:
    """Shares from words like ``random=0.5``.

    Raises:
        ExcitationError: A word is not of that form.
    """
    shares = {}
    for word in words:
        kind, _, share = word.partition("=")
        try:
            shares[kind] = float(share)
        except ValueError:
            raise ExcitationError(f"got the share '{word}', expected KIND=NUMBER, for instance random=0.5") from None
    return shares


def _collect_cfg(args: Generate) -> dict:
    """The part of the arguments that a worker's configuration holds."""
    names = {item.name for item in fields(CollectCfg)}
    same = {name: to_plain(value) for name, value in vars(args).items() if name in names}
    return same | {"shares": check_shares(read_shares(args.shares))}


def _device(name: str) -> str:
    if name != "auto":
        return name
    import torch

    return "cuda:0" if torch.cuda.is_available() else "cpu"


def _sum(counts) -> dict[str, int]:
    total: dict[str, int] = {}
    for count in counts:
        for name, value in count.items():
            total[name] = total.get(name, 0) + value
    return total


def _tail(path: Path, lines: int = 20) -> str:
    """The last lines of a log."""
    try:
        return "\n".join(path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
    except OSError:
        return "(its log cannot be read)"
