# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Trials: a training is ended in the middle, goes on, and is compared with one that was left alone.

PYTHONPATH=tests python -m support.killing_trials docs/robustness.md      # all trials, and the table in that page
"""

from __future__ import annotations

import platform
import random
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from nerd_core import checkpoint
from nerd_core.data.layout import ShardMeta
from nerd_core.data.shards import ShardWriter

from .killed_training import End, Told, Trainings
from .testbed_cartpole import MAX_FORCE, SPEC, simulate

Kind = Literal["new", "resumed", "overwriting"]
"""What is ended: a new run, one that goes on, or one that takes the place of a finished one."""

# All that carries something from one update to the next is on.
SETTINGS = shlex.split(
    "--batch-size 16 --window-length 2 --network.width 8 --network.hidden 8 --network.layers 1 --ema-decay .9 "
    "--rollout.weight .5 --rollout.start .3 --rollout.steps 3 --rollout.batch-size 4 --state-noise .01 --validations 3 "
    "--validation-horizons 3 --validation-trajectories 4 --optimiser.precondition-frequency 2"
)

SEED = 0
"""Decides which moments are tried."""

LARGEST = 13_000
"""About the size of the largest file of such a run, below which a file limit is drawn [bytes]."""

BEGIN, END = "<!-- trials of trainings: written by tests/support/killing_trials.py -->", "<!-- end of the trials -->"
"""Lines of a page between which the table stands."""


@dataclass(frozen=True)
class Trial:
    """A training and how it is ended."""

    kind: Kind
    """What is ended."""
    end: End
    """When and how."""


@dataclass
class Outcome:
    """What became of a training that was ended."""

    trial: Trial
    code: int
    """Exit code of the training that was ended; negative for a signal."""
    went_on: str = "nothing"
    """What went on with it: ``--resume``, ``the plain command``, or nothing."""
    faults: tuple[str, ...] = ()
    """What should not have happened."""


class Bench:
    """A tiny dataset and trainings on it that were left alone, to compare with."""

    def __init__(self, place: Path, trainings: Trainings):
        """Makes the data and the trainings.

        Args:
            place: Empty folder.
            trainings: What runs them.
        """
        self.place, self.trainings, self.number = place, trainings, 0
        make_dataset(place / "data")
        self.words = [str(place / "data"), *SETTINGS]
        self.whole, self.old, self.half = (place / name / "run" for name in ("whole", "old", "half"))
        self.told = self._leave_alone(self.whole, "--updates", "6", count_calls=True)
        self._leave_alone(self.old, "--updates", "2", "--seed", "7")

    def run(self, trial: Trial) -> Outcome:
        """Ends a training, lets it go on, and looks at what is there."""
        self.number += 1
        place = self.place / f"trial-{self.number}"
        place.mkdir()
        out, words = place / "run", [*self.words, "--updates", "6"]
        if trial.kind == "resumed" and not self.half.exists():
            self._end_early(self.half)
        if trial.kind != "new":
            shutil.copytree(self.half if trial.kind == "resumed" else self.old, out)
        option = {"new": [], "resumed": ["--resume"], "overwriting": ["--overwrite"]}[trial.kind]
        code, ended = self.trainings.run([*words, *option], out, trial.end)
        outcome = Outcome(trial, code)
        told = self._go_on(out, words, outcome)
        faults = [] if told else ["neither --resume nor the plain command goes on"]
        if told and trial.kind == "overwriting" and same(out, self.old):  # it had not begun: once more
            code, told = self.trainings.run([*words, "--overwrite"], out)
            ended = Told()
        if told and (told.began is None or told.began < ended.saved):
            faults.append(f"{ended.saved} updates were saved, and it went on from {told.began}")
        if not same(out, self.whole):
            faults.append("it ends with other weights")
        if trial.kind == "overwriting" and not any(same(path, self.old) for path in out.glob("previous-*")):
            faults.append("the earlier run is lost")
        if leftovers := [path.name for path in out.glob(".*") if path.name != ".lock"]:
            faults.append(f"it leaves {leftovers}")
        outcome.faults = tuple(faults)
        if not faults:
            shutil.rmtree(place)
        return outcome

    def _end_early(self, out: Path) -> None:
        """A run whose third save was its last."""
        out.parent.mkdir()
        end = End("SIGKILL", 3, of="rename last .last.previous")
        code, _ = self.trainings.run([*self.words, "--updates", "6"], out, end)
        assert code == -signal.SIGKILL, (out.parent / "log.txt").read_text()

    def _go_on(self, out: Path, words: list[str], outcome: Outcome) -> Told | None:
        for name, option in (("--resume", ["--resume"]), ("the plain command", [])):
            code, told = self.trainings.run([words[0], *option] if option else words, out)
            if code == 0:
                outcome.went_on = name
                return told
        return None

    def _leave_alone(self, out: Path, *words: str, count_calls: bool = False) -> Told:
        out.parent.mkdir()
        code, told = self.trainings.run([*self.words, *words], out, count_calls=count_calls)
        assert code == 0, (out.parent / "log.txt").read_text()
        return told


def make_dataset(path: Path) -> None:
    """80 short motions of the test bed."""
    generator = torch.Generator().manual_seed(0)
    force = MAX_FORCE * (2.0 * torch.rand(80, 8, dtype=torch.double, generator=generator) - 1.0)
    states = simulate(torch.randn(80, 4, dtype=torch.double, generator=generator), force)
    with ShardWriter(path, SPEC, ShardMeta(task="testbed", seed=0)) as writer:
        writer.append(states.float().numpy(), force.float().unsqueeze(-1).numpy())


def same(first: Path, second: Path) -> bool:
    """Whether two runs hold the same to the last bit: models, optimiser, averages, positions in the data, scores."""
    for name in ("last", "best"):
        one, other = ((path / name) if (path / name).is_dir() else None for path in (first, second))
        if one is None or other is None:
            return False
        if not _equal(checkpoint.read(one).tensors, checkpoint.read(other).tensors):
            return False
    return _equal(*(_without_times(checkpoint.load_training_state(path / "last")) for path in (first, second)))


def _without_times(state: dict[str, Any]) -> dict[str, Any]:
    """A state of training without what a clock has said."""
    history = [{name: value for name, value in row.items() if name != "minutes"} for row in state["history"]]
    return {**state, "seconds": None, "history": history}


def _equal(one: Any, other: Any) -> bool:
    """Whether two trees of tensors and plain values are equal to the last bit."""
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(_equal(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(_equal, one, other))
    return bool(one == other)


def all_trials(told: Told) -> list[Trial]:
    """Every way to end a training, at moments that the seed decides.

    Args:
        told: What a training that is left alone does.
    """
    draw = random.Random(SEED)
    trials = [Trial("overwriting", End("SIGKILL", at)) for at in range(1, 29)]  # from the first change on: no gap
    for kind, how, count in (
        ("new", "SIGKILL", 24),
        ("resumed", "SIGKILL", 10),
        ("new", "full disk", 12),
        ("resumed", "full disk", 6),
        ("overwriting", "full disk", 12),
        ("overwriting", "SIGINT", 8),
    ):
        last = told.changes if kind == "new" else told.changes // 3
        trials += [Trial(kind, End(how, draw.randint(1, last))) for _ in range(count)]  # type: ignore[arg-type]
    for how, count in (("SIGKILL", 10), ("SIGTERM", 16), ("SIGINT", 16), ("SIGINT twice", 8)):
        trials += [Trial("new", End(how, draw.randint(1, told.calls), "calls")) for _ in range(count)]  # type: ignore[arg-type]
    return trials + [Trial("new", End("file limit", draw.randint(1, LARGEST))) for _ in range(12)]


def table(outcomes: Sequence[Outcome]) -> str:
    """Outcomes by what was ended and how, in Markdown."""
    moments = {"changes": "before a change of a file", "calls": "at a call of a function"}
    rows: dict[tuple[str, str, str], list[Outcome]] = {}
    for outcome in outcomes:
        end = outcome.trial.end
        when = "within a file" if end.how == "file limit" else moments[end.by]
        rows.setdefault((outcome.trial.kind, end.how, when), []).append(outcome)
    lines = [
        "| training | ended by | moment | trials | `--resume` | plain command | faults |",
        "|---|---|---|---|---|---|---|",
    ]
    for (kind, how, when), found in rows.items():
        by = [sum(each.went_on == name for each in found) for name in ("--resume", "the plain command")]
        lines.append(f"| {kind} | {how} | {when} | {len(found)} | {by[0]} | {by[1]} | {_faults(found)} |")
    by = [sum(each.went_on == name for each in outcomes) for name in ("--resume", "the plain command")]
    lines.append(f"| all | | | {len(outcomes)} | {by[0]} | {by[1]} | {_faults(outcomes)} |")
    return "\n".join(lines)


def _faults(outcomes: Iterable[Outcome]) -> int:
    return sum(bool(outcome.faults) for outcome in outcomes)


def main(page: Path) -> None:
    """Runs all trials and writes their table into a page."""
    with tempfile.TemporaryDirectory() as place, Trainings() as trainings:
        bench = Bench(Path(place), trainings)
        outcomes = []
        for trial in all_trials(bench.told):
            outcomes.append(bench.run(trial))
            print(outcomes[-1], flush=True)
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    host = f"Seed {SEED}, torch {torch.__version__}, Python {platform.python_version()}, {platform.system()}."
    page.write_text(f"{before}{BEGIN}\n{table(outcomes)}\n\n{host}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
