# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Says in words which physics a task can run on, before Isaac Lab fails with a message about something else.

``physics=NAME`` chooses among the presets of a task. A task of somebody's own may have none: its ``sim.physics`` is
fixed, which no name can change ("did not match a selectable preset"), or is missing, and then Isaac Lab wants Isaac Sim
("Isaac Sim is not installed").
"""

from __future__ import annotations

import importlib.util
from typing import Any

KINDS = {"OvPhysxCfg": "ovphysx", "PhysxCfg": "isaacsim_physx", "NewtonCfg": "newton_mjwarp"}
"""The name by which presets usually call a configuration of physics."""

ADVICE = (
    "To choose, give the task presets: 'sim.physics = PhysicsPresetsCfg()' in its configuration, from "
    "nerd_isaaclab.tasks.base_env_cfg (ovphysx, isaacsim_physx, newton_mjwarp)"
)


def physics_words(task: str, name: str) -> list[str]:
    """The words that let a task run on a physics: none where it is fixed to that physics already.

    Args:
        task: Id of a registered task.
        name: Name of the preset.

    Raises:
        ValueError: The task cannot run on it, with what to do.
    """
    problem = physics_problem(task, [f"physics={name}"])
    if problem is None:
        return [f"physics={name}"]
    if not _presets(task) and KINDS.get(type(_fixed(task)).__name__) == name:
        return []
    raise ValueError(problem)


def physics_problem(task: str, argv: list[str]) -> str | None:
    """Why a task cannot run on the physics that the words ask for, and what to do; None if nothing is known against it.

    Args:
        task: Id of a registered task.
        argv: Arguments among which ``physics=NAME`` may stand.
    """
    chosen = [word.partition("=")[2] for word in argv if word.startswith("physics=")]
    if any(word.startswith(("presets=", "env.sim.physics")) for word in argv):
        return None
    presets = _presets(task)
    if presets:
        wrong = [name for name in chosen if _aliases().get(name, name) not in presets]
        return f"got physics={wrong[0]}, expected one of the presets of {task}: {', '.join(presets)}" if wrong else None
    fixed = _fixed(task)
    if fixed is _UNREADABLE:
        return None  # Isaac Lab itself says why the task cannot be read
    if fixed is None and (chosen or importlib.util.find_spec("isaacsim") is None):
        return f"{task} names no physics (its SimulationCfg has no 'physics'), which means Isaac Sim. {ADVICE}"
    if chosen:
        kind = type(fixed).__name__
        return (
            f"got physics={chosen[0]}, but the physics of {task} is fixed: its 'sim.physics' is a {kind}. Leave out "
            f"physics=... to run on it. {ADVICE}"
        )
    return None


_UNREADABLE = object()


def _presets(task: str) -> list[str]:
    """Names of the presets of a task's physics; none where it has none, or cannot be read."""
    import isaaclab_tasks  # noqa: F401
    from isaaclab_tasks.utils.preset_cli import enumerate_task_presets
    from isaaclab_tasks.utils.preset_target import PresetTarget

    return list((enumerate_task_presets(task.split(":")[-1]) or {}).get(PresetTarget.PHYSICS) or ())


def _aliases() -> dict[str, str]:
    from isaaclab_tasks.utils.preset_target import PresetTarget

    return PresetTarget.all_legacy_aliases()


def _fixed(task: str) -> Any:
    """The physics of a task without presets."""
    from isaaclab_tasks.utils.parse_cfg import load_cfg_from_registry

    try:
        return getattr(load_cfg_from_registry(task.split(":")[-1], "env_cfg_entry_point").sim, "physics", None)
    except Exception:  # somebody else's task: it is reported by who runs it
        return _UNREADABLE
