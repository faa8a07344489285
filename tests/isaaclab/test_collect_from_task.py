# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a collection takes from the task: speeds from limits, poses from resets, actions as its agent uses them, events
held still; no engine.
"""

from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace
from typing import Any

import gymnasium
import pytest
import torch

from nerd_core.robot.spec import RobotSpec
from nerd_isaaclab.collect.action_reach import action_reach
from nerd_isaaclab.collect.collect_cfg import CollectCfg, CollectError
from nerd_isaaclab.collect.collector import change_task
from nerd_isaaclab.collect.initial_states import InitialStateCfg, draw_initial_states
from nerd_isaaclab.collect.robot_ranges import ranges_of
from support.robots import ant, cartpole

pytestmark = pytest.mark.unit


def _with_slide(**changes: Any) -> RobotSpec:
    """A cartpole whose slide has other limits."""
    joints = tuple(
        dataclasses.replace(joint, **changes) if joint.kind == "prismatic" else joint for joint in cartpole().joints
    )
    return dataclasses.replace(cartpole(), joints=joints)


def _speeds(spec: RobotSpec, **ranges: float) -> dict[str, float]:
    """Largest velocity of each joint among many first states, by kind."""
    cfg = InitialStateCfg(**ranges)
    state = draw_initial_states(spec, cfg, 2000, torch.Generator().manual_seed(0), None)
    fastest = state[:, spec.state.joint_vel].abs().amax(0).tolist()
    return {joint.kind: speed for joint, speed in zip(spec.joints, fastest, strict=True)}


def test_joints_begin_no_faster_than_their_limits():
    """A finger that moves 4 cm begins at .4 m/s or at its limit of the speed, not at the 5 m/s of a cart; what a person
    asks for is what is drawn.
    """
    assert _speeds(cartpole())["prismatic"] == pytest.approx(5.0, rel=0.01)
    finger = _with_slide(lower=0.0, upper=0.04)
    assert _speeds(finger)["prismatic"] == pytest.approx(0.4, rel=0.01)
    assert _speeds(_with_slide(lower=0.0, upper=0.04, velocity_limit=0.2))["prismatic"] == pytest.approx(0.2, rel=0.01)
    assert _speeds(finger, slide_vel=3.0)["prismatic"] == pytest.approx(3.0, rel=0.01)
    assert _speeds(cartpole())["revolute"] == pytest.approx(2.0 * math.pi, rel=0.01)
    assert ranges_of("", {"slide_vel": (3.0,)}).slide_vel == 3.0


def test_a_share_begins_in_poses_of_the_task():
    """Half of the trajectories have the pose of a reset, all have velocities of their own; the Ant and the Cartpole, as
    they were published, have none.
    """
    spec = ant()
    resets = torch.zeros(2000, spec.state.dim)
    resets[:, spec.state.root_pos] = torch.tensor([0.1, 0.2, 5.0])
    resets[:, spec.state.root_quat] = torch.tensor([0.0, 0.0, 0.0, 1.0])
    resets[:, spec.state.joint_vel] = 99.0
    draw = [InitialStateCfg(task_poses=share) for share in (0.5, 1.0, 0.0)]
    states = [draw_initial_states(spec, cfg, 2000, torch.Generator().manual_seed(0), None, resets) for cfg in draw]
    share = [
        float((state[:, spec.state.root_pos] == resets[:, spec.state.root_pos]).all(-1).float().mean())
        for state in states
    ]
    assert share == [pytest.approx(0.5, abs=0.05), 1.0, 0.0]
    for state in states:
        speed = state[:, spec.state.joint_vel].abs()
        assert 1.0 < float(speed.max()) < 10.0
    assert [ranges_of(name, {}).task_poses for name in ("ant_instanceable", "cartpole", "theirs")] == [0.0, 0.0, 0.5]


@pytest.fixture
def agents(monkeypatch):
    """Registers tasks with agents; returns a function that does."""
    made = []

    def register(agent: Any) -> str:
        name = f"Agent-{len(made)}"
        kwargs = {} if agent is None else {"rsl_rl_cfg_entry_point": lambda: agent}
        gymnasium.register(id=name, entry_point="nowhere:Nothing", kwargs=kwargs)
        made.append(name)
        return name

    yield register
    for name in made:
        del gymnasium.registry[name]


def test_actions_are_as_large_as_the_agent_makes_them(agents):
    """The clip of the agent's actions, or twice the deviation of its first exploration, in the new and the old form of
    configuration; one without an agent; a person's own number before all.
    """
    space = SimpleNamespace
    clipped = space(clip_actions=0.7, policy=space(init_noise_std=3.0))
    new = space(clip_actions=None, actor=space(distribution_cfg=space(init_std=0.5)))
    old = space(clip_actions=None, policy=space(init_noise_std=1.0))
    found = [action_reach(agents(agent)) for agent in (clipped, new, old, space(), None)]
    assert found == [0.7, 1.0, 2.0, 1.0, 1.0]
    assert action_reach(agents(clipped), 3.0) == 3.0
    with pytest.raises(CollectError, match="action_reach=0.0, expected more than 0"):
        CollectCfg("NeRD-Cartpole", action_reach=0.0)


def test_agents_of_real_tasks_are_read():
    """The Ant's agent clips at one, that of ANYmal's stock task does not and explores with a deviation of one."""
    import nerd_isaaclab.tasks  # noqa: F401

    assert action_reach("NeRD-Ant-Run") == 1.0
    assert action_reach("NeRD-IsaacContrib-Velocity-Flat-AnymalC") == 2.0


@pytest.mark.parametrize("randomised", [False, True])
def test_events_are_held_still_unless_asked(randomised: bool):
    """A collection names the events that randomise the robot; it holds them still, or leaves them with --randomised."""
    from isaaclab_tasks.utils.parse_cfg import parse_env_cfg

    import nerd_isaaclab.tasks  # noqa: F401
    from nerd_isaaclab.envs.randomised_properties import find_randomised_properties

    task = "NeRD-IsaacContrib-Velocity-Flat-AnymalC"
    env_cfg = parse_env_cfg(task, overrides=["physics=ovphysx"])
    (said,) = change_task(env_cfg, CollectCfg(task, randomised=randomised))
    assert "events.add_base_mass (randomize_rigid_body_mass, at startup), events.base_com" in said
    assert bool(find_randomised_properties(env_cfg.events)) == randomised
    assert change_task(parse_env_cfg("NeRD-Ant-Run", overrides=["physics=ovphysx"]), CollectCfg("NeRD-Ant-Run")) == []
