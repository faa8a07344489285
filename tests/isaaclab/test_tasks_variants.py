# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Every registered task of ours builds and steps on the real engine, playback variants and agents included."""

from __future__ import annotations

import pytest
import torch

from support.seam import make_env

TASKS = (
    *("NeRD-Cartpole", "NeRD-Ant-Run", "NeRD-Ant-Spin", "NeRD-Ant-Spin-Track"),
    *("NeRD-Double-Pendulum-Ground-0", "NeRD-Double-Pendulum-Ground-6"),
    *("NeRD-Franka-Reach-Position", "NeRD-Franka-Reach-Torque", "NeRD-AnymalC-Forward", "NeRD-AnymalC-Sideways"),
)


@pytest.mark.parametrize("task", ["NeRD-Cartpole-Play", "NeRD-Ant-Run-Play", "NeRD-Ant-Spin", "NeRD-Ant-Spin-Track"])
def test_variant_builds_and_steps(task: str):
    """The task is made from its id; its observations and rewards are finite after some random steps."""
    env = make_env(task, 4)
    try:
        env.reset()
        for _ in range(5):
            action = 2 * torch.rand(4, env.action_manager.total_action_dim) - 1
            obs, reward, *_ = env.step(action)
        assert torch.isfinite(obs["policy"]).all() and torch.isfinite(reward).all()
        assert reward.shape == (4,)
    finally:
        env.close()


@pytest.mark.parametrize("task", TASKS)
def test_playback_has_few_envs_and_the_same_agent(task: str):
    """The -Play variant is the same task with at most 50 envs, the physics is PhysX by default, and the agent has the
    form of RSL-RL 5: separate actor and critic.
    """
    from isaaclab_tasks.utils.hydra import resolve_task_config

    import nerd_isaaclab.tasks  # noqa: F401

    cfg, agent = resolve_task_config(task, "rsl_rl_cfg_entry_point", overrides=[])
    played, same = resolve_task_config(f"{task}-Play", "rsl_rl_cfg_entry_point", overrides=[])
    assert cfg.scene.num_envs == 512 and played.scene.num_envs == 50
    assert type(cfg.sim.physics).__name__ == "PhysxAutoCfg"
    assert type(cfg.rewards) is type(played.rewards)
    assert agent.to_dict() == same.to_dict()
    assert agent.actor.distribution_cfg.class_name == "GaussianDistribution" and agent.critic.distribution_cfg is None


@pytest.mark.parametrize(
    ("preset", "cfg_class"),
    [("ovphysx", "OvPhysxCfg"), ("isaacsim_physx", "PhysxCfg"), ("newton_mjwarp", "NewtonCfg")],
)
def test_physics_presets(preset: str, cfg_class: str):
    """'physics=NAME' selects the backend of that name."""
    from isaaclab_tasks.utils.hydra import resolve_task_config

    import nerd_isaaclab.tasks  # noqa: F401

    for task in TASKS:
        cfg, _ = resolve_task_config(task, None, overrides=[f"physics={preset}"])
        assert type(cfg.sim.physics).__name__ == cfg_class
