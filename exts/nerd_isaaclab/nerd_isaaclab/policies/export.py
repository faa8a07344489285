# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Keeps a training run as small files: the policy, the learning curve as numbers and as a picture, and the command."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from ..launch.host import host_facts
from .load import POLICY_FILE
from .policy import Policy
from .rsl_rl_file import PolicyError
from .runs import last_checkpoint, load_agent, load_curve, load_task


def export_run(
    run: str | Path, out: str | Path, checkpoint: str | Path | None = None, command: str | None = None
) -> list[Path]:
    """Writes ``policy.safetensors``, ``curve.csv``, ``curve.svg`` and ``run.json``.

    Args:
        run: Log folder of the run.
        out: Folder to write into.
        checkpoint: File ``model_<iteration>.pt`` to take; by default the run's last.
        command: The command that made the run, to be kept with it; by default the shortest one.

    Returns:
        All files in the folder.

    Raises:
        FileNotFoundError: The folder is not that of a run, or holds no checkpoint.
    """
    run, out = Path(run), Path(out)
    agent = load_agent(run)
    source = Path(checkpoint) if checkpoint is not None else last_checkpoint(run)
    curve = load_curve(run)
    task = load_task(run)
    facts = {
        "task": task,
        "command": command or f"nerd rl train --task {task}",
        "iterations": _iteration(source) + 1,
        "training_seconds": curve["seconds"][-1],
        "seed": agent.get("seed") if isinstance(agent.get("seed"), int) else None,
        **host_facts(),
    }
    out.mkdir(parents=True, exist_ok=True)
    Policy.from_rsl_rl(source, agent, facts).save(out / POLICY_FILE)
    (out / "run.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    _write_csv(curve, out / "curve.csv")
    _draw(curve, str(task), out / "curve.svg")
    return sorted(out.iterdir())


def _iteration(checkpoint: Path) -> int:
    """The iteration that the name of a checkpoint tells."""
    number = checkpoint.stem.rpartition("_")[2]
    if not (number.isascii() and number.isdigit() and len(number) < 12):
        raise PolicyError(f"got the checkpoint '{checkpoint}', expected a file model_<iteration>.pt")
    return int(number)


def _write_csv(curve: dict[str, list[float]], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(curve)
        writer.writerows(zip(*curve.values(), strict=True))


def _draw(curve: dict[str, list[float]], title: str, path: Path) -> None:
    """Draw the mean return against the time."""
    from nerd_core.files.figures import BLUE, new_figure, save_figure

    with new_figure(6, 3.2) as (figure, (axes,)):
        axes.plot([seconds / 60 for seconds in curve["seconds"]], curve["return"], color=BLUE)
        axes.set(title=title, xlabel="training time [min]", ylabel="mean return of an episode")
        save_figure(figure, path)
