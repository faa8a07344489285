# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a controller whose model adapts regains of the return that a changed robot loses, in PhysX.

    python benchmarks/adapted_control.py --seeds 0 1 --json docs/evidence/adapted_control.json --out plots
    python benchmarks/adapted_control.py --smoke

A minute of a processor for each seed, see :mod:`nerd_isaaclab.experiments.adapted_control`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tyro

from nerd_core.files.provenance import describe_run
from nerd_core.files.serialization import to_plain
from nerd_isaaclab.experiments.adapted_control.run import EXPERIMENT


@dataclass(frozen=True)
class Options:
    """Which seeds, and where the figures go."""

    seeds: tuple[int, ...] = (0, 1)
    """Seeds of the targets, one run each."""
    json: Path | None = None
    """File for the figures."""
    out: Path | None = None
    """Folder for a plot of each seed."""
    smoke: bool = False
    """One start and four seconds, to see that it works."""


def main(options: Options) -> None:
    """Runs the experiment with each seed, and shows and writes what it gave.

    Args:
        options: Which seeds, and where the figures go.
    """
    settings = EXPERIMENT.smoke if options.smoke else EXPERIMENT.full
    found: dict[str, Any] = {}
    for seed in options.seeds:
        result = EXPERIMENT.run(replace(settings, seed=seed), print)
        found[f"seed_{seed}"] = dict(result.figures)
        for name, value in result.figures.items():
            if isinstance(value, float):
                print(f"{name} {value:.4g}")
        if options.out is not None:
            result.write_plots(options.out / f"seed_{seed}")
    if options.json is not None:
        report = {
            **found,
            "settings": to_plain(settings),
            **describe_run(seeds={f"targets_{seed}": seed for seed in options.seeds}),
        }
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
