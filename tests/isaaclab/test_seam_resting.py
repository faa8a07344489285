# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""While a model steps all environments the engine rests and is not told of every state; nobody can tell."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import warp as wp

from nerd_core.checkpoint_names import find_checkpoint
from nerd_isaaclab.envs import nerd_env
from nerd_isaaclab.physics.resting_engine import RestingView, only_forces_are_read
from support.seam import make_env, play

NUM_ENVS, STEPS = 6, 12
MODELS = {"NeRD-Cartpole": "cartpole", "NeRD-Ant-Run": "ant"}


@pytest.fixture(scope="module", params=list(MODELS))
def env(request) -> Iterator[Any]:
    """A task whose model steps all environments, closed at the end; episodes end early, at different times."""
    env = make_env(request.param, NUM_ENVS)
    env.reset(seed=0)
    env.load_nerd_checkpoint(str(find_checkpoint(MODELS[request.param])))
    yield env
    env.close()


def _actions(env: Any) -> torch.Tensor:
    shape = STEPS, NUM_ENVS, env.action_manager.total_action_dim
    return torch.rand(shape, generator=torch.Generator().manual_seed(3)) * 2.0 - 1.0


def _run(env: Any) -> Any:
    """Some steps in neural mode, as training takes them; one robot is reset behind them, outside of inference mode, and
    the view of the articulation is returned.
    """
    env.set_nerd_mode("neural")
    env._apply_mode(*env._requested)
    with torch.inference_mode():
        env.reset(seed=0)
        for action in _actions(env):
            env.step(action)
    env._reset_idx(torch.tensor([2], dtype=torch.int32))
    return env.robot.root_view


def test_the_engine_is_told_when_it_is_asked(env):
    """States are kept from the engine, one that a reset wrote among them; whoever asks it through the view gets them,
    to the last bit, and poses and velocities of bodies are those that the engine finds, to rounding.
    """
    from isaaclab_ov import tensor_types

    view, data = _run(env), env.robot.data
    assert isinstance(view, RestingView) and view._kept
    poses, velocities = data.body_link_pose_w.torch.clone(), data.body_com_vel_w.torch.clone()
    kept = {kind: values.clone() for kind, values in view._kept.items()}
    assert view._kept, "reading where bodies are must not wake the engine"
    assert "articulation_dof_position" in view and "nonsense" not in view and view._kept
    stale = wp.to_torch(view.view.get_attribute(tensor_types.DOF_POSITION))
    assert not torch.equal(stale, kept[tensor_types.DOF_POSITION]), "the engine must be behind to prove anything"
    for kind, values in kept.items():
        assert torch.equal(wp.to_torch(view.get_attribute(kind)).view_as(values), values)
    assert not view._kept
    found = wp.to_torch(view.get_attribute(tensor_types.LINK_POSE)).view_as(poses)
    torch.testing.assert_close(poses, found, rtol=0, atol=3e-6)
    moved = wp.to_torch(view.get_attribute(tensor_types.LINK_VELOCITY)).view_as(velocities)
    torch.testing.assert_close(velocities, moved, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("ask", ["manager", "mode"])
def test_the_engine_is_told_when_it_is_looked_at_or_steps(env, ask: str):
    """A renderer, by way of the physics manager, and a change of mode find the state in the engine."""
    from isaaclab_ov import tensor_types

    view = _run(env)
    expected = env.robot.data.joint_pos.torch.clone()
    if ask == "manager":
        env.sim.physics_manager.pre_render()
    else:
        env._apply_mode("physx", None)
        assert env.robot.root_view is view.view
        wanted = env.robot.data.joint_effort_target.torch
        assert torch.equal(wp.to_torch(view.view.get_attribute(tensor_types.DOF_ACTUATION_FORCE)), wanted)
    assert torch.equal(wp.to_torch(view.view.get_attribute(tensor_types.DOF_POSITION)), expected)


def test_a_view_that_somebody_has_kept_writes_into_an_engine_that_steps(env):
    """Once the engine steps again, what is written through the view of before reaches it at once."""
    from isaaclab_ov import tensor_types

    view = _run(env)
    env._apply_mode("physx", None)
    for kind in (tensor_types.DOF_POSITION, tensor_types.DOF_ACTUATION_FORCE):
        wanted = torch.rand(env.robot.data.joint_pos.torch.shape, generator=torch.Generator().manual_seed(4))
        view.set_attribute(kind, wp.from_torch(wanted))
        assert torch.equal(wp.to_torch(view.view.get_attribute(kind)), wanted), kind


def test_a_buffer_of_ones_own_gets_accelerations_of_the_engine(env):
    """Those of the model are in the articulation's buffer alone; any other one is filled as the view fills it."""
    from isaaclab_ov import tensor_types

    view = _run(env)
    assert view._kept
    shape = env.robot.data.body_com_acc_w.torch.shape
    mine = torch.full(shape, torch.nan)
    view.read_into(tensor_types.LINK_ACCELERATION, wp.from_torch(mine))
    expected = wp.to_torch(view.view.get_attribute(tensor_types.LINK_ACCELERATION))
    assert torch.equal(mine, expected.view(shape))


def test_what_was_published_too_early_is_published_again(env):
    """Who takes poses of the scene past the physics manager gets earlier ones; a renderer behind it gets the state."""
    from isaaclab_ov.physics.ovphysx_manager import OvPhysxManager

    view = _run(env)
    published: Any = OvPhysxManager._scene_data_backend
    early = wp.to_torch(published.transforms.transforms).clone()
    assert view._kept, "the engine must be behind to prove anything"
    env.sim.physics_manager.pre_render()
    assert not torch.equal(wp.to_torch(published.transforms.transforms), early)


def test_an_engine_that_was_told_rests_on_from_there(env):
    """Behind a reset, which wakes the engine, poses of bodies are found from what it holds, by the kinematics of
    before: to make those anew in every step with a reset would cost more than is spared.
    """
    from isaaclab_ov import tensor_types

    view = _run(env)
    made = view._kinematics
    view.settle()
    moved = env.robot.data.joint_pos.torch[:1] + 0.1
    env.robot.write_joint_position_to_sim_index(position=moved, env_ids=torch.tensor([0], dtype=torch.int32))
    assert view._kept and view._kinematics is made
    poses = env.robot.data.body_link_pose_w.torch.clone()
    found = wp.to_torch(view.get_attribute(tensor_types.LINK_POSE)).view_as(poses)
    torch.testing.assert_close(poses, found, rtol=0, atol=3e-6)


def test_nobody_can_tell(env, monkeypatch: pytest.MonkeyPatch):
    """Observations, rewards and ends of episodes are those of a run in which the engine is told of every state."""
    env.set_nerd_mode("neural")
    resting = play(env, _actions(env))
    assert isinstance(env.robot.root_view, RestingView)
    monkeypatch.setattr(nerd_env, "let_engine_rest", lambda *_: lambda: None)
    env.set_nerd_mode("neural")
    told = play(env, _actions(env))
    assert not isinstance(env.robot.root_view, RestingView)
    for name, expected in told.items():
        torch.testing.assert_close(resting[name], expected, rtol=1e-4, atol=1e-4, msg=name)


@pytest.mark.unit
def test_a_view_can_be_copied_and_asked_what_it_can_do():
    """Python's own questions to an object, as copies ask them before it has any field, wake no engine."""
    empty = RestingView.__new__(RestingView)
    assert not hasattr(empty, "__setstate__") and isinstance(copy.copy(empty), RestingView)


@pytest.mark.parametrize(
    "kind, follows, alone", [("ContactSensor", False, True), ("ContactSensor", True, False), ("Imu", False, False)]
)
def test_an_engine_that_a_sensor_looks_at_does_not_rest(kind: str, follows: bool, alone: bool):
    """With a sensor that reads poses from the engine by itself every state is written."""
    sensor = type(kind, (), {"cfg": SimpleNamespace(track_pose=follows)})()
    scene: Any = SimpleNamespace(sensors={"sensor": sensor})
    assert only_forces_are_read(scene) is alone
