# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""One worker of a collection: a process with an engine of its own that fills one shard.

:func:`nerd_isaaclab.collect.run.collect` starts it; :mod:`nerd_isaaclab.launch.engine_process` says how they talk.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from nerd_core.files.serialization import from_plain, to_plain
from nerd_core.robot.spec import RobotSpec

from ..launch.engine_process import Report, serve
from ..launch.physx_task import physx_task


def work(plain: dict[str, Any], report: Report) -> dict[str, Any]:
    """Collects one shard.

    Args:
        plain: The :class:`~nerd_isaaclab.collect.messages.Order` as plain values.
        report: Takes each :class:`~nerd_isaaclab.collect.messages.CollectReport` as plain values.

    Returns:
        The last report.
    """
    import nerd_isaaclab.tasks  # noqa: F401  (workarounds, assets and registrations, before other imports of Isaac Lab)

    from .collector import Collector, change_task
    from .messages import Order

    order = from_plain(Order, plain)
    cfg, said = order.cfg, []

    def change(env_cfg: Any) -> None:
        said.extend(change_task(env_cfg, cfg))

    with physx_task(cfg.task, cfg.physics, order.device, cfg.num_envs, cfg.overrides, change) as env:
        robot = None if order.robot is None else RobotSpec.from_json(order.robot)
        collector = Collector(env, cfg, Path(order.out), order.shard, robot)
        collector.report.warnings += tuple(said)
        report(to_plain(collector.report))
        return to_plain(collector.run(order.transitions, lambda done: report(to_plain(done))))


if __name__ == "__main__":
    sys.exit(serve(work))
