# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Explicit actuators of Isaac Lab act in every physics step of mechanics as they do beside the engine."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from nerd_core.mechanics.config import MechanicsCfg
from nerd_core.mechanics.step import Mechanics
from nerd_core.robot.frames import ChangeCodec
from nerd_isaaclab.models.untrained import untrained_model
from support.seam import make_env

COUNT, STEPS, HEIGHT = 8, 6, 8.0


class _Lstm(torch.nn.Module):
    """A network of an actuator as Isaac Lab expects it: an LSTM, and torques from its output."""

    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(2, 4, num_layers=1, batch_first=True)
        self.out = torch.nn.Linear(4, 1)

    def forward(
        self, x: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor]
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        """Torques, and the new state."""
        found, after = self.lstm(x, state)
        return 200.0 * self.out(found), after


def actuator_cfg(kind: str, folder: Path) -> Any:
    """An actuator for both joints of a double pendulum."""
    from isaaclab import actuators

    both = {"joint_names_expr": ["joint_.*"]}
    gains = {**both, "stiffness": 300.0, "damping": 20.0}
    motor = {"saturation_effort": 150.0, "actuator_effort_limit": 100.0, "actuator_velocity_limit": 4.0}
    if kind == "IdealPD":
        return actuators.IdealPDActuatorCfg(**gains, actuator_effort_limit=80.0)
    if kind == "DCMotor":
        return actuators.DCMotorCfg(**gains, **motor)
    table = [[-3.0, 1.0, 20.0], [0.0, 1.0, 150.0], [3.0, 1.0, 40.0]]
    if kind == "Remotized":
        return actuators.RemotizedPDActuatorCfg(**gains, joint_parameter_lookup=table, max_delay=0)
    if kind == "Delayed":
        return actuators.DelayedPDActuatorCfg(**gains, actuator_effort_limit=80.0, min_delay=1, max_delay=5)
    torch.manual_seed(0)
    path = folder / f"{kind}.pt"
    if kind == "LSTM":
        torch.jit.save(torch.jit.script(_Lstm()), str(path))
        return actuators.ActuatorNetLSTMCfg(**both, **motor, network_file=str(path))
    net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    torch.jit.save(torch.jit.script(net), str(path))
    inputs = {"pos_scale": 1.0, "vel_scale": 0.3, "torque_scale": 200.0, "input_order": "pos_vel"}
    return actuators.ActuatorNetMLPCfg(**both, **motor, **inputs, network_file=str(path), input_idx=[0, 1, 2])


def make(kind: str, folder: Path) -> Any:
    """Double pendulums high above the ground whose joints are led by such actuators."""

    def change(cfg: Any) -> None:
        from isaaclab.envs.mdp import JointPositionActionCfg
        from isaaclab.utils import replace

        robot = cfg.scene.robot
        cfg.scene.robot = replace(robot, actuators={"joints": actuator_cfg(kind, folder)})
        cfg.scene.robot.init_state.pos = (0.0, 0.0, HEIGHT)
        cfg.actions.torque = JointPositionActionCfg(asset_name="robot", joint_names=["joint_.*"], scale=1.5)

    return make_env("NeRD-Double-Pendulum", COUNT, change=change)


@pytest.mark.parametrize("kind", ["IdealPD", "DCMotor", "Remotized", "Delayed", "MLP", "LSTM"])
def test_motion_in_the_model_is_that_in_the_engine(kind: str, tmp_path: Path):
    """Episodes from the same resets and actions, with one environment that is reset in between, go the same way by
    mechanics and by the engine: laws, delays and memories of networks act in every physics step, for each environment.
    """
    from nerd_core.dynamics import NeuralDynamics

    env, found = make(kind, tmp_path), {}
    try:
        generator = torch.Generator().manual_seed(1)
        actions = 2.0 * torch.rand(STEPS, COUNT, 2, generator=generator) - 1.0
        model = untrained_model(env.robot_spec, sees_ground=False)
        mechanics = next(each for each in model.modules() if isinstance(each, Mechanics))
        assert bool(mechanics.actuators.remembering) == (kind in ("Delayed", "MLP", "LSTM"))
        env.use_dynamics(NeuralDynamics(model, COUNT))
        for name in ("physx", "physx", "neural", "physx again"):  # the first of all begins otherwise: nothing was reset
            mode = name.partition(" ")[0]
            torch.manual_seed(5)  # delays are drawn at resets
            env.set_nerd_mode(mode)
            env.reset(seed=3)
            states = []
            for step, action in enumerate(actions):
                if step == STEPS // 2:
                    torch.manual_seed(6)
                    env.reset(seed=4, env_ids=torch.tensor([2, 5]))
                env.step(action)
                states.append(torch.cat((env.robot.data.joint_pos.torch, env.robot.data.joint_vel.torch), 1).clone())
            found[name] = torch.stack(states)
        assert torch.equal(found["physx again"], found["physx"]), "the engine gets its commands again"
        moved = (found["physx"][1:] - found["physx"][:-1]).abs().median()
        apart = (found["neural"] - found["physx"]).abs()
        assert float(moved) > 1e-2
        assert float(apart.amax()) < 1e-3, f"{kind}: {apart.amax(dim=(1, 2))}"
    finally:
        env.close()


def test_actuators_are_asked_once_where_the_solver_steps_too(tmp_path: Path):
    """In mixed mode the actuators remember what the solver's environments did: these go exactly as without a model."""
    from nerd_core.dynamics import NeuralDynamics

    env, found = make("Delayed", tmp_path), {}
    try:
        actions = 2.0 * torch.rand(STEPS, COUNT, 2, generator=torch.Generator().manual_seed(1)) - 1.0
        env.use_dynamics(NeuralDynamics(untrained_model(env.robot_spec, sees_ground=False), COUNT))
        for mode in ("physx", "physx", "mixed"):
            torch.manual_seed(5)
            env.set_nerd_mode(mode, torch.arange(COUNT) < 2 if mode == "mixed" else None)
            env.reset(seed=3)
            for action in actions:
                env.step(action)
            found[mode] = env.robot.data.joint_pos.torch.clone()
        assert torch.equal(found["mixed"][2:], found["physx"][2:])
        assert float((found["mixed"][:2] - found["physx"][:2]).abs().max()) < 1e-3
    finally:
        env.close()


def test_a_task_with_motors_is_stepped_by_its_law():
    """ANYmal C with DC motors, in the air: joint velocities after a control step are those of the engine to a
    hundred thousandth of what is usual, though efforts change from physics step to physics step.
    """
    from nerd_isaaclab.collect.lean_scene import LeanScene
    from nerd_isaaclab.envs.randomised_properties import hold_still

    env = make_env("NeRD-Velocity-AnymalC-DC-Motor", 16, change=lambda cfg: hold_still(cfg.events))
    try:
        env.reset(seed=0)
        scene, spec, generator = LeanScene(env), env.robot_spec, torch.Generator().manual_seed(0)
        at, joints, state = spec.state, len(spec.joints), scene.read().clone()
        law = spec.joints[0].actuator and spec.joints[0].actuator.law
        assert law is not None and law.saturation_effort == 120.0 and law.velocity_limit < math.inf
        state[:, at.root_pos] = torch.tensor([0.0, 0.0, 20.0])
        state[:, at.joint_vel] = 3.0 * torch.randn(16, joints, generator=generator)
        control = state[:, at.joint_pos] + 0.5 * torch.randn(16, joints, generator=generator)
        scene.write(state)
        truth, codec = scene.step(control).clone(), ChangeCodec(spec)
        mechanics = Mechanics(spec, codec, MechanicsCfg(hidden=0), has_contacts=False).double()
        said = codec.apply(state.double(), mechanics(state.double(), control.double()))
        miss, change = (said - truth)[:, at.joint_vel].abs(), (truth - state)[:, at.joint_vel].abs()
        assert float(miss.median()) < 1e-5 * float(change.median())
    finally:
        env.close()
