# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Write the tables of the NeRD paper beside what is measured here, from the files of the evidence.

    python benchmarks/paper_table.py                     # docs/evidence to docs/paper-tables.md
    python benchmarks/paper_table.py --evidence DIR --out FILE

Nothing is run: each number stands in a file that ``nerd evaluate --json`` or ``nerd transfer`` has written. What has no
file is listed as missing. A model's files are named after it: ``ant_passive.json``, ``ant_network_passive.json``,
``pendulum_ground_3.json``, ``ant_transfers.json``; those of another seed end with it: ``ant_passive_777.json``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import tyro
from paper_returns import motion_table, returns_table

from nerd_core.files.atomic import write_text
from nerd_isaaclab.robots.registry import find_robot

REPO = Path(__file__).resolve().parents[1]

MODELS = {"": "hybrid", "_network": "network"}
"""Kinds of models by what stands in the names of their files."""

ROBOTS = {"cartpole": "cartpole", "ant": "ant", "franka": "franka", "anymal": "anymal_c"}
"""Shipped models of robots with policies, and their records, which hold the published figures."""

GROUNDS = ("none", "#1", "#2", "#3", "#4", "#5", "#6")
"""Columns of the paper's table 3."""

TABLE_3 = {
    "joint/joint_0": (0.004, 0.012, 0.008, 0.005, 0.011, 0.029, 0.008),
    "joint/joint_1": (0.007, 0.015, 0.011, 0.011, 0.018, 0.056, 0.013),
}
"""The paper's table 3 [rad]: mean error of each joint over 100 passive steps."""

TABLE_3_STEPS = 100
"""Steps of that table."""

UNPUBLISHED = {
    "franka_driven_torque": "Franka, random torques",
    "franka_driven_position": "Franka, random position actions",
    "anymal_driven": "ANYmal C, random torques",
    "anymal_passive": "ANYmal C, no torques",
    "anymal_policy_controls": "ANYmal C, torques of a walking policy",
    "anymal_policy_actions": "ANYmal C, actions of a walking policy",
    "anymal_policy_nothing": "ANYmal C, a walking policy that acts in both",
    "cube_passive": "tossed cube",
}
"""Open-loop measurements of which the paper has none, by the names of their files."""

SEEDS = {"": "", "_777": ", other starts"}
"""What is said of the seed of the starts, by how the names of files end."""

FLOOR = "PhysX, start moved by 1e-6"
"""What no model can be asked to be nearer than."""

QUANTITIES = {
    "base_position_m": ("", "m"),
    "base_orientation_rad": ("", "rad"),
    "joint_rad": ("joints ", "rad"),
    "joint_m": ("slides ", "m"),
}
"""Errors: what stands before and behind them."""


@dataclass
class Evidence:
    """Reads the files, and remembers which were asked for and are not there."""

    folder: Path
    """Folder of the files."""
    missing: list[str] = field(default_factory=list)
    """Names of those that are not there."""

    def read(self, name: str, is_expected: bool = True) -> Any:
        """What a file holds; None if it is not there.

        Args:
            name: Its name without the ending.
            is_expected: Whether it is missed where it is not there.
        """
        path = self.folder / f"{name}.json"
        if path.is_file():
            return json.loads(path.read_text(encoding="utf-8"))
        if is_expected and name not in self.missing:
            self.missing.append(name)
        return None


def number(value: float | None) -> str:
    """An error with two digits, without a zero in front; ``-`` where there is none."""
    if value is None:
        return "-"
    if not math.isfinite(value):
        return "diverged"
    text = f"{value:.2g}" if value >= 1e-4 or value == 0.0 else f"{value:.0e}"
    return text[1:] if text.startswith("0.") else text


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows))


def policies(evidence: Evidence) -> tuple[str, str]:
    """Table 1 and table 4: what policies that were trained in the model alone reach in the model and in the solver; and
    what was asked of them, beside what they do.
    """
    published, files = {}, {}
    for model, record in ROBOTS.items():
        figures = find_robot(record).published
        found = {words: evidence.read(f"{model}{kind}_transfers") or [] for kind, words in MODELS.items()}
        for task, paper in (figures.returns if figures is not None else {}).items():
            published[task], files[task] = paper, found
    head, rows, said = returns_table(published, files)
    return table(head, rows) + "\n\n" + ("; ".join(said) or "Nothing measured") + ".", table(
        *motion_table(list(published), files)
    )


def grounds(evidence: Evidence) -> str:
    """Table 3: one model of the double pendulum over seven grounds."""
    rows = [["the paper", *(f"{number(one)} / {number(two)}" for one, two in zip(*TABLE_3.values(), strict=True))]]
    said = []
    for kind, words in MODELS.items():
        for end, starts in SEEDS.items():
            names = [f"pendulum{kind}_ground_{column}{end}" for column in range(len(GROUNDS))]
            found = [evidence.read(name, is_expected=not end) for name in names]
            errors = [None if each is None else joint_errors(each) for each in found]
            label = words + starts
            rows.append([label, *("-" if pair is None else " / ".join(map(number, pair)) for pair in errors)])
            better = sum(is_better(column, pair) for column, pair in enumerate(errors) if pair is not None)
            measured = sum(pair is not None for pair in errors)
            if measured:
                said.append(f"{label}: better in both joints on {better} of {measured} grounds")
    names = [f"chaos_floor_pendulum_ground_{column}" for column in range(len(GROUNDS))]
    floors = [evidence.read(name, is_expected=False) for name in names]
    moved = [each and each["errors"]["moved"][str(TABLE_3_STEPS)] for each in floors]
    rows.append([FLOOR, *("-" if not each else " / ".join(number(each[name]) for name in TABLE_3) for each in moved)])
    return table(["", *GROUNDS], rows) + "\n\n" + ("; ".join(said) or "Nothing measured") + "."


def joint_errors(evaluation: dict[str, Any]) -> list[float]:
    """Mean error of each joint over the steps of table 3 [rad].

    Raises:
        ValueError: The roll-outs are too short, or not passive.
    """
    curves = [evaluation["curves"][name][:TABLE_3_STEPS] for name in TABLE_3]
    if evaluation["protocol"] != "passive" or min(map(len, curves)) < TABLE_3_STEPS:
        raise ValueError(
            f"got {evaluation['protocol']} roll-outs of {min(map(len, curves))} steps of {evaluation['task']}, "
            f"expected passive ones of at least {TABLE_3_STEPS}"
        )
    return [fmean(curve) for curve in curves]


def is_better(column: int, errors: Sequence[float]) -> bool:
    """Whether both joints are nearer than in the paper."""
    return all(error < paper[column] for error, paper in zip(errors, TABLE_3.values(), strict=True))


def passive(evidence: Evidence) -> str:
    """Figure 3: passive errors of the Cartpole and the Ant."""
    rows = []
    for model in ("cartpole", "ant"):
        published = find_robot(ROBOTS[model]).published
        found = {kind: evidence.read(f"{model}{kind}_passive") for kind in MODELS}
        moved = moved_starts(evidence, model)
        for horizon, paper in (published.passive_errors if published is not None else {}).items():
            cells = [errors_of(paper)]
            for kind in MODELS:
                measured = found[kind] and found[kind]["horizons"].get(str(horizon))
                cells.append(errors_of(measured) if measured else "not measured")
            cells.append(errors_of(moved[str(horizon)]) if str(horizon) in moved else "-")
            rows.append([f"{model}, {horizon} steps", *cells])
    return table(["", "the paper", *MODELS.values(), FLOOR], rows)


def moved_starts(evidence: Evidence, model: str) -> Mapping[str, Mapping[str, float]]:
    """How far PhysX is from itself from starts that are moved, by horizon; nothing where it was not measured."""
    found = evidence.read(f"chaos_floor_{model}", is_expected=False)
    return found["errors"]["moved"] if found else {}


def unpublished(evidence: Evidence) -> str:
    """Open-loop errors of the robots for which the paper reports none."""
    rows = []
    for name, words in UNPUBLISHED.items():
        model, _, rest = name.partition("_")
        moved = moved_starts(evidence, model) if rest == "passive" else {}
        for end, starts in SEEDS.items():
            found = {kind: evidence.read(f"{model}{kind}_{rest}{end}", is_expected=not end) for kind in MODELS}
            horizons = sorted({int(horizon) for each in found.values() if each for horizon in each["horizons"]})
            for horizon in horizons or ([] if end else [0]):
                measured = [each and each["horizons"].get(str(horizon)) for each in found.values()]
                cells = [errors_of(each) if each else "not measured" for each in measured]
                cells.append(errors_of(moved[str(horizon)]) if str(horizon) in moved and not end else "-")
                rows.append([words + (f", {horizon} steps" if horizon else "") + starts, *cells])
    return table(["", *MODELS.values(), FLOOR], rows)


def errors_of(errors: Mapping[str, float | None]) -> str:
    """The errors of one horizon that there are, with their units."""
    there = [(errors[name], *words) for name, words in QUANTITIES.items() if errors.get(name) is not None]
    return ", ".join(f"{before}{number(value)} {unit}" for value, before, unit in there)


def page(folder: Path) -> str:
    """The whole page.

    Args:
        folder: Folder of the evidence.
    """
    evidence = Evidence(folder)
    returned, moved = policies(evidence)
    parts = [
        "<!-- Copyright (c) 2026, The nerd_isaaclab developers. SPDX-License-Identifier: BSD-3-Clause -->",
        "# The paper's tables, beside what is measured here",
        "Written by `python benchmarks/paper_table.py` from the files in `docs/evidence`; `nerd reproduce NAME` makes "
        "a model and its numbers again. The paper is NeRD, arXiv 2508.15755. Its teacher is another engine (Warp), its "
        "Ant has other masses and efforts, and its grounds give way where PhysX's do not: gaps can be compared, errors "
        "of open-loop motion and returns only roughly. *Hybrid*: mechanics with learned rules; of the Ant's nothing is "
        "learned. *Network*: motion in, motion out, nothing known of masses, which is the paper's kind.",
        "## Table 1 and table 4: policies that were trained in the model alone",
        "A return is the sum of an episode's rewards, which the mean action of a policy gets from the same starts in "
        "both modes; each seed is a training of its own. *Return in PhysX*: mean over the seeds ± their standard "
        "deviation, number of seeds in brackets. *Gap*: return in the model less that in PhysX, over the latter. *Of "
        "those trained in PhysX*: the mean return as a share of that of policies which were trained in PhysX, ± its "
        "standard error, which needs two seeds of each. A policy of the Franka's positions acts in every second step "
        "in the paper: its returns are halves of those here.",
        returned,
        "What was asked of the same policies, and what they do: means over an episode ± the standard deviation over "
        "the seeds, of those seeds that were judged by it. *At end* is the share of the episodes that last their full "
        "time and fulfil it throughout the last half second (a tenth of a second for reaching).",
        moved,
        "## Table 3: a double pendulum over seven grounds, one model",
        "Mean errors of joint 1 / joint 2 over 100 passive steps [rad]. The grounds are the tasks "
        "`NeRD-Double-Pendulum-Ground-0` to `-6`.",
        grounds(evidence),
        "## Figure 3: passive motion",
        "Mean errors over all steps up to the horizon and over the roll-outs: place and orientation of the base, and "
        "joints; of a Cartpole the place of the cart, which is a joint that slides.",
        passive(evidence),
        "## Open loop, of which nothing is published",
        unpublished(evidence),
        "## Missing",
        "Not measured yet: " + ", ".join(f"`{name}`" for name in evidence.missing) + "."
        if evidence.missing
        else "Nothing that these tables ask for.",
    ]
    return "\n\n".join(parts) + "\n"


@dataclass
class PaperTable:
    """Write the tables of the paper beside what is measured here."""

    evidence: Path = REPO / "docs" / "evidence"
    """Folder of the evidence."""
    out: Path = REPO / "docs" / "paper-tables.md"
    """Page to write."""


def main() -> None:
    """Writes the page."""
    args = tyro.cli(PaperTable, description=__doc__)
    write_text(args.out, page(args.evidence))
    print(f"written: {args.out}")


if __name__ == "__main__":
    main()
