# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Measure nerd_core on this machine: cached stepping, training, contact queries. Prints ratios.

    python benchmarks/core.py                                    # everything, some minutes on 2 cores
    python benchmarks/core.py --json core.json                   # also writes the numbers to a file
    python benchmarks/core.py --parts stepping --envs 512        # one part, one size
    python benchmarks/core.py --parts stepping --compile         # the same, both sides compiled

What is compared runs in turns in one process, so that a busy machine slows both sides alike; the ratios are medians
over the turns. Nothing else should run meanwhile all the same: the load before the start is written down.
"""

from __future__ import annotations

import importlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
import tyro
from core_contacts import measure_contacts
from core_stepping import measure_stepping

from nerd_core.files.provenance import describe_run

Part = Literal["stepping", "training", "contacts"]


@dataclass(frozen=True)
class Options:
    """Measure nerd_core on this machine."""

    parts: tuple[Part, ...] = ("stepping", "training", "contacts")
    """What to measure."""
    envs: tuple[int, ...] = (64, 128, 256, 512, 1024, 2048)
    """Numbers of environments to step."""
    turns: int = 15
    """How often each side of a comparison runs."""
    threads: int | None = None
    """Threads of torch; by default one for each core that this process may use."""
    compile: bool = False
    """Whether to compile the networks, on both sides of the comparison."""
    json: Path | None = None
    """File to write the numbers to."""


def main(options: Options) -> dict[str, Any]:
    """Measures the parts, prints them and returns the numbers."""
    load = os.getloadavg()[0]
    torch.set_num_threads(options.threads or len(os.sched_getaffinity(0)))
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, load before the start {load:.2f}\n")
    numbers: dict[str, Any] = {}
    if "stepping" in options.parts:
        numbers |= measure_stepping(options.envs, options.turns, options.compile)
    if "training" in options.parts:
        # Imported here because it needs the whole training stack, which the other parts do not.
        numbers |= importlib.import_module("core_training").measure_training()
    if "contacts" in options.parts:
        numbers |= measure_contacts(options.turns)
    for name, value in numbers.items():
        if isinstance(value, float):
            print(f"{name:34} {value:.3f}")
    numbers["threads"], numbers["load_before"], numbers["run"] = torch.get_num_threads(), load, describe_run()
    if options.json is not None:
        options.json.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    return numbers


if __name__ == "__main__":
    main(tyro.cli(Options))
