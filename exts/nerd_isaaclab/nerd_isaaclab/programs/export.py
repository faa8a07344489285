# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd rl export``: keep a training run as small files: the policy, the learning curve, and the command.

    nerd rl export --run logs/rsl_rl/nerd_cartpole/<run> --out policies/NeRD-Cartpole

writes policy.safetensors, curve.csv, curve.svg and run.json into the folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nerd_core.cli.options import read_options


@dataclass
class Export:
    """Keep a training run as small files."""

    run: Path
    """Log folder of the run."""
    out: Path
    """Folder to write into."""
    checkpoint: Path | None = None
    """Checkpoint to take; by default the run's last."""
    command: str | None = None
    """The command that made the run, to be kept with it."""


def main(argv: list[str]) -> int:
    """Keep a training run as small files.

    Args:
        argv: Arguments, without the program's name.
    """
    args = read_options(Export, argv, "nerd rl export", __doc__)
    from ..policies.export import export_run

    for path in export_run(args.run, args.out, args.checkpoint, args.command):
        print(f"{path}  {path.stat().st_size / 1000:.1f} kB")
    return 0
