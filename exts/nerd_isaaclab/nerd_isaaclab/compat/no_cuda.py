# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Complete the command line of Isaac Lab's programs on a machine without CUDA, so that the plain command works there.

Isaac Lab's defaults are those of a GPU: ``--device cuda:0``, the agent on ``cuda:0``, and for many stock tasks
``physics=newton_mjwarp``. Where there is no CUDA, :func:`complete_arguments` adds what a person would have to type::

    isaaclab train --rl_library rsl_rl --task Isaac-Cartpole
    isaaclab train --rl_library rsl_rl --task Isaac-Cartpole --device cpu agent.device=cpu physics=ovphysx

Only Isaac Lab's documented flags are used, whatever is given stays as it is, and the addition is printed. With CUDA
nothing is added. ``nerd rl ...`` and the scripts call it themselves; for ``isaaclab ...`` the module named in the
entry-point group ``isaaclab.tasks``, which that program imports before it reads its arguments, does
(:func:`complete_isaaclab_command`).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from .physics_presets import physics_problem

PROGRAMS = ("train", "play", "zero_agent", "random_agent")
"""Programs of the command ``isaaclab`` whose arguments are completed."""

_WITH_AGENT = ("train", "play")


def has_cuda() -> bool:
    """Return whether PyTorch sees a CUDA device."""
    import torch

    return torch.cuda.is_available()


def complete_isaaclab_command(argv: list[str]) -> list[str]:
    """Complete the arguments of the running ``isaaclab`` command in place.

    Args:
        argv: ``sys.argv``. Changed only if it is ``isaaclab PROGRAM ...`` and there is no CUDA.

    Returns:
        The added words.

    Raises:
        SystemExit: The task cannot run on the physics that is asked for, with what to do.
    """
    if not is_isaaclab_command(argv) or has_cuda():
        return []  # with CUDA no task is looked up: Kit may have to start before its configuration is imported
    task = option(argv, "--task")
    if task is not None and _spec(task) is not None and (problem := physics_problem(task, argv)):
        raise SystemExit(f"nerd: {problem}")
    added = complete_arguments(argv[1], argv[2:])
    argv.extend(added)
    return added


def complete_arguments(program: str, argv: list[str]) -> list[str]:
    """Return the words to append to the arguments of one of Isaac Lab's programs: none if there is CUDA.

    Args:
        program: One of :data:`PROGRAMS`.
        argv: Arguments of the program, without its name.
    """
    if has_cuda() or any(word in ("-h", "--help") for word in argv):
        return []
    task = option(argv, "--task")
    added: list[str] = []
    if option(argv, "--device") is None:
        added += ["--device", "cpu"]
    on_cpu = option(argv + added, "--device") == "cpu"
    if program in _WITH_AGENT and on_cpu and not _is_set(argv, "agent.device") and _library(argv, task) == "rsl_rl":
        added.append("agent.device=cpu")
    chosen = any(_is_set(argv, key) for key in ("physics", "presets", "env.sim.physics"))
    if task is not None and not chosen and _needs_ovphysx(task):
        added.append("physics=ovphysx")
    if added:
        print(f"[nerd] no CUDA device here: added {' '.join(added)}", file=sys.stderr)
    return added


def option(argv: list[str], name: str) -> str | None:
    """Return the last value of an option given as ``--name value`` or ``--name=value``."""
    value = None
    for i, word in enumerate(argv):
        if word == name and i + 1 < len(argv):
            value = argv[i + 1]
        elif word.startswith(f"{name}="):
            value = word.partition("=")[2]
    return value


def _is_set(argv: list[str], key: str) -> bool:
    """Whether a Hydra override ``key=...`` or ``key.field=...`` is among the words."""
    return any(word.startswith((f"{key}=", f"{key}.")) for word in argv)


def is_isaaclab_command(argv: list[str]) -> bool:
    """Whether a process was started as ``isaaclab PROGRAM ...`` with one of :data:`PROGRAMS`."""
    return len(argv) > 1 and argv[1] in PROGRAMS and _is_isaaclab(argv[0])


def _is_isaaclab(program: str) -> bool:
    """Whether a process was started as ``isaaclab`` or ``python -m isaaclab``."""
    path = Path(program)
    return path.stem == "isaaclab" or (path.name == "__main__.py" and path.parent.name == "isaaclab")


def _library(argv: list[str], task: str | None) -> str | None:
    """Name of the reinforcement-learning library a command will use."""
    named = option(argv, "--rl_library")
    spec = _spec(task) if named is None and task is not None else None
    return spec.kwargs.get("default_agent") if spec is not None else named


def _needs_ovphysx(task: str) -> bool:
    """Whether a task offers PhysX without Kit but would start something else by default."""
    spec = _spec(task)
    if spec is None or "env_cfg_entry_point" not in spec.kwargs:
        return False
    from isaaclab_tasks.utils.hydra import collect_presets
    from isaaclab_tasks.utils.parse_cfg import load_cfg_from_registry

    try:
        presets = collect_presets(load_cfg_from_registry(task, "env_cfg_entry_point"))
    except Exception:  # a broken task is reported by the program itself, not while its arguments are completed
        return False
    choices = presets.get("sim.physics", {})
    if "ovphysx" not in choices:
        return False
    return type(choices.get("default")).__name__ not in ("OvPhysxCfg", "PhysxAutoCfg")


def _spec(task: str) -> Any:
    """Registration of a task, or None if nobody registered it."""
    import gymnasium
    import isaaclab_tasks  # noqa: F401  (registers the stock tasks)

    return gymnasium.registry.get(task.split(":")[-1])
