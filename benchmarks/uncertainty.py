# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Does what a network says of its own uncertainty tell where it will fail? Beside detectors that cost nothing.

    python benchmarks/uncertainty.py --train DATA --judge held-out=DATA2 visited=RUN/takeover-1/data --json FILE

Trains an ensemble, and a single network with a variance head, for the same updates on the same data, and rolls both out
for a few steps from states of each of the other datasets, with the recorded controls. A roll-out *fails* where its
error meanwhile exceeds what all but one in a hundred reach on held-out motion like the training data. The number that
each detector gives at the first state, before anything has gone wrong, is judged by the area under its
receiver-operating characteristic (AUROC): the probability that a failure has a larger one than a success; .5 is a coin.

``nerd refine`` leaves data of the third kind: states that a policy reaches in a model which it exploits, and what PhysX
does from there. The detectors: ``spread`` of the ensemble, ``variance`` of the head, and without any of them ``speed``,
``control``, ``contacts`` (their number) and ``distance`` (to the nearest of the training data's tokens).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import tyro
from torch import Tensor

from nerd_core.contact.contacts import Contacts
from nerd_core.data.dataset import TrajectoryBatch, TrajectoryDataset
from nerd_core.data.sampler import WindowSampler
from nerd_core.dynamics import rollout_states
from nerd_core.files.provenance import describe_run
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.network.token_config import TokenCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.training.losses import StateScale, ground_of
from nerd_core.training.presets import PRESETS
from nerd_core.training.run import train

FAILURE = 0.99
"""Share of roll-outs on motion like the training data whose error does not count as a failure."""

LIKE_TRAINING = "like training"
"""Name of the held-out part of the training data."""

SAYS = {"ensemble": "spread", "variance head": "variance"}
"""The models, and the detector that each brings."""

TRIVIAL = ("speed", "control", "contacts", "distance")
"""Detectors without a model."""

DRAWS = 200
"""Draws of the bootstrap that gives standard errors."""

NEIGHBOURS, CHUNK = 5000, 256
"""Tokens of the training data that a distance is taken to, and roll-outs at a time."""


@dataclass(frozen=True)
class Options:
    """Does what a network says of its uncertainty tell where it will fail?"""

    train: Path
    """Dataset to learn from."""
    judge: tuple[str, ...] = ()
    """Further datasets to judge on, NAME=FOLDER."""
    steps: int = 5
    """Steps within which a failure counts."""
    members: int = 3
    """Networks of the ensemble."""
    updates: int = 2000
    """Updates of each model."""
    windows: int = 2000
    """Roll-outs of each dataset, at most."""
    contacts: bool = True
    """Whether the networks see contacts; off for a robot that touches nothing."""
    seed: int = 0
    """Seed of everything that is drawn."""
    json: Path | None = None
    """File for the numbers."""


def main() -> None:
    """Trains, judges, and shows which detector is best."""
    options = tyro.cli(Options, description=__doc__)
    data = TrajectoryDataset.open(options.train)
    known = data.split("train")
    sets = {LIKE_TRAINING: data.split("valid")}
    for word in options.judge:
        name, equals, folder = word.partition("=")
        if not equals:
            raise SystemExit(f"got --judge {word}, expected NAME=FOLDER")
        sets[name] = TrajectoryDataset.open(folder, spec=data.spec)
    found = {model: judged(model, known, sets, options) for model in SAYS}
    for model, rows in found.items():
        for name, row in rows.items():
            print(f"{model}, {name}: {row['failures']} of {row['rollouts']} fail", flush=True)
            print("  " + ", ".join(f"{each} {area(value)}" for each, value in row["auroc"].items()))
            print(f"  {row['verdict']}")
    if options.json is not None:
        plain = {"models": found, "updates": options.updates, "members": options.members, "steps": options.steps}
        text = json.dumps({**plain, **describe_run(seeds={"seed": options.seed})}, indent=1)
        options.json.write_text(text + "\n", encoding="utf-8")


def judged(model: str, known: TrajectoryDataset, sets: Mapping[str, TrajectoryDataset], options: Options) -> Any:
    """Trains one model, and judges its own detector and the others by its failures on each dataset.

    Args:
        model: Which one.
        known: What it learns from.
        sets: What it is judged on, that like the training data first.
        options: What was asked for.
    """
    torch.manual_seed(options.seed)
    cfg = PredictorCfg(
        network=ResidualMlpCfg(kinks=32),
        token=TokenCfg(limits=True, contacts=options.contacts, contact_motion=options.contacts),
        ensemble=options.members if model == "ensemble" else 1,
        variance_head=model != "ensemble",
    )
    predictor = Predictor(known.spec, cfg)
    settings = replace(PRESETS["residual"].training, updates=options.updates, minutes=None, seed=options.seed)
    train(predictor, known, None, settings, quiet=True)
    scale = StateScale(known.spec)
    sample = next(WindowSampler(known, 1, min(NEIGHBOURS, known.transitions), options.seed))
    scale.update(sample.state[:, 0], sample.state[:, 1])
    scale.finalise()
    near = tokens_of(predictor, sample)
    rows: dict[str, Any] = {}
    threshold = 0.0
    for name, data in sets.items():
        count = min(options.windows, WindowSampler(data, options.steps, 1).windows)
        batch = next(WindowSampler(data, options.steps, count, options.seed))
        error = worst_error(predictor, batch, options.steps, scale)
        if name == LIKE_TRAINING:
            threshold = float(error.quantile(FAILURE))
        says = detectors(predictor, batch, near)
        failed = ~(error <= threshold)  # what is no number any more has failed, too
        rows[name] = judgement(says, failed, SAYS[model], options.seed) | {"threshold": threshold}
    return rows


@torch.no_grad()
def worst_error(predictor: Predictor, batch: TrajectoryBatch, steps: int, scale: StateScale) -> Tensor:
    """Largest distance to the true states in the first steps, in units of what one step changes, shape (B,).

    Args:
        predictor: The model.
        batch: Windows of at least ``steps`` transitions.
        steps: Number of steps.
        scale: The units.
    """
    states = rollout_states(predictor, batch.state[:, 0], lambda k, _: batch.control[:, k], steps, ground_of(batch))
    apart = [scale.distance(batch.state[:, k], state).square().mean(-1).sqrt() for k, state in enumerate(states, 1)]
    return torch.stack(apart).nan_to_num(math.inf).amax(0)


@torch.no_grad()
def detectors(predictor: Predictor, batch: TrajectoryBatch, near: Tensor) -> dict[str, Tensor]:
    """What each detector says of the first state of each window, shapes (B,); more is more suspicious.

    Args:
        predictor: The model.
        batch: The windows.
        near: Tokens of training data, shape (K, dim).
    """
    state, control = batch.state[:, :1], batch.control[:, :1]
    contacts = contacts_of(predictor, batch)
    prediction = predictor(state, control, contacts)
    at, found = predictor.spec.state, {}
    if prediction.spread is not None:
        found["spread"] = prediction.spread[:, 0].square().mean(-1).sqrt()
    if prediction.log_var is not None:
        found["variance"] = prediction.log_var[:, 0].exp().mean(-1).sqrt()
    found["speed"] = state[:, 0, at.joint_vel].square().mean(-1).sqrt()
    found["control"] = control[:, 0].square().mean(-1).sqrt()
    if contacts is not None:
        found["contacts"] = contacts.active[:, 0].float().sum(-1)
    tokens = tokens_of(predictor, batch)
    parts = [torch.cdist(part, near).amin(-1) for part in tokens.split(CHUNK)]
    found["distance"] = torch.cat(parts)
    return found


def tokens_of(predictor: Predictor, batch: TrajectoryBatch) -> Tensor:
    """Normalised tokens of the first steps of windows, shape (B, dim)."""
    contacts = contacts_of(predictor, batch)
    with torch.no_grad():
        return predictor.residual.encode(batch.state[:, :1], batch.control[:, :1], contacts, None).tokens[:, 0]


def contacts_of(predictor: Predictor, batch: TrajectoryBatch) -> Contacts | None:
    """Contacts of the first states of windows, with one step; None if the model sees none."""
    return predictor.contacts(batch.state[:, :1], ground_of(batch))


def judgement(says: Mapping[str, Tensor], failed: Tensor, own: str, seed: int) -> dict[str, Any]:
    """AUROC of each detector with its standard error, and whether the model's own is better than the best trivial one.

    Args:
        says: What detectors say, shapes (B,).
        failed: Which roll-outs failed, bool, shape (B,).
        own: Name of the model's own detector.
        seed: Seed of the bootstrap.
    """
    count = int(failed.sum())
    told: dict[str, Any] = {"rollouts": len(failed), "failures": count}
    if count < 10 or len(failed) - count < 10:
        return told | {"auroc": {}, "verdict": "too few failures or successes to judge"}
    whole = {name: auroc(value, failed) for name, value in says.items()}
    generator = torch.Generator().manual_seed(seed)
    drawn: dict[str, list[float]] = {name: [] for name in says}
    for _ in range(DRAWS):
        pick = torch.randint(len(failed), (len(failed),), generator=generator)
        for name, value in says.items():
            drawn[name].append(auroc(value[pick], failed[pick]))
    spread = {name: torch.tensor(values) for name, values in drawn.items()}
    best = max((name for name in says if name in TRIVIAL), key=lambda name: whole[name])
    ahead = whole[own] - whole[best]
    error = float((spread[own] - spread[best]).std())
    told["auroc"] = {name: [whole[name], float(spread[name].std())] for name in says}
    told["ahead_of_best_trivial"] = [ahead, error]
    better = "better than" if ahead > 2.0 * error else "worse than" if ahead < -2.0 * error else "no better than"
    return told | {"verdict": f"{own} is {better} {best}: {ahead:+.3f} +- {error:.3f}"}


def auroc(value: Tensor, failed: Tensor) -> float:
    """Probability that a failure has a larger value than a success; ties count half.

    Args:
        value: What a detector says, shape (B,).
        failed: Which failed, bool, shape (B,).
    """
    positive, negative = int(failed.sum()), int((~failed).sum())
    if not positive or not negative:
        return math.nan
    _, rank, count = value.double().unique(return_inverse=True, return_counts=True)
    last = count.cumsum(0).double()
    middle = last - 0.5 * (count - 1)  # ranks from one on, the mean one for those that tie
    return float((middle[rank][failed].sum() - 0.5 * positive * (positive + 1)) / (positive * negative))


def area(value: list[float]) -> str:
    """An area with its standard error."""
    return f"{value[0]:.3f} +- {value[1]:.3f}"


if __name__ == "__main__":
    main()
