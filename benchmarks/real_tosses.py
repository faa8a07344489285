# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How well models of a tossed body become with how many tosses, and what each part of a model is worth.

Runs the project's own commands: import, train, evaluate on the validation split. What is done stays done: the same
command goes on where it stopped, smallest first. ``cube.h5`` stands for ``contactnets_cube_trainval.h5``::

    python benchmarks/real_tosses.py cube.h5 --work runs/tosses --json docs/evidence/real_tosses.json
    python benchmarks/real_tosses.py cube.h5 --work runs/tosses --variants identified --tosses 40
    python benchmarks/real_tosses.py cube.h5 --work runs/tosses --plot docs/images/tosses.png

Variants: ``identified``, a dozen numbers of mechanics; ``rules``, with learned rules of contact; ``residual``, rules
and then a network behind them; ``fine-tuned``, a network that learned a simulated cube with the nominal numbers before;
``network``, a network from scratch. The simulated cube is moved by the project's mechanics, not by PhysX.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, override

import torch
import tyro
from rich.console import Console
from rich.table import Table
from torch import Tensor

from nerd_core.contact.contacts import Contacts
from nerd_core.contact.grounds import PlaneGround
from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.data.layout import ShardMeta
from nerd_core.data.shards import ShardWriter
from nerd_core.files.figures import log_scale, new_figure, save_figure
from nerd_core.files.provenance import describe_run, file_digest
from nerd_core.judging.config import JudgeCfg
from nerd_core.judging.judge import judge as judge_model
from nerd_core.predictor.calibrated_mechanics import CalibratedMechanicsCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.predictor.prior import Prior
from nerd_core.recordings.reading import read_recordings
from nerd_core.robot.frames import quat_from_rotvec, quat_mul
from nerd_core.training.metrics import predict

JUDGES = {"windows": ("--protocol", "windows", "--window", "80"), "flights": ("--protocol", "flights")}
"""Words for ``nerd evaluate`` by protocol."""

KEPT = ("position_m", "rotation_rad", "position_share_of_width", "joint_rmse_rad")
"""Errors that are kept."""

BARS = (0.0155, 0.22)
"""What has to be reached over windows of the cube [m, rad]."""

SIMULATED = 400
"""Tosses of the simulated cube."""

NETWORK = ("--network", "residual", "--network.width", "64", "--network.hidden", "96", "--network.kinks", "32")
"""The network of the variants that have one."""

ONE_STEP = ("--token.contact-motion", "--batch-size", "1024", "--validation-steps", "0", "--regime-power", "1.0")
"""How a network learns single steps."""

POSES = (
    *("--rollout.errors", "pose", "--rollout.weight", "0.9", "--rollout.start", "0.3", "--rollout.steps", "20"),
    *("--rollout.batch-size", "128", "--max-grad-norm", "1.0", "--optimiser.kind", "adamw", "--optimiser.lr", "1e-3"),
)
"""How a network then learns to stay near the poses."""


@dataclass
class RealTosses:
    """Train by number of tosses and judge."""

    recordings: tyro.conf.Positional[Path]
    """File of the recordings."""
    work: Path = Path("runs/real-tosses")
    """Folder for data, runs and results."""
    tosses: tuple[int, ...] = (4, 40, 400)
    """Numbers of tosses to learn from."""
    variants: tuple[str, ...] = ("identified", "network", "fine-tuned", "rules", "residual")
    """What to train."""
    updates: int = 120
    """Updates of the roll-out trainings."""
    network_updates: int = 1500
    """Updates of the trainings of networks."""
    json: Path | None = None
    """File for all numbers."""
    plot: Path | None = None
    """Picture of the errors by number of tosses."""


def main(args: RealTosses) -> None:
    """Runs what is not done, and writes what there is.

    Args:
        args: What to do.
    """
    args.work.mkdir(parents=True, exist_ok=True)
    held_out = data_of(args, None)
    for count in sorted(args.tosses):
        for name in args.variants:
            place = args.work / f"{name}-{count}"
            if not (place / "result.json").is_file():
                model = VARIANTS[name](args, data_of(args, count), held_out, place)
                judge(args, model, place / "result.json")
    still = args.work / "constant-velocity-0" / "result.json"
    if not still.is_file():
        judge_baseline(args, held_out, still)
    rows = gathered(args.work)
    show(rows)
    if args.json is not None:
        made_by = describe_run(data={args.recordings.name: file_digest(args.recordings)})
        args.json.write_text(json.dumps({"results": rows, "made_by": made_by}, indent=1) + "\n", encoding="utf-8")
    if args.plot is not None:
        draw(rows, args.plot)


def nerd(*words: object) -> None:
    """Runs ``nerd`` in a process of its own."""
    subprocess.run([sys.executable, "-m", "nerd_core", *map(str, words)], check=True)


def data_of(args: RealTosses, count: int | None) -> Path:
    """Folder of the first so many tosses of the training split; of the validation split for None."""
    place = args.work / ("held-out" if count is None else f"data-{count}")
    if not place.is_dir():
        of_split = ("--split", "val") if count is None else ("--split", "train", "--count", count)
        nerd("data", "import", args.recordings, *of_split, "--out", place)
    return place


def identified(args: RealTosses, data: Path, held_out: Path, place: Path, *more: str) -> Path:
    """Mechanics of which a dozen numbers are learned."""
    words = ("--preset", "measured", "--updates", args.updates, *more)
    nerd("train", data, "--valid", held_out, *words, "--out", place / "run", "--overwrite")
    return place / "run" / "best"


def rules(args: RealTosses, data: Path, held_out: Path, place: Path) -> Path:
    """The same with learned rules of contact."""
    return identified(args, data, held_out, place, "--prior.hidden", "16", "--optimiser.lr", "1e-2")


def residual(args: RealTosses, data: Path, held_out: Path, place: Path) -> Path:
    """Rules, and then a network behind them."""
    first = place / "rules"
    words = ("--preset", "measured", "--prior.hidden", "16", *NETWORK, "--token.contact-motion")
    parts = ("--updates", args.updates, "--optimiser.lr", "1e-2", "--train-parts", "prior")
    nerd("train", data, "--valid", held_out, *words, *parts, "--out", first, "--overwrite")
    learn = ("--train-parts", "network", "--updates", args.updates, "--optimiser.lr", "1e-3")
    nerd(*("train", data, "--valid", held_out, "--start", first / "best", *learn, *POSES[:2]), "--out", place / "run")
    return place / "run" / "best"


def network(args: RealTosses, data: Path, held_out: Path, place: Path, *start: str) -> Path:
    """A network that knows nothing: single steps, then roll-outs."""
    model = start or ("--preset", "residual", *NETWORK[2:])
    learn = (*ONE_STEP, *POSES, "--updates", args.network_updates, "--validation-horizons", "20", "80")
    words = learn[1:] if start else learn
    nerd("train", data, "--valid", held_out, *model, *words, "--out", place / "run", "--overwrite")
    return place / "run" / "best"


def fine_tuned(args: RealTosses, data: Path, held_out: Path, place: Path) -> Path:
    """A network that learned a simulated cube before, which is replayed while it learns the real one."""
    simulated, before = args.work / "simulated", args.work / "simulated-run"
    if not simulated.is_dir():
        simulate(held_out, simulated)
    if not (before / "best").is_dir():
        words = ("--preset", "residual", *NETWORK[2:], *ONE_STEP, "--updates", 2 * args.network_updates)
        nerd("train", simulated, *words, "--validation-horizons", "20", "80", "--out", before, "--overwrite")
    replay = ("--replay-data", str(simulated), "--replay", "0.2")
    return network(args, data, held_out, place, "--start", str(before / "best"), *replay)


VARIANTS: dict[str, Callable[..., Path]] = {
    "identified": identified,
    "rules": rules,
    "residual": residual,
    "network": network,
    "fine-tuned": fine_tuned,
}
"""How each variant is trained: its model from settings, data, held-out data and a folder."""


def simulate(like: Path, place: Path) -> None:
    """Tosses of a simulated cube with the nominal numbers, from the first states of measured ones with noise.

    Args:
        like: Measured tosses, for the robot and the first states.
        place: Folder for the dataset.
    """
    data = TrajectoryDataset.open(like)
    model = Predictor(data.spec, PredictorCfg(network=None, prior=CalibratedMechanicsCfg(hidden=0, reach=0.05)))
    which = torch.arange(SIMULATED) % len(data)
    state = data.gather(which.numpy(), 0 * which.numpy(), 1).state[:, 0]
    noise = torch.Generator().manual_seed(0)
    state[:, data.spec.state.root_lin_vel] += 0.3 * torch.randn(SIMULATED, 3, generator=noise)
    state[:, data.spec.state.root_ang_vel] += 2.0 * torch.randn(SIMULATED, 3, generator=noise)
    controls = torch.zeros(SIMULATED, 100, data.spec.control_dim)
    states = predict(model, state, controls, PlaneGround.flat(0.0))
    ground = torch.tensor([0.0, 0.0, 1.0, 0.0]).expand(SIMULATED, 4)
    with ShardWriter(place, data.spec, ShardMeta(teacher="mechanics")) as writer:
        writer.append(states, controls, ground=ground)


def judge(args: RealTosses, model: Path, out: Path) -> None:
    """Errors of a model on the validation split, by protocol."""
    found: dict[str, Any] = {}
    for name, words in JUDGES.items():
        place = out.with_name(f"{name}.json")
        nerd("evaluate", "--model", model, "--data", args.recordings, *words, "--split", "val", "--json", place)
        judged = json.loads(place.read_text(encoding="utf-8"))
        found[name] = {key: judged[key] for key in KEPT if judged.get(key) is not None}
    out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


class ConstantVelocity(Prior):
    """Predicts that a body goes on as it moves: the least that a model has to beat."""

    def __init__(self, predictor: Predictor):
        """Takes robot and codec of a predictor.

        Args:
            predictor: The predictor whose prior it becomes.
        """
        super().__init__()
        self.spec, self.codec = predictor.spec, predictor.codec

    @override
    def forward(self, state: Tensor, control: Tensor, contacts: Contacts | None = None, *_: object) -> Tensor:
        at, dt = self.spec.state, self.spec.control_dt
        parts = [
            state[..., at.root_pos] + dt * state[..., at.root_lin_vel],
            quat_mul(quat_from_rotvec(dt * state[..., at.root_ang_vel]), state[..., at.root_quat]),
            state[..., at.joint_pos] + dt * state[..., at.joint_vel],
        ]
        return self.codec.encode(state, torch.cat((*parts, state[..., at.root_lin_vel.start :]), dim=-1))


def judge_baseline(args: RealTosses, held_out: Path, out: Path) -> None:
    """Errors of constant velocity, kept as a variant of no tosses."""
    spec = TrajectoryDataset.open(held_out).spec
    model = Predictor(spec, PredictorCfg(network=None, prior=CalibratedMechanicsCfg(hidden=0)))
    model.prior = ConstantVelocity(model)
    model.change_normaliser.mean.zero_()
    recordings, found = read_recordings(args.recordings), {}
    for name in JUDGES:
        window = 80 if name == "windows" else None
        judged = judge_model(model, recordings, JudgeCfg(split="val", window=window), name).plain()  # type: ignore[arg-type]
        found[name] = {key: judged[key] for key in KEPT if judged.get(key) is not None}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def gathered(work: Path) -> list[dict[str, Any]]:
    """All results that there are, by variant and number of tosses."""
    rows = []
    for place in sorted(work.glob("*/result.json")):
        name, _, count = place.parent.name.rpartition("-")
        rows.append({"variant": name, "tosses": int(count), **json.loads(place.read_text(encoding="utf-8"))})
    return sorted(rows, key=lambda row: (row["variant"], row["tosses"]))


def show(rows: list[dict[str, Any]]) -> None:
    """Prints a table."""
    table = Table("model", "tosses", "80 steps [m]", "[rad]", "flights [% of width]", "[degrees]")
    for row in rows:
        windows, flights = row["windows"], row["flights"]
        table.add_row(
            row["variant"],
            str(row["tosses"]),
            f"{windows['position_m']:.4f}",
            f"{windows['rotation_rad']:.3f}",
            f"{100 * flights['position_share_of_width']:.1f}",
            f"{math.degrees(flights['rotation_rad']):.1f}",
        )
    Console(width=120).print(table)


def draw(rows: list[dict[str, Any]], out: Path) -> None:
    """Draws the errors of windows by number of tosses; a line is what has to be reached."""
    with new_figure(8.0, 3.2, columns=2) as (figure, panels):
        for axis, name, unit, bar in zip(panels, KEPT[:2], ("position [m]", "rotation [rad]"), BARS, strict=True):
            for variant in sorted({row["variant"] for row in rows}):
                points = [(row["tosses"], row["windows"][name]) for row in rows if row["variant"] == variant]
                axis.plot(*zip(*points, strict=True), "o-", label=variant)
            axis.axhline(bar, color="gray", lw=0.8)
            log_scale(axis, "x", "y")
            axis.set_xlabel("tosses")
            axis.set_ylabel(f"{unit}, 80 steps")
        panels[0].legend()
        save_figure(figure, out)


if __name__ == "__main__":
    main(tyro.cli(RealTosses))
