# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The seam's own part of a step on a GPU, traced on a GPU that is not there: reading the articulation, finding who was
moved, writing, publishing accelerations and efforts, and what a reset clears. No engine: an articulation whose buffers
have no numbers. That the model's part stays on the GPU is the claim of tests/core/test_no_host_copies.py.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException

from nerd_core.mechanics.forces import BodyForces
from nerd_core.robot.spec import RobotSpec
from support.fake_cuda import DEVICE, HostCopy, fake_cuda, fake_like
from support.robots import ant, cartpole

pytestmark = pytest.mark.unit

ENVS = 6


def some(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """A tensor on the GPU that is not there."""
    return torch.empty(ENVS, *shape, dtype=dtype, device=DEVICE)


def articulation_of(spec: RobotSpec) -> Any:
    """An articulation as the seam reads and writes it, with buffers on the GPU that is not there."""
    joints, bodies = len(spec.joints), len(spec.bodies)
    shapes = {
        "joint_pos": (joints,),
        "joint_vel": (joints,),
        "joint_effort_target": (joints,),
        "joint_pos_target": (joints,),
        "joint_vel_target": (joints,),
        "root_link_pose_w": (7,),
        "root_com_vel_w": (6,),
        "body_com_pose_b": (bodies, 7),
        "body_com_vel_w": (bodies, 6),
    }
    data = SimpleNamespace(**{name: SimpleNamespace(torch=some(*shape)) for name, shape in shapes.items()})
    data._sim_timestamp = 0.0
    data._body_com_acc_w = SimpleNamespace(data=some(bodies, 6), timestamp=0.0)
    data._joint_acc = SimpleNamespace(data=some(joints), timestamp=0.0)

    def written(**tensors: Tensor | None) -> None:
        for name, value in tensors.items():
            assert value is None or value.device == DEVICE, f"'{name}' was written from {value.device}"

    return SimpleNamespace(
        __backend_name__="ovphysx",
        data=data,
        actuators=SimpleNamespace(compute=lambda dt: None),
        write_root_link_pose_to_sim_index=written,
        write_root_link_velocity_to_sim_index=written,
        write_joint_state_to_sim_index=written,
    )


class Model:
    """A model that predicts what it was given, and forces."""

    def __init__(self, spec: RobotSpec):
        self.held, bodies = some(dtype=torch.bool), len(spec.bodies)
        forces = BodyForces(some(2, bodies, 3), some(2, bodies, 3), None)
        self.prediction = SimpleNamespace(body_forces=forces, force=None)

    def reset(self, env_ids: Tensor | None = None) -> None:
        assert env_ids is None or env_ids.device == DEVICE

    def step(self, state: Tensor, control: Tensor) -> Tensor:
        return state + control.sum(-1, keepdim=True)


def step(spec: RobotSpec, monkeypatch: pytest.MonkeyPatch, steps: int = 3) -> None:
    """Steps all environments on the GPU that is not there, with resets of some of them between."""
    pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")
    from nerd_isaaclab.physics import robot_state
    from nerd_isaaclab.physics.neural_physics import NeuralPhysics
    from nerd_isaaclab.physics.reported_efforts import ReportedEfforts

    monkeypatch.setattr(robot_state, "wp", SimpleNamespace(to_torch=lambda buffer: buffer))
    stock = SimpleNamespace(forward=lambda: None, handles_decimation=lambda: False)
    robot: Any = SimpleNamespace(__backend_name__="ovphysx")
    # made once, from numbers of the specification, which may well come from the host
    state, efforts = robot_state.RobotState(robot, spec, torch.zeros(ENVS, 3)), ReportedEfforts(robot, spec)
    efforts.is_needed = True
    with fake_cuda():
        vars(robot).update(vars(articulation_of(spec)))
        state._origins, state._wrapping = fake_like(state._origins), fake_like(state._wrapping)
        state._channels = [(fake_like(columns), fake_like(joints), kind) for columns, joints, kind in state._channels]
        model: Any = Model(spec)
        physics = NeuralPhysics(stock, state, model, spec.physics_dt, spec.decimation, efforts=efforts)
        for _ in range(steps):
            physics.step()
            physics.forget(torch.empty(2, dtype=torch.int32, device=DEVICE))
        assert physics.body_forces is not None and physics.contact_forces.device == DEVICE
        assert state.read().shape == (ENVS, spec.state.dim)


@pytest.mark.parametrize("spec", [ant(), cartpole()], ids=lambda spec: spec.name)
def test_the_seam_stays_on_the_gpu(spec: RobotSpec, monkeypatch: pytest.MonkeyPatch):
    """Neither steps nor resets ask the GPU for a number or copy anything between it and the host."""
    step(spec, monkeypatch)


@pytest.mark.parametrize("method", ["read_engine", "write", "read_control", "unwrap"])
@pytest.mark.parametrize(
    ("planted", "error"),
    [
        (lambda value: value.sum().item(), DataDependentOutputException),
        (lambda value: value.cpu(), HostCopy),
        (lambda value: bool((value > 0).any()), DataDependentOutputException),
        (lambda value: value[value > 0], DynamicOutputShapeException),
    ],
    ids=["item", "cpu", "branch", "mask"],
)
def test_what_asks_the_gpu_is_noticed(method: str, planted: Any, error: Any, monkeypatch: pytest.MonkeyPatch):
    """A number, a copy, a branch or a selection by a mask, planted into the seam, fails the trace."""
    from nerd_isaaclab.physics.robot_state import RobotState

    right = getattr(RobotState, method)

    def wrong(self: Any, *args: Any) -> Any:
        planted(args[0] if args else self._robot.data.joint_pos.torch)
        return right(self, *args)

    monkeypatch.setattr(RobotState, method, wrong)
    with pytest.raises(error):
        step(ant(), monkeypatch, steps=1)
