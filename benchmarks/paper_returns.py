# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Table 1 of ``paper_table.py``: what policies reach, and what they do, from the files ``*_transfers.json``.

Each file is a list of policies: the task, the mode that it was trained in, the seed, and its mean return and scores in
PhysX and in the model. What is told of several seeds is their mean and their standard deviation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

AS_FAST = "as fast as it can"
ALL = "1"

ASKED: dict[str, dict[str, str]] = {
    "NeRD-Cartpole": {"pole_angle": "0", "upright_at_end": ALL},
    "NeRD-Ant-Run": {"forward_speed": AS_FAST, "standing_at_end": ALL},
    "NeRD-Ant-Spin": {"spin_rate": AS_FAST, "standing_at_end": ALL},
    "NeRD-Ant-Spin-Track": {"spin_rate": "5", "standing_at_end": ALL},
    "NeRD-Franka-Reach-Position": {"distance": "0", "reached_at_end": ALL},
    "NeRD-Franka-Reach-Torque": {"distance": "0", "reached_at_end": ALL},
    "NeRD-AnymalC-Forward": {"forward_speed": "1", "sideways_speed": "0", "turning_rate": "0", "standing_at_end": ALL},
    "NeRD-AnymalC-Sideways": {"forward_speed": "0", "sideways_speed": "1", "turning_rate": "0", "standing_at_end": ALL},
}
"""What each task asks for, by the names of its scores."""

UNITS = {
    "pole_angle": "rad",
    "forward_speed": "m/s",
    "sideways_speed": "m/s",
    "spin_rate": "rad/s",
    "turning_rate": "rad/s",
    "distance": "m",
}
"""Units of these scores; the others are shares of the episodes."""

ENOUGH = 0.97
"""Share of the return of policies that were trained in PhysX from which a policy of the model counts as good."""


@dataclass(frozen=True)
class Seeds:
    """A number that each of several trainings has given."""

    mean: float
    """Their mean."""
    spread: float | None
    """Their standard deviation; None for a single one."""
    count: int
    """How many."""

    @property
    def standard_error(self) -> float | None:
        """Standard error of the mean; None for a single one."""
        return None if self.spread is None else self.spread / math.sqrt(self.count)

    def __str__(self) -> str:
        """Mean, spread and number of seeds."""
        spread = "" if self.spread is None else f" ± {self.spread:{'.0f' if self.spread >= 10.0 else '.2g'}}"
        return f"{self.mean:.4g}{spread} ({self.count})"


def seeds_of(values: Sequence[float]) -> Seeds | None:
    """Mean and spread of what each seed gave; None for none."""
    if not values:
        return None
    return Seeds(fmean(values), stdev(values) if len(values) > 1 else None, len(values))


def trained_in(transfer: Mapping[str, Any]) -> str:
    """The mode that a policy was trained in."""
    return transfer.get("trained_in", "neural")


def chosen(transfers: Sequence[dict[str, Any]], task: str, mode: str) -> list[dict[str, Any]]:
    """The policies of a task that were trained in a mode, one for each seed.

    Raises:
        ValueError: A seed is there twice.
    """
    found = [each for each in transfers if each.get("task") == task and trained_in(each) == mode]
    seeds = [each["seed"] for each in found]
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"got the seeds {seeds} of {task}, trained in {mode}, expected each once")
    return found


def trained_in_solver(transfers: Mapping[str, Sequence[dict[str, Any]]], task: str) -> list[dict[str, Any]]:
    """The policies of a task that were trained in PhysX, one for each seed: they stand in the files of either model,
    or of both.

    Args:
        transfers: Policies by the kind of the model whose file they stand in.
        task: The task.
    """
    by_seed: dict[int, dict[str, Any]] = {}
    for policies in transfers.values():
        for each in chosen(policies, task, "physx"):
            by_seed.setdefault(each["seed"], each)
    return list(by_seed.values())


def returns_in_solver(policies: Sequence[dict[str, Any]]) -> Seeds | None:
    """Mean return of each policy in PhysX, over the seeds."""
    return seeds_of([each["return_physx"]["mean"] for each in policies])


def share_of(ours: Seeds | None, theirs: Seeds | None) -> tuple[float, float | None] | None:
    """A mean as a share of another one, with its standard error; None where that says nothing.

    Args:
        ours: What is compared.
        theirs: What it is compared with.
    """
    if ours is None or theirs is None or theirs.mean <= 0.0:
        return None
    share = ours.mean / theirs.mean
    if ours.standard_error is None or theirs.standard_error is None:
        return share, None
    return share, math.hypot(ours.standard_error, share * theirs.standard_error) / theirs.mean


def score_over_seeds(policies: Sequence[dict[str, Any]], mode: str, name: str) -> Seeds | None:
    """A score of policies in a mode, over the seeds that were judged by it.

    Args:
        policies: The policies.
        mode: The mode that they are played in.
        name: The score.
    """
    scores = [each.get(f"scores_{mode}", {}).get(name) for each in policies]
    return seeds_of([score["mean"] for score in scores if score is not None])


def returns_table(
    published: Mapping[str, Mapping[str, float]], files: Mapping[str, Mapping[str, list[dict[str, Any]]]]
) -> tuple[list[str], list[list[str]], list[str]]:
    """Head and rows of the table of returns, and what follows from it.

    Args:
        published: Return in the solver (``physics``) and gap of the paper, by task.
        files: For each task, the policies in the files of each kind of model.
    """
    kinds = list(dict.fromkeys(kind for each in files.values() for kind in each))
    head = ["task", "the paper: return", "gap", "trained in PhysX: return there"]
    for kind in kinds:
        head += [f"{kind}: return in PhysX", "of those trained in PhysX", "gap of each seed"]
    rows, judged = [], {kind: _Judged() for kind in kinds}
    for task, paper in published.items():
        theirs = returns_in_solver(trained_in_solver(files[task], task))
        row = [f"`{task}`", f"{paper['physics']:g}", percent(paper["gap"]), words(theirs)]
        for kind in kinds:
            policies = chosen(files[task][kind], task, "neural")
            ours, gaps = returns_in_solver(policies), [each["reward_gap"] for each in policies]
            share = share_of(ours, theirs)
            judged[kind].note(gaps, abs(paper["gap"]), share)
            row += [words(ours), share_words(share), ", ".join(map(percent, gaps)) or "-"]
        rows.append(row)
    return head, rows, [f"{kind}: {each.words()}" for kind, each in judged.items() if each.tasks]


@dataclass
class _Judged:
    """Counts of the tasks on which a kind of model is as good as asked."""

    tasks: int = 0
    near: int = 0
    compared: int = 0
    good: int = 0

    def note(self, gaps: Sequence[float], allowed: float, share: tuple[float, float | None] | None) -> None:
        """Takes a task in."""
        self.tasks += bool(gaps)
        self.near += bool(gaps) and max(map(abs, gaps)) <= allowed
        self.compared += share is not None
        self.good += share is not None and share[0] >= ENOUGH

    def words(self) -> str:
        """What is said of them."""
        said = f"no seed has a larger gap than the paper on {self.near} of {self.tasks} tasks"
        if self.compared:
            said += f", at least {ENOUGH:.0%} of the return of those trained in PhysX on {self.good} of {self.compared}"
        return said


def motion_table(
    tasks: Sequence[str], files: Mapping[str, Mapping[str, list[dict[str, Any]]]]
) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table of what was asked and what policies do.

    Args:
        tasks: The tasks.
        files: For each task, the policies in the files of each kind of model.
    """
    kinds = list(dict.fromkeys(kind for each in files.values() for kind in each))
    head = ["task", "score", "asked", "trained in PhysX: there"]
    for kind in kinds:
        head += [f"{kind}: in PhysX", "in the model"]
    rows = []
    for task in tasks:
        solver = trained_in_solver(files[task], task)
        for name, asked in ASKED.get(task, {}).items():
            cells = [words(score_over_seeds(solver, "physx", name), short)]
            for kind in kinds:
                policies = chosen(files[task][kind], task, "neural")
                cells += [words(score_over_seeds(policies, mode, name), short) for mode in ("physx", "neural")]
            unit = f" [{UNITS[name]}]" if name in UNITS else ", share"
            rows.append([f"`{task}`", name.replace("_", " ") + unit, asked, *cells])
    return head, rows


def percent(share: float) -> str:
    """A share in percent, with its sign."""
    return f"{100.0 * share + 0.0:+.2f} %"


def share_words(share: tuple[float, float | None] | None) -> str:
    """A share in percent, with its standard error."""
    if share is None:
        return "-"
    error = "" if share[1] is None else f" ± {100.0 * share[1]:.1f}"
    return f"{100.0 * share[0]:.1f}{error} %"


def short(seeds: Seeds) -> str:
    """Mean and spread of a score."""
    spread = "" if seeds.spread is None else f" ± {seeds.spread:.2g}"
    return f"{seeds.mean:.3g}{spread}"


def words(seeds: Seeds | None, of: Callable[[Seeds], str] = str) -> str:
    """What is said of several seeds, or of none."""
    return "not measured" if seeds is None else of(seeds)


__all__ = ["ASKED", "Seeds", "motion_table", "percent", "returns_table", "score_over_seeds", "seeds_of", "share_of"]
