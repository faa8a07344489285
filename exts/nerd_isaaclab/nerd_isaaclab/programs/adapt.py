# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd adapt``: follow what changes of robots while they run, and say what that is worth.

    nerd adapt task --task NeRD-Velocity-AnymalC --out runs/adapt
    nerd adapt task --task NeRD-Velocity-AnymalC --changes nothing payload --words payload --out runs/adapt
    nerd adapt data data/arm --model runs/arm/best --words payload motors --out runs/adapt

``task``: the solver moves the robots, a model is their shadow; at a moment that nobody announces a payload is put on,
the friction of a foot halves, a motor weakens. ``data``: the trajectories of a dataset. Errors are those of predictions
of a quarter of a second: as the specification says, as adapted, and as told the truth where it is known. ``--out`` gets
``adapt.json`` and ``adapt.png``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.table import Table

from nerd_core.adaptation.config import AdaptCfg
from nerd_core.cli.options import read_options
from nerd_core.cli.terminal import console
from nerd_core.files.atomic import write_json
from nerd_core.files.bounds import bounded, check_bounds
from nerd_core.files.outputs import require_folder

from ..evaluation.adaptation import TaskTrialCfg

if TYPE_CHECKING:
    from nerd_core.adaptation.trial import Motion
    from nerd_core.predictor.predictor import Predictor


@dataclass(frozen=True)
class AdaptOnTask:
    """Robots of a task that change while the solver moves them."""

    out: Path
    """Folder for the numbers and the picture."""
    cfg: Annotated[TaskTrialCfg, tyro.conf.arg(name="")]
    """Which task, and what changes."""


@dataclass(frozen=True)
class AdaptOnData:
    """Trajectories of a dataset, or the runs of a file of recordings."""

    data: tyro.conf.Positional[Path]
    """Folder of the dataset, or file of the recordings: these are brought to the steps of the model."""
    model: str
    """Directory of the model, or the name of a shipped one."""
    out: Path
    """Folder for the numbers and the picture."""
    trajectories: int = bounded(64, at_least=1, at_most=100_000)
    """How many of the longest trajectories are followed; all are cut to the shortest of them."""
    settings: Annotated[AdaptCfg, tyro.conf.arg(name="")] = field(default_factory=AdaptCfg)
    """What is followed, and how."""

    def __post_init__(self):
        check_bounds(self)


KINDS = {"task": AdaptOnTask, "data": AdaptOnData}
"""What the first word chooses."""


def main(argv: list[str]) -> int:
    """Follow what changes of robots while they run.

    Args:
        argv: Arguments, without the program's name.
    """
    if not argv or argv[0] not in KINDS:
        print(f"usage: nerd adapt [-h] {{{','.join(sorted(KINDS))}}} ...\n\n{__doc__}")
        if not argv or argv[0] in ("-h", "--help"):
            return 0 if argv else 2
        raise ValueError(f"got '{argv[0][:40]}', expected one of {', '.join(KINDS)}")
    args: Any = read_options(KINDS[argv[0]], argv[1:], f"nerd adapt {argv[0]}", __doc__)
    require_folder(args.out, "--out")
    found, trial, groups = _on_task(args) if argv[0] == "task" else _on_data(args)

    from nerd_core.adaptation.report import draw_trial, plain_report
    from nerd_core.files.provenance import describe_run

    report = {**plain_report(trial, groups), **found, **describe_run(seeds=found.get("seeds", {}))}
    args.out.mkdir(parents=True, exist_ok=True)
    write_json(args.out / "adapt.json", report)
    draw_trial(trial, groups, args.out / "adapt.png")
    _show(report)
    return 0


def _on_task(args: AdaptOnTask) -> tuple[dict[str, Any], Any, dict[str, slice]]:
    from ..evaluation.adaptation import run_trial

    _, trial, groups, recorded = run_trial(args.cfg)
    found = {
        "task": args.cfg.task,
        "cost_share": recorded.cost_share,
        "estimates_agree": recorded.estimates_agree,
        "seeds": {"actions": args.cfg.seed},
    }
    return found, trial, groups


def _on_data(args: AdaptOnData) -> tuple[dict[str, Any], Any, dict[str, slice]]:
    from nerd_core import checkpoint
    from nerd_core.adaptation.trial import try_adaptation
    from nerd_core.checkpoint_names import find_checkpoint

    model = checkpoint.load(find_checkpoint(args.model)).eval()
    motion = (_recorded if args.data.is_file() else _of_dataset)(args, model)
    return {"data": args.data.name}, try_adaptation(model, motion, args.settings), {"all": slice(None)}


def _of_dataset(args: AdaptOnData, model: Predictor) -> Motion:
    """The longest trajectories of a dataset, cut to the shortest of them."""
    import numpy as np

    from nerd_core.adaptation.trial import Motion
    from nerd_core.data.dataset import TrajectoryDataset
    from nerd_core.training.losses import ground_of

    data = TrajectoryDataset.open(args.data, spec=model.spec)
    longest = np.argsort(-np.asarray(data.length), kind="stable")[: args.trajectories]
    steps = int(np.asarray(data.length)[longest].min())
    batch = data.gather(longest, np.zeros(len(longest), dtype=int), steps)
    return Motion(batch.state, batch.control, ground_of(batch))


def _recorded(args: AdaptOnData, model: Predictor) -> Motion:
    """The longest runs of a file of recordings, cut to the shortest of them."""
    import torch

    from nerd_core.adaptation.trial import Motion
    from nerd_core.contact.grounds import PlaneGround
    from nerd_core.identification.motion_data import read_motion

    runs = sorted(read_motion([args.data], model.spec).runs, key=lambda run: -len(run.control))[: args.trajectories]
    steps = min(len(run.control) for run in runs)
    states = torch.stack([run.state[: steps + 1] for run in runs]).float()
    controls = torch.stack([run.control[:steps] for run in runs]).float()
    return Motion(states, controls, PlaneGround.flat() if model.needs_contacts else None)


def _show(report: dict[str, Any]) -> None:
    """Prints a table, a row for each group and quantity."""
    table = Table("group", "error", "specification", "adapted", "told", "met after [s]", "worse")
    for group, of_group in report["groups"].items():
        for quantity, rows in of_group["errors"].items():
            last, met = rows["last_second"], rows["seconds_until_met"]
            cells = [f"{last[model]:.3g}" if model in last else "-" for model in ("specification", "adapted", "told")]
            seconds = "-" if met is None else f"{met:.2f}"
            table.add_row(group, quantity, *cells, seconds, f"{100 * rows['share_of_moments_worse']:.0f} %")
    console().print(table)
    if report.get("cost_share") is not None:
        print(f"adaptation adds {100 * report['cost_share']:.0f} % to a step of the environment")
