# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How well models of a tossed body become with how many tosses, and what each part of a model is worth.

Runs the project's own commands: import, train, evaluate on the validation split. What is done stays done: the same
command goes on where it stopped, smallest first. ``cube.h5`` stands for ``contactnets_cube_trainval.h5``::

    python benchmarks/real_tosses.py cube.h5 --work runs/tosses --json docs/evidence/real_tosses.json
    python benchmarks/real_tosses.py cube.h5 --work runs/tosses --variants identified --tosses 40
    python benchmarks/real_tosses.py cube.h5 --work runs/tosses --plot docs/images/tosses.png

Variants: ``identified``, a dozen numbers of mechanics; ``rules``, with learned rules of contact; ``residual``, rules
and then a network behind them; ``fine-tuned``, the shipped ``cube-network``, which learned the cube of PhysX with other
friction, and replays simulated tosses while it learns; ``forgetful``, the same without them, for what replay is worth
(``--variants``); ``network``, the same network from scratch. Trainings take about as long as each other; their updates
and what they took of the processor stand beside the errors. The best of a training is the one of its validations, on
the split that is judged here: a choice among few, the same for all. Models of the simulated cube are judged on held-out
simulated tosses, too.
"""

from __future__ import annotations

import json
import math
import resource
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

from nerd_core import checkpoint
from nerd_core.checkpoint_names import find_checkpoint
from nerd_core.contact.contacts import Contacts
from nerd_core.contact.grounds import PlaneGround
from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.data.layout import ShardMeta
from nerd_core.data.manifest import write_manifest
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
from nerd_core.training.metrics import open_loop, predict

JUDGES = {"windows": ("--protocol", "windows", "--window", "80"), "flights": ("--protocol", "flights")}
"""Words for ``nerd evaluate`` by protocol."""

KEPT = ("position_m", "rotation_rad", "position_share_of_width", "joint_rmse_rad")
"""Errors that are kept."""

BARS = (0.0155, 0.22)
"""What has to be reached over windows of the cube [m, rad]."""

SIMULATED = 400
"""Tosses of the simulated cube."""

SIZE = ("--network.width", "80", "--network.hidden", "112", "--network.kinks", "80", "--network.layers", "3")
"""Size of the network from scratch: that of ``cube-network``."""

SEES = ("--token.contact-motion", "--token.contact-fine", "--token.symmetric", "--token.told-view")
"""What it sees: the same."""

BEHIND_RULES = ("--network", "residual", "--network.width", "64", "--network.hidden", "96", "--network.kinks", "32")
"""The network behind learned rules."""

ROLLOUTS = ("--rollout.errors", "pose", "--rollout.steps", "20", "--rollout.batch-size", "128")
"""Roll-outs whose poses networks learn to stay near."""

LEARN = (
    *("--rollout.weight", "0.9", "--rollout.first-steps", "15", "--batch-size", "1024", "--regime-power", "1.0"),
    *("--max-grad-norm", "1.0", "--optimiser.kind", "adamw", "--optimiser.lr", "1e-3"),
    *("--validations", "4", "--validation-steps", "0", "--validation-horizons", "20", "80"),
)
"""How networks learn."""


@dataclass
class RealTosses:
    """Train by number of tosses and judge."""

    recordings: tyro.conf.Positional[Path]
    """File of the recordings."""
    work: Path = Path("runs/real-tosses")
    """Folder for data, runs and results."""
    tosses: tuple[int, ...] = (4, 40, 400)
    """Numbers of tosses to learn from."""
    variants: tuple[str, ...] = ("fine-tuned", "network", "identified", "rules", "residual")
    """What to train."""
    updates: int = 40
    """Updates of mechanics; a network behind them has as many again."""
    network_updates: int = 240
    """Updates of networks."""
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
                data, held = (data_of(args, number, name in KNOWS_SIMULATED) for number in (count, None))
                before = processor_seconds()
                model = VARIANTS[name](args, data, held, place)
                budget = {"updates": updates_of(args, name), "processor_s": round(processor_seconds() - before, 1)}
                judge(args, model, place / "result.json", budget)
    still, shipped = (args.work / f"{name}-0" / "result.json" for name in ("constant-velocity", "cube-network"))
    if not still.is_file():
        judge_baseline(args, held_out, still)
    if not shipped.is_file() and KNOWS_SIMULATED.intersection(args.variants):
        shipped.parent.mkdir(exist_ok=True)
        judge(args, find_checkpoint("cube-network"), shipped, {"updates": 0, "processor_s": 0.0})
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


def processor_seconds() -> float:
    """What the commands so far took of the processor [s]."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def updates_of(args: RealTosses, variant: str) -> int:
    """Updates of a training, both parts together."""
    if variant == "network" or variant in KNOWS_SIMULATED:
        return args.network_updates
    return args.updates * (2 if variant == "residual" else 1)


def data_of(args: RealTosses, count: int | None, simulated: bool = False) -> Path:
    """Folder of the first so many tosses of the training split; of the validation split for None.

    Args:
        args: What to do.
        count: How many.
        simulated: Whether for a model of the simulated cube, whose masses and physics steps are other ones.
    """
    name = "held-out" if count is None else f"data-{count}"
    place = args.work / (f"{name}-simulated" if simulated else name)
    if not place.is_dir():
        words = ["--split", "val"] if count is None else ["--split", "train", "--count", count]
        words += ["--robot", find_checkpoint("cube-network") / "spec.json"] if simulated else []
        nerd("data", "import", args.recordings, *words, "--out", place)
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
    words = ("--preset", "measured", "--prior.hidden", "16", *BEHIND_RULES, "--token.contact-motion")
    parts = ("--updates", args.updates, "--optimiser.lr", "1e-2", "--train-parts", "prior")
    nerd("train", data, "--valid", held_out, *words, *parts, "--out", first, "--overwrite")
    learn = ("--train-parts", "network", "--updates", args.updates, *ROLLOUTS, *LEARN)
    nerd("train", data, "--valid", held_out, "--start", first / "best", *learn, "--out", place / "run", "--overwrite")
    return place / "run" / "best"


def network(args: RealTosses, data: Path, held_out: Path, place: Path) -> Path:
    """A network that knows nothing: single steps, then roll-outs."""
    words = ("--preset", "residual", *SIZE, *SEES, *ROLLOUTS, "--rollout.start", "0.3", *LEARN)
    budget = ("--updates", args.network_updates)
    nerd("train", data, "--valid", held_out, *words, *budget, "--out", place / "run", "--overwrite")
    return place / "run" / "best"


def fine_tuned(args: RealTosses, data: Path, held_out: Path, place: Path) -> Path:
    """The shipped network of the simulated cube, of whose tosses some are replayed while it learns the real one."""
    return forgetful(args, data, held_out, place, "--replay-data", simulated(args, 0), "--replay", "0.5")


def forgetful(args: RealTosses, data: Path, held_out: Path, place: Path, *replay: object) -> Path:
    """The shipped network of the simulated cube, which learns the real one."""
    words = ("--start", find_checkpoint("cube-network"), *ROLLOUTS, "--rollout.start", "0", *LEARN)
    budget = ("--updates", args.network_updates)
    nerd("train", data, "--valid", held_out, *words, *replay, *budget, "--out", place / "run", "--overwrite")
    return place / "run" / "best"


VARIANTS: dict[str, Callable[..., Path]] = {
    "identified": identified,
    "rules": rules,
    "residual": residual,
    "network": network,
    "fine-tuned": fine_tuned,
    "forgetful": forgetful,
}
"""How each variant is trained: its model from settings, data, held-out data and a folder."""


KNOWS_SIMULATED = frozenset({"fine-tuned", "forgetful"})
"""Variants that begin with the model of the simulated cube."""


def simulated(args: RealTosses, seed: int) -> Path:
    """Folder of tosses of the simulated cube: of seed 0 to be replayed, of seed 1 to see what was kept."""
    place = args.work / f"simulated-{seed}"
    if not place.is_dir():
        simulate(data_of(args, None, simulated=True), place, seed)
    return place


def simulate(like: Path, place: Path, seed: int) -> None:
    """Tosses of the simulated cube, from the first states of measured ones with noise, moved by the shipped mechanics
    of PhysX's cube, which stay within a third of a millimetre of it.

    Args:
        like: Measured tosses, for the first states.
        place: Folder for the dataset.
        seed: Of the noise.
    """
    data, model = TrajectoryDataset.open(like), checkpoint.load(find_checkpoint("cube"))
    which = torch.arange(SIMULATED) % len(data)
    state = data.gather(which.numpy(), 0 * which.numpy(), 1).state[:, 0]
    noise = torch.Generator().manual_seed(seed)
    state[:, data.spec.state.root_lin_vel] += 0.3 * torch.randn(SIMULATED, 3, generator=noise)
    state[:, data.spec.state.root_ang_vel] += 2.0 * torch.randn(SIMULATED, 3, generator=noise)
    controls = torch.zeros(SIMULATED, 100, data.spec.control_dim)
    states = predict(model, state, controls, PlaneGround.flat(0.0))
    ground = torch.tensor([0.0, 0.0, 1.0, 0.0]).expand(SIMULATED, 4)
    with ShardWriter(place, data.spec, ShardMeta(teacher="mechanics")) as writer:
        writer.append(states, controls, ground=ground)
    write_manifest(place)


def judge(args: RealTosses, model: Path, out: Path, budget: dict[str, Any]) -> None:
    """Errors of a model on the validation split, by protocol, and what its training took."""
    found: dict[str, Any] = {"budget": budget}
    for name, words in JUDGES.items():
        place = out.with_name(f"{name}.json")
        nerd("evaluate", "--model", model, "--data", args.recordings, *words, "--split", "val", "--json", place)
        judged = json.loads(place.read_text(encoding="utf-8"))
        found[name] = {key: judged[key] for key in KEPT if judged.get(key) is not None}
    predictor = checkpoint.load(model)
    if predictor.spec == checkpoint.read(find_checkpoint("cube-network")).spec:
        found["simulated"] = open_loop(predictor, TrajectoryDataset.open(simulated(args, 1)), 80).at(80)
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
    table = Table("model", "tosses", "80 steps [m]", "[rad]", "flights [% of width]", "[degrees]", "processor [s]")
    for row in rows:
        windows, flights = row["windows"], row["flights"]
        table.add_row(
            row["variant"],
            str(row["tosses"]),
            f"{windows['position_m']:.4f}",
            f"{windows['rotation_rad']:.3f}",
            f"{100 * flights['position_share_of_width']:.1f}",
            f"{math.degrees(flights['rotation_rad']):.1f}",
            f"{row.get('budget', {}).get('processor_s', 0):.0f}",
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
