# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""An environment whose episodes are written down beforehand, with the interface that playing a policy uses.

Each environment plays its :class:`Episode` first; all later ones are two steps long, pay :data:`LATER` a second and
are ended by the first termination, so that whatever counts them gets other numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch

LATER = 1000.0
"""Reward rate of each term in all episodes but the first [1/s]."""

OBSERVATIONS = 3


@dataclass(frozen=True)
class Episode:
    """The first episode of an environment."""

    length: int
    """Steps."""
    ends: tuple[str, ...] = ("time_out",)
    """Terminations that are true after the last step."""
    rates: tuple[float, ...] = (1.0, 0.0)
    """Reward rates of the terms ``alive`` and ``cost`` in each step [1/s]."""
    still: tuple[int, ...] = ()
    """Numbers of the steps, from 0 on, before which the condition of the score ``still`` is true."""


class _Terms:
    """What a manager of terms looks like: names, and something for each."""

    def __init__(self, values: dict[str, Any]):
        self.values = values
        self.active_terms = list(values)

    def get_term(self, name: str) -> Any:
        return self.values[name]


class StubEnv:
    """Environments with known episodes; it notes what was asked of it."""

    device = torch.device("cpu")
    step_dt = 0.25

    def __init__(self, episodes: Sequence[Episode], max_episode_length: int = 8):
        self.episodes, self.max_episode_length = list(episodes), max_episode_length
        self.num_envs = len(self.episodes)
        self.unwrapped = self
        self.steps, self.resets, self.closed = 0, 0, False
        self.seed: int | None = None
        self.actions: list[torch.Tensor] = []
        self.episode = torch.zeros(self.num_envs, dtype=torch.int64)
        self.step_of_episode = torch.zeros(self.num_envs, dtype=torch.int64)
        none = torch.zeros(self.num_envs, dtype=torch.bool)
        self.termination_manager = _Terms({name: none.clone() for name in ("time_out", "fell", "guard")})
        self.reward_manager = SimpleNamespace(
            active_terms=["alive", "cost"], _step_reward=torch.zeros(self.num_envs, 2)
        )
        self.action_manager = SimpleNamespace(total_action_dim=1)
        self.command_manager = _Terms({"walk": SimpleNamespace(metrics={"steps": self.step_of_episode.float()})})

    def reset(self, seed: int | None = None) -> tuple[dict[str, torch.Tensor], dict]:
        """Begins the first episodes."""
        self.resets += 1
        self.seed = seed
        return self._observations(), {}

    def step(self, action: torch.Tensor) -> tuple[dict[str, torch.Tensor], *tuple[torch.Tensor, ...], dict]:
        """One step; whoever reaches the end of an episode begins the next one inside it, as in Isaac Lab."""
        self.actions.append(action.clone())
        self.steps += 1
        fired = self.termination_manager.values
        for term in fired.values():
            term.zero_()
        for index in range(self.num_envs):
            first = not self.episode[index]
            plan = self.episodes[index] if first else Episode(2, ("fell",), (LATER, LATER))
            self.reward_manager._step_reward[index] = torch.tensor(plan.rates)
            self.step_of_episode[index] += 1
            if self.step_of_episode[index] == plan.length:
                self.episode[index] += 1
                self.step_of_episode[index] = 0
                for name in plan.ends:
                    fired[name][index] = True
        self.command_manager.values["walk"].metrics["steps"] = self.step_of_episode.float()
        reward = self.reward_manager._step_reward.sum(1) * self.step_dt
        terminated = fired["fell"] | fired["guard"]
        return self._observations(), reward, terminated, fired["time_out"].clone(), {}

    def close(self) -> None:
        """Notes that it was closed."""
        self.closed = True

    @property
    def height(self) -> torch.Tensor:
        """A number that grows by one with each step of an episode, and by 100 with each episode, shape (N,)."""
        return self.step_of_episode + 100.0 * self.episode

    @property
    def still(self) -> torch.Tensor:
        """The condition of the plan before each step, true in all later episodes, shape (N,)."""
        now = [
            bool(self.episode[index]) or int(self.step_of_episode[index]) in self.episodes[index].still
            for index in range(self.num_envs)
        ]
        return torch.tensor(now)

    def _observations(self) -> dict[str, torch.Tensor]:
        """Observations, of which the first is the number of the environment."""
        obs = torch.zeros(self.num_envs, OBSERVATIONS)
        obs[:, 0] = torch.arange(self.num_envs)
        return {"policy": obs}
