# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Train and play policies with RSL-RL, keep what was trained as small files, and score it.

    nerd rl train --task NeRD-Cartpole
    nerd rl play --task NeRD-Cartpole --checkpoint latest --viz viser
    nerd rl export --run logs/rsl_rl/nerd_cartpole/<run> --out policies/NeRD-Cartpole
    nerd rl score --task NeRD-Cartpole --policy policies/NeRD-Cartpole

``train`` and ``play`` are Isaac Lab's own programs with all their flags (``nerd rl train --task NeRD-Cartpole --help``
lists them); ``--rl_library`` is ``rsl_rl`` unless another is named. Without CUDA the plain commands run on the CPU.
"""

from __future__ import annotations

import difflib
import importlib
import sys

from nerd_core.cli import help_text

COMMANDS = {
    "train": "nerd_isaaclab.programs.rl:train",
    "play": "nerd_isaaclab.programs.rl:play",
    "export": "nerd_isaaclab.programs.export:main",
    "score": "nerd_isaaclab.programs.score:main",
}


def main(argv: list[str]) -> int:
    """Train, play, export and score policies (train | play | export | score)."""
    if not argv or argv[0] in ("-h", "--help"):
        print(help_text(__doc__))
        return 0 if argv else 2
    if argv[0] not in COMMANDS:
        near = difflib.get_close_matches(argv[0], COMMANDS, n=1)
        hint = f"did you mean '{near[0]}'?" if near else f"expected one of {', '.join(COMMANDS)}"
        print(f"nerd rl: got the unknown command '{argv[0][:80]}', {hint}", file=sys.stderr)
        return 2
    module, _, function = COMMANDS[argv[0]].partition(":")
    return getattr(importlib.import_module(module), function)(argv[1:])


def train(argv: list[str]) -> int:
    """Train a policy."""
    from ..launch.isaaclab_programs import run_isaaclab_program
    from ..policies.rsl_rl_file import only_weights
    from ..policies.whole_files import whole_files

    with whole_files(), only_weights():
        return run_isaaclab_program("train", _with_library(argv), "run_train_cli")


def play(argv: list[str]) -> int:
    """Watch a trained policy."""
    from ..launch.isaaclab_programs import run_isaaclab_program
    from ..policies.rsl_rl_file import only_weights

    with only_weights():
        return run_isaaclab_program("play", _with_library(argv), "run_play_cli")


def _with_library(argv: list[str]) -> list[str]:
    """Name RSL-RL if no library is named."""
    named = any(word == "--rl_library" or word.startswith("--rl_library=") for word in argv)
    return argv if named else ["--rl_library", "rsl_rl", *argv]
