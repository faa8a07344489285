# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Learning measured on the analytic cart-pole of the tests: what a budget reaches, and what roll-outs add to it.

The test bed (tests/support/testbed_cartpole.py) is an equation, not a simulator; it says how well a recipe learns, and
nothing about PhysX. One million transitions, evaluated on 256 passive trajectories::

    python benchmarks/testbed_training.py --minutes 5                      # the budget that others are known for
    python benchmarks/testbed_training.py --updates 3000 --seeds 0 1 2     # multi-step against one-step, equal updates

For scale, mean errors over 100 and 500 steps: a published 40-minute GPU run .0025 m / .0030 rad and .052 / .092; a
plain perceptron (3 x 256, AdamW, batches of 4,096) in 5 minutes on 2 cores .0057 / .0025 and .086 / .067.
"""

from __future__ import annotations

import importlib.util
import json
import statistics
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import torch
import tyro

from nerd_core.files.provenance import describe_run
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.network.architectures.transformer import transformer_cfg
from nerd_core.network.config import NetworkCfg
from nerd_core.network.token_config import TokenCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.training.config import RolloutCfg, TrainCfg
from nerd_core.training.metrics import open_loop
from nerd_core.training.optimiser import OptimiserCfg
from nerd_core.training.run import train

HORIZONS = (10, 100, 500)

# The rail is endless, so where the cart stands cannot matter.
TOKEN = TokenCfg(ignored_joint_pos=("rail",))
# Networks with the settings that suit them. The transformer learns from windows of three times its own.
MODELS: dict[str, tuple[NetworkCfg, TrainCfg]] = {
    "residual": (ResidualMlpCfg(width=64, hidden=86, layers=3), TrainCfg(updates=1, batch_size=2048, validations=5)),
    "tiny": (
        transformer_cfg("tiny"),
        TrainCfg(updates=1, batch_size=64, window_length=30, optimiser=OptimiserCfg(lr=3.0e-3), validations=2),
    ),
}
LOSSES = {
    "one-step": RolloutCfg(weight=0.0),
    "multi-step": RolloutCfg(weight=0.5, start=0.7, steps=16, ramp=0.2, batch_size=128),
}


@dataclass(frozen=True)
class Args:
    """Trains on the analytic cart-pole."""

    minutes: float | None = None
    """Wall-clock time of each run."""
    updates: int | None = None
    """Number of updates of each run."""
    seeds: tuple[int, ...] = (0,)
    """Seeds of weights and order of the data."""
    model: Literal["residual", "tiny"] = "residual"
    """Network: a gated perceptron without memory, or a small transformer with a window of 10."""
    losses: tuple[Literal["one-step", "multi-step"], ...] = ("one-step", "multi-step")
    """What to minimise."""
    trajectories: int = 10_000
    """Trajectories of 100 steps to learn from."""
    threads: int | None = None
    """Threads of torch; its own choice by default. On a machine that others use one is much faster than two, because
    every small operation waits for the slower thread."""
    json: Path | None = None
    """File for the results."""


def main(args: Args) -> None:
    """Trains, evaluates, prints and writes."""
    if args.threads is not None:
        torch.set_num_threads(args.threads)
    bed = testbed()
    data = bed.make_data(args.trajectories, 100, seed=1)
    valid = bed.make_data(64, 500, seed=2, passive=True)
    passive = bed.make_data(256, 500, seed=3, passive=True)
    network, training = MODELS[args.model]
    rows: list[dict[str, Any]] = []
    for loss in args.losses:
        for seed in args.seeds:
            torch.manual_seed(seed)
            predictor = Predictor(bed.SPEC, PredictorCfg(network=network, token=TOKEN))
            cfg = replace(training, updates=args.updates, minutes=args.minutes, seed=seed, rollout=LOSSES[loss])
            result = train(predictor, data, valid, cfg)
            errors = open_loop(predictor, passive, max(HORIZONS))
            row = {
                "model": args.model,
                "loss": loss,
                "seed": seed,
                "updates": result.updates,
                "minutes": result.minutes,
            }
            rows.append(row | {"errors": errors.table(HORIZONS)})
            words = [f"{h}: {errors.at(h)['joint_m']:.5f} m {errors.at(h)['joint_rad']:.5f} rad" for h in HORIZONS]
            print(f"{args.model}, {loss}, seed {seed}, {result.updates} updates, {result.minutes:.1f} min")
            print("  " + ", ".join(words))
    results: dict[str, Any] = {"runs": rows}
    if len(args.losses) > 1:
        for name in ("joint_m", "joint_rad"):
            mean = {
                loss: statistics.geometric_mean(row["errors"]["500"][name] for row in rows if row["loss"] == loss)
                for loss in args.losses
            }
            results[f"factor_500_{name}"] = mean["one-step"] / mean["multi-step"]
            print(f"{name} over 500 steps: one-step / multi-step = {results[f'factor_500_{name}']:.2f}")
    if args.json is not None:
        args.json.write_text(json.dumps(results | {"provenance": describe_run()}, indent=1) + "\n")


def testbed() -> ModuleType:
    """The test bed, which belongs to the tests and is loaded from there."""
    path = Path(__file__).parents[1] / "tests" / "support" / "testbed_cartpole.py"
    spec = importlib.util.spec_from_file_location("testbed_cartpole", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main(tyro.cli(Args, description=__doc__))
