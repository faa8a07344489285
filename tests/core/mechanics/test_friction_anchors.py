# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Friction remembers where feet were put down: in PyTorch and in the kernel alike, for each environment by itself, and
so that what lies on a slope stays there.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from nerd_core.contact.contacts import ContactModel
from nerd_core.contact.grounds import PlaneGround
from nerd_core.dynamics import NeuralDynamics
from nerd_core.mechanics.config import MechanicsCfg
from nerd_core.mechanics.friction_anchors import SAME_NORMAL, Anchoring, FrictionAnchors, anchoring
from nerd_core.mechanics.kernel import verification
from nerd_core.mechanics.step import Mechanics
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import MEMORY, Predictor
from nerd_core.robot.frames import ChangeCodec
from nerd_core.robot.spec import RobotSpec
from support.robots import ant, random_state, with_inertias

ENVS, SETTLING = 6, 420
TILT = math.radians(12.0)
SLOPE = PlaneGround(torch.tensor([[math.sin(TILT), 0.0, math.cos(TILT)]]), torch.zeros(1))
RADIUS, UP = 0.05, torch.tensor([0.0, 0.0, 1.0])


def make_ant(decimation: int = 2) -> RobotSpec:
    """An Ant with so many physics steps in a control step."""
    return replace(with_inertias(ant()), decimation=decimation)


def mechanics_of(spec: RobotSpec, friction_memory: bool | None = None) -> Mechanics:
    """Mechanics of which nothing is learned."""
    return Mechanics(spec, ChangeCodec(spec), MechanicsCfg(hidden=0, slots=8, friction_memory=friction_memory))


def fallen(spec: RobotSpec, mechanics: Mechanics, steps: int) -> tuple[Tensor, Tensor]:
    """States of Ants that were dropped onto the slope so many control steps ago, and the memory of their friction."""
    state = random_state(spec, ENVS, seed=3, spread=0.2)
    state[:, :3], state[:, spec.state.root_lin_vel], state[:, spec.state.root_ang_vel] = 0.8 * UP, 0.0, 0.0
    state[:, spec.state.joint_vel] = 0.0
    memory = mechanics.new_memory(ENVS, state)
    for _ in range(steps):
        state = advanced(mechanics, state, memory)
    return state, memory


def advanced(mechanics: Mechanics, state: Tensor, memory: Tensor | None) -> Tensor:
    """States one control step later without efforts, with a memory or without."""
    spec, contacts = mechanics.spec, ContactModel(mechanics.spec)(state, SLOPE)
    control = state.new_zeros(len(state), spec.control_dim)
    with torch.no_grad():
        if memory is None:
            return mechanics.codec.apply(state, mechanics(state, control, contacts))
        return mechanics.codec.apply(state, mechanics.remembering(state, control, contacts, memory))


def count(memory: Tensor) -> Tensor:
    """First and second anchors of each environment, shape (2, M)."""
    return (memory[..., :12].unflatten(2, (2, 6))[..., :3].norm(dim=-1) > 0.0).sum(1).t()


@pytest.mark.usefixtures("_kernel")
def test_what_lies_on_a_slope_stays_there():
    """Ants that have come to rest on a slope go less than a fiftieth of a millimetre in forty steps; without memory
    they slide on, ten times as far at least. Nobody has a second anchor without a first.
    """
    spec = make_ant()
    mechanics = mechanics_of(spec)
    rest, memory = fallen(spec, mechanics, SETTLING)
    assert (count(memory)[0] > 0).all() and (count(memory)[1] <= count(memory)[0]).all()
    ways = []
    for remembered in (memory.clone(), None):
        state = rest
        for _ in range(40):
            state = advanced(mechanics, state, remembered)
        ways.append((state - rest)[:, :3].norm(dim=-1).median())
    assert ways[0] < 2.0e-5
    assert ways[1] > 10.0 * ways[0]


@pytest.fixture
def _kernel():
    """Only where the kernel steps: PyTorch would take minutes."""
    pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")


@pytest.mark.usefixtures("_kernel")
def test_kernel_and_pytorch_remember_the_same(monkeypatch: pytest.MonkeyPatch):
    """From states and memories of a fall and of the rest after it the kernel makes PyTorch's next state, to a tenth of
    a millimetre per second in the median of the largest differences, and its memory, to a micrometre and with the
    same anchors but for one of fifty.
    """
    spec = make_ant()
    fused, plain = mechanics_of(spec), mechanics_of(spec)
    misses, places, same = [], [], []
    state, memory = fallen(spec, fused, 50)
    for number in range(150):
        said = memory.clone()
        after = advanced(fused, state, said)
        if number % 6 == 0:
            expected = memory.clone()
            with monkeypatch.context() as patch:
                patch.setenv(verification.SWITCH, "0")
                truth = advanced(plain, state, expected)
            misses.append((after - truth).abs().amax(-1))
            there = (expected[..., :3].norm(dim=-1) > 0.0) & (said[..., :3].norm(dim=-1) > 0.0)
            places.append(((said - expected).abs() * there.unsqueeze(-1)).amax())
            same.append((count(said) == count(expected)).all(0).float())
        state, memory = after, said
    assert all(kernel is not None for kernel in fused._kernels.values()) and fused._kernels
    assert not any(kernel is not None for kernel in plain._kernels.values())
    assert torch.stack(misses).median() < 1.0e-4
    assert torch.stack(places).median() < 1.0e-6
    assert torch.stack(same).mean() > 0.98
    assert count(memory).sum() > ENVS


@pytest.mark.parametrize("fused", [True, False])
def test_an_empty_memory_changes_nothing(fused: bool, monkeypatch: pytest.MonkeyPatch):
    """The first physics step with an empty memory is that without memory, to the last bit."""
    if fused:
        pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")
    else:
        monkeypatch.setenv(verification.SWITCH, "0")
    mechanics = mechanics_of(make_ant(decimation=1))
    state, _ = fallen(mechanics.spec, mechanics, 0)
    state[:, 2] = torch.linspace(0.1, 0.6, ENVS)
    memory = mechanics.new_memory(ENVS, state)
    assert torch.equal(advanced(mechanics, state, memory), advanced(mechanics, state, None))
    assert count(memory)[0].sum() > 0, "nothing touched anything"


@pytest.mark.usefixtures("_kernel")
def test_a_reset_forgets_one_environment():
    """A stepper whose environment is reset steps it as a new stepper would, to the last bit, the others as if nothing
    had happened, and goes on from its saved history in the same way.
    """
    spec = make_ant()
    predictor = Predictor(spec, PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0))).eval()
    state, _ = fallen(spec, mechanics_of(spec), SETTLING)
    control = torch.zeros(ENVS, spec.control_dim)
    steppers = [NeuralDynamics(predictor, ENVS, ground=SLOPE) for _ in range(3)]
    for stepper in steppers[:2]:
        following = state
        for _ in range(10):
            following = stepper.step(following, control)
    assert (steppers[0]._cache[MEMORY] != 0.0).any()
    kept = steppers[0].state_dict()
    steppers[0].reset(torch.tensor([2]))
    mixed, whole, fresh = (stepper.step(following, control) for stepper in steppers)
    others = [env for env in range(ENVS) if env != 2]
    assert torch.equal(mixed[2], fresh[2]) and torch.equal(mixed[others], whole[others])
    assert not torch.equal(whole[2], fresh[2])
    steppers[2].load_state_dict(kept)
    assert torch.equal(steppers[2].step(following, control), whole)


def turned(angle: float) -> Tensor:
    """A rotation about the second axis, shape (1, 3, 3, 1)."""
    cos, sin = math.cos(angle), math.sin(angle)
    return torch.tensor([[cos, 0.0, sin], [0.0, 1.0, 0.0], [-sin, 0.0, cos]]).view(1, 3, 3, 1)


def anchored(before: FrictionAnchors, angle: float, way: float) -> Anchoring:
    """Anchors of a sphere on the ground that has turned and gone along the first axis [m]."""
    vectors = [torch.tensor(each).view(1, 3, 1) for each in ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))]
    centre = torch.tensor([way, 0.0, RADIUS]).view(1, 3, 1)
    first = torch.zeros(1, 1, dtype=torch.long)
    radius = torch.full((1, 1), RADIUS)
    return anchoring(before, first, turned(angle), centre, radius, (vectors[0], vectors[1], vectors[2]), None, None)


def test_an_anchor_is_a_point_of_the_body_and_one_of_the_ground():
    """A sphere that slides by a millimetre is a millimetre from its anchor; one that rolls as far as it turns is not
    (to a hundredth), and gets a second anchor, but only once it has rolled by more than a tenth of a millimetre; one
    that turns by more than PhysX's angle gets a new first one.
    """
    nothing = FrictionAnchors(torch.zeros(2, 1, 3, 1), torch.zeros(2, 1, 3, 1), None, torch.zeros(1, 1))
    held = torch.ones(1, 1)
    new = anchored(nothing, 0.0, 0.0)
    assert new.anchors.exist.flatten().tolist() == [True, False] and not new.drift.any()
    before = new.kept(nothing, held)
    slid = anchored(before, 0.0, 1.0e-3)
    assert slid.drift[0].flatten().tolist() == pytest.approx([1.0e-3, 0.0])
    assert slid.anchors.exist.flatten().tolist() == [True, False]
    for angle, has_second in ((0.0019, False), (0.0021, True)):
        rolled = anchored(before, angle, RADIUS * angle)
        assert abs(float(rolled.drift[0, 0])) < 0.01 * RADIUS * angle
        assert rolled.anchors.exist.flatten().tolist() == [True, has_second]
    second = anchored(rolled.kept(before, held), 0.0021, RADIUS * 0.0021 + 1.0e-3)
    assert second.drift[:, 0].flatten().tolist() == pytest.approx([1.0e-3, 1.0e-3], abs=1.0e-6)
    far = math.acos(SAME_NORMAL)
    assert not anchored(before, 1.01 * far, 1.0e-3).drift.any()
    assert anchored(before, 0.99 * far, 1.0e-3).drift.any()
    assert not new.kept(nothing, torch.zeros(1, 1)).exist.any(), "what slips is forgotten"


def test_who_has_a_memory():
    """Mechanics remember by default where the law is the engine's, and by a setting also elsewhere or nowhere; a box,
    whose contacts are patches, does not, nor does what touches nothing.
    """
    spec = make_ant()
    assert mechanics_of(spec).has_memory and not mechanics_of(spec, friction_memory=False).has_memory
    for setting, expected in ((None, False), (True, True)):
        cfg = MechanicsCfg(constraint_law="fitted", hidden=0, friction_memory=setting)
        assert Mechanics(spec, ChangeCodec(spec), cfg).has_memory == expected
    assert not Mechanics(spec, ChangeCodec(spec), MechanicsCfg(hidden=0), has_contacts=False).has_memory
    single = replace(spec, bodies=spec.bodies[:1], joints=(), controls=(), slots=spec.slots[:1])
    assert not mechanics_of(single, friction_memory=True).has_memory
