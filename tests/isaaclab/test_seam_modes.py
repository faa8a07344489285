# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Changing who steps, in the middle of a run, for all environments or some; and the guard. One engine for all tests."""

from __future__ import annotations

import pytest
import torch

from nerd_core import checkpoint
from support.seam import Oracle, RecordingPhysics, make_env, untrained_predictor, use_predictor

NUM_ENVS = 256


@pytest.fixture(scope="module")
def env():
    """A Cartpole task, closed at the end."""
    env = make_env("NeRD-Cartpole", NUM_ENVS)
    env.reset(seed=0)
    env.step(torch.zeros(NUM_ENVS, 1))
    yield env
    env.close()


@pytest.fixture(autouse=True)
def back_to_physx(env):
    """Leaves every test with the solver in charge."""
    yield
    env.set_nerd_mode("physx")
    env.step(torch.zeros(NUM_ENVS, 1))


@pytest.fixture(scope="module")
def scene(env):
    """Reader and writer of the robot's state."""
    from nerd_isaaclab.physics.robot_state import RobotState

    return RobotState(env.robot, env.robot_spec, env.scene.env_origins)


def _actions(steps: int, seed: int = 1) -> torch.Tensor:
    return torch.rand(steps, NUM_ENVS, 1, generator=torch.Generator().manual_seed(seed)) * 2.0 - 1.0


def _run(env, scene, actions) -> torch.Tensor:
    states = []
    for action in actions:
        env.step(action)
        states.append(scene.read().clone())
    return torch.stack(states)


def test_physics_goes_on_from_the_models_state_as_if_started_there(env, scene):
    """PhysX, then the model, then PhysX: the last part equals, bit for bit, a PhysX run started in that state."""
    use_predictor(env, untrained_predictor(env))
    env.set_nerd_mode("physx")
    env.reset(seed=0)
    actions = _actions(30)
    _run(env, scene, actions[:5])
    env.set_nerd_mode("neural")
    _run(env, scene, actions[5:10])
    env.set_nerd_mode("physx")
    between = scene.read().clone()
    later = _run(env, scene, actions[10:])

    env.reset(seed=0)
    scene.write(between)
    env.sim.forward()
    assert torch.equal(_run(env, scene, actions[10:]), later)


def test_modes_apply_between_steps(env):
    """A mode that was asked for is in force from the next step on, and not before."""
    use_predictor(env, untrained_predictor(env))
    assert env.nerd_mode == "physx"
    env.step(torch.zeros(NUM_ENVS, 1))
    assert env.nerd_mode == "neural"
    assert env._physics_handles_decimation
    env.set_nerd_mode("physx")
    assert env.nerd_mode == "neural"
    env.step(torch.zeros(NUM_ENVS, 1))
    assert env.nerd_mode == "physx"
    assert env.sim.physics_manager is env.nerd.stock


def test_mixed_mode_gives_each_environment_its_own_stepper(env, scene):
    """Environments of the solver move as in a pure PhysX run, neural ones as in a pure neural run; the one-step error
    of a model that is the solver itself is zero, of another it is not, and it is logged.
    """
    predictor = untrained_predictor(env)
    use_predictor(env, predictor)
    actions = _actions(12)
    neural = torch.arange(NUM_ENVS) % 3 == 0
    env.reset(seed=0)
    start = scene.read().clone()

    def run(mode: str) -> torch.Tensor:
        env.set_nerd_mode("physx")
        env.step(torch.zeros(NUM_ENVS, 1))
        env.reset(seed=0)
        scene.write(start)
        env.sim.forward()
        env.set_nerd_mode(mode, neural if mode == "mixed" else None)
        return _run(env, scene, actions)

    solver, model, mixed = run("physx"), run("neural"), run("mixed")
    assert torch.equal(mixed[:, ~neural], solver[:, ~neural])
    assert torch.equal(mixed[:, neural], model[:, neural])
    assert env.extras["log"]["Metrics/nerd_error_joint_pos"] > 1e-4

    env.set_nerd_mode("physx")
    env.reset(seed=0)
    env.step(torch.zeros(NUM_ENVS, 1))
    recording, stock = RecordingPhysics(env), env.sim.physics_manager
    env.sim.physics_manager = recording
    _run(env, scene, actions)
    env.sim.physics_manager = stock
    env.reset(seed=0)
    scene.write(recording.before[0])
    env.sim.forward()
    env.use_dynamics(Oracle(recording))
    env.set_nerd_mode("mixed", neural)
    _run(env, scene, actions)
    assert env.extras["log"]["Metrics/nerd_error_joint_pos"] < 1e-6


def test_changing_some_environments_leaves_the_histories_of_the_others(env, scene):
    """Handing more environments to the model does not disturb those that it had."""
    predictor = untrained_predictor(env)
    use_predictor(env, predictor)
    actions = _actions(12)
    first = torch.arange(NUM_ENVS) < 4

    def run(then: torch.Tensor) -> torch.Tensor:
        env.set_nerd_mode("physx")
        env.step(torch.zeros(NUM_ENVS, 1))
        env.reset(seed=0)
        env.set_nerd_mode("mixed", first)
        _run(env, scene, actions[:6])
        env.set_nerd_mode("mixed", then)
        return _run(env, scene, actions[6:])

    assert torch.equal(run(first)[:, first], run(torch.arange(NUM_ENVS) < 9)[:, first])


@pytest.mark.parametrize("steps", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_a_bad_model_never_gives_a_nan(env, steps):
    """With weights that blow up, observations and rewards stay finite, the guard acts, and says so in the log."""
    predictor = untrained_predictor(env)
    for parameter in predictor.network.parameters():
        parameter.data.mul_(30.0)
    use_predictor(env, predictor)
    env.reset(seed=0)
    held = 0.0
    for action in _actions(steps):
        observation, reward, *_ = env.step(action)
        assert observation["policy"].isfinite().all()
        assert reward.isfinite().all()
        held = max(held, float(env.extras["log"]["Metrics/nerd_held"]))
    assert held > 0.0


def test_a_model_that_is_not_a_number_is_held_and_ends_episodes(env):
    """NaN weights: every environment is held at its last good state and its episode is ended."""
    predictor = untrained_predictor(env)
    for parameter in predictor.network.parameters():
        parameter.data.fill_(torch.nan)
    use_predictor(env, predictor)
    env.reset(seed=0)
    observation, reward, terminated, *_ = env.step(torch.zeros(NUM_ENVS, 1))
    assert observation["policy"].isfinite().all()
    assert reward.isfinite().all()
    assert terminated.all()
    assert env.termination_manager.get_term("nerd_guard").all()
    assert env.extras["log"]["Metrics/nerd_held"] == 1.0


def test_a_checkpoint_takes_over_by_configuration_and_a_foreign_one_is_refused(env, tmp_path):
    """What is saved is loaded by path; a checkpoint for another time step is refused with the difference."""
    import dataclasses

    from nerd_core.predictor.predictor import Predictor
    from nerd_core.robot.comparison import SpecMismatch
    from nerd_isaaclab.envs.nerd_env import NerdModeError

    predictor = untrained_predictor(env)
    checkpoint.save(tmp_path / "model", predictor)
    env.load_nerd_checkpoint(str(tmp_path / "model"))
    env.set_nerd_mode("neural")
    env.step(torch.zeros(NUM_ENVS, 1))
    assert env.nerd_mode == "neural"

    foreign = dataclasses.replace(env.robot_spec, decimation=4)
    checkpoint.save(tmp_path / "foreign", Predictor(foreign, predictor.cfg))
    with pytest.raises(SpecMismatch, match="decimation: got 4, expected 2"):
        env.load_nerd_checkpoint(str(tmp_path / "foreign"))
    with pytest.raises(NerdModeError, match="expected one of physx, neural, mixed"):
        env.set_nerd_mode("newral")
