# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Lets a model step the task for a while, beside the solver."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import torch

from .diagnosis import Diagnosis, fine, obstacle, warning

if TYPE_CHECKING:
    from ..envs.nerd_env import NerdDynamics

STEPS = 100
"""Control steps that are stepped [1]."""

WARM_UP = 5
"""Steps before the clock starts."""

TOO_OFTEN = 0.05
"""Share of the environments that the guard may hold within :data:`STEPS`."""


def check_model(env: NerdDynamics, model: str) -> list[Diagnosis]:
    """Whether a model fits the robot, stays within its bounds under random actions, and what its step costs.

    Args:
        env: The environment, in ``physx`` mode.
        model: Directory of the model, or the name of a shipped one.
    """
    actions = _actions(env)
    solver_ms, _ = _play(env, actions)
    try:
        env.load_nerd_checkpoint(model)
    except ValueError as error:
        return [obstacle("model", str(error), "train one with this robot's own data: nerd generate, nerd train")]
    env.reset()
    env.set_nerd_mode("neural")
    model_ms, held = _play(env, actions)
    env.set_nerd_mode("physx")
    share = float(held.float().mean())
    found = [_of_guard(share, len(held))]
    text = f"a step of {env.num_envs} environments takes {model_ms:.1f} ms in the model, {solver_ms:.1f} ms in PhysX"
    found.append(fine("step cost", f"{text} ({model_ms / solver_ms:.2f} of it)"))
    return found


def _of_guard(share: float, count: int) -> Diagnosis:
    text = f"under random actions the guard held {100 * share:.1f} % of {count} environments within {STEPS} steps"
    if share == 0.0:
        return fine("model", f"fits the robot; {text}")
    if share < TOO_OFTEN:
        return warning("model", text, "collect where it leads: nerd generate ... --visited MODEL, then nerd train")
    return obstacle("model", text, "train longer or on more data: nerd train DATA MORE_DATA --minutes 30")


def _actions(env: NerdDynamics) -> torch.Tensor:
    """Actions in [-1, 1], held for ten steps each, shape (STEPS + WARM_UP, N, A)."""
    generator = torch.Generator().manual_seed(0)
    changes = -(-(STEPS + WARM_UP) // 10)
    drawn = torch.rand(changes, env.num_envs, env.action_manager.total_action_dim, generator=generator) * 2.0 - 1.0
    return drawn.repeat_interleave(10, dim=0)[: STEPS + WARM_UP].to(env.device)


def _play(env: NerdDynamics, actions: torch.Tensor) -> tuple[float, torch.Tensor]:
    """Time of a step [ms], and which environments the guard held at any time, shape (N,)."""
    begun = 0.0
    held = torch.zeros(env.num_envs, dtype=torch.bool, device=env.device)
    with torch.inference_mode():
        for number, action in enumerate(actions):
            if number == WARM_UP:
                begun = time.perf_counter()
            env.step(action)
            if env.nerd is not None and env.nerd_mode != "physx":
                held |= env.nerd.held
    return 1e3 * (time.perf_counter() - begun) / (len(actions) - WARM_UP), held
