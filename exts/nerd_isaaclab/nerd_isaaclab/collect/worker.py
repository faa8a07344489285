# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""One worker of ``nerd generate``: a process with an engine of its own that fills one shard.

Told what to do by a JSON object on standard input; says how far it is in JSON lines on standard output. All else that
the engine and Isaac Lab print goes to standard error.
"""

from __future__ import annotations

import difflib
import json
import os
import sys
from pathlib import Path
from typing import Any

from nerd_core.serialization import from_plain, to_plain


def main() -> int:
    """Collects one shard. Returns the exit code."""
    order = json.load(sys.stdin)
    says = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # the engine writes to the descriptor, not to sys.stdout

    import gymnasium
    from isaaclab_tasks.utils.parse_cfg import parse_env_cfg

    import nerd_isaaclab.tasks  # noqa: F401  (cures, assets and registrations, before other imports of Isaac Lab)

    from .collect_cfg import CollectCfg
    from .collector import Collector, change_task

    cfg = from_plain(CollectCfg, order["cfg"])
    overrides = [f"physics={cfg.physics}", "env.nerd.mode=physx", *order["overrides"]]
    env: Any = None
    try:
        if order["overrides"]:
            check_overrides(parse_env_cfg(cfg.task, overrides=overrides[:2]), order["overrides"])
        env_cfg = parse_env_cfg(cfg.task, device=order["device"], num_envs=cfg.num_envs, overrides=overrides)
        change_task(env_cfg, cfg)
        env = gymnasium.make(cfg.task, cfg=env_cfg).unwrapped
        collector = Collector(env, cfg, Path(order["out"]), order["shard"])
        says.write(json.dumps({"progress": to_plain(collector.report)}) + "\n")
        collector.run(order["transitions"], lambda report: _say(says, report))
    except (ValueError, OSError) as error:
        says.write(json.dumps({"error": str(error)}) + "\n")
        return 2
    except KeyboardInterrupt:
        return 130
    finally:
        if env is not None:
            env.close()
    return 0


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


def _say(stream, report) -> None:
    stream.write(json.dumps({"progress": to_plain(report)}) + "\n")


if __name__ == "__main__":
    sys.exit(main())
