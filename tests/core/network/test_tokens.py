# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a model sees."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nerd_core.contact.contacts import ContactModel
from nerd_core.contact.grounds import PlaneGround
from nerd_core.network.normalisation import Normaliser
from nerd_core.network.token_config import FINE_SCALE, GAP_BAND, TokenCfg
from nerd_core.network.tokens import Tokenizer
from nerd_core.robot.frames import (
    ChangeCfg,
    ChangeCodec,
    quat_from_rotvec,
    quat_mul,
    quat_normalize,
    quat_rotate,
)
from nerd_core.robot.spec import ContactSlot
from support.robots import ant, cartpole, move_state, random_state, random_tree, yaw

CONTACTS = (TokenCfg(), TokenCfg(contact_motion=True), TokenCfg(contact_motion=True, contact_fine=True))


def rounding(cfg: TokenCfg, size: float) -> float:
    """What rounding of positions by ``size`` makes of a token: fine features are in thirds of a millimetre."""
    return size if not cfg.contact_fine else size / 10 / FINE_SCALE


def near_ground(count: int, seed: int):
    """Ants close to a level ground, so that some slots are active and some are not."""
    spec = ant()
    state = random_state(spec, count, seed)
    state[:, 2] = 0.3 * state[:, 2].abs() + 0.1
    # None so near its gate that rounding could decide whether it is active.
    open_gate = ContactModel(spec)
    gate = open_gate.gate.clone()
    open_gate.gate.fill_(math.inf)
    clear = ((open_gate(state, PlaneGround.flat()).distance - gate).abs() > 1e-3).all(-1)
    state = state[clear.nonzero().squeeze(-1)[torch.arange(count) % int(clear.sum())]]
    return spec, state, torch.randn(count, spec.control_dim, generator=torch.Generator().manual_seed(seed))


def with_slots(spec, count):
    """The robot with ``count`` slots on its first body."""
    slots = tuple(ContactSlot(spec.bodies[0].name, (0.0, 0.0, 0.1 * i), 0.1, "sphere") for i in range(count))
    return dataclasses.replace(spec, slots=slots)


def test_published_dimensions():
    """With the published root, tokens have the published lengths: Ant 215, ANYmal 150, Cartpole 6, Cube Toss 72."""
    published = TokenCfg.published()
    assert Tokenizer(ant(), published).dim == 215
    assert Tokenizer(cartpole(), published).dim == 6
    anymal = random_tree(0, 30)
    anymal = dataclasses.replace(
        anymal, joints=anymal.joints[:12], controls=anymal.controls[:12], bodies=anymal.bodies[:1] + tuple(
            dataclasses.replace(body, parent=anymal.bodies[0].name, joint=joint.name)
            for body, joint in zip(anymal.bodies[1:13], anymal.joints[:12], strict=True)
        ), slots=()
    )  # fmt: skip
    assert Tokenizer(with_slots(anymal, 14), published).dim == 150
    cube = dataclasses.replace(anymal, joints=(), controls=(), bodies=anymal.bodies[:1])
    assert Tokenizer(with_slots(cube, 8), published).dim == 72


def test_slices_tile_the_token_and_name_its_parts():
    """The named slices follow each other without gaps and hold what they say."""
    spec, state, control = near_ground(16, 0)
    contacts = ContactModel(spec)(state, PlaneGround.flat())
    tokenizer = Tokenizer(spec, TokenCfg.published())
    token = tokenizer(state, control, contacts)
    ends = [0, *(where.stop for where in tokenizer.slices.values())]
    assert [where.start for where in tokenizer.slices.values()] == ends[:-1] and ends[
        -1
    ] == tokenizer.dim == token.shape[-1]
    part = {name: token[:, where] for name, where in tokenizer.slices.items()}
    assert torch.equal(part["root_pos"], torch.zeros(16, 3))
    assert torch.equal(part["root_quat"], torch.tensor([0.0, 0.0, 0.0, 1.0]).expand(16, 4))
    assert torch.equal(part["control"], control)
    assert torch.equal(part["joint_vel"], state[:, spec.state.joint_vel])
    assert torch.equal(part["contact_distance"], contacts.distance)
    quat = state[:, spec.state.root_quat]
    torch.testing.assert_close(quat_rotate(quat, part["root_lin_vel"]), state[:, spec.state.root_lin_vel])
    torch.testing.assert_close(quat_rotate(quat, part["gravity"]), torch.tensor([0.0, 0.0, -1.0]).expand(16, 3))
    point = quat_rotate(quat[:, None], part["contact_point"].view(16, 25, 3)) + state[:, None, spec.state.root_pos]
    active = contacts.active
    torch.testing.assert_close(point[active], contacts.point[active], rtol=0, atol=2e-6)
    assert bool(active.any()) and not bool(active.all())
    for name in ("contact_normal", "contact_point"):
        assert not part[name].view(16, 25, 3)[~active].any()


def test_wrapping_joints_are_seen_on_the_circle():
    """A pole at pi and at -pi gives the same token, as sine and cosine or wrapped; a rail can be left out."""
    spec = cartpole()
    control = torch.zeros(2, 2)
    state = torch.tensor([[1.0, math.pi - 1e-7, 0.0, 0.0], [1.0, -math.pi - 1e-7, 0.0, 0.0]])
    tokenizer = Tokenizer(spec)
    token = tokenizer(state, control)
    assert list(tokenizer.slices) == ["joint_pos", "joint_sin", "joint_cos", "joint_vel", "control"]
    torch.testing.assert_close(token[0], token[1], rtol=0, atol=1e-6)
    full_turn = torch.tensor([[1.0, 1.0 + 2 * math.pi, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]])
    raw = Tokenizer(spec, TokenCfg(angles="raw"))(full_turn, control)
    torch.testing.assert_close(raw[0], raw[1], rtol=0, atol=1e-6)
    without = Tokenizer(spec, TokenCfg(ignored_joint_pos=("slide",)))
    assert "joint_pos" not in without.slices and without.dim == tokenizer.dim - 1
    moved = state + torch.tensor([5.0, 0.0, 0.0, 0.0])
    assert torch.equal(without(moved, control), without(state, control))
    with pytest.raises(ValueError, match="unknown joints.*'rail'"):
        Tokenizer(spec, TokenCfg(ignored_joint_pos=("rail",)))


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000), angle=st.floats(-math.pi, math.pi), cfg=st.sampled_from(CONTACTS))
def test_tokens_do_not_depend_on_yaw_and_place(seed, angle, cfg):
    """Turning the scene about the vertical and shifting it, ground included, leaves every token alone."""
    spec, state, control = near_ground(16, seed)
    shift = torch.randn(3, generator=torch.Generator().manual_seed(seed))
    contact_model, tokenizer = ContactModel(spec), Tokenizer(spec, cfg)
    token = tokenizer(state, control, contact_model(state, PlaneGround.flat()))
    moved = move_state(spec, state, yaw(angle), shift)
    contacts = contact_model(moved, PlaneGround.flat(float(shift[2])))
    torch.testing.assert_close(tokenizer(moved, control, contacts), token, rtol=0, atol=rounding(cfg, 2e-5))


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000), rotation=st.sampled_from(["rotvec", "quaternion"]), cfg=st.sampled_from(CONTACTS))
def test_prediction_moves_with_the_scene(seed, rotation, cfg):
    """Under any rigid motion of robot, ground and gravity the token stays and the prediction moves along."""
    spec, state, control = near_ground(16, seed)
    generator = torch.Generator().manual_seed(seed)
    turn, shift = quat_normalize(torch.randn(4, generator=generator)), torch.randn(3, generator=generator)
    contact_model, tokenizer = ContactModel(spec), Tokenizer(spec, cfg)
    codec = ChangeCodec(spec, ChangeCfg(rotation=rotation))
    # Any function of the token will do as a model.
    weights = 0.01 * torch.randn(tokenizer.dim, codec.dim, generator=generator)
    up = torch.tensor([[0.0, 0.0, 1.0]])
    ground = PlaneGround(up, torch.zeros(1))
    token = tokenizer(state, control, contact_model(state, ground), -up[0])
    predicted = codec.apply(state, torch.tanh(token @ weights))

    turned_up = quat_rotate(turn, up)
    moved_ground = PlaneGround(turned_up, (turned_up * shift).sum(-1))
    moved = move_state(spec, state, turn, shift)
    moved_token = tokenizer(moved, control, contact_model(moved, moved_ground), -turned_up[0])
    torch.testing.assert_close(moved_token, token, rtol=0, atol=rounding(cfg, 3e-5))
    moved_prediction = codec.apply(moved, torch.tanh(moved_token @ weights))
    expected = move_state(spec, predicted, turn, shift)
    torch.testing.assert_close(moved_prediction, expected, rtol=0, atol=rounding(cfg, 5e-5))


@pytest.mark.parametrize("cfg", CONTACTS)
def test_mask_marks_what_is_undefined(cfg):
    """The mask is False for exactly the features of slots that are far away, which are zero."""
    spec, state, control = near_ground(16, 2)
    tokenizer = Tokenizer(spec, cfg)
    contacts = ContactModel(spec)(state, PlaneGround.flat())
    mask = tokenizer.mask(contacts)
    assert mask is not None and mask.shape == tokenizer(state, control, contacts).shape
    part = {name: mask[:, where] for name, where in tokenizer.slices.items()}
    assert not tokenizer(state, control, contacts)[~mask].any()
    singles = ["contact_distance", "contact_gap", "contact_gap_next", "contact_sink", "contact_touch"]
    vectors = ["contact_normal", "contact_point", "contact_motion", "contact_slide"]
    for name in (name for name in singles if name in part):
        assert torch.equal(part.pop(name), contacts.active)
    for name in (name for name in vectors if name in part):
        assert torch.equal(part.pop(name).view(16, 25, 3), contacts.active.unsqueeze(-1).expand(16, 25, 3))
    assert all(bool(value.all()) for value in part.values())
    assert torch.equal(
        tokenizer(state, control, contacts)[:, tokenizer.slices["contact_active"]], contacts.active.float()
    )
    assert Tokenizer(cartpole()).mask(None) is None


def test_contacts_are_required_or_switched_off():
    """A robot with slots needs contacts, and the error says what to do; without them it has shorter tokens."""
    spec, state, control = near_ground(2, 3)
    with pytest.raises(ValueError, match="got no contacts, expected those of its 25 slots"):
        Tokenizer(spec)(state, control)
    blind = Tokenizer(spec, TokenCfg(contacts=False))
    assert blind(state, control).shape == (2, blind.dim) and blind.mask(None) is None


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_contact_motion_is_where_slots_go(seed):
    """What a slot says of its motion is where the kinematics put it after a step at the present velocities, in the
    root's frame; its gaps are those to the ground now and then, as far as the band reaches.
    """
    spec, state, control = near_ground(16, seed)
    contact_model, tokenizer = ContactModel(spec), Tokenizer(spec, TokenCfg(contact_motion=True))
    contacts = contact_model(state, PlaneGround.flat())
    part = {name: tokenizer(state, control, contacts)[:, where] for name, where in tokenizer.slices.items()}
    at, dt = spec.state, spec.control_dt
    later = state.clone()
    later[:, at.root_pos] += dt * state[:, at.root_lin_vel]
    turn = quat_from_rotvec(dt * state[:, at.root_ang_vel])
    later[:, at.root_quat] = quat_mul(turn, state[:, at.root_quat])
    later[:, at.joint_pos] += dt * state[:, at.joint_vel]
    moved = contact_model.slot_points(later) - contact_model.slot_points(state)
    said = quat_rotate(state[:, None, at.root_quat], part["contact_motion"].view(16, -1, 3))
    torch.testing.assert_close(said[contacts.active], moved[contacts.active], rtol=0, atol=2e-5)
    radius = torch.tensor([slot.radius for slot in spec.slots])
    for name, when in (("contact_gap", state), ("contact_gap_next", later)):
        gap = (contact_model.slot_points(when)[..., 2] - radius).clamp(max=GAP_BAND)
        torch.testing.assert_close(part[name][contacts.active], gap[contacts.active], rtol=0, atol=2e-5)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000), falls=st.booleans())
def test_fine_features_tell_tenths_of_millimetres(seed, falls):
    """Fine features are gap, sinking and sliding in units that saturate beyond FINE_SCALE. The last two are those
    beside the fall when it is told where free motion leads, so that a robot at rest does neither, and those at the
    present velocities when it is not.
    """
    spec, state, control = near_ground(16, seed)
    at, dt = spec.state, spec.control_dt
    generator = torch.Generator().manual_seed(seed)
    velocity = 0.02 * torch.randn(16, 3, generator=generator)
    state[:, at.root_lin_vel], state[:, at.root_ang_vel], state[:, at.joint_vel] = velocity, 0.0, 0.0
    contact_model, tokenizer = ContactModel(spec), Tokenizer(spec, TokenCfg(contact_motion=True, contact_fine=True))
    contacts, ahead = contact_model(state, PlaneGround.flat()), None
    if falls:
        ahead = state.clone()
        for _ in range(spec.decimation):
            ahead[:, at.root_lin_vel] += spec.physics_dt * torch.tensor(spec.gravity)
            ahead[:, at.root_pos] += spec.physics_dt * ahead[:, at.root_lin_vel]
    token = tokenizer(state, control, contacts, ahead=ahead)
    part = {name: token[:, where] for name, where in tokenizer.slices.items()}
    radius = torch.tensor([slot.radius for slot in spec.slots])
    gap, moved = contacts.distance - radius, (dt * velocity).unsqueeze(1).expand(16, 25, 3)
    slide = moved[..., :2] / (moved[..., :2].square().sum(-1, keepdim=True) + FINE_SCALE**2).sqrt()
    said = quat_rotate(state[:, None, at.root_quat], part["contact_slide"].view(16, -1, 3))
    near = contacts.active
    torch.testing.assert_close(said[near][:, :2], slide[near], rtol=0, atol=5e-3)
    for name, value in (("contact_touch", gap), ("contact_sink", moved[..., 2])):
        expected = value / (value.square() + FINE_SCALE**2).sqrt()
        torch.testing.assert_close(part[name][near], expected[near], rtol=0, atol=5e-3)


def test_fine_features_need_motion():
    """What is refined must be there."""
    with pytest.raises(ValueError, match="got contact_fine without contact_motion"):
        Tokenizer(ant(), TokenCfg(contact_fine=True))


def test_fine_features_are_not_blown_up():
    """A slot that has hardly ever touched still has fine features of the size of one after normalising."""
    spec, state, control = near_ground(16, 3)
    tokenizer = Tokenizer(spec, TokenCfg(contact_motion=True, contact_fine=True))
    token = tokenizer(state, control, ContactModel(spec)(state, PlaneGround.flat())).expand(2, -1, -1).clone()
    where = tokenizer.slices["contact_touch"]
    token[..., where] = 1.0
    token[0, 0, where] = 0.99
    normaliser = Normaliser(tokenizer.dim, tokenizer.groups, tokenizer.least_units)
    normaliser.update(token)
    normaliser.finalise()
    assert float(normaliser(-torch.ones(tokenizer.dim))[where].abs().max()) < 10.0


@pytest.mark.parametrize("cfg", CONTACTS)
def test_leading_dimensions_and_gradients(cfg):
    """Batches of windows give what flat batches give, and gradients reach state and control."""
    spec, state, control = near_ground(12, 4)
    contact_model, tokenizer = ContactModel(spec), Tokenizer(spec, cfg)
    state.requires_grad_()
    control.requires_grad_()
    flat = tokenizer(state, control, contact_model(state, PlaneGround.flat()))
    windows = state.view(3, 4, -1)
    shaped = tokenizer(windows, control.view(3, 4, -1), contact_model(windows, PlaneGround.flat()))
    assert torch.equal(shaped.reshape(12, -1), flat)
    gradients = torch.autograd.grad(flat.square().sum(), (state, control))
    assert all(bool(g.isfinite().all()) and bool(g.abs().sum() > 0) for g in gradients)


def test_groups_tile_the_token():
    """Every feature is in exactly one group of the normaliser."""
    tokenizer = Tokenizer(ant(), TokenCfg(limits=True, contact_motion=True, contact_fine=True))
    covered = torch.zeros(tokenizer.dim)
    for group in tokenizer.groups:
        covered[group] += 1
    assert torch.equal(covered, torch.ones(tokenizer.dim))
