# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What stands in the place of an articulation's view hands out the last state that was written, and tells the engine
all of it when it is asked. The engine is a table here; with PhysX, see ``test_seam_resting``.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
import warp as wp
from isaaclab_ov import tensor_types as kinds

from nerd_core.robot.frames import quat_normalize
from nerd_core.robot.kinematics import ForwardKinematics
from nerd_core.robot.spec import RobotSpec
from nerd_isaaclab.physics.resting_engine import RestingView
from support.robots import ant, cartpole, random_state

pytestmark = pytest.mark.unit
wp.init()

COUNT = 4
STATES = (kinds.ROOT_POSE, kinds.ROOT_VELOCITY, kinds.DOF_POSITION, kinds.DOF_VELOCITY)


class Engine:
    """The view of an engine that holds what it is given and computes nothing."""

    def __init__(self, spec: RobotSpec):
        joints, bodies = len(spec.joints), len(spec.bodies)
        widths = dict(zip(STATES, (7, 6, joints, joints), strict=True)) | {kinds.DOF_ACTUATION_FORCE: joints}
        self.held = {kind: torch.zeros(COUNT, width) for kind, width in widths.items()}
        self.held[kinds.ROOT_POSE][:] = torch.tensor([*spec.root_pos, *spec.root_quat])
        self.held[kinds.LINK_POSE] = torch.full((COUNT, bodies, 7), torch.nan)

    def set_attribute(self, name: Any, values: wp.array, indices: Any = None, mask: Any = None) -> None:
        assert indices is None and mask is None
        self.held[name].copy_(wp.to_torch(values).view_as(self.held[name]))

    def get_attribute(self, name: Any) -> wp.array:
        return wp.from_torch(self.held[name].clone())

    def read_into(self, name: Any, dst: wp.array) -> None:
        wp.to_torch(dst).copy_(self.held[name].view_as(wp.to_torch(dst)))


def resting(spec: RobotSpec) -> RestingView:
    """A view that rests, above such an engine."""
    centres = torch.zeros(COUNT, len(spec.bodies), 7)
    centres[..., 6] = 1.0
    data = SimpleNamespace(_backend_body_com_pose_b=wp.from_torch(centres, dtype=wp.transformf))
    view = RestingView(Engine(spec), spec, data)
    view._manager = SimpleNamespace(forward=lambda: None)
    return view


def written(view: RestingView, spec: RobotSpec, seed: int) -> tuple[torch.Tensor, dict[Any, torch.Tensor]]:
    """Writes a state as an articulation does, and returns it whole and by kind."""
    at, state = spec.state, random_state(spec, COUNT, seed=seed)
    parts = {kinds.DOF_POSITION: state[:, at.joint_pos], kinds.DOF_VELOCITY: state[:, at.joint_vel]}
    if spec.floating_base:
        state[:, at.root_quat] = quat_normalize(state[:, at.root_quat])
        parts[kinds.ROOT_POSE] = torch.cat((state[:, at.root_pos], state[:, at.root_quat]), -1)
        parts[kinds.ROOT_VELOCITY] = torch.cat((state[:, at.root_lin_vel], state[:, at.root_ang_vel]), -1)
    for kind, values in parts.items():
        view.set_attribute(kind, wp.from_torch(values.contiguous()))
    return state, parts


def read(view: RestingView, kind: Any, like: torch.Tensor) -> torch.Tensor:
    """What a view answers."""
    found = torch.full_like(like, torch.nan).contiguous()
    view.read_into(kind, wp.from_torch(found))
    return found


@pytest.mark.parametrize("spec", [ant(), cartpole()], ids=lambda spec: spec.name)
def test_every_answer_is_that_of_the_last_state(spec: RobotSpec):
    """State after state, what is read is what was written last, and bodies stand where it places them; the engine is
    told nothing of it.
    """
    view, place = resting(spec), ForwardKinematics(spec)
    for seed in (1, 2, 3):
        state, parts = written(view, spec, seed)
        for kind, expected in parts.items():
            assert torch.equal(read(view, kind, expected), expected)
        poses = read(view, kinds.LINK_POSE, torch.zeros(COUNT, len(spec.bodies), 7))
        torch.testing.assert_close(poses[..., :3], place(state).pos, rtol=0, atol=1e-5)
    assert not any(torch.equal(view.view.held[kind], values) for kind, values in parts.items())


@pytest.mark.parametrize("how", ["indices", "mask"])
def test_a_part_of_the_robots_is_written(how: str):
    """Only the robots that are named get the new state, the others keep theirs; so do their bodies."""
    spec = cartpole()
    view = resting(spec)
    before = written(view, spec, 1)[1][kinds.DOF_POSITION].clone()
    assert not read(view, kinds.LINK_POSE, torch.zeros(COUNT, len(spec.bodies), 7)).isnan().any()
    wanted = before + 1.0
    rows = torch.tensor([1, 3], dtype=torch.int32)
    chosen = torch.zeros(COUNT, dtype=torch.bool).index_fill(0, rows.long(), True)
    given: dict[str, Any] = {"indices": wp.from_torch(rows)} if how == "indices" else {"mask": wp.from_torch(chosen)}
    view.set_attribute(kinds.DOF_POSITION, wp.from_torch(wanted), **given)
    expected = torch.where(chosen[:, None], wanted, before)
    assert torch.equal(read(view, kinds.DOF_POSITION, before), expected)
    state = torch.zeros(COUNT, spec.state.dim)
    state[:, spec.state.joint_pos] = expected
    poses = read(view, kinds.LINK_POSE, torch.zeros(COUNT, len(spec.bodies), 7))
    torch.testing.assert_close(poses[..., :3], ForwardKinematics(spec)(state).pos, rtol=0, atol=1e-5)


def test_an_engine_that_is_asked_holds_all_of_it():
    """Who asks for anything else finds state and commands in the engine; what is written from then on is kept anew,
    beginning with what the engine holds by then.
    """
    spec = cartpole()
    view, effort = resting(spec), torch.rand(COUNT, 2)
    parts = written(view, spec, 1)[1]
    view.set_attribute(kinds.DOF_ACTUATION_FORCE, wp.from_torch(effort))
    assert not view.view.held[kinds.DOF_ACTUATION_FORCE].any()
    view.get_attribute(kinds.DOF_POSITION)
    for kind, expected in {**parts, kinds.DOF_ACTUATION_FORCE: effort}.items():
        assert torch.equal(view.view.held[kind], expected)
    view.view.held[kinds.DOF_VELOCITY] += 1.0  # the engine has moved
    moved = view.view.held[kinds.DOF_VELOCITY].clone()
    view.set_attribute(kinds.DOF_POSITION, wp.from_torch(parts[kinds.DOF_POSITION] + 1.0))
    assert torch.equal(read(view, kinds.DOF_VELOCITY, moved), moved)
    view.end()
    assert torch.equal(view.view.held[kinds.DOF_POSITION], parts[kinds.DOF_POSITION] + 1.0)
    view.set_attribute(kinds.DOF_POSITION, wp.from_torch(effort))
    assert torch.equal(view.view.held[kinds.DOF_POSITION], effort), "once the engine steps it is told at once"
