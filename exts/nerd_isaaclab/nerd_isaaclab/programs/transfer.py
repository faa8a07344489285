# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd transfer``: score a policy in the learned dynamics and in the solver, and compare.

    nerd transfer --task NeRD-Cartpole --policy policies/NeRD-Cartpole --checkpoint cartpole
    nerd transfer --task NeRD-Ant-Run --policy logs/rsl_rl/nerd_ant_run/<run> --checkpoint runs/ant/best --episodes 2048
    nerd transfer --task NeRD-Cartpole --policy latest --checkpoint runs/arm/best --physx env.nerd.calibration=arm.json

The same starts, commands and noise, whole episodes, the mean action; for any manager-based task. The table shows mean
and standard deviation over the episodes in each mode, and the mean difference of an episode in the model from the same
one in PhysX with its standard error. A reward that agrees is a weak proof: lengths, terminations, every reward term and
what the commands measure stand beside it, and 'nerd evaluate' has the open-loop errors.
"""

from __future__ import annotations

from collections.abc import Mapping
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

from ..evaluation.transfer import Difference, TransferCfg, TransferResult, transfer
from ..policies.play import Spread


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
    for name in ("", "physx", "neural", "difference"):
        table.add_column(name, justify="right" if name else "left")
    both = (
        {**mode.scores, **_named("reward of", mode.terms), **_named("command", mode.commands)}
        for mode in (physx, neural)
    )
    ours, theirs = both
    for name, value in ours.items():
        cells = (f"{each.mean:.4g} +- {each.std:.3g}" for each in (value, theirs[name]))
        table.add_row(
            name.replace("_", " ") if name in physx.scores else name, *cells, _words(result.differences.get(name))
        )
    for name, value in physx.logs.items():
        table.add_row(f"log {name}", f"{value:.4g}", f"{neural.logs[name]:.4g}" if name in neural.logs else "-", "")
    for name in physx.ends:
        table.add_row(f"ended by {name}", *(f"{100 * mode.ends[name]:.1f} %" for mode in (physx, neural)), "")
    console().print(table)
    print(_gap(result))


def _named(prefix: str, values: Mapping[str, Spread]) -> dict[str, Spread]:
    return {f"{prefix} {name}": value for name, value in values.items()}


def _words(found: Difference | None) -> str:
    """A difference with its standard error."""
    if found is None or found.standard_error is None:
        return "-" if found is None else f"{found.mean:+.3g}"
    return f"{found.mean:+.3g} +- {found.standard_error:.2g}"


def _gap(result: TransferResult) -> str:
    """The gap of the return: as a share where that says something, and always as a difference."""
    found = result.differences["return"]
    share = f"{100 * result.reward_gap:+.3f} %, " if result.gap_is_telling and result.reward_gap is not None else ""
    units = "" if found.in_standard_errors is None else f", {found.in_standard_errors:+.1f} standard errors"
    return f"reward gap, neural against physx: {share}{_words(found)} of the return{units}"
