# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A free rigid body is stepped by the seam like a robot: described, read, written, thrown, pushed, refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from nerd_core.dynamics import NeuralDynamics
from nerd_core.predictor.predictor import Predictor
from nerd_isaaclab.models.untrained import untrained_model
from nerd_isaaclab.physics.robot_state import RobotState
from support.seam import make_env

COUNT, STEPS = 64, 80


@pytest.fixture(scope="module")
def env() -> Iterator[Any]:
    """Tossed cubes with untrained mechanics at hand."""
    env = make_env("NeRD-Cube-Toss", COUNT)
    env.reset(seed=0)
    from nerd_isaaclab.physics.ground import find_ground

    predictor = untrained_model(env.robot_spec)
    env.use_dynamics(NeuralDynamics(predictor, COUNT, ground=find_ground(env)))
    yield env
    env.close()


def play(env: Any, mode: str, begin: Callable[[], None] = lambda: None, steps: int = STEPS) -> torch.Tensor:
    """States of a toss in a mode, the first included, shape (N, T + 1, S)."""
    env.set_nerd_mode("physx")
    env.reset(seed=1)
    begin()
    env.set_nerd_mode(mode)
    reader = RobotState(env.robot, env.robot_spec, env.scene.env_origins)
    states = [reader.read().clone()]
    for _ in range(steps):
        env.step(torch.zeros(COUNT, 0))
        states.append(reader.read().clone())
    assert env.nerd_mode == mode
    return torch.stack(states, 1)


def turned(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Angle between orientations [rad]."""
    vector = (one[..., None, 3:7] * other[..., None, 3:7]).sum((-1, -2)).abs().clamp(max=1.0)
    return 2.0 * torch.acos(vector)


def test_the_specification_is_that_of_a_body_without_joints(env: Any):
    """Mass, eight corners, friction, restitution and the solver's iterations are those of the engine."""
    spec = env.robot_spec
    assert (spec.name, spec.floating_base, spec.joints, spec.controls) == ("cube", True, (), ())
    assert spec.body_names == ("cube",) and spec.bodies[0].inertia.mass == pytest.approx(0.37)
    assert len(spec.slots) == 8 and {slot.shape for slot in spec.slots} == {"box"}
    assert spec.ground.static_friction == pytest.approx(0.15) and spec.ground.friction_combine == "min"
    assert (spec.position_iterations, spec.velocity_iterations) == (4, 0)


def test_throws_begin_above_the_ground_and_within_their_ranges(env: Any):
    """No corner begins less than a millimetre above the ground, and velocities are those that were asked for."""
    from nerd_core.contact.contacts import ContactModel

    env.set_nerd_mode("physx")
    env.reset(seed=3)
    spec, state = env.robot_spec, RobotState(env.robot, env.robot_spec, env.scene.env_origins).read()
    assert float(ContactModel(spec).slot_points(state)[..., 2].min()) > 0.9e-3
    assert float(state[:, 2].max()) < 0.27
    low, high = torch.tensor([-3.5, -3.5, -1.0, -10.0, -10.0, -7.0]), torch.tensor([3.5, 3.5, 0.2, 12.0, 8.0, 4.0])
    velocity = state[:, 7:]
    assert (velocity >= low).all() and (velocity <= high).all() and velocity.std(0).min() > 0.2


def test_untrained_mechanics_toss_a_cube_as_the_engine_does(env: Any):
    """Over 80 steps, from the air to rest, most cubes stay within a tenth of a millimetre and a few milliradians."""
    solved, predicted = play(env, "physx"), play(env, "neural")
    assert torch.equal(solved[:, 0], predicted[:, 0])
    apart = (solved[..., :3] - predicted[..., :3]).norm(dim=-1).mean(1)
    angle = turned(solved, predicted).mean(1)
    assert float(apart.median()) < 5e-4 and float(apart.mean()) < 2e-3
    assert float(angle.median()) < 5e-3 and float(angle.mean()) < 0.02
    assert float(solved[:, -1, 7:10].norm(dim=-1).max()) > 0.1, "something must still slide to prove anything"


def test_a_body_that_is_moved_is_gone_on_with_from_there(env: Any):
    """A teleport between two neural steps is obeyed, and accelerations are those of the motion."""
    play(env, "neural", steps=3)
    reader = RobotState(env.robot, env.robot_spec, env.scene.env_origins)
    state = reader.read().clone()
    state[:, 2] += 1.0
    state[:, 7:] = 0.0
    reader.write(state)
    env.step(torch.zeros(COUNT, 0))
    dt = env.step_dt
    after = reader.read()
    assert torch.allclose(after[:, 9], torch.full((COUNT,), -9.81 * dt), atol=1e-5)
    assert torch.allclose(after[:, :2], state[:, :2], atol=1e-5)
    acceleration = env.robot.data.body_com_acc_w.torch[:, 0]
    assert torch.allclose(acceleration[:, 2], torch.full((COUNT,), -9.81), atol=1e-2)


def test_a_push_on_a_floating_body_acts_as_in_the_engine(env: Any):
    """A force and a torque that act all the time move a cube in the air alike in both modes, and much; and the engine
    goes on as before afterwards.
    """

    def push() -> None:
        reader = RobotState(env.robot, env.robot_spec, env.scene.env_origins)
        state = reader.read().clone()
        state[:, 2] += 5.0
        reader.write(state)
        force, torque = torch.tensor([1.0, -2.0, 3.0]), torch.tensor([0.001, 0.002, -0.001])
        env.robot.permanent_wrench_composer.set_forces_and_torques_index(
            forces=force.repeat(COUNT, 1, 1), torques=torque.repeat(COUNT, 1, 1), is_global=True
        )

    def lift() -> None:
        push()
        env.robot.permanent_wrench_composer.reset()

    free = play(env, "physx", lift, 40)
    solved, predicted = play(env, "physx", push, 40), play(env, "neural", push, 40)
    made = (solved[:, -1] - free[:, -1])[:, 7:].abs()
    assert float(made[:, :3].min()) > 0.1 and float(made[:, 3:].min()) > 0.1
    assert float((solved - predicted)[..., 7:].abs().max()) < 5e-3
    assert float((solved - predicted)[..., :3].abs().max()) < 1e-3
    assert torch.allclose(play(env, "physx", lift, 40), free, atol=1e-5)


def test_a_cube_that_bounces_bounces_as_in_the_engine(env: Any):
    """With restitution cubes leave the ground about as fast as in the engine, over several bounces, where without it
    they would be off by five times as much.
    """
    dropped = play(env, "physx", steps=40)
    try:
        set_restitution(env, 0.8)
        solved, predicted = play(env, "physx", steps=40), play(env, "neural", steps=40)
    finally:
        set_restitution(env, 0.0)
    made = (solved - dropped)[..., 9].abs().amax(1)
    apart = (solved - predicted)[..., 9].abs().mean(1)
    assert float(made.median()) > 0.2, "restitution must matter to prove anything"
    assert float(apart.median()) < 0.2 * float(made.median())


def set_restitution(env: Any, value: float) -> None:
    """Restitution of all cubes in the engine; that of the ground is zero, and the mean of both counts."""
    import warp as wp
    from isaaclab_ov import tensor_types

    kind = tensor_types.RIGID_BODY_SHAPE_FRICTION_AND_RESTITUTION
    held = wp.to_torch(env.robot.root_view.get_attribute(kind)).clone()
    held[..., 2] = value
    env.robot.root_view.set_attribute(kind, wp.from_torch(held))
    env.forget_parameters()


@pytest.mark.parametrize("chosen", [None, "robot"])
def test_several_bodies_are_refused_by_name(chosen: str | None):
    """Two free bodies ask for a choice; with it the one that would rest in neural mode is found. One that the engine
    does not move by itself counts as neither.
    """
    from nerd_isaaclab.envs.driven_asset import NerdModeError, find_driven_asset, find_resting_assets

    cfg = two_cubes()
    cfg.nerd.robot = chosen
    if chosen is None:
        with pytest.raises(NerdModeError) as refusal:
            find_driven_asset(cfg)
        assert "2 free rigid bodies" in str(refusal.value) and "env.nerd.robot=<name>" in str(refusal.value)
    else:
        assert find_driven_asset(cfg) == "robot" and find_resting_assets(cfg, "robot") == ["other"]
    cfg.scene.other.spawn.rigid_props.kinematic_enabled = True
    cfg.nerd.robot = None
    assert find_driven_asset(cfg) == "robot" and find_resting_assets(cfg, "robot") == []


def two_cubes() -> Any:
    """The task with another cube in the scene."""
    import copy

    from isaaclab_tasks.utils.parse_cfg import parse_env_cfg

    import nerd_isaaclab.tasks  # noqa: F401

    cfg = parse_env_cfg("NeRD-Cube-Toss", device="cpu", num_envs=2, overrides=["physics=ovphysx"])
    cfg.scene.other = copy.deepcopy(cfg.scene.robot)
    cfg.scene.other.prim_path = "{ENV_REGEX_NS}/Other"
    return cfg


def test_neural_mode_refuses_what_would_rest(env: Any):
    """Where the scene has another body that moves, neural mode is refused with what helps, unless it is accepted."""
    from nerd_isaaclab.envs.driven_asset import NerdModeError

    kept, env.cfg.scene = env.cfg.scene, two_cubes().scene
    try:
        with pytest.raises(NerdModeError, match=r"\(other\).*env\.scene\.other=null.*env\.nerd\.others_rest=true"):
            env.set_nerd_mode("neural")
        env.set_nerd_mode("mixed")
        env.cfg.nerd.others_rest = True
        env.set_nerd_mode("neural")
    finally:
        env.cfg.scene, env.cfg.nerd.others_rest = kept, False
        env.set_nerd_mode("physx")


def test_a_predictor_of_the_body_knows_its_own_mass(env: Any):
    """A cube with twice the mass falls alike and is not taken for the specification's own."""
    predictor: Any = env.nerd.dynamics.predictor
    assert isinstance(predictor, Predictor) and env.nerd.parameters.current() is None
    masses = env.robot.data.body_mass.torch.clone()
    env.robot.set_masses_index(masses=2.0 * masses, env_ids=torch.arange(COUNT).int())
    env.forget_parameters()
    assert env.nerd.parameters.current().given == ("mass",)
    env.robot.set_masses_index(masses=masses, env_ids=torch.arange(COUNT).int())
    env.forget_parameters()
    assert env.nerd.parameters.current() is None
