# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd models``: the models that come with the extension, and a model of a task's robot before any data.

nerd models list
nerd models list --json
nerd models get cartpole my-models/cartpole
nerd models verify
nerd models init --task NeRD-Cartpole --out my-models/cartpole-mechanics
"""

from __future__ import annotations

import json
import shutil
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.table import Table

from nerd_core.checkpoint_names import find_checkpoint, shipped_checkpoints
from nerd_core.cli.options import read_options
from nerd_core.cli.terminal import console, say
from nerd_core.files.outputs import require_folder

from ..models.untrained import InitModelCfg, init_model
from ..robots.registry import robot_of_spec


@dataclass
class List:
    """List the models with their robots, sizes and what they were measured to reach."""

    json: bool = False
    """Print them as JSON, for other programs."""


@dataclass
class Get:
    """Copy a model, to fine-tune it or to look inside."""

    name: tyro.conf.Positional[str]
    """Name of the model."""
    out: tyro.conf.Positional[Path]
    """Folder to copy it to; must not exist."""


@dataclass
class Verify:
    """Read every model, check its digests, and exit with 1 if one is damaged."""


@dataclass
class Init:
    """Make a model of a task's robot without data: mechanics with the constants that training begins with.

    `nerd evaluate --model DIR` says how good that is already, and `nerd train DATA --start DIR` goes on from it.
    """

    cfg: Annotated[InitModelCfg, tyro.conf.arg(name="")]
    """Whose robot."""
    out: Path
    """Folder of the model; must not exist."""


def main(argv: list[str]) -> int:
    """List, copy and verify the models that come with the extension, or make one without data.

    Args:
        argv: Arguments, without the program's name.
    """
    commands = (
        Annotated[List, tyro.conf.subcommand("list")]
        | Annotated[Get, tyro.conf.subcommand("get")]
        | Annotated[Verify, tyro.conf.subcommand("verify")]
        | Annotated[Init, tyro.conf.subcommand("init")]
    )
    args = read_options(commands, argv, "nerd models", __doc__)
    if isinstance(args, List):
        return _list_as_json() if args.json else _list()
    if isinstance(args, Get):
        return _get(args)
    if isinstance(args, Init):
        return _init(args)
    return _verify()


def _list_as_json() -> int:
    from nerd_core.robot.spec import RobotSpec

    found = []
    for name, path in shipped_checkpoints().items():
        spec = RobotSpec.load(path / "spec.json")
        record = robot_of_spec(spec.name)
        found.append(
            {
                "name": name,
                "robot": spec.name,
                "task": None if record is None else record.default_task,
                "control_dt": spec.control_dt,
                "bytes": sum(file.stat().st_size for file in path.iterdir() if file.is_file()),
                "summary": _summary(path),
            }
        )
    print(json.dumps(found, indent=1))
    return 0


def _list() -> int:
    table = Table(title="models that come with nerd_isaaclab")
    for name in ("name", "robot", "control step", "size"):
        table.add_column(name, no_wrap=True)
    table.add_column("from the card")
    from nerd_core.robot.spec import RobotSpec

    for name, path in shipped_checkpoints().items():
        spec = RobotSpec.load(path / "spec.json")
        size = sum(file.stat().st_size for file in path.iterdir() if file.is_file()) / 1e3
        shown = f"{size:.0f} kB" if size < 1e3 else f"{size / 1e3:.1f} MB"
        table.add_row(name, spec.name, f"1/{1 / spec.control_dt:.0f} s", shown, _summary(path))
    console().print(table)
    return 0


def _get(args: Get) -> int:
    source = shipped_checkpoints().get(args.name)
    if source is None:
        if Path(args.name).is_dir():
            raise ValueError(f"got the folder '{args.name}', expected the name of a shipped model: copy it with cp -r")
        source = find_checkpoint(args.name)  # which names near ones
    if args.out.exists():
        raise ValueError(f"'{args.out}' exists: name a folder that does not, nothing is overwritten")
    require_folder(args.out, "OUT")
    args.out.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source, args.out)
    say(f"copied '{source.name}' to {args.out}")
    return 0


def _init(args: Init) -> int:
    path = init_model(args.cfg, args.out)
    say(f"mechanics of the robot of {args.cfg.task}, untrained, is in {path}: nothing was learned")
    say(f"how good it is already: nerd evaluate --model {path} --task {args.cfg.task}")
    return 0


def _verify() -> int:
    from nerd_core import checkpoint

    damaged = 0
    for name, path in shipped_checkpoints().items():
        try:
            checkpoint.load(path)
            say(f"{name}: whole")
        except checkpoint.CheckpointError as error:
            damaged += 1
            say(f"{name}: {error}")
    return 1 if damaged else 0


def _summary(path: Path) -> str:
    """The first sentence of a model's card."""
    try:
        lines = (path / "card.md").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    said = next((line.strip() for line in lines if line.strip() and not line.startswith("#")), "")
    return textwrap.shorten(said, 120, placeholder=" ...")
