# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd transfer``: score a policy in the learned dynamics and in the solver, and compare.

.. code-block:: bash

    nerd transfer --task NeRD-Cartpole --policy logs/rsl_rl/nerd_cartpole/<run> --checkpoint runs/cartpole/best
    nerd transfer --task NeRD-Ant-Run --policy models/policies/NeRD-Ant-Run --checkpoint models/ant --episodes 2048

The same starts, the same seed, whole episodes, the mean action. A reward that agrees is a weak proof: the table shows
lengths, terminations and every reward term beside it, and ``nerd evaluate`` the open-loop errors.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from ..models import find_model
from .task_ids import check_task


class TransferError(ValueError):
    """A mode in which the policy could not be scored."""


@dataclass
class Transfer:
    """Score a policy in the learned dynamics and in the solver, and compare."""

    task: str
    """Task to play."""
    policy: Path
    """Policy file, or the log folder of a run."""
    checkpoint: str
    """Directory of the model, or the name of a shipped one."""
    episodes: int = 512
    """Episodes in each mode."""
    seed: int = 1
    """Seed of the starts."""
    json: Path | None = None
    """File for the numbers."""
    record: Path | None = None
    """Folder for the motion of the first episodes: ``physx.json`` and ``neural.json``."""
    overrides: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Changes of the task's configuration, ``env.<field>=<value>``."""


def main(argv: list[str]) -> int:
    """Score a policy in the learned dynamics and in the solver, and compare.

    Args:
        argv: Arguments, without the program's name.
    """
    args = tyro.cli(Transfer, args=argv, prog="nerd transfer", description=__doc__)
    check_task(args.task)
    find_model(args.checkpoint)
    result = transfer(args)
    _show(result)
    if args.json is not None:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


def transfer(args: Transfer) -> dict:
    """Scores the policy in both modes, each in a process with an engine of its own.

    Returns:
        Plain values: the scores of both modes, and the gap of the return as a share of the solver's.
    """
    scores = {mode: _score(args, mode) for mode in ("physx", "neural")}
    physx, neural = (scores[mode]["scores"]["return"]["mean"] for mode in ("physx", "neural"))
    return {
        "task": args.task,
        "checkpoint": Path(args.checkpoint).name,
        "episodes": args.episodes,
        "reward_gap": (neural - physx) / abs(physx) if physx else None,
        "modes": scores,
    }


def _score(args: Transfer, mode: str) -> dict:
    print(f"scoring {args.episodes} episodes in {mode} mode", file=sys.stderr)
    with tempfile.TemporaryDirectory() as scratch:
        out, log = Path(scratch, "score.json"), Path(scratch, "log")
        words = ["--task", args.task, "--policy", args.policy, "--num_envs", args.episodes, "--seed", args.seed]
        words += ["--out", out, f"env.nerd.mode={mode}", *args.overrides]
        if args.record is not None:
            words += ["--record", args.record / f"{mode}.json"]
        if mode != "physx":
            words.append(f"env.nerd.checkpoint={args.checkpoint}")
        with open(log, "w", encoding="utf-8") as stream:
            command = [sys.executable, "-m", "nerd_core", "rl", "score", *map(str, words)]
            code = subprocess.run(command, stdout=stream, stderr=stream, check=False).returncode
        if code:
            tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-12:])
            raise TransferError(f"the policy could not be scored in {mode} mode; the last words of that run:\n{tail}")
        return json.loads(out.read_text(encoding="utf-8"))


def _show(result: dict) -> None:
    physx, neural = result["modes"]["physx"], result["modes"]["neural"]
    table = Table(title=f"{result['task']}, {result['episodes']} episodes in each mode")
    for name in ("", "physx", "neural"):
        table.add_column(name, justify="right" if name else "left")
    for name in physx["scores"]:
        pair = (f"{mode['scores'][name]['mean']:.4g} +- {mode['scores'][name]['std']:.3g}" for mode in (physx, neural))
        table.add_row(name.replace("_", " "), *pair)
    for part, title in (("terms", "reward of"), ("commands", "command")):
        for name in physx[part]:
            pair = (f"{mode[part][name]['mean']:.4g} +- {mode[part][name]['std']:.3g}" for mode in (physx, neural))
            table.add_row(f"{title} {name}", *pair)
    for name in physx["ends"]:
        table.add_row(f"ended by {name}", *(f"{100 * mode['ends'][name]:.1f} %" for mode in (physx, neural)))
    Console().print(table)
    if result["reward_gap"] is not None:
        print(f"reward gap, neural against physx: {100 * result['reward_gap']:+.3f} %")
