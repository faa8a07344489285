# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd reproduce``: make a shipped model and all its numbers again, from nothing, with fixed seeds.

    nerd reproduce cartpole                 # half an hour on two cores; ant: an hour and more
    nerd reproduce ant --out runs/ant-again
    nerd reproduce cartpole --smoke         # tiny sizes, only to see that everything runs
    nerd reproduce cube-real --recordings contactnets_cube_trainval.h5    # what was measured, without an engine
    nerd reproduce dfki-pendulum --recordings dfki_double_pendulum_train.h5    # dfki_double_pendulum_val.h5 beside it

Collects, trains, evaluates open loop (passive and driven), trains policies in neural mode with three seeds, and scores
them in both modes. Writes report.html, report.json and model/: the checkpoint with its card, as it is
shipped. Interrupted, it goes on where it stopped when the same command is run again.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import tyro

from nerd_core.cli.options import read_options
from nerd_core.files.outputs import require_folder

from ..demo import recipes
from ..demo.recipes_measured import MEASURED
from .demo import default_out

if TYPE_CHECKING:
    Name = str
else:
    Name = Literal[(*recipes.REPRODUCE, *MEASURED)]
    """Names of the recipes."""


@dataclass
class Reproduce:
    """Make a shipped model and all its numbers again, from nothing, with fixed seeds."""

    name: tyro.conf.Positional[Name]
    """Which model."""
    out: Path | None = None
    """Folder of the run; by default ``runs/reproduce-<name>``."""
    model: str | None = None
    """Measure this model again instead of collecting and training: a directory, or the name of a shipped one."""
    only: tuple[str, ...] = ()
    """Tasks whose policies are trained; by default all. Further tasks may be added to the same folder later."""
    fresh: bool = False
    """Start over, instead of going on with what is there."""
    smoke: bool = False
    """Everything in tiny sizes, in a minute or two."""
    recordings: Path | None = None
    """File of the recordings, for a model of a real mechanism."""
    step_cost: Path | None = None
    """JSON of ``benchmarks/step_cost.py``, to be shown in the report."""


def main(argv: list[str]) -> int:
    """Make a shipped model and all its numbers again, from nothing, with fixed seeds.

    Args:
        argv: Arguments, without the program's name.
    """
    args = read_options(Reproduce, argv, "nerd reproduce", __doc__)
    from ..demo import arguments, card, run
    from ..demo.recipe import smoke

    if args.name in MEASURED:
        return reproduce_measured(args)
    recipe = recipes.REPRODUCE[args.name]
    unknown = set(args.only) - {policy.task for policy in recipe.policies}
    if unknown:
        known = ", ".join(policy.task for policy in recipe.policies)
        raise ValueError(f"got --only {' '.join(sorted(unknown))}, expected some of {known}")
    if args.only:
        recipe = replace(recipe, policies=tuple(policy for policy in recipe.policies if policy.task in args.only))
    if args.smoke:
        recipe = smoke(recipe)
    out = args.out or default_out("reproduce", args.name, args.smoke)
    require_folder(out, "--out")
    command = f"nerd reproduce {shlex.join(argv)}"
    made_with = arguments.making_commands(recipe) if args.model == args.name else []
    done = run.run(recipe, out, command, args.fresh, args.model, args.step_cost, made_with)
    shipped = card.write_model(done.model, done.results, out / "model")
    print(f"model with its card: {shipped}")
    return 0


def reproduce_measured(args: Reproduce) -> int:
    """Makes a model of a real mechanism again.

    Args:
        args: What the user asked for.
    """
    from ..demo.measured import run_measured

    recipe, other = MEASURED[args.name], {"model": args.model, "only": args.only, "step_cost": args.step_cost}
    given = [name for name, value in other.items() if value] + (["smoke"] if args.smoke else [])
    if given or args.recordings is None:
        raise ValueError(
            f"got {', '.join(given) or 'no recordings'} for '{args.name}', expected --recordings with a file such as "
            f"'{recipe.recordings}', and of the other options --out and --fresh alone"
        )
    out = args.out or default_out("reproduce", args.name, False)
    require_folder(out, "--out")
    print(f"model with its card: {run_measured(recipe, args.recordings, out, args.fresh)}")
    return 0
