# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd rl score``: score a policy over whole episodes, in quantities a person can picture, and write them as JSON.

    nerd rl score --task NeRD-Cartpole --policy policies/NeRD-Cartpole
    nerd rl score --task NeRD-Ant-Run --policy logs/rsl_rl/nerd_ant_run/<run> --num_envs 256 --out score.json
    nerd rl score --task NeRD-Ant-Run --policy policies/NeRD-Ant-Run --checkpoint ant

Each environment plays one episode from its start, with the mean action of the policy; a second one that begins while
others still play the first does not count. Of any manager-based task return, length, the terms of the reward,
terminations, what its commands measure and what it logs itself are given; what stands in a task's score_entry_point is
added. --out holds each episode's numbers, too. Words such as physics=NAME and env.<field>=<value> are Isaac Lab's
overrides of the configuration.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from nerd_core.cli.options import read_options
from nerd_core.files.atomic import write_json
from nerd_core.files.outputs import require_file
from nerd_core.files.serialization import to_plain

from ..compat.no_cuda import option
from ..evaluation.score import ScoreCfg, score
from ..launch.task_ids import check_task


@dataclass
class ScorePolicy:
    """Score a policy over whole episodes."""

    cfg: Annotated[ScoreCfg, tyro.conf.arg(name="")]
    """What to score."""
    out: Path | None = None
    """File to write the result to, as well as to the screen."""


def main(argv: list[str]) -> int:
    """Score a policy over whole episodes.

    Args:
        argv: Arguments, without the program's name.
    """
    if option(argv, "--task") is None and not {"-h", "--help"} & set(argv):
        check_task(None)
    args = read_options(ScorePolicy, argv, "nerd rl score", __doc__)
    require_file(args.out, "--out")
    require_file(args.cfg.record, "--record")
    result = score(args.cfg)
    plain = {**to_plain(result), "command": "nerd rl score " + shlex.join(argv)}
    episodes = plain.pop("per_episode")  # a number for each episode: for the file, not for the screen
    if args.out is not None:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        write_json(args.out, {**plain, "per_episode": episodes})
    print(json.dumps(plain, indent=2))
    return 0
