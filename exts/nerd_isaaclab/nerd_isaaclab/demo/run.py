# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Runs a recipe from its first phase to its report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from . import plan, results
from .commands import Commands
from .phases import explained_results, lock_folder, remove_phases, run_phases
from .recipe import Recipe
from .report import write_report


@dataclass(frozen=True)
class RunResult:
    """Numbers and files of a run."""

    results: dict[str, Any]
    """All numbers."""
    model: Path
    """Directory of the model."""
    page: Path
    """The report."""


def run(
    recipe: Recipe,
    out: Path,
    command: str,
    fresh: bool = False,
    model: str | None = None,
    step_cost: Path | None = None,
    made_with: Sequence[str] = (),
) -> RunResult:
    """Runs what is not done yet, and writes the report.

    Args:
        recipe: What to do.
        out: Folder of the run.
        command: The command that asked for it, for the report.
        fresh: Whether to start over.
        model: Model to use instead of collecting and training.
        step_cost: JSON of ``benchmarks/step_cost.py``, to be shown in the report.
        made_with: The commands by which a given model was made, for its card.
    """
    if model is not None:
        recipe = replace(recipe, stages=())
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    if step_cost is not None:
        results.read_step_cost(step_cost)  # a wrong file is better refused now than after all the work
    with lock_folder(out) as lock:
        commands = Commands(out, lock)
        phases = plan.phases_of(recipe, commands, model)
        if fresh:
            remove_phases(phases, out)
        try:
            found = run_phases(phases, out, console)
        except KeyboardInterrupt:
            console.print("\nstopped; what is finished is kept: run the same command again to go on")
            raise
        where = plan.model_of(phases)
        with explained_results(out):
            numbers = results.gather(recipe, found, where, [command], step_cost, made_with)
            page, plain = write_report(numbers, found["motion"], out)
    console.print(f"\n[bold]report: {page}[/bold]\nnumbers: {plain}")
    return RunResult(numbers, where, page)
