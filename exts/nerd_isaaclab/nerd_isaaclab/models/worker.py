# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The process that reads a robot's specification: starts a task's engine, looks, sends what it has found."""

from __future__ import annotations

import sys
from typing import Any

from nerd_core.files.serialization import from_plain, to_plain

from ..launch.engine_process import Report, serve
from ..launch.physx_task import physx_task, set_seed

NUM_ENVS = 4
"""Environments: the controls are found by random actions in all of them."""


def work(plain: dict[str, Any], report: Report) -> dict[str, Any]:
    """Reads the specification of a task's robot.

    Args:
        plain: The :class:`~nerd_isaaclab.models.untrained.InitModelCfg` as plain values.
        report: Takes nothing: it is a matter of seconds.

    Returns:
        The :class:`~nerd_isaaclab.models.untrained.TaskRobot` as plain values.
    """
    from .untrained import InitModelCfg, TaskRobot

    cfg = from_plain(InitModelCfg, plain)
    with physx_task(cfg.task, cfg.physics, cfg.device, NUM_ENVS, cfg.overrides, set_seed) as env:
        env.reset(seed=0)
        return to_plain(TaskRobot(env.robot_spec.to_json(), sees_ground(env)))


def sees_ground(env: Any) -> bool:
    """Whether a model of the robot is to see contacts: as ``nerd train`` decides where the data tell of no contact.

    A robot that stands on nothing can do without a ground that data cannot hold (one that is not a plane); one that
    walks cannot.

    Args:
        env: The environment.

    Raises:
        GroundError: A floating robot, and a ground that contacts cannot see, with the option that helps.
    """
    from ..physics.ground import GroundError, find_ground
    from ..recorders.transitions import planes_of

    spec = env.robot_spec
    if not spec.slots:
        return False
    try:
        ground = find_ground(env)
    except GroundError:
        if spec.floating_base:
            raise
        return False
    return spec.floating_base or planes_of(ground, env.num_envs) is not None


if __name__ == "__main__":
    sys.exit(serve(work))
