# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""One worker of a collection: a process with an engine of its own that fills one shard.

:func:`nerd_isaaclab.collect.run.collect` starts it; :mod:`nerd_isaaclab.launch.engine_process` says how they talk.
"""

from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import Any

from nerd_core.files.serialization import from_plain, to_plain
from nerd_core.robot.spec import RobotSpec

from ..launch.engine_process import Report, serve


def work(plain: dict[str, Any], report: Report) -> dict[str, Any]:
    """Collects one shard.

    Args:
        plain: The :class:`~nerd_isaaclab.collect.messages.Order` as plain values.
        report: Takes each :class:`~nerd_isaaclab.collect.messages.CollectReport` as plain values.

    Returns:
        The last report.
    """
    import gymnasium
    from isaaclab_tasks.utils.parse_cfg import parse_env_cfg

    import nerd_isaaclab.tasks  # noqa: F401  (workarounds, assets and registrations, before other imports of Isaac Lab)

    from ..compat.physics_presets import physics_words
    from .collector import Collector, change_task
    from .messages import Order

    order = from_plain(Order, plain)
    cfg = order.cfg
    fixed = [*physics_words(cfg.task, cfg.physics), "env.nerd.mode=physx"]
    overrides = [*fixed, *cfg.overrides]
    env: Any = None
    try:
        if cfg.overrides:
            check_overrides(parse_env_cfg(cfg.task, overrides=fixed), list(cfg.overrides))
        env_cfg = parse_env_cfg(cfg.task, device=order.device, num_envs=cfg.num_envs, overrides=overrides)
        said = change_task(env_cfg, cfg)
        env = gymnasium.make(cfg.task, cfg=env_cfg).unwrapped
        robot = None if order.robot is None else RobotSpec.from_json(order.robot)
        collector = Collector(env, cfg, Path(order.out), order.shard, robot)
        collector.report.warnings += tuple(said)
        report(to_plain(collector.report))
        return to_plain(collector.run(order.transitions, lambda done: report(to_plain(done))))
    finally:
        if env is not None:
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
            fields = here if isinstance(here, dict) else vars(here) if hasattr(here, "__dict__") else {}
            if isinstance(here, (list, tuple)) and name.isdecimal() and int(name) < len(here):
                here = here[int(name)]
            elif name in fields:
                here = fields[name]
            else:
                near = difflib.get_close_matches(name, [str(field) for field in fields], n=1)
                hint = f", did you mean '{near[0]}'?" if near else ""
                raise ValueError(f"got the override '{word}', but there is no '{name}'{hint}")
        if not equals:
            raise ValueError(f"got the override '{word}', expected env.<field>=<value>")


if __name__ == "__main__":
    sys.exit(serve(work))
