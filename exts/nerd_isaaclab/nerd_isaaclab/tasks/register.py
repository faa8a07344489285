# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Registering a task with Gymnasium: its id, its ``-Play`` variant, its agent.

Import strings throughout, so that registering imports no configuration. Two of them are made by rule, and resolved when
a task is asked for: ``nerd_isaaclab.tasks.play:<id>`` and ``nerd_isaaclab.tasks.agents:<id>``.
"""

from __future__ import annotations

import gymnasium

ENV_CLASS = "nerd_isaaclab.envs.nerd_env:NerdEnv"
"""The environment class of all tasks of ours."""

AGENT_CLASSES: dict[str, str] = {}
"""Class of the RSL-RL configuration of each task, by the task's id."""


def register_task(task_id: str, env_cfg: str, agent: str | None, scores: str | None = None) -> None:
    """Register a task, and ``<id>-Play``: the same with few environments, to be watched.

    Args:
        task_id: Id of the task.
        env_cfg: Its configuration, ``module:class``.
        agent: Its RSL-RL configuration, ``module:class``; logs go to a folder named after the task. None for a task
            in which nothing can be learned, because nothing acts.
        scores: What a policy is judged by, ``module:tuple`` of :class:`~nerd_isaaclab.tasks.scores.Score`.
    """
    of_agent = {}
    if agent is not None:
        AGENT_CLASSES[task_id] = agent
        of_agent = {"rsl_rl_cfg_entry_point": f"{__package__}.agents:{task_id}", "default_agent": "rsl_rl"}
    for name, cfg in ((task_id, env_cfg), (f"{task_id}-Play", f"{__package__}.play:{task_id}")):
        kwargs = {"env_cfg_entry_point": cfg, **of_agent}
        if scores is not None:
            kwargs["score_entry_point"] = scores
        gymnasium.register(id=name, entry_point=ENV_CLASS, disable_env_checker=True, kwargs=kwargs)
