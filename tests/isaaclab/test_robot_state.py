# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Reader and writer of a robot's state beside an articulation made up here; no engine."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import warp as wp

from nerd_core.robot.frames import quat_normalize, quat_rotate
from nerd_core.robot.spec import Control
from nerd_isaaclab.physics.robot_state import RobotState
from support.robots import ant, cartpole, random_state

pytestmark = pytest.mark.unit
wp.init()

N, TURN = 4, 2.0 * math.pi
COM = torch.tensor([0.2, -0.1, 0.3])


class Articulation:
    """What Isaac Lab shows of a robot, as tensors; a write of a root's velocity takes that of its frame."""

    __backend_name__ = "ovphysx"

    def __init__(self, joints: int, bodies: int):
        numbers = torch.Generator().manual_seed(0)
        pose = torch.randn(N, 7, generator=numbers)
        pose[:, 3:] = quat_normalize(pose[:, 3:])
        centre = torch.zeros(N, bodies, 7)
        centre[:, 0, :3] = COM
        shapes = {
            "joint_pos": (N, joints),
            "joint_vel": (N, joints),
            "root_com_vel_w": (N, 6),
            "joint_effort_target": (N, joints),
            "joint_pos_target": (N, joints),
            "joint_vel_target": (N, joints),
            "body_com_vel_w": (N, bodies, 6),
            "joint_acc": (N, joints),
            "body_com_acc_w": (N, bodies, 6),
        }
        values = {name: torch.randn(shape, generator=numbers) for name, shape in shapes.items()}
        values |= {"root_link_pose_w": pose, "body_com_pose_b": centre}
        self.data: Any = SimpleNamespace(**{name: SimpleNamespace(torch=value) for name, value in values.items()})
        self.data._sim_timestamp = 1.0
        for name in ("joint_acc", "body_com_acc_w"):
            array = wp.from_torch(getattr(self.data, name).torch)
            setattr(self.data, f"_{name}", SimpleNamespace(data=array, timestamp=0.0))

    def write_root_link_pose_to_sim_index(self, root_pose: torch.Tensor, env_ids: torch.Tensor | None) -> None:
        self.data.root_link_pose_w.torch[slice(None) if env_ids is None else env_ids] = root_pose

    def write_root_link_velocity_to_sim_index(self, root_velocity: torch.Tensor, env_ids: torch.Tensor | None) -> None:
        ids = torch.arange(N) if env_ids is None else env_ids
        velocity = root_velocity.clone()
        away = quat_rotate(self.data.root_link_pose_w.torch[ids][:, 3:], COM.expand(len(ids), 3))
        velocity[:, :3] += torch.linalg.cross(velocity[:, 3:], away)
        self.data.root_com_vel_w.torch[ids] = velocity

    def write_joint_state_to_sim_index(
        self, position: torch.Tensor, velocity: torch.Tensor, env_ids: torch.Tensor | None
    ) -> None:
        ids = slice(None) if env_ids is None else env_ids
        self.data.joint_pos.torch[ids] = position
        self.data.joint_vel.torch[ids] = velocity


ORIGINS = torch.tensor([[0.0, 0.0, 0.0], [30.0, 0.0, 0.0], [0.0, -30.0, 0.0], [30.0, -30.0, 2.0]])


@pytest.mark.parametrize("spec", [ant(), cartpole()], ids=["ant", "cartpole"])
@pytest.mark.parametrize("env_ids", [None, torch.tensor([3, 1])], ids=["all", "some"])
def test_a_state_is_read_where_it_was_written(spec, env_ids: torch.Tensor | None):
    """Every part of a state comes back from the environments that it was written to, relative to their origins, with
    the velocity of the root's frame; the others are untouched.
    """
    robot: Any = Articulation(len(spec.joints), len(spec.bodies))
    scene = RobotState(robot, spec, ORIGINS)
    before, state = scene.read().clone(), random_state(spec, N, seed=1)
    ids = torch.arange(N) if env_ids is None else env_ids
    scene.write(state[ids], env_ids)
    after, others = scene.read(), [number for number in range(N) if number not in ids.tolist()]
    torch.testing.assert_close(after[ids], state[ids], rtol=0, atol=5e-6)
    assert torch.equal(after[others], before[others])
    assert torch.equal(after[:, spec.state.joint_vel], robot.data.joint_vel.torch)
    if spec.floating_base:
        placed = robot.data.root_link_pose_w.torch[ids][:, :3]
        torch.testing.assert_close(placed, state[ids][:, spec.state.root_pos] + ORIGINS[ids])


def test_the_engines_numbers_are_all_that_make_a_state():
    """A change of the last bit of any joint or root number is a difference; what was read before is a copy."""
    spec = ant()
    robot: Any = Articulation(8, 9)
    scene = RobotState(robot, spec, ORIGINS)
    for name in ("joint_pos", "joint_vel", "root_link_pose_w", "root_com_vel_w"):
        values = getattr(robot.data, name).torch
        for column in range(values.shape[1]):
            before = scene.read_engine()
            values[1, column] = torch.nextafter(values[1, column], torch.tensor(math.inf))
            assert (scene.read_engine() != before).any(-1).tolist() == [False, True, False, False], (name, column)


def test_controls_are_those_of_their_joints_and_kinds():
    """Each channel reads and sets the target of its joint and kind, and no other."""
    controls = (Control("hinge", "effort"), Control("slide", "position"), Control("hinge", "velocity"))
    robot: Any = Articulation(2, 3)
    scene = RobotState(robot, replace(cartpole(), controls=controls), ORIGINS)
    data = robot.data
    wanted = (
        data.joint_effort_target.torch[:, 1],
        data.joint_pos_target.torch[:, 0],
        data.joint_vel_target.torch[:, 1],
    )
    assert torch.equal(scene.read_control(), torch.stack(wanted, -1))
    kept = data.joint_effort_target.torch[:, 0].clone()
    scene.write_control(torch.arange(3.0).expand(N, 3))
    assert torch.equal(torch.stack(wanted, -1), torch.arange(3.0).expand(N, 3))
    assert torch.equal(data.joint_effort_target.torch[:, 0], kept)


@pytest.mark.parametrize(
    ("before", "said", "counted"),
    [
        (0.1, 0.3, 0.3),
        (3.0, -3.0, TURN - 3.0),
        (-3.0, 3.0, 3.0 - TURN),
        (6.1, -0.1, TURN - 0.1),
        (6.2, 0.1, 0.1 - TURN),
        (-6.2, -0.1, TURN - 0.1),
        (-4.0, 2.5, 2.5 - TURN),
    ],
)
def test_angles_are_counted_on_from_where_they_were(before: float, said: float, counted: float):
    """An angle within a turn is counted on from the last one the short way round, and by PhysX two turns back beyond a
    whole one; a slide is left alone, and so is an engine that does not do it.
    """
    state, previous = torch.zeros(1, 4), torch.zeros(1, 4)
    state[0, 1], previous[0, 1] = said, before
    state[0, 0], previous[0, 0] = 9.0, 1.0
    robot: Any = Articulation(2, 3)
    found = RobotState(robot, cartpole(), ORIGINS[:1]).unwrap(state, previous)
    assert found[0].tolist() == pytest.approx([9.0, counted, 0.0, 0.0], abs=1e-5)
    assert float(state[0, 1]) == pytest.approx(said), "the argument is not changed"

    class Newton(Articulation):
        __backend_name__ = "newton"

    other: Any = Newton(2, 3)
    found = RobotState(other, cartpole(), ORIGINS[:1]).unwrap(state, previous)
    turns = (float(found[0, 1]) - said) / TURN
    assert turns == pytest.approx(round(turns), abs=1e-5) and abs(float(found[0, 1]) - before) < math.pi


def test_what_is_written_early_counts_as_fresh_and_the_clock_goes_back():
    """Inside, the clock stands at the coming update, accelerations are stamped with it, and after it, also after an
    error, the clock is where it was.
    """
    robot: Any = Articulation(2, 3)
    scene = RobotState(robot, cartpole(), ORIGINS)
    joints, bodies = torch.full((N, 2), 3.0), torch.full((N, 3, 6), 4.0)
    with scene.at_coming_update(0.25):
        assert robot.data._sim_timestamp == 1.25
        scene.publish_accelerations(joints, bodies)
    assert robot.data._sim_timestamp == 1.0
    assert torch.equal(robot.data.joint_acc.torch, joints) and torch.equal(robot.data.body_com_acc_w.torch, bodies)
    assert robot.data._joint_acc.timestamp == robot.data._body_com_acc_w.timestamp == 1.25
    with pytest.raises(KeyError), scene.at_coming_update(0.5):
        raise KeyError
    assert robot.data._sim_timestamp == 1.0
    kept = scene.velocities(), scene.accelerations()
    robot.data.joint_vel.torch.zero_(), robot.data.body_com_acc_w.torch.zero_()
    assert kept[0][0].any() and kept[1][1].any(), "copies are given out"
