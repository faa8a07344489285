# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd transfer``: score a policy in the learned dynamics and in the solver, and compare.

    nerd transfer --task NeRD-Cartpole --policy policies/NeRD-Cartpole --checkpoint cartpole
    nerd transfer --task NeRD-Ant-Run --policy logs/rsl_rl/nerd_ant_run/<run> --checkpoint runs/ant/best --episodes 2048

The same starts, the same seed, whole episodes, the mean action. A reward that agrees is a weak proof: the table shows
lengths, terminations and every reward term beside it, and 'nerd evaluate' the open-loop errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.table import Table

from nerd_core.cli.options import read_options
from nerd_core.cli.terminal import console
from nerd_core.files.atomic import write_json
from nerd_core.files.outputs import require_file, require_folder
from nerd_core.files.serialization import to_plain

from ..evaluation.transfer import TransferCfg, TransferResult, transfer


@dataclass
class Transfer:
    """Score a policy in the learned dynamics and in the solver, and compare."""

    cfg: Annotated[TransferCfg, tyro.conf.arg(name="")]
    """What to compare."""
    json: Path | None = None
    """File for the numbers."""


def main(argv: list[str]) -> int:
    """Score a policy in the learned dynamics and in the solver, and compare.

    Args:
        argv: Arguments, without the program's name.
    """
    args = read_options(Transfer, argv, "nerd transfer", __doc__)
    require_file(args.json, "--json")
    require_folder(args.cfg.record, "--record")
    result = transfer(args.cfg)
    _show(result)
    if args.json is not None:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        write_json(args.json, to_plain(result))
    return 0


def _show(result: TransferResult) -> None:
    physx, neural = result.modes["physx"], result.modes["neural"]
    table = Table(title=f"{result.task}, {result.episodes} episodes in each mode")
    for name in ("", "physx", "neural"):
        table.add_column(name, justify="right" if name else "left")
    rows = [(name.replace("_", " "), value, neural.scores[name]) for name, value in physx.scores.items()]
    rows += [(f"reward of {name}", value, neural.terms[name]) for name, value in physx.terms.items()]
    rows += [(f"command {name}", value, neural.commands[name]) for name, value in physx.commands.items()]
    for title, *pair in rows:
        table.add_row(title, *(f"{value.mean:.4g} +- {value.std:.3g}" for value in pair))
    for name in physx.ends:
        table.add_row(f"ended by {name}", *(f"{100 * mode.ends[name]:.1f} %" for mode in (physx, neural)))
    console().print(table)
    if result.reward_gap is not None:
        print(f"reward gap, neural against physx: {100 * result.reward_gap:+.3f} %")
