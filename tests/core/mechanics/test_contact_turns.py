# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Contacts follow the joint of their link, both ends of a capsule are one patch, and a batch changes nothing of it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from nerd_core.contact.contacts import ContactModel
from nerd_core.contact.grounds import PlaneGround
from nerd_core.mechanics.config import MechanicsCfg
from nerd_core.mechanics.contact_turns import ContactTurns, is_lower_end, joint_order, joints_before
from nerd_core.mechanics.gauss_seidel import GaussSeidel, Terms
from nerd_core.mechanics.kernel import verification
from nerd_core.mechanics.step import Mechanics
from nerd_core.robot.frames import ChangeCodec
from nerd_core.robot.slots import capsule_slots, sphere_slots
from nerd_core.robot.spec import Body, Control, Inertia, Joint, RobotSpec

RADIUS, HALF_LENGTH, HIP, SOLE = 0.02, 0.1, 0.2, -0.28
"""Capsules under the feet [m], height of the hips below the base and of a foot's capsules below its ankle [m]."""
GROUND = PlaneGround.flat()


def biped() -> RobotSpec:
    """A base on two legs of one joint each, whose feet are two capsules, with a ball on top; drives hold the joints."""
    light, heavy = (Inertia(mass, moments=(0.1 * mass, 0.12 * mass, 0.08 * mass)) for mass in (1.0, 6.0))
    bodies, joints, slots = [Body("base", inertia=heavy)], [], list(sphere_slots("base", 0.1, (0.0, 0.0, 0.1)))
    for side, place in (("left", 0.1), ("right", -0.1)):
        joints.append(Joint(f"{side}_hip", "revolute", (0.0, 1.0, 0.0), lower=-1.0, upper=1.0, armature=0.01))
        bodies.append(Body(f"{side}_leg", "base", joint=f"{side}_hip", parent_pos=(0.0, place, -HIP), inertia=light))
        for edge in (-0.03, 0.03):
            slots += capsule_slots(f"{side}_leg", RADIUS, HALF_LENGTH, (1.0, 0.0, 0.0), (0.0, edge, SOLE))
    driven = tuple(replace(joint, stiffness=200.0, damping=5.0) for joint in joints)
    return RobotSpec(
        name="biped",
        floating_base=True,
        joints=driven,
        bodies=tuple(bodies),
        controls=tuple(Control(joint.name, "position") for joint in driven),
        physics_dt=0.005,
        decimation=1,
        gravity=(0.0, 0.0, -9.81),
        slots=tuple(slots),
        position_iterations=4,
    )


def standing(spec: RobotSpec, count: int) -> tuple[Tensor, Tensor]:
    """States of robots that are about to touch the ground, some with a foot, some with the ball, and targets."""
    generator = torch.Generator().manual_seed(3)
    state = torch.zeros(count, spec.state.dim)
    state[:, 2] = HIP - SOLE + RADIUS - 0.001
    state[:, spec.state.root_quat.stop - 1] = 1.0
    state[:, spec.state.joint_pos] = 0.04 * torch.randn(count, 2, generator=generator)
    speeds = slice(spec.state.root_lin_vel.start, spec.state.dim)
    state[:, speeds] = 0.2 * torch.randn(count, speeds.stop - speeds.start, generator=generator)
    state[count // 2 :: 2, spec.state.root_quat] = torch.tensor([1.0, 0.0, 0.0, 0.0])  # upside down: the ball touches
    state[count // 2 :: 2, 2] = 0.199
    return state, 0.1 * torch.randn(count, 2, generator=generator)


def mechanics_of(spec: RobotSpec, **settings) -> Mechanics:
    """Mechanics of which nothing is learned."""
    return Mechanics(spec, ChangeCodec(spec), MechanicsCfg(hidden=0, **settings))


def change_by(mechanics: Mechanics, state: Tensor, control: Tensor) -> Tensor:
    """The change of states in a control step."""
    with torch.no_grad():
        return mechanics(state, control, ContactModel(mechanics.spec)(state, GROUND))


def test_contacts_follow_the_joint_of_their_link():
    """The base's ball comes before both joints, a foot's ends after its own leg's; of four that are looked at, the
    first may be any of the first six, and ends pair with the end of the same capsule alone.
    """
    spec = biped()
    mechanics = mechanics_of(spec)
    contacts = mechanics.solver.contacts
    joints = joint_order(spec, mechanics.multibody.depth_first)
    assert joints == [0, 1] and joint_order(spec, [0, 2, 1]) == [1, 0]
    assert joints_before(spec, mechanics.multibody.depth_first, joints) == [0, 1, 2]
    assert contacts.turns.tolist() == [0, 1, 1, 1, 1, 2, 2, 2, 2]
    lower = is_lower_end(spec, contacts.slots.tolist())
    assert lower == [False, *[True, False] * 4] == [bool(each) for each in contacts.lower_ends]
    turns = ContactTurns(contacts.turns.tolist(), lower, most=4, joints=2)
    assert turns.at == [[0], [0, 1, 2, 3], [0, 1, 2, 3]] and not turns.is_fixed
    assert turns.may_pair == [True, True, True, False]
    assert ContactTurns([0, 2], [False, False], most=2, joints=2).at == [[0], [], [1]]


def pressed_once(lower_ends: bool) -> tuple[list[float], list[float]]:
    """Normal and friction impulses of two contacts of unit mass, of which only the first is pressed, after a sweep."""
    velocity = torch.tensor([-1.0, 0.0, 3.0, 3.0, 0.0, 0.0]).unsqueeze(-1)
    sweep = GaussSeidel(velocity, torch.eye(6).unsqueeze(-1), contacts=2, unilateral=2)
    one, nothing = torch.ones(2, 1), torch.zeros(2, 1)
    sweep.lower_ends = torch.tensor([[float(lower_ends)], [0.0]])
    terms = Terms(nothing, one, torch.zeros(4, 1), torch.ones(4, 1), one, None)
    for contact in range(2):
        sweep.solve_in_turn(contact, one.unbind(), nothing.unbind(), terms, None, may_pair=contact == 0)
    return [float(each) for each in sweep.normal_impulse], [abs(float(each)) for each in sweep.friction_impulse[:2]]


def test_each_end_has_half_of_the_friction_that_both_normals_allow():
    """A capsule that is pressed at one end rubs with a half at either; two contacts by themselves rub with all and
    nothing.
    """
    assert pressed_once(True) == ([1.0, 0.0], pytest.approx([0.5, 0.5]))
    assert pressed_once(False) == ([1.0, 0.0], pytest.approx([1.0, 0.0], abs=1e-6))


def test_a_batch_solves_each_robot_as_it_would_alone(monkeypatch: pytest.MonkeyPatch):
    """Robots of which some touch the ground with their feet and some with the ball on the base go the same way in one
    batch as one by one, whether or not those whose turn it is not are skipped; and those that touch with the ball alone
    as where every contact has a place, and so a single turn.
    """
    monkeypatch.setenv(verification.SWITCH, "0")
    spec = biped()
    mechanics = mechanics_of(spec, slots=5).double()
    state, control = (each.double() for each in standing(spec, 8))
    together = change_by(mechanics, state, control)
    alone = torch.cat([change_by(mechanics, state[i : i + 1], control[i : i + 1]) for i in range(8)])
    torch.testing.assert_close(together, alone, rtol=1e-9, atol=1e-11)
    placed, on_ball = mechanics_of(spec, slots=9).double(), slice(4, None, 2)
    assert placed.solver._turns.is_fixed and not mechanics.solver._turns.is_fixed
    torch.testing.assert_close(change_by(placed, state, control)[on_ball], together[on_ball], rtol=1e-9, atol=1e-11)
    monkeypatch.setattr("nerd_core.mechanics.gauss_seidel.nobody", lambda due: False)
    torch.testing.assert_close(change_by(mechanics, state, control), together, rtol=1e-9, atol=1e-11)


def test_the_order_matters_and_earlier_models_keep_theirs():
    """With all joints first, as in models from before, the robot on its feet goes another way."""
    spec = biped()
    state, control = standing(spec, 4)
    ways = [change_by(mechanics_of(spec, links_in_turn=turn), state, control) for turn in (True, False)]
    assert not mechanics_of(spec, links_in_turn=False).solver.law.links_in_turn
    assert not mechanics_of(spec, constraint_law="fitted").solver.law.links_in_turn
    assert ((ways[0] - ways[1]).abs().amax(-1) > 1e-3).any()


@pytest.mark.parametrize("hidden", [0, 4])
def test_the_kernel_and_pytorch_take_the_same_turns(monkeypatch: pytest.MonkeyPatch, hidden: int):
    """Also with rules, and with a memory of friction, whose anchors are the same after thirty steps."""
    pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")
    torch.manual_seed(5)
    spec = biped()
    fused = Mechanics(spec, ChangeCodec(spec), MechanicsCfg(hidden=hidden))
    with torch.no_grad():
        for weight in fused.solver.rules.parameters():
            weight += 0.2 * torch.randn_like(weight)
    state, control = standing(spec, 8)
    contacts, misses = ContactModel(spec), []
    memory, plain = fused.new_memory(8, state), fused.new_memory(8, state)
    for _ in range(30):
        touching = contacts(state, GROUND)
        said = fused.remembering(state, control, touching, memory)
        with monkeypatch.context() as patch:
            patch.setenv(verification.SWITCH, "0")
            expected = Mechanics(spec, ChangeCodec(spec), MechanicsCfg(hidden=hidden))
            expected.load_state_dict(fused.state_dict())
            truth = expected.remembering(state, control, touching, plain)
        misses.append((said - truth).abs().amax(-1))
        assert ((memory != 0.0) == (plain != 0.0)).double().mean() > 0.98
        memory.copy_(plain)
        state = fused.codec.apply(state, truth)
    assert fused._kernels and None not in fused._kernels.values()
    assert (plain != 0.0).any(-1).sum() > 8  # both ends of capsules have anchors
    assert torch.stack(misses).median() < 1e-4


@pytest.mark.parametrize("kernels", ["0", "1"], ids=["PyTorch", "kernel"])
def test_a_capsule_is_put_down_anew_at_both_ends_together(kernels: str, monkeypatch: pytest.MonkeyPatch):
    """What lies on two ends has one anchor at each; when it has turned by three degrees since either was made both are
    made anew, and so are they where both were at one end.
    """
    monkeypatch.setenv(verification.SWITCH, kernels)
    spec = replace(biped(), gravity=(0.0, 0.0, 0.0))
    mechanics = mechanics_of(spec, slots=9)
    state, control = (each[:1] for each in standing(spec, 4))
    state[:, spec.state.joint_pos], state[:, spec.state.root_lin_vel.start :] = 0.0, 0.0
    contacts, memory = ContactModel(spec), mechanics.new_memory(1, state)

    def step(anchors: Tensor) -> Tensor:
        kept = anchors.clone()
        mechanics.remembering(state, 0.0 * control, contacts(state, GROUND), kept)
        return kept

    put_down = step(memory)
    first, second = put_down[0, 1:5, :6].norm(dim=-1), put_down[0, 1:5, 6:12].norm(dim=-1)
    assert (first > 0.0).all() and (second == 0.0).all()
    torch.testing.assert_close(step(put_down)[0, 1:3], put_down[0, 1:3])
    angle = math.radians(3.0)
    for end in (1, 2):
        turned = put_down.clone()
        turned[0, end, :3] = torch.tensor([math.sin(angle), 0.0, math.cos(angle)])
        turned[0, 1:3, 3:6] += 1e-4  # places that are put down anew are found again
        torch.testing.assert_close(step(turned)[0, 1:3], put_down[0, 1:3], atol=2e-5, rtol=0.0)
    crowded = put_down.clone()
    crowded[0, 1, 6:12] = crowded[0, 1, :6]
    assert (step(crowded)[0, 1:3, 6:12] == 0.0).all()
    torch.testing.assert_close(step(crowded)[0, 1:3, :6], put_down[0, 1:3, :6], atol=2e-5, rtol=0.0)
