# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The process in which arms change while they are controlled."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import Tensor

from nerd_core.files.serialization import from_plain

from ...launch.engine_process import Report, serve
from ...launch.physx_task import physx_task
from .returns import Group, figures_of, groups_of

REPORTED_STEPS = 30
"""Steps from one report of progress to the next."""


def work(plain: dict[str, Any], report: Report) -> dict[str, Any]:
    """Does the experiment.

    Args:
        plain: The :class:`~.run.AdaptedControlCfg` as plain values.
        report: Takes words on the progress.

    Returns:
        The figures, and distances over time by group for the plot.
    """
    from .plant import TASK, reach_under_gravity
    from .run import AdaptedControlCfg

    cfg = from_plain(AdaptedControlCfg, plain)
    groups = groups_of(cfg.changes)
    with physx_task(TASK, "ovphysx", "cpu", cfg.starts * len(groups), (), reach_under_gravity) as env:
        rewards, distance, used = _control(env, cfg, groups, report)
        dt = env.step_dt
    changed_at = round(cfg.at / dt)
    figures: dict[str, Any] = figures_of(groups, rewards, changed_at, cfg.seed)
    last = round(cfg.target_seconds / 2.0 / dt)  # the second half of the last target's time
    for number, group in enumerate(groups):
        figures[f"{group.name}_last_distance_m"] = float(distance[-last:, number].mean())
        if group.knows == "adapted":
            figures[f"{group.name}_used_at_end"] = float(used[-1, number].float().mean())
    figures["nothing_used_share"] = float(used[:, groups.index(Group("nothing", "adapted"))].float().mean())
    over_time = {group.name: distance[:, number].mean(-1).tolist() for number, group in enumerate(groups)}
    facts = {"dt": dt, "changed_at_s": changed_at * dt, "changes": list(cfg.changes)}
    return {"figures": figures, "distance": over_time, **facts}


def _control(env: Any, cfg: Any, groups: tuple[Group, ...], report: Report) -> tuple[Tensor, Tensor, Tensor]:
    """Lets all robots run: rewards, distances of tools from targets [m] and which estimates are used, shape
    (T, groups, starts).
    """
    from nerd_core.adaptation.directions import Directions
    from nerd_core.dynamics import NeuralDynamics

    from ...evaluation.adaptation_worker import apply_change, shadow_model
    from ...physics.ground import find_ground
    from ...physics.robot_state import RobotState
    from .plant import targets_of, tool_of
    from .tracking_mpc import TrackingMpc

    env.reset(seed=cfg.seed)
    env.nerd_cfg.adapt, env.nerd_cfg.neural_share = "+".join(cfg.words), 0.0
    env.nerd_cfg.adapt_every, env.nerd_cfg.adapt_budget = cfg.every, cfg.budget
    spec, model = env.robot_spec, shadow_model(env.robot_spec)
    ground = find_ground(env) if model.needs_contacts else None
    env.use_dynamics(NeuralDynamics(model, env.num_envs, ground=ground))
    env.set_nerd_mode("mixed")
    robot = RobotState(env.robot, spec, env.scene.env_origins)
    state = robot.read()
    joints = [spec.joint_names.index(control.joint) for control in spec.controls]
    follower: Any = None
    directions = Directions(model, cfg.words)
    first = state[:, spec.state.joint_pos]
    mpc = TrackingMpc(model, directions, tool_of(spec), first[0], first[:, joints], cfg.tracking, ground)
    steps, held = round(cfg.seconds / env.step_dt), round(cfg.target_seconds / env.step_dt)
    targets = targets_of(cfg.seed, cfg.starts, -(-steps // held)).repeat(1, len(groups), 1)
    command, truth = env.command_manager.get_term("target"), torch.zeros(env.num_envs, directions.dim)
    rewards, distances, used = [], [], []
    for step in range(steps):
        if step == round(cfg.at / env.step_dt):
            for number, group in enumerate(groups):
                rows = torch.arange(number * cfg.starts, (number + 1) * cfg.starts)
                for name, value in apply_change(env, group.change, rows, cfg.joint).items():
                    truth[rows, directions.names.index(name)] = value
        command.command[:] = targets[step // held]
        estimate = torch.zeros_like(truth) if follower is None else follower.estimate
        numbers = known_numbers(groups, truth, estimate)
        _, reward, *_ = env.step(mpc(state, command.command, numbers))
        follower = env.nerd.adaptation
        state = robot.read()
        rewards.append(reward / env.step_dt)
        distances.append((mpc.tool(state) - command.command).norm(dim=-1))
        used.append(follower.used.clone())
        if step % REPORTED_STEPS == 0:
            report(f"{step} of {steps} steps")
    shape = len(groups), cfg.starts
    found = [torch.stack(each).detach().unflatten(1, shape) for each in (rewards, distances, used)]
    return found[0], found[1], found[2]


def known_numbers(groups: tuple[Group, ...], truth: Tensor, estimate: Tensor) -> Tensor:
    """What the controllers know of their robots, shape (N, P)."""
    of_groups = zip(groups, truth.chunk(len(groups)), estimate.chunk(len(groups)), strict=True)
    known = {
        "told": lambda true, _: true,
        "adapted": lambda _, found: found,
        "specification": lambda true, _: 0.0 * true,
    }
    return torch.cat([known[group.knows](true, found) for group, true, found in of_groups])


if __name__ == "__main__":
    sys.exit(serve(work))
