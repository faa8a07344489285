# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How large the actions are with which a task's own agent begins to learn."""

from __future__ import annotations

from typing import Any

DEVIATIONS = 2.0
"""Actions without a clip reach this many standard deviations of the agent's first exploration."""


def action_reach(task: str, asked: float | None = None) -> float:
    """Largest action to either side that excitation uses, before the action terms scale and clip it themselves.

    Args:
        task: Id of a registered task.
        asked: What a person asked for; None for what the task's RSL-RL agent uses.
    """
    if asked is not None:
        return asked
    agent = agent_of(task)
    clip = getattr(agent, "clip_actions", None)
    if isinstance(clip, (int, float)) and clip > 0.0:
        return float(clip)
    actor = getattr(getattr(agent, "actor", None), "distribution_cfg", None)
    for place, name in ((actor, "init_std"), (getattr(agent, "policy", None), "init_noise_std")):
        deviation = getattr(place, name, None)
        if isinstance(deviation, (int, float)) and deviation > 0.0:
            return DEVIATIONS * float(deviation)
    return 1.0


def agent_of(task: str) -> Any:
    """The configuration of the task's RSL-RL agent; None where it has none."""
    import gymnasium

    from ..tasks.derived import resolve

    entry = gymnasium.spec(task.split(":")[-1]).kwargs.get("rsl_rl_cfg_entry_point")
    found = None if entry is None else resolve(entry)
    return found() if callable(found) else found
