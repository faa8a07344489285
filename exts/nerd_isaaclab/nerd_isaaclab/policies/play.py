# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Lets a policy play whole episodes of a running environment, and measures them in quantities a person can picture.

Each environment plays one episode from its start, with the mean action of the policy; a second one that begins while
others still play the first does not count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from .first_episodes import FirstEpisodes
from .policy import Policy

if TYPE_CHECKING:
    from ..tasks.scores import Score

RECORDED = 3
"""Number of episodes whose states are recorded."""

PROGRESS_STEPS = 10
"""Steps between two reports of progress."""

Progress = Callable[[int, int, int], None]
"""Takes the steps done, the steps of the longest episode, and the number of environments that still play."""


@dataclass(frozen=True)
class Spread:
    """A quantity over the episodes."""

    mean: float
    """Its mean."""
    std: float
    """Its standard deviation."""


@dataclass(frozen=True)
class Measured(Spread):
    """A quantity over the episodes with its unit."""

    unit: str
    """Unit; ``share`` for something that an episode reaches or not."""


@dataclass(frozen=True)
class PlayResult:
    """What was measured over the episodes."""

    episodes: int
    """Number of episodes."""
    ends: dict[str, float]
    """Share of the episodes that each termination ended; what several ended in one step, they share."""
    scores: dict[str, Measured]
    """``return`` (as published: not multiplied by the control step), ``length`` and the scores of the task."""
    terms: dict[str, Spread]
    """The part that each reward term has in the return."""
    commands: dict[str, Spread]
    """What command terms measure of the motion that followed their commands; empty for tasks without commands."""
    logs: dict[str, float]
    """Means of what else the task logs when an episode ends (curricula, metrics of its own)."""
    per_episode: dict[str, tuple[float, ...]]
    """Every quantity above, in each episode: scores by name, ``reward of <term>``, ``command <term>/<metric>``."""


def play_episodes(
    env: Any,
    policy: Policy,
    scores: tuple[Score, ...],
    states: list[torch.Tensor] | None = None,
    progress: Progress | None = None,
    seed: int | None = None,
) -> PlayResult:
    """Plays one episode in each environment.

    Args:
        env: An unwrapped manager-based environment.
        policy: The policy, on the environment's device.
        scores: What to measure.
        states: List that gets the state of the first environments before each step, shape (:data:`RECORDED`, S);
            not finite where the episode has ended. None records nothing.
        progress: Called every :data:`PROGRESS_STEPS` steps.
        seed: Seed of all that is drawn, see :mod:`~nerd_isaaclab.policies.first_episodes`; None for Isaac Lab's way.
    """
    obs, _ = env.reset(seed=seed)
    require_fit(policy, env, obs)
    count, device = env.num_envs, env.device
    playing = torch.ones(count, dtype=torch.bool, device=device)
    length = torch.zeros(count, device=device)
    total = torch.zeros(count, device=device)
    full = torch.zeros(count, dtype=torch.bool, device=device)
    sums = {score.name: torch.zeros(count, device=device) for score in scores}
    held = {score.name: torch.zeros(count, device=device) for score in scores}  # steps in a row, up to now
    ends = {term: 0.0 for term in env.termination_manager.active_terms}
    terms = {term: torch.zeros(count, device=device) for term in env.reward_manager.active_terms}
    reader = None if states is None else _state_reader(env)
    with torch.inference_mode(), FirstEpisodes(env, playing, seed) as watched:
        for step in range(env.max_episode_length):
            for score in scores:
                value = score.measure(env)
                if score.reduce == "mean":
                    sums[score.name] += torch.where(playing, value, 0.0)
                else:
                    unbroken = torch.where(value, held[score.name] + 1, 0.0)
                    held[score.name] = torch.where(playing, unbroken, held[score.name])
            if states is not None and reader is not None:
                states.append(torch.where(playing[:, None], reader.read(), torch.nan)[:RECORDED].cpu())
            watched.before_step(step)
            obs, reward, terminated, truncated, _ = env.step(policy(obs["policy"]))
            length += playing
            total += torch.where(playing, reward / env.step_dt, 0.0)
            for column, values in enumerate(terms.values()):
                # Isaac Lab shows the terms of a step for one environment at a time only; this is the table behind that.
                values += torch.where(playing, env.reward_manager._step_reward[:, column], 0.0)
            ended = playing & (terminated | truncated)
            watched.after_step(ended)
            fired = {term: env.termination_manager.get_term(term) & ended for term in ends}
            together = sum(each.float() for each in fired.values())  # how many terms ended an episode
            for term, each in fired.items():
                ends[term] += float((each / together).nan_to_num(0.0).sum())
            full |= ended & ~terminated
            playing &= ~ended
            if progress is not None and (step + 1) % PROGRESS_STEPS == 0:
                progress(step + 1, env.max_episode_length, int(playing.sum()))
            if not playing.any():
                break
    episodes = {"return": total, "length": length}
    for score in scores:
        if score.reduce == "mean":
            episodes[score.name] = sums[score.name] / length
        else:
            episodes[score.name] = (full & (held[score.name] * env.step_dt >= score.hold_s)).float()
    units = {"return": "1", "length": "steps", **{score.name: score.unit for score in scores}}
    return PlayResult(
        episodes=count,
        ends={term: number / count for term, number in ends.items()},
        scores={name: Measured(*_mean_and_std(values), units[name]) for name, values in episodes.items()},
        terms={name: Spread(*_mean_and_std(values)) for name, values in terms.items()},
        commands={name: Spread(*_mean_and_std(values)) for name, values in watched.commands.items()},
        logs={name: round(value, 4) for name, value in watched.logs.items()},
        per_episode={
            name: tuple(float(f"{value:.7g}") for value in values.tolist())
            for name, values in (
                *episodes.items(),
                *((f"reward of {name}", values) for name, values in terms.items()),
                *((f"command {name}", values) for name, values in watched.commands.items()),
            )
        },
    )


def require_fit(policy: Policy, env: Any, obs: Any) -> None:
    """Raises ValueError unless a policy has the observations and actions of a task.

    Args:
        policy: The policy.
        env: An unwrapped manager-based environment.
        obs: What it observes, by group.
    """
    if not isinstance(obs.get("policy"), torch.Tensor):
        raise ValueError(f"got the observation groups {', '.join(obs)}, expected a group 'policy' in one piece")
    given, taken = obs["policy"].shape[-1], env.action_manager.total_action_dim
    if (given, taken) != (policy.obs_dim, policy.action_dim):
        raise ValueError(
            f"got a policy of {policy.obs_dim} observations and {policy.action_dim} actions, expected {given} and "
            f"{taken} for this task: it was trained for another task or robot"
        )


def _state_reader(env: Any) -> Any:
    from ..physics.robot_state import RobotState  # needs Isaac Lab

    return RobotState(env.robot, env.robot_spec, env.scene.env_origins)


def _mean_and_std(values: torch.Tensor) -> tuple[float, float]:
    return round(float(values.mean()), 4), round(float(values.std(correction=0)), 4)
