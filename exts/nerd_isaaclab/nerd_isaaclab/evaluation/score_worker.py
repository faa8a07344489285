# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The process in which a policy is scored: starts an engine, plays the episodes, sends the result.

:func:`nerd_isaaclab.evaluation.score.score` starts it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nerd_core.files.serialization import from_plain, to_plain

from ..launch.engine_process import Report, serve

if TYPE_CHECKING:
    import torch

    from ..tasks.scores import Score


def work(plain: dict[str, Any], report: Report) -> dict[str, Any]:
    """Plays one episode in each environment.

    Args:
        plain: The :class:`~nerd_isaaclab.evaluation.score.ScoreCfg` as plain values.
        report: Takes the progress.

    Returns:
        The :class:`~nerd_isaaclab.policies.play.PlayResult` as plain values.
    """
    import nerd_isaaclab.tasks  # noqa: F401  (pinned memory, assets, registration: before any other Isaac Lab import)

    from ..policies.load import load_policy
    from ..policies.play import play_episodes
    from .score import ScoreCfg

    order = from_plain(ScoreCfg, plain)
    cfg, scores = _configure(order)

    import gymnasium
    from isaaclab.app import launch_simulation

    def progress(step: int, steps: int, playing: int) -> None:
        report({"step": step, "steps": steps, "playing": playing})

    launch_arguments = argparse.Namespace(device=cfg.sim.device, visualizer=["none"], headless=True)
    with launch_simulation(cfg, launch_arguments):
        env: Any = gymnasium.make(_name(order.task), cfg=cfg).unwrapped
        try:
            states: list[torch.Tensor] | None = None if order.record is None else []
            policy = load_policy(order.policy).to(env.device)
            result = play_episodes(env, policy, scores, states, progress, order.seed)
            if order.record is not None and states is not None:
                _write_states(env, states, Path(order.record))
        finally:
            env.close()
    return to_plain(result)


def _configure(order: Any) -> tuple[Any, tuple[Score, ...]]:
    """The configuration of the task as it was asked for, and what the task is judged by."""
    import gymnasium
    import isaaclab_tasks  # noqa: F401
    from isaaclab_tasks.utils import resolve_task_config

    from ..compat.no_cuda import complete_arguments, option
    from ..launch.isaaclab_programs import check_physics

    overrides = list(order.all_overrides())
    check_physics(order.task, overrides)
    given = ["--task", order.task, *(["--device", order.device] if order.device else []), *overrides]
    given += complete_arguments("zero_agent", given)
    overrides += [word for word in given if word.startswith("physics=") and word not in overrides]
    device = option(given, "--device")
    name = _name(order.task)
    cfg, _ = resolve_task_config(name, None, overrides=overrides)
    cfg.scene.num_envs = order.num_envs
    cfg.seed = order.seed
    if device is not None:
        cfg.sim.device = device
    entry = gymnasium.spec(name).kwargs.get("score_entry_point")
    if entry is None:
        return cfg, ()  # return, length and the terms of the reward are measured for every task
    module, _, attribute = entry.partition(":")
    return cfg, getattr(importlib.import_module(module), attribute)


def _name(task: str) -> str:
    """Id of a task without the module that may stand before it."""
    return task.split(":")[-1]


def _write_states(env: Any, states: list[torch.Tensor], path: Path) -> None:
    """Writes the recorded episodes, each as a list of states up to its end."""
    import torch

    episodes = torch.stack(states, dim=1)
    whole = [episode[episode.isfinite().all(-1)].tolist() for episode in episodes]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"spec": env.robot_spec.content_hash, "episodes": whole}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(serve(work))
