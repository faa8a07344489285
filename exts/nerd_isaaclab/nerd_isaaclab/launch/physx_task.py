# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Opens a task in ``physx`` mode, in the process of an engine: what collects, describes a robot or examines a task."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def physx_task(
    task: str,
    physics: str,
    device: str,
    num_envs: int,
    overrides: tuple[str, ...],
    change: Callable[[Any], None] = lambda env_cfg: None,
) -> Iterator[Any]:
    """Makes the environment of a task, unwrapped, and closes it in the end.

    Args:
        task: Id of the task.
        physics: Physics preset.
        device: Device of the simulation.
        num_envs: Number of environments.
        overrides: Changes of the task's configuration, ``env.<field>=<value>``.
        change: Further changes of the configuration, in place.

    Raises:
        ValueError: An override that names nothing.
    """
    import gymnasium
    from isaaclab_tasks.utils.parse_cfg import parse_env_cfg

    import nerd_isaaclab.tasks  # noqa: F401  (workarounds, assets and registrations, before other imports of Isaac Lab)

    from ..compat.physics_presets import physics_words

    fixed = [*physics_words(task, physics), "env.nerd.mode=physx"]
    if overrides:
        check_overrides(parse_env_cfg(task, overrides=fixed), list(overrides))
    env_cfg = parse_env_cfg(task, device=device, num_envs=num_envs, overrides=[*fixed, *overrides])
    change(env_cfg)
    env = gymnasium.make(task, cfg=env_cfg).unwrapped
    try:
        yield env
    finally:
        env.close()


def check_overrides(env_cfg: Any, overrides: list[str]) -> None:
    """Raises :class:`ValueError` when an override names nothing; Isaac Lab would add it without a word.

    Args:
        env_cfg: Configuration of the task.
        overrides: Words ``env.<field>=<value>``.
    """
    for word in overrides:
        path, equals, _ = word.partition("=")
        here: Any = env_cfg
        for name in path.split(".")[1:]:
            if isinstance(here, (list, tuple)):
                raise ValueError(
                    f"got the override '{word}', but '{name}' would be in a list of {len(here)}, which Isaac Lab's "
                    "overrides do not reach: change it in the configuration of the task, or of one derived from it"
                )
            fields = here if isinstance(here, dict) else vars(here) if hasattr(here, "__dict__") else {}
            if name in fields:
                here = fields[name]
            else:
                near = difflib.get_close_matches(name, [str(field) for field in fields], n=1)
                hint = f", did you mean '{near[0]}'?" if near else ""
                raise ValueError(f"got the override '{word}', but there is no '{name}'{hint}")
        if not equals:
            raise ValueError(f"got the override '{word}', expected env.<field>=<value>")


def set_seed(env_cfg: Any) -> None:
    """A change of :func:`physx_task`: the same look at a task every time."""
    env_cfg.seed = 0
