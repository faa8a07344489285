# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The process in which a policy plays in the solver and then in a model, from the same starts.

:func:`nerd_isaaclab.evaluation.policy_driven.play` starts it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nerd_core.files.serialization import from_plain

from ..launch.engine_process import Report, serve
from ..launch.physx_task import physx_task

if TYPE_CHECKING:
    import torch

    from .policy_driven import PolicyDriven


def work(plain: dict[str, Any], report: Report) -> dict[str, Any]:
    """Plays both runs and writes their states.

    Args:
        plain: The :class:`~nerd_isaaclab.evaluation.policy_driven.PolicyDriven` as plain values.
        report: Takes the progress.

    Returns:
        Nothing: the states are in a file.
    """
    import nerd_isaaclab.tasks  # noqa: F401  (workarounds, assets and registrations, before other imports of Isaac Lab)

    from ..envs.randomised_properties import hold_still
    from ..physics.robot_state import RobotState
    from ..policies.load import load_policy
    from ..policies.play import require_fit
    from .policy_driven import STATES, PolicyDriven

    order = from_plain(PolicyDriven, plain)

    def change(env_cfg: Any) -> None:
        env_cfg.seed = order.seed
        hold_still(env_cfg.events)

    with physx_task(order.task, order.physics, order.device, order.trajectories, order.overrides, change) as env:
        import torch

        obs, _ = env.reset(seed=order.seed)
        policy = load_policy(order.policy).to(env.device)
        require_fit(policy, env, obs)
        # Isaac Lab sets velocities to zero in the first reset of its life, and engines warm up in their first step.
        env.step(torch.zeros(env.num_envs, env.action_manager.total_action_dim, device=env.device))
        env.load_nerd_checkpoint(str(order.model))
        read = RobotState(env.robot, env.robot_spec, env.scene.env_origins).read
        with torch.inference_mode():
            found = play_twice(env, read, order, policy)
        truth, states, ended, whole = (each.cpu().numpy() for each in found)
        np.savez(Path(order.out, STATES), truth=truth, states=states, ended=ended, whole=whole)
    return {}


def play_twice(
    env: Any, read: Callable[[], torch.Tensor], order: PolicyDriven, policy: Callable[[torch.Tensor], torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Plays a policy in the solver, and then in the model from the same starts.

    Args:
        env: The environment.
        read: Gives the states of the robots, shape (N, S).
        order: Seed, length, and whether the model is given the actions of the solver's run.
        policy: Gives actions for observations.

    Returns:
        States in the solver and in the model, shape (N, H + 1, S), the step at which each ended in the model, 0 for
        never, and whether it went on in the solver, shape (N,).
    """
    import torch

    taken: list[torch.Tensor] = []

    def follow(step: int, observed: Any) -> torch.Tensor:
        taken.append(policy(observed["policy"]))
        return taken[-1]

    truth, fell = run(env, read, "physx", order.seed, order.steps, follow)
    again = (lambda step, observed: taken[step]) if order.actions else follow
    states, ended = run(env, read, "neural", order.seed, order.steps, again)
    if not torch.equal(truth[:, 0], states[:, 0]):
        raise ValueError(
            f"the starts of {order.task} differ though their seed is the same: there is nothing to compare"
        )
    return truth, states, ended, fell == 0


def run(
    env: Any,
    read: Callable[[], torch.Tensor],
    mode: str,
    seed: int,
    steps: int,
    act: Callable[[int, Any], torch.Tensor],
) -> tuple[torch.Tensor, torch.Tensor]:
    """Steps an environment from its starts. What ends stays at its last state.

    Args:
        env: The environment.
        read: Gives the states of the robots, shape (N, S).
        mode: Mode to run in.
        seed: Seed of the starts.
        steps: Number of steps.
        act: Gives the actions of a step, from its number and what is observed.

    Returns:
        States, the first included, shape (N, H + 1, S), and the step at which each ended, 0 for never, shape (N,).
    """
    import torch

    env.set_nerd_mode(mode)
    observed, _ = env.reset(seed=seed)
    states = [read().clone()]
    ended = torch.zeros(env.num_envs, dtype=torch.long, device=env.device)
    for step in range(steps):
        observed, _, terminated, truncated, _ = env.step(act(step, observed))
        ended = torch.where((ended == 0) & (terminated | truncated), step + 1, ended)
        states.append(torch.where((ended == 0)[:, None], read(), states[-1]))
    return torch.stack(states, 1), ended


if __name__ == "__main__":
    sys.exit(serve(work))
