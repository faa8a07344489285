# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The process in which a task is examined: starts an engine, looks, sends what it has found."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from nerd_core.files.serialization import from_plain, to_plain

from ..launch.engine_process import Report, serve
from ..launch.physx_task import physx_task, set_seed

if TYPE_CHECKING:
    from ..envs.unsupported_terms import GivenForces


def work(plain: dict[str, Any], report: Report) -> dict[str, Any]:
    """Examines a task.

    Args:
        plain: The :class:`~nerd_isaaclab.doctor.run.DoctorCfg` as plain values.
        report: Takes nothing: it is a matter of seconds.

    Returns:
        The :class:`~nerd_isaaclab.doctor.run.Examined` as plain values.
    """
    import nerd_isaaclab.tasks  # noqa: F401  (workarounds, assets and registrations, before other imports of Isaac Lab)

    from ..collect.action_reach import agent_of
    from .model_checks import check_model
    from .run import DoctorCfg, Examined
    from .task_checks import check_task

    cfg = from_plain(DoctorCfg, plain)
    with physx_task(cfg.task, cfg.physics, cfg.device, cfg.num_envs, cfg.overrides, set_seed) as env:
        env.reset(seed=0)
        found = check_task(env, cfg.task, agent_of(cfg.task), _given_forces(cfg.model))
        try:
            spec = env.robot_spec.to_json()
        except ValueError:
            return to_plain(Examined(tuple(found), None, None))
        motion = None if cfg.policy is None else _motion(env, cfg.policy)
        if cfg.model is not None:
            found += check_model(env, str(cfg.model))
        return to_plain(Examined(tuple(found), spec, motion))


def _given_forces(model: Any) -> GivenForces:
    """Which forces a model gives; none without a model, or for one that cannot be read, which is told of elsewhere."""
    from nerd_core.checkpoint import load
    from nerd_core.checkpoint_names import find_checkpoint

    from ..envs.unsupported_terms import NO_FORCES, GivenForces

    try:
        return NO_FORCES if model is None else GivenForces.of(load(find_checkpoint(model)))
    except ValueError:
        return NO_FORCES


def _motion(env: Any, policy_path: Any) -> Any:
    """What a policy does in PhysX, over one episode at most."""
    import torch

    from ..physics.robot_state import RobotState
    from ..policies.load import load_policy
    from ..policies.play import require_fit
    from .data_checks import motion_of
    from .model_checks import STEPS

    policy = load_policy(policy_path).to(env.device)
    reader = RobotState(env.robot, env.robot_spec, env.scene.env_origins)
    states, controls = [], []
    with torch.inference_mode():
        obs, _ = env.reset()
        require_fit(policy, env, obs)
        for _ in range(3 * STEPS):
            states.append(reader.read().cpu())
            obs = env.step(policy(obs["policy"]))[0]
            controls.append(reader.read_control().cpu())
    return motion_of(env.robot_spec, torch.stack(states), torch.stack(controls))


if __name__ == "__main__":
    sys.exit(serve(work))
