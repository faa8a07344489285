# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd generate``: collect trajectories of a task's robot from the solver.

    nerd generate --task NeRD-Cartpole --out data/cartpole --transitions 1000000 --workers 2
    nerd generate --task NeRD-Ant-Run --out data/ant --shares random=1 --ranges root_tilt=0.5 root_height=0.5,1.0
    nerd generate --task NeRD-Ant-Run --out data/ant-forces --contacts both --transitions 100000
    nerd generate --task NeRD-Ant-Run --out data/ant-runs --policy policies/NeRD-Ant-Run
    nerd generate --task NeRD-Double-Pendulum --out data/pendulum --ground random-planes
    nerd generate --task NeRD-Isaac-Cartpole --out data/passive --initial task --shares zero=1 env.scene.env_spacing=5

Words like env.<field>=<value> change the task, as for isaaclab train. Killed, or ended with ctrl-C, it goes on where it
stopped when the same command is run again. docs/collecting.md says what the choices mean and what they do to a model.
"""

from __future__ import annotations

import dataclasses
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.table import Table

from nerd_core.cli.options import read_options
from nerd_core.cli.terminal import console, say
from nerd_core.files.bounds import bounded, check_bounds

from ..collect.collect_cfg import CollectCfg
from ..collect.contact_agreement import BodyAgreement
from ..collect.excitation import ExcitationError
from ..collect.initial_states import InitialStateError
from ..collect.run import MAX_WORKERS, CollectResult, collect, report
from ..launch.task_ids import find_tasks

POLICY_PART = 10
"""A policy's own motion is proposed as one part in this many of the data."""


@dataclass
class Generate:
    """Options of ``nerd generate``. Words like env.<field>=<value> change the task, as for isaaclab train."""

    cfg: Annotated[CollectCfg, tyro.conf.arg(name="")]
    """What to collect."""
    out: Path
    """Folder of the dataset; one that is there is continued."""
    transitions: int = bounded(1_000_000, at_least=1)
    """Number of control steps to record."""
    shares: tuple[str, ...] = ()
    """Share of trajectories by kind of excitation, for instance random=1 or held=.5 policy=.5. Kinds: random, held,
    bang, ou, spline, zero; without managers also pd, with managers policy. Default: a mixture of all but bang and
    policy, or with --policy the policy alone."""
    ranges: tuple[str, ...] = ()
    """Changes of the wide ranges, for instance joint_vel=3 root_height=0.5,1.0. Each robot of this package has ranges
    of its own; names: root_height, root_tilt, root_lin_vel, root_ang_vel, joint_pos_share, slide, joint_vel,
    slide_vel, at_stops, task_poses."""
    workers: int = bounded(1, at_least=1, at_most=MAX_WORKERS)
    """Processes, each with an engine and a shard of its own. Use the same number to continue."""
    device: str = "auto"
    """Device of the simulation; auto is the GPU where there is one."""

    def __post_init__(self):
        check_bounds(self)


def main(argv: list[str]) -> int:
    """Collect trajectories of a task's robot from the solver.

    Args:
        argv: Arguments, without the program's name.
    """
    # taken out first: an option with several values would take these as values
    overrides = tuple(word for word in argv if word.startswith("env."))
    words = [word for word in argv if word not in overrides]
    args = read_options(Generate, words, "nerd generate", __doc__)
    shares, ranges = read_shares(args.shares), read_ranges(args.ranges)
    cfg = dataclasses.replace(args.cfg, shares=shares, ranges=ranges, overrides=(*args.cfg.overrides, *overrides))
    try:
        result = collect(cfg, args.out, args.transitions, args.workers, args.device)
    except KeyboardInterrupt:
        print("\nstopped; what is finished is safe, the same command goes on", file=sys.stderr)
        return 130
    _show(result, args.out)
    print(next_steps(cfg, args.out, result.transitions))
    return 0


def next_steps(cfg: CollectCfg, out: Path, transitions: int) -> str:
    """What to do with the data: learn from them, and once a policy has learned in the model, add motion of its own.

    Args:
        cfg: What was collected.
        out: Folder of the dataset.
        transitions: How much it holds.
    """
    data, more = shlex.quote(str(out)), shlex.quote(f"{out}-policy")
    lines = [f"next: nerd train {data} --out {shlex.quote(f'runs/{out.name}')}"]
    has_agent = any(task.id == cfg.task and "rsl_rl" in task.libraries for task in find_tasks())
    if cfg.policy is None and has_agent:
        share = max(1, transitions // POLICY_PART)
        lines += [
            "and soon, when a first policy has learned in that model, a short stretch of its own actions:",
            f"      nerd generate --task {cfg.task} --policy LOG_FOLDER --out {more} --transitions {share}",
            f"      nerd train {data} {more} --out {shlex.quote(f'runs/{out.name}-2')}",
        ]
    return "\n".join(lines)


def read_shares(words: Sequence[str]) -> dict[str, float]:
    """Shares from words like ``random=0.5``.

    Raises:
        ExcitationError: A word is not of that form.
    """
    shares: dict[str, float] = {}
    for word in words:
        kind, _, share = word.partition("=")
        try:
            shares[kind] = float(share)
        except ValueError:
            raise ExcitationError(f"got the share '{word}', expected KIND=NUMBER, for instance random=0.5") from None
    return shares


def read_ranges(words: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """Ranges from words like ``joint_vel=3`` or ``root_height=0.5,1.0``.

    Raises:
        InitialStateError: A word is not of that form.
    """
    ranges: dict[str, tuple[float, ...]] = {}
    for word in words:
        name, _, numbers = word.partition("=")
        try:
            ranges[name] = tuple(float(number) for number in numbers.split(","))
        except ValueError:
            raise InitialStateError(
                f"got the range '{word}', expected NAME=NUMBER or NAME=LOW,HIGH, for instance root_height=0.5,1.0"
            ) from None
    return ranges


def _show(result: CollectResult, out: Path) -> None:
    """Prints what was collected."""
    table = Table(show_header=False, title=f"collected in {out.name}")
    for name, value in report(result).items():
        if name == "contact_agreement":
            continue
        if isinstance(value, dict):
            value = ", ".join(f"{key}: {count:,}" for key, count in sorted(value.items())) or "none"
        table.add_row(name.replace("_", " "), f"{value:,}" if isinstance(value, int) else str(value))
    screen = console()
    screen.print(table)
    for warning in result.warnings:
        say(f"note: {warning}", error=True)
    if result.contact_agreement:
        screen.print(_agreement_table(result.contact_agreement))


def _agreement_table(agreement: dict[str, BodyAgreement]) -> Table:
    table = Table(title="contacts of the solver against geometry, within 5 mm")
    columns = ("body", "by solver", "explained", "mean gap error", "slots touching", "confirmed")
    for column in (*columns, "steps over 1 N", "flipped", "nothing near"):
        table.add_column(column, justify="left" if column == "body" else "right", overflow="fold")
    for name, body in agreement.items():
        table.add_row(
            name,
            f"{body.sensor:,}",
            _percent(body.explained, body.sensor),
            f"{1e3 * body.gap_error / body.explained:.3f} mm" if body.explained else "-",
            f"{body.touching:,}",
            _percent(body.confirmed, body.touching),
            f"{body.forced:,}",
            f"{body.flipped:,}",
            f"{body.unseen:,}",
        )
    return table


def _percent(part: int, whole: int) -> str:
    return f"{100.0 * part / whole:.2f} %" if whole else "-"
