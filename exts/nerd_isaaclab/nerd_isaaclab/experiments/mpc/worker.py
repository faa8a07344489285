# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The process in which robots walk: starts an engine with Go2s on a plane."""

from __future__ import annotations

import sys
from typing import Any

from nerd_core.files.serialization import from_plain

from ...launch.engine_process import Report, serve

STANDING = (0.0, 0.8, -1.5)
"""Joints of a leg of a Go2 that stands: hip, thigh, calf [rad]."""


def work(plain: dict[str, Any], report: Report) -> dict[str, Any]:
    """Does the experiment.

    Args:
        plain: The :class:`~.run.MpcWalkCfg` as plain values.
        report: Takes words on the progress.

    Returns:
        What :meth:`~.study.Study.run` does.
    """
    import nerd_isaaclab.tasks  # noqa: F401  (workarounds and assets, before other imports of Isaac Lab)

    from ...assets.root import missing_message
    from ...robots import go2
    from .quadruped import of_description
    from .run import MpcWalkCfg
    from .scene import quadruped_scene
    from .study import Study

    cfg = from_plain(MpcWalkCfg, plain)
    if not go2.ASSET.file.is_file():
        raise ValueError(missing_message(go2.ASSET.path))
    body = of_description(go2.build(), go2.LEGS, STANDING)
    with quadruped_scene(go2.articulation(), body, cfg.robots, 1.0 / cfg.physics_rate, cfg.ground_friction) as robots:
        return Study(cfg, robots, body, report).run()


if __name__ == "__main__":
    sys.exit(serve(work))
