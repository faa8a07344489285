# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The process in which a task is examined: starts an engine, looks, sends what it has found."""

from __future__ import annotations

import sys
from typing import Any

from nerd_core.files.serialization import from_plain, to_plain

from ..launch.engine_process import Report, serve


def work(plain: dict[str, Any], report: Report) -> dict[str, Any]:
    """Examines a task.

    Args:
        plain: The :class:`~nerd_isaaclab.doctor.run.DoctorCfg` as plain values.
        report: Takes nothing: it is a matter of seconds.

    Returns:
        The :class:`~nerd_isaaclab.doctor.run.Examined` as plain values.
    """
    import gymnasium
    from isaaclab_tasks.utils.parse_cfg import parse_env_cfg

    import nerd_isaaclab.tasks  # noqa: F401  (workarounds, assets and registrations, before other imports of Isaac Lab)

    from ..collect.worker import check_overrides
    from ..compat.physics_presets import physics_words
    from .model_checks import check_model
    from .run import DoctorCfg, Examined
    from .task_checks import check_task

    cfg = from_plain(DoctorCfg, plain)
    fixed = [*physics_words(cfg.task, cfg.physics), "env.nerd.mode=physx"]
    overrides = [*fixed, *cfg.overrides]
    env: Any = None
    try:
        if cfg.overrides:
            check_overrides(parse_env_cfg(cfg.task, overrides=fixed), list(cfg.overrides))
        env_cfg = parse_env_cfg(cfg.task, device=cfg.device, num_envs=cfg.num_envs, overrides=overrides)
        env_cfg.seed = 0
        env = gymnasium.make(cfg.task, cfg=env_cfg).unwrapped
        env.reset(seed=0)
        found = check_task(env, cfg.task, _agent(cfg.task))
        try:
            spec = env.robot_spec.to_json()
        except ValueError:
            return to_plain(Examined(tuple(found), None, None))
        motion = None if cfg.policy is None else _motion(env, cfg.policy)
        if cfg.model is not None:
            found += check_model(env, str(cfg.model))
        return to_plain(Examined(tuple(found), spec, motion))
    finally:
        if env is not None:
            env.close()


def _agent(task: str) -> Any:
    """The RSL-RL configuration of a task; None where it has none."""
    import gymnasium
    from isaaclab_tasks.utils.parse_cfg import load_cfg_from_registry

    name = task.split(":")[-1]
    if "rsl_rl_cfg_entry_point" not in gymnasium.spec(name).kwargs:
        return None
    return load_cfg_from_registry(name, "rsl_rl_cfg_entry_point")


def _motion(env: Any, policy_path: Any) -> Any:
    """What a policy does in PhysX, over one episode at most."""
    import torch

    from ..physics.robot_state import RobotState
    from ..policies.load import load_policy
    from .data_checks import motion_of
    from .model_checks import STEPS

    policy = load_policy(policy_path).to(env.device)
    reader = RobotState(env.robot, env.robot_spec, env.scene.env_origins)
    states, controls = [], []
    with torch.inference_mode():
        obs, _ = env.reset()
        if obs["policy"].shape[-1] != policy.obs_dim:
            raise ValueError(
                f"the policy takes {policy.obs_dim} observations, the task gives {obs['policy'].shape[-1]}"
            )
        for _ in range(3 * STEPS):
            states.append(reader.read().cpu())
            obs = env.step(policy(obs["policy"]))[0]
            controls.append(reader.read_control().cpu())
    return motion_of(env.robot_spec, torch.stack(states), torch.stack(controls))


if __name__ == "__main__":
    sys.exit(serve(work))
