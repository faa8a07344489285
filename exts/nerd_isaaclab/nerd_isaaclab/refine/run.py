# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Runs rounds until the gap is closed, and keeps the model and the policy of the best one."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from nerd_core import checkpoint
from nerd_core.checkpoint_names import find_checkpoint
from nerd_core.data.manifest import find_segments
from nerd_core.files.atomic import replace_directory, write_json
from nerd_core.files.provenance import describe_run
from nerd_core.files.serialization import to_plain

from ..demo.card import NEEDED
from ..demo.commands import Commands
from ..demo.phases import Phase, PhaseRun, explained_results, lock_folder
from ..launch.task_ids import check_task, find_tasks
from ..policies.load import POLICY_FILE, load_policy
from .config import RefineCfg, RefineError
from .rounds import CHECK, CONFIRM, KINDS, Rounds
from .stopping import Gap, Judgement, Reason, judge, measured_gap

REPORT = "report.json"
"""File in the folder of a run with all that was measured."""

MODEL, POLICY = "model", "policy"
"""Folders in the folder of a run with the model and the policy of the best round."""


@dataclass(frozen=True)
class RefineResult:
    """What rounds came to."""

    reason: Reason
    """Why they ended."""
    best: int
    """The round whose model and policy are kept."""
    gaps: tuple[Gap, ...]
    """Gap of each round, that of the first policy first."""
    confirmed: Gap
    """Gap of the best round over starts that no round was judged by."""
    model: Path
    """Its model."""
    policy: Path
    """Its policy."""


def refine(cfg: RefineCfg, out: str | Path, command: str, fresh: bool = False) -> RefineResult:
    """Trains policies in a model and the model on their motion in PhysX, in turns, until both agree.

    Every phase is a command in a process of its own, and what is finished is kept: the same call goes on where an
    earlier one was ended, also with more rounds or another target.

    Args:
        cfg: What to do.
        out: Folder of the run.
        command: The command that asked for it, for the report.
        fresh: Whether to start over.

    Raises:
        ValueError: The task, the model or the data do not go together, or a phase failed.
    """
    model = require_inputs(cfg)
    out = Path(out)
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    with lock_folder(out) as lock:
        rounds = Rounds(cfg, model, Commands(out, lock))
        if fresh:
            remove_rounds(out)
        try:
            result, report = _run(rounds, PhaseRun(out, console))
        except KeyboardInterrupt:
            console.print("\nstopped; what is finished is kept: run the same command again to go on")
            raise
        write_json(out / REPORT, {**report, **describe_run(seeds={"seed": cfg.seed}), "command": command})
    return result


def require_inputs(cfg: RefineCfg) -> Path:
    """Refuses, before anything is started, what cannot work; returns the directory of the model.

    Args:
        cfg: What was asked for.
    """
    check_task(cfg.task)
    name = cfg.task.split(":")[-1]
    agents = next((task.libraries for task in find_tasks() if task.id == name), None)
    if agents is not None and "rsl_rl" not in agents:
        raise RefineError(
            f"the task '{name}' has no RSL-RL agent, so no policy can learn it: expected a task that 'nerd list-envs' "
            "shows with one"
        )
    model = find_checkpoint(cfg.model).absolute()
    checkpoint.load(model)
    for path in cfg.data:
        checkpoint.load(model, expected_spec=find_segments(path).spec)
    return model


def remove_rounds(out: Path) -> None:
    """Removes the folders of all phases, and what was kept of the best round.

    Args:
        out: Folder of the run.
    """
    numbered = [path for kind in KINDS for path in out.glob(f"{kind}-*") if path.name[len(kind) + 1 :].isdecimal()]
    for folder in [*numbered, *(out / name for name in (CHECK, CONFIRM, MODEL, POLICY))]:
        shutil.rmtree(folder, ignore_errors=True)


def _run(rounds: Rounds, phases: PhaseRun) -> tuple[RefineResult, dict[str, Any]]:
    """Goes on until a judgement says why to stop, and confirms the best round."""
    ledger = _Ledger(rounds, phases)
    ledger.run([rounds.check()], 0)
    gaps: list[Gap] = []
    while True:
        number = len(gaps)
        ledger.run([*(rounds.making(number) if number else []), *rounds.measuring(number)], number)
        with explained_results(phases.out):
            gaps.append(measured_gap(phases.results[rounds.name("transfer", number)]["transfer"]))
        judgement = judge(gaps, rounds.cfg.stop)
        phases.console.print(f"[bold]{in_words(number, gaps[-1])}[/bold]")
        if judgement.reason is not None:
            break
    ledger.run([rounds.confirming(judgement.best)], number)
    with explained_results(phases.out):
        confirmed = measured_gap(phases.results[CONFIRM]["transfer"])
    kept = _keep(rounds, judgement, phases.out)
    result = RefineResult(judgement.reason, judgement.best, tuple(gaps), confirmed, *kept)
    return result, _report(rounds, result, phases.results)


class _Ledger:
    """Runs phases of rounds, with an estimate of all that may follow."""

    def __init__(self, rounds: Rounds, phases: PhaseRun):
        self._rounds, self._phases, self._done = rounds, phases, 0

    def run(self, phases: list[Phase], number: int) -> None:
        """Runs phases of a round.

        Args:
            phases: The phases.
            number: Number of the round.
        """
        for index, phase in enumerate(phases):
            self._done += 1
            left = sum(each.seconds for each in phases[index:])
            if phase.name != CONFIRM:
                more = range(number + 1, self._rounds.cfg.stop.rounds + 1)
                later = [each for k in more for each in (*self._rounds.making(k), *self._rounds.measuring(k))]
                left += sum(each.seconds for each in later)
            took = self._phases.run(phase, f"phase {self._done}", left)["seconds"]
            self._rounds.seconds[phase.name.partition("-")[0]] = took


def in_words(number: int, gap: Gap) -> str:
    """What a round has measured, in words.

    Args:
        number: Number of the round.
        gap: Its gap.
    """
    share = "unknown, for the return in PhysX is zero" if gap.share is None else f"{100 * gap.share:+.2f} %"
    error = f" +- {100 * gap.standard_error:.2f} %" if gap.standard_error is not None else ""
    words = f"round {number}: return {gap.neural:.5g} in the model, {gap.physx:.5g} in PhysX, gap {share}{error}"
    if gap.is_telling:
        return words
    return f"{words} (of a return within its spread of zero, which says little: more --iterations, or --least-return)"


def _keep(rounds: Rounds, judgement: Judgement, out: Path) -> tuple[Path, Path]:
    """Copies the model of the best round, without the state of its training, and its policy."""
    with replace_directory(out / MODEL) as folder:
        for name in NEEDED:
            shutil.copyfile(rounds.model_of(judgement.best) / name, folder / name)
    checkpoint.load(out / MODEL)
    with replace_directory(out / POLICY) as folder:
        load_policy(rounds.policy_of(judgement.best)).save(folder / POLICY_FILE)
    return out / MODEL, out / POLICY


def _report(rounds: Rounds, result: RefineResult, found: Mapping[str, Any]) -> dict[str, Any]:
    """All numbers as plain values."""
    rows = []
    for number, gap in enumerate(result.gaps):
        names = [rounds.name(kind, number) for kind in KINDS]
        there = {name: found[name] for name in names if name in found}
        rows.append(
            {
                "round": number,
                **to_plain(gap),
                "transitions": sum(each.get("transitions", 0) for each in there.values()),
                "seconds": {name: each["seconds"] for name, each in there.items()},
                "model_errors": there.get(rounds.name("train", number), {}).get("results"),
            }
        )
    commands = [each for name in found for each in found[name].get("commands", [])]
    settings = to_plain(replace(rounds.cfg, model=rounds.model.name, data=()))
    return {
        "settings": {**settings, "data": [path.name for path in rounds.cfg.data]},
        "reason": result.reason,
        "best": result.best,
        "rounds": rows,
        "confirmed": to_plain(result.confirmed),
        "commands": commands,
    }


__all__ = ["RefineResult", "in_words", "refine", "remove_rounds", "require_inputs"]
