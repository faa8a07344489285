# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd demo``: data, a model, a policy trained in it, and a report, for one robot in minutes.

    nerd demo                                   # Cartpole, about 10 minutes on two cores
    nerd demo --minutes 2 --out runs/quick      # with less training
    nerd demo --robot ant                       # with the shipped Ant model instead of collecting and training
    nerd demo --robot ant --model runs/ant/best # with a model of your own
    nerd demo --smoke                           # tiny sizes, only to see that everything runs

Motion of PhysX is recorded and a network is trained on it. Its errors are measured on new motion of PhysX. Then it
replaces PhysX while RSL-RL trains a policy, which is scored in PhysX. After ctrl-C, the same command goes on where it
stopped.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from nerd_core.cli.options import read_options
from nerd_core.files.bounds import bounded, check_bounds
from nerd_core.files.outputs import require_folder

from ..demo import recipes

if TYPE_CHECKING:
    Robot = str
else:
    Robot = Literal[tuple(recipes.DEMO)]
    """Names of the recipes."""


@dataclass
class Demo:
    """Collect data, train a model and a policy in it, and write a report, in minutes."""

    robot: Robot = "cartpole"
    """Which robot. A recipe without a training uses the shipped model, as for the Ant."""
    out: Path | None = None
    """Folder of the run; by default ``runs/demo``, with the robot's name behind it if it is another one."""
    minutes: float | None = bounded(None, above=0.0)
    """Training of the model [min]."""
    model: str | None = None
    """Model to use instead of collecting and training: a directory, or the name of a shipped one."""
    fresh: bool = False
    """Start over, instead of going on with what is there."""
    smoke: bool = False
    """Everything in tiny sizes, in a minute or two."""
    step_cost: Path | None = None
    """JSON of ``benchmarks/step_cost.py``, to be shown in the report."""
    open: bool = True
    """Whether to open the report, if there is a display."""

    def __post_init__(self):
        check_bounds(self)


def main(argv: list[str]) -> int:
    """Collect data of PhysX, train a model and a policy in it, and write a report, in minutes.

    Args:
        argv: Arguments, without the program's name.
    """
    args = read_options(Demo, argv, "nerd demo", __doc__)
    from ..demo import run
    from ..demo.recipe import smoke

    recipe = recipes.DEMO[args.robot]
    if args.minutes is not None:
        if not recipe.stages or args.model is not None:
            raise ValueError("got --minutes, but a model is given and nothing is trained: leave it out")
        stages = [replace(stage, training=replace(stage.training, minutes=args.minutes)) for stage in recipe.stages]
        recipe = replace(recipe, stages=tuple(stages))
    if args.smoke:
        recipe = smoke(recipe)
    out = args.out or default_out("demo", args.robot, args.smoke)
    require_folder(out, "--out")
    page = run.run(recipe, out, f"nerd demo {shlex.join(argv)}".strip(), args.fresh, args.model, args.step_cost).page
    if args.open and not args.smoke:
        show(page)
    return 0


def default_out(program: str, robot: str, smoke: bool) -> Path:
    """Folder of a run for which none was named.

    Args:
        program: Name of the program.
        robot: Name of the robot.
        smoke: Whether the run is a tiny one.
    """
    default = program == "demo" and robot == Demo.robot
    return Path("runs", "-".join([program, *([] if default else [robot]), *(["smoke"] if smoke else [])]))


def show(page: Path) -> None:
    """Opens a page if somebody sits before a display; anything that fails is no failure of the run.

    Args:
        page: The page.
    """
    if not sys.stdout.isatty() or not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return
    quiet = subprocess.DEVNULL
    try:
        subprocess.Popen(["xdg-open", str(page)], stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
    except OSError:
        return
