# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd refine``: make a model right where policies go that learn in it, until they do the same in PhysX.

    nerd refine --task NeRD-Cartpole --model runs/cartpole/best --data data/cartpole --out runs/refined
    nerd refine --task NeRD-Ant-Run --model runs/ant/best --target 0.05 --rounds 6 --minutes 8 --out runs/ant-refined
    nerd refine --task NeRD-Cartpole --model cartpole --out runs/try --smoke       # tiny sizes, to see that it runs

A round trains a policy in the model alone, scores it in the model and in PhysX, records what PhysX does under it (and
from states that it reaches in the model), and goes on training the model with these data beside all others. It stops
when the gap between the two returns is below --target with two standard errors added, when --patience rounds brought no
smaller one, or after --rounds; the gap of the best round is then measured once more, over other starts. Words like
env.<field>=<value> change the task, agent.<field>=<value> its agent. Interrupted or killed, it goes on where it stopped
when the same command is run again; so it does with more --rounds. docs/refining.md tells more.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.table import Table

from nerd_core.cli.options import read_options
from nerd_core.cli.terminal import console
from nerd_core.files.outputs import require_folder

from ..refine.config import RefineCfg
from ..refine.stopping import Gap

WORDS = {
    "closed": "the gap is closed",
    "no progress": "the last rounds brought no smaller gap",
    "no rounds left": "all rounds are done and the gap is not closed",
}
"""What is said of each reason to stop."""

NEXT = """next: more rounds (--rounds), longer trainings (--minutes), more data of the policy (--transitions), the data
that the model was trained on (--data), or a larger model; 'nerd evaluate' tells where it is wrong"""

NOT_CLOSED = 3
"""Exit code where the gap is not closed."""


@dataclass
class Refine:
    """Make a model right where policies go that learn in it, until they do the same in PhysX."""

    cfg: Annotated[RefineCfg, tyro.conf.arg(name="")]
    """What to do."""
    out: Path
    """Folder of the run: report.json, and model and policy of the best round."""
    fresh: bool = False
    """Start over, instead of going on with what is there."""
    smoke: bool = False
    """One round in tiny sizes."""


def main(argv: list[str]) -> int:
    """Make a model right where policies go that learn in it, until they do the same in PhysX.

    Args:
        argv: Arguments, without the program's name.
    """
    # taken out first: an option with several values would take these as values
    overrides = tuple(word for word in argv if word.startswith(("env.", "agent.")))
    given = read_options(Refine, [word for word in argv if word not in overrides], "nerd refine", __doc__)
    require_folder(given.out, "--out")
    from dataclasses import replace

    from ..refine.config import smoke
    from ..refine.run import REPORT, refine

    cfg = replace(given.cfg, overrides=(*given.cfg.overrides, *overrides))
    cfg = smoke(cfg) if given.smoke else cfg
    result = refine(cfg, given.out, f"nerd refine {shlex.join(argv)}", given.fresh)
    table = Table(title=f"{cfg.task}: {WORDS[result.reason]}")
    for name in ("round", "return in the model", "in PhysX", "gap", "two standard errors"):
        table.add_column(name, justify="right")
    for number, gap in enumerate(result.gaps):
        table.add_row(f"{number} *" if number == result.best else str(number), *_cells(gap))
    table.add_row("other starts", *_cells(result.confirmed))
    console().print(table)
    print(f"model: {result.model}\npolicy: {result.policy}\nnumbers: {given.out / REPORT}")
    if result.reason == "closed":
        return 0
    print(NEXT)
    return 0 if given.smoke else NOT_CLOSED


def _cells(gap: Gap) -> list[str]:
    """A gap as cells of the table."""
    share = "-" if gap.share is None else f"{100 * gap.share:+.2f} %"
    error = "-" if gap.standard_error is None else f"{200 * gap.standard_error:.2f} %"
    return [f"{gap.neural:.5g}", f"{gap.physx:.5g}", share, error]
