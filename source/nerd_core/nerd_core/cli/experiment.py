# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd experiment``: run an experiment, write its figures as JSON and its plots.

.. code-block:: bash

    nerd experiment NAME --smoke --json figures.json
    nerd experiment NAME --seed 1 --json figures.json --out plots
    nerd experiment NAME --help
"""

from __future__ import annotations

import dataclasses
import math
import os
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro

from ..experiments.experiment import Experiment
from ..experiments.registry import find_experiments, load_experiment
from ..files.atomic import write_json
from ..files.outputs import require_file, require_folder
from ..files.provenance import describe_run
from ..files.serialization import to_plain
from . import help_text, summary
from .options import read_options
from .terminal import say

SMOKE = "--smoke"


def main(argv: list[str]) -> int:
    """Run an experiment: figures as JSON, and plots."""
    if not argv or argv[0] in ("--help", "-h"):
        say(_help())
        return 0 if argv else 2
    name, words = argv[0], argv[1:]
    experiment = load_experiment(name)
    command = _read(name, experiment, words)
    require_file(command.json, "--json", (".json",))
    require_folder(command.out, "--out")
    torch.manual_seed(command.settings.seed)
    begin, begin_busy = time.perf_counter(), _busy()
    result = experiment.run(command.settings, say)
    times = {"seconds": time.perf_counter() - begin, "processor_seconds": _busy() - begin_busy}
    figures = {key: _strict(value) for key, value in result.figures.items()}
    for key, value in figures.items():
        say(f"{key}: {value:.6g}" if isinstance(value, float) else f"{key}: {value}")
    if command.json is not None:
        told = {"experiment": name, "smoke": command.smoke, "settings": to_plain(command.settings), **times}
        write_json(command.json, figures | told | describe_run(seeds={"seed": command.settings.seed}))
    for path in [] if command.out is None else result.write_plots(command.out):
        say(f"plot: {path}")
    return 0


def _busy() -> float:
    """Time that the processor gave to this process, and to those of its children that have ended [s]."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _read(name: str, experiment: Experiment, words: list[str]) -> Any:
    """The options of an experiment: those of all, and its settings, whose defaults depend on ``--smoke``."""
    smoke = SMOKE in words
    settings = experiment.smoke if smoke else experiment.full
    options = dataclasses.make_dataclass(
        "Options",
        [
            ("smoke", Annotated[bool, tyro.conf.arg(help="A run of seconds, to see that it works.")], smoke),
            ("json", Annotated[Path | None, tyro.conf.arg(help="File for the figures.")], None),
            ("out", Annotated[Path | None, tyro.conf.arg(help="Folder for the plots.")], None),
            ("settings", Annotated[type(settings), tyro.conf.arg(name="")], dataclasses.field(default=settings)),
        ],
    )
    module = find_experiments()[name].partition(":")[0]
    return read_options(options, words, f"nerd experiment {name}", sys.modules[module].__doc__)


def _help() -> str:
    found = find_experiments()
    width = max(map(len, found), default=0)
    lines = [f"  {name:<{width}}  {summary(target)}" for name, target in found.items()]
    return "\n".join(
        [
            f"usage: nerd experiment {{{','.join(found)}}} [--smoke] [--seed INT] [--json PATH] [--out PATH]",
            "",
            help_text(__doc__),
            "experiments:",
            *lines,
            "",
            "options of all:",
            "  --smoke      a run of seconds, to see that it works",
            "  --seed INT   seed of all that is drawn",
            "  --json PATH  file for the figures",
            "  --out PATH   folder for the plots",
            "",
            "'nerd experiment NAME --help' shows those of one.",
        ]
    )


def _strict(value: Any) -> Any:
    """A figure as strict JSON has it: what is not finite is null."""
    if isinstance(value, (list, tuple)):
        return [_strict(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


__all__ = ["main"]
