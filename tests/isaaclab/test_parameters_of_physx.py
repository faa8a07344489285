# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Masses, gains, friction and wrenches that events write to the engine hold in neural mode with mechanics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from nerd_core.dynamics import NeuralDynamics
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import Predictor
from support.seam import make_env

COUNT, STEPS = 8, 5
OTHER = torch.arange(COUNT // 2, COUNT)
"""The environments that are changed; each of the first half has a twin among them."""


@pytest.fixture(scope="module")
def env() -> Iterator[Any]:
    """Eight double pendulums above the ground, which mechanics steps exactly."""

    def lift(cfg: Any) -> None:
        cfg.scene.robot.init_state.pos = (0.0, 0.0, 8.0)

    env = make_env("NeRD-Double-Pendulum", COUNT, change=lift)
    env.reset(seed=0)
    predictor = Predictor(env.robot_spec, PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0))).eval()
    from nerd_isaaclab.physics.ground import find_ground

    env.use_dynamics(NeuralDynamics(predictor, COUNT, ground=find_ground(env)))
    yield env
    env.close()


def moved(env: Any, mode: str, begin: Callable[[], None]) -> torch.Tensor:
    """Joint positions and velocities after some control steps in a mode, twins from the same state with the same
    actions, shape (N, 2 J). What begins comes after the reset, which takes wrenches away.
    """
    generator, robot = torch.Generator().manual_seed(1), env.robot
    env.set_nerd_mode("physx")
    env.reset(seed=0)
    first = torch.randn(COUNT // 2, 4, generator=generator).repeat(2, 1)
    robot.write_joint_state_to_sim_index(position=first[:, :2].contiguous(), velocity=first[:, 2:].contiguous())
    actions = 2.0 * torch.rand(STEPS, COUNT // 2, env.action_manager.total_action_dim, generator=generator) - 1.0
    begin()
    env.set_nerd_mode(mode)
    for action in actions.repeat(1, 2, 1):
        env.step(action)
    assert env.nerd_mode == mode
    return torch.cat((robot.data.joint_pos.torch, robot.data.joint_vel.torch), -1).clone()


def scale_masses(env: Any, factor: float) -> None:
    """Masses and inertias of the changed environments, as the event of Isaac Lab scales them."""
    robot = env.robot
    bodies = list(range(robot.num_bodies))
    for name in ("masses", "inertias"):
        held = {"masses": robot.data.body_mass, "inertias": robot.data.body_inertia}[name].torch
        value = (factor * held[OTHER]).clone()
        getattr(robot, f"set_{name}_index")(**{name: value, "body_ids": bodies, "env_ids": OTHER.int()})


def set_damping(env: Any, value: float) -> None:
    """Damping of the drives of the changed environments."""
    damping = torch.full((len(OTHER), env.robot.num_joints), value)
    env.robot.write_joint_damping_to_sim_index(damping=damping, env_ids=OTHER.int())


def set_armature(env: Any, value: float) -> None:
    """Armatures of the changed environments."""
    armature = torch.full((len(OTHER), env.robot.num_joints), value)
    env.robot.write_joint_armature_to_sim_index(armature=armature, env_ids=OTHER.int())


def push(env: Any, size: float) -> None:
    """A force and a torque on the last body of the changed environments."""
    force = torch.tensor([2.0, 1.0, 0.5]).mul(size).repeat(len(OTHER), 1, 1)
    torque = torch.tensor([0.0, 1.0, 0.0]).mul(size).repeat(len(OTHER), 1, 1)
    env.robot.permanent_wrench_composer.set_forces_and_torques_index(
        forces=force, torques=torque, body_ids=[env.robot.num_bodies - 1], env_ids=OTHER.int(), is_global=True
    )


CHANGES: dict[str, tuple[Callable[[Any, float], None], float, float]] = {
    "mass": (scale_masses, 2.0, 0.5),
    "damping": (set_damping, 40.0, 0.0),
    "armature": (set_armature, 30.0, 0.1),
    "wrench": (push, 100.0, 0.0),
}
"""What changes the robots, by how much, and what takes that back."""


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_robot_moves_in_neural_mode_as_in_the_engine(env: Any, name: str):
    """An environment with twice the mass, with other gains or pushed moves with mechanics as in PhysX: apart by less
    than a hundredth of what the change makes; and the environments beside it move as before.
    """
    change, much, back = CHANGES[name]
    found = {}
    for mode in ("physx", "neural"):
        found[mode] = moved(env, mode, lambda: change(env, much))
        change(env, back)
    made = (found["physx"][OTHER] - found["physx"][: COUNT // 2]).abs().amax(-1)
    apart = (found["neural"] - found["physx"]).abs().amax(-1)
    assert made.min() > 0.02, f"{name} changes the motion by {made.tolist()}"
    # A wrench is held over a control step as it is at its beginning, while the engine looks twice.
    share = 0.05 if name == "wrench" else 0.01
    assert (apart[OTHER] < share * made).all(), f"apart {apart.tolist()}, the change makes {made.tolist()}"
    assert (apart[: COUNT // 2] < 2e-3).all(), f"apart {apart.tolist()}"


def test_the_engine_keeps_no_wrench_of_neural_steps(env: Any):
    """After neural steps in which robots were pushed the engine goes on as if it had not been handed the wrenches."""
    moved(env, "physx", lambda: push(env, 0.0))
    before = moved(env, "physx", lambda: push(env, 0.0))
    moved(env, "neural", lambda: push(env, 100.0))
    env.robot.permanent_wrench_composer.reset()
    assert torch.allclose(moved(env, "physx", lambda: None), before, atol=1e-6)


def test_what_nobody_changed_is_not_asked_for(env: Any):
    """Where all robots are those of the specification a step has no parameters, so that it costs what it did; what an
    environment alone has is found with its name.
    """
    env.robot.permanent_wrench_composer.reset()
    env.forget_parameters()
    assert env.nerd.parameters.current() is None and env.nerd.parameters.given == ()
    scale_masses(env, 1.2)
    assert env.nerd.parameters.current() is None, "nobody said that something was written"
    env.forget_parameters()
    parameters = env.nerd.parameters.current()
    assert parameters.given == ("mass", "inertia") and parameters.mass.shape == (COUNT, env.robot.num_bodies)
    scale_masses(env, 1.0 / 1.2)
    env.forget_parameters()
    assert env.nerd.parameters.current() is None
