# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Score a policy over whole episodes, in quantities a person can picture, and write them as JSON.

    nerd rl score --task NeRD-Cartpole --policy models/policies/NeRD-Cartpole/policy.safetensors
    nerd rl score --task NeRD-Ant-Run --policy logs/rsl_rl/nerd_ant_run/<run> --num_envs 256 --out score.json
    nerd rl score --task NeRD-Ant-Run --policy ... env.nerd.mode=neural env.nerd.checkpoint=<model>

Each environment plays one episode from its start, with the mean action of the policy; a second one that begins while
others still play the first does not count. What is measured stands in the task's ``score_entry_point``. Words such as
``physics=NAME`` and ``env.field=value`` are Isaac Lab's overrides of the configuration.
"""

from __future__ import annotations

import argparse
import importlib
import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from ..tasks.scores import Score
    from .policy import Policy

RECORDED = 3
"""Number of episodes that ``--record`` writes."""


def main(argv: list[str]) -> int:
    """Score a policy over whole episodes."""
    parser = argparse.ArgumentParser(
        prog="nerd rl score", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--task", help="id of the task")
    parser.add_argument("--policy", type=Path, required=True, help="policy file, or the log folder of a run")
    parser.add_argument("--num_envs", type=int, default=256, help="environments, and so episodes")
    parser.add_argument("--seed", type=int, default=1, help="seed of the starts")
    parser.add_argument("--device", help="device of simulation and policy (default: cuda:0, cpu where there is none)")
    parser.add_argument("--out", type=Path, help="file to write the result to, as well as to the screen")
    parser.add_argument("--record", type=Path, help="file for the states of the first episodes, JSON")
    arguments, overrides = parser.parse_known_args(argv)
    unknown = [word for word in overrides if word.startswith("-") or "=" not in word]
    if unknown:
        raise ValueError(f"got the unknown argument '{unknown[0]}': 'nerd rl score --help' lists what there is")

    from .task_ids import check_task

    check_task(arguments.task)
    policy = load_policy(arguments.policy)
    import nerd_isaaclab.tasks  # noqa: F401  (pinned memory, assets, registration: before any other Isaac Lab import)

    from ..compat.no_cuda import complete_arguments, option
    from .export import host_facts
    from .launch import check_physics

    check_physics(arguments.task, overrides)
    given = ["--task", arguments.task, *(["--device", arguments.device] if arguments.device else []), *overrides]
    given += complete_arguments("zero_agent", given)
    overrides += [word for word in given if word.startswith("physics=") and word not in overrides]
    device = option(given, "--device")
    result = {
        "task": arguments.task,
        "command": "nerd rl score " + shlex.join(argv),
        **score(arguments.task, policy, arguments.num_envs, arguments.seed, device, overrides, arguments.record),
        "seed": arguments.seed,
        "policy": policy.facts,
        **host_facts(),
    }
    text = json.dumps(result, indent=2) + "\n"
    if arguments.out is not None:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(text, encoding="utf-8")
    print(text, end="")
    return 0


def load_policy(path: Path) -> Policy:
    """Read a policy file, or the last checkpoint of a run."""
    from .policy import Policy
    from .runs import last_checkpoint, load_agent

    if path.is_dir():
        return Policy.from_rsl_rl(last_checkpoint(path), load_agent(path))
    return Policy.load(path)


def score(
    task: str,
    policy: Policy,
    num_envs: int,
    seed: int,
    device: str | None,
    overrides: list[str],
    record: Path | None = None,
) -> dict[str, Any]:
    """Play one episode in each environment and return the scores.

    Args:
        task: Id of a registered task whose registration names a ``score_entry_point``.
        policy: The policy to judge.
        num_envs: Number of environments.
        seed: Seed of the starts.
        device: Device of the simulation; None leaves it to the task.
        overrides: Isaac Lab's overrides of the configuration, ``physics=NAME`` among them.
        record: File for the states of the first episodes; None writes none.
    """
    import gymnasium
    import isaaclab_tasks  # noqa: F401
    from isaaclab.app import launch_simulation
    from isaaclab_tasks.utils import resolve_task_config

    name = task.split(":")[-1]
    entry = gymnasium.spec(name).kwargs.get("score_entry_point")
    if entry is None:
        raise ValueError(f"the task {name} names no scores: its registration has no 'score_entry_point'")
    cfg, _ = resolve_task_config(name, None, overrides=overrides)
    cfg.scene.num_envs = num_envs
    cfg.seed = seed
    if device is not None:
        cfg.sim.device = device
    launch_arguments = argparse.Namespace(device=cfg.sim.device, visualizer=["none"], headless=True)
    with launch_simulation(cfg, launch_arguments):
        env = gymnasium.make(name, cfg=cfg).unwrapped
        try:
            states: list[torch.Tensor] | None = None if record is None else []
            result = play_episodes(env, policy.to(env.device), _load(entry), states)
            if record is not None and states is not None:
                _write_states(env, states, record)
        finally:
            env.close()
    return result


def play_episodes(
    env: Any, policy: Policy, scores: tuple[Score, ...], states: list[torch.Tensor] | None = None
) -> dict[str, Any]:
    """Play one episode in each environment.

    Args:
        env: An unwrapped manager-based environment.
        policy: The policy, on the environment's device.
        scores: What to measure.
        states: List that gets the state of the first environments before each step, shape (:data:`RECORDED`, S);
            not finite where the episode has ended. None records nothing.

    Returns:
        Number of episodes, share of each termination, and mean and standard deviation over the episodes of their
        return (as published: not multiplied by the control step), their length [steps] and each score; of the part that
        each reward term has in the return (``terms``); and of what command terms measure of the motion that followed
        their commands (``commands``, empty for tasks without commands).
    """
    import torch

    obs, _ = env.reset()
    if obs["policy"].shape[-1] != policy.obs_dim:
        raise ValueError(f"the policy takes {policy.obs_dim} observations, the task gives {obs['policy'].shape[-1]}")
    count, device = env.num_envs, env.device
    playing = torch.ones(count, dtype=torch.bool, device=device)
    length = torch.zeros(count, device=device)
    total = torch.zeros(count, device=device)
    full = torch.zeros(count, dtype=torch.bool, device=device)
    sums = {score.name: torch.zeros(count, device=device) for score in scores}
    held = {score.name: torch.zeros(count, device=device) for score in scores}  # steps in a row, up to now
    ends = {term: 0 for term in env.termination_manager.active_terms}
    terms = {term: torch.zeros(count, device=device) for term in env.reward_manager.active_terms}
    followed: dict[str, torch.Tensor] = {}
    reader = None if states is None else _state_reader(env)
    with torch.inference_mode():
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
            # Their sums start anew inside the step that ends an episode, so they are read before each step.
            for name, value in _command_metrics(env).items():
                followed[name] = torch.where(playing, value, followed.get(name, 0.0))
            obs, reward, terminated, truncated, _ = env.step(policy(obs["policy"]))
            length += playing
            total += torch.where(playing, reward / env.step_dt, 0.0)
            for column, values in enumerate(terms.values()):
                # Isaac Lab shows the terms of a step for one environment at a time only; this is the table behind that.
                values += torch.where(playing, env.reward_manager._step_reward[:, column], 0.0)
            ended = playing & (terminated | truncated)
            for term in ends:
                ends[term] += int((env.termination_manager.get_term(term) & ended).sum())
            full |= ended & ~terminated
            playing &= ~ended
            if step % 50 == 49:
                print(f"step {step + 1} of {env.max_episode_length}, {int(playing.sum())} playing", file=sys.stderr)
            if not playing.any():
                break
    episodes = {"return": total, "length": length}
    for score in scores:
        if score.reduce == "mean":
            episodes[score.name] = sums[score.name] / length
        else:
            episodes[score.name] = (full & (held[score.name] * env.step_dt >= score.hold_s)).float()
    units = {"return": "1", "length": "steps", **{score.name: score.unit for score in scores}}
    return {
        "episodes": count,
        "ends": {term: number / count for term, number in ends.items()},
        "scores": {name: {"unit": units[name], **_summary(values)} for name, values in episodes.items()},
        "terms": {name: _summary(values) for name, values in terms.items()},
        "commands": {name: _summary(values) for name, values in followed.items()},
    }


def _state_reader(env: Any) -> Any:
    from ..physics.robot_state import RobotState

    return RobotState(env.robot, env.robot_spec, env.scene.env_origins)


def _write_states(env: Any, states: list[torch.Tensor], path: Path) -> None:
    """Writes the recorded episodes, each as a list of states up to its end."""
    import torch

    episodes = torch.stack(states, dim=1)
    whole = [episode[episode.isfinite().all(-1)].tolist() for episode in episodes]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"spec": env.robot_spec.content_hash, "episodes": whole}) + "\n", encoding="utf-8")


def _command_metrics(env: Any) -> dict[str, torch.Tensor]:
    """What the command terms measure of the episode so far, by ``term/metric``, shapes (N,)."""
    manager = env.command_manager
    return {
        f"{name}/{metric}": value.clone()
        for name in manager.active_terms
        for metric, value in manager.get_term(name).metrics.items()
    }


def _summary(values: torch.Tensor) -> dict[str, float]:
    return {"mean": round(float(values.mean()), 4), "std": round(float(values.std(correction=0)), 4)}


def _load(entry: str) -> tuple[Score, ...]:
    module, _, name = entry.partition(":")
    return getattr(importlib.import_module(module), name)
