# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Tests of the predictor: what its parts mean, and that all its ways of evaluation agree."""

import dataclasses
import math
from typing import Any

import pytest
import torch
from torch import Tensor

from nerd_core.contact.contacts import Contacts
from nerd_core.contact.grounds import PlaneGround
from nerd_core.network.architectures.recurrent import RecurrentCfg
from nerd_core.network.architectures.transformer import TransformerCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.prediction import Encoded, Prediction
from nerd_core.predictor.predictor import Predictor
from nerd_core.predictor.residual_network import FORCE_REACH, LOG_VAR_RANGE
from nerd_core.robot.frames import quat_rotate
from nerd_core.robot.spec import RobotSpec
from support.robots import ant, cartpole, move_state, random_state, random_tree, yaw

SMALL = TransformerCfg(width=16, layers=2, heads=2, window=4)
EVERYTHING = PredictorCfg(network=SMALL, ensemble=3, force_head=True, variance_head=True)


def make(spec: RobotSpec, cfg: PredictorCfg = EVERYTHING) -> Predictor:
    """A predictor with fresh weights."""
    torch.manual_seed(0)
    return Predictor(spec, cfg)


def sequences(spec: RobotSpec, count: int = 3, steps: int = 9) -> tuple[Tensor, Tensor]:
    """States and controls of a few sequences, near the ground."""
    state = random_state(spec, count * steps, seed=1, spread=0.3).unflatten(0, (count, steps))
    return state, torch.randn(count, steps, spec.control_dim)


def test_prediction_has_the_parts_that_were_asked_for():
    """Shapes of all parts with everything on; nothing but the change with everything off."""
    spec = ant()
    state, control = sequences(spec)
    predictor = make(spec)
    contacts = predictor.contacts(state, PlaneGround.flat())
    full = predictor(state, control, contacts)
    assert full.change.shape == (3, 9, predictor.codec.dim)
    assert full.log_var is not None and full.log_var.shape == full.change.shape
    assert full.force is not None and full.force.shape == (3, 9, len(spec.bodies), 3)
    assert full.members is not None and full.members.change.shape == (3, *full.change.shape)
    assert full.spread is not None and full.spread.shape == full.change.shape
    plain = make(spec, PredictorCfg(network=SMALL))(state, control, contacts)
    assert (plain.log_var, plain.force, plain.members, plain.spread) == (None, None, None, None)


@pytest.mark.parametrize("model", [SMALL, RecurrentCfg(hidden=8)])
@pytest.mark.parametrize("heads", [True, False])
def test_step_extend_and_forward_agree(model: Any, heads: bool):
    """At every step the cached, the functional and the whole-sequence prediction are equal to 1e-5, in all parts."""
    spec = ant()
    cfg = PredictorCfg(network=model, ensemble=2 if heads else 1, force_head=heads, variance_head=heads)
    predictor, (state, control) = make(spec, cfg), sequences(spec)
    contacts = predictor.contacts(state, PlaneGround.flat())
    assert contacts is not None
    full, cache, past = predictor(state, control, contacts), predictor.init_cache(3), None
    for t in range(state.shape[1]):
        moment = state[:, t], control[:, t], contacts[:, t]
        cached = predictor.step(*moment, cache)
        extended, past = predictor.extend(*moment, past)
        for part in ("change", "log_var", "force"):
            wanted = getattr(full, part)
            if wanted is not None:
                torch.testing.assert_close(getattr(cached, part), wanted[:, t], rtol=0, atol=1e-5)
                torch.testing.assert_close(getattr(extended, part), wanted[:, t], rtol=0, atol=1e-5)


@pytest.mark.parametrize("spec", [ant(), cartpole(), random_tree(3)], ids=lambda spec: spec.name)
def test_a_perfect_prediction_gives_the_next_state(spec: RobotSpec):
    """The target of a pair of states, taken for a prediction, leads from the one to the other."""
    predictor = make(spec)
    state = random_state(spec, 50, seed=1, spread=0.3)
    after = predictor.codec.apply(state, 0.2 * torch.randn(50, predictor.codec.dim))
    predictor.change_normaliser.update(predictor.codec.encode(state, after))
    predictor.change_normaliser.finalise()
    target = predictor.target(state, after)
    assert target.std().item() == pytest.approx(1.0, abs=0.1)
    torch.testing.assert_close(predictor.next_state(state, Prediction(target)), after, rtol=0, atol=1e-5)


def test_each_member_leads_to_a_state_of_its_own():
    """The next states of the members have the members in front."""
    spec = cartpole()
    predictor, (state, control) = make(spec), sequences(spec)
    prediction = predictor(state, control)
    assert prediction.members is not None
    states = predictor.next_state(state, prediction.members)
    assert states.shape == (3, *state.shape)
    assert not torch.allclose(states[0], states[1], atol=1e-4)


def test_ensemble_is_the_mixture_of_its_members():
    """Mean and variance of an ensemble are those of the mixture, by sampling."""
    spec = cartpole()
    predictor, (state, control) = make(spec), sequences(spec, 1, 1)
    with torch.no_grad():
        prediction = predictor(state, control)
    members = prediction.members
    assert members is not None and members.log_var is not None and prediction.log_var is not None
    noise = torch.randn(200_000, *members.change.shape)
    samples = members.change + noise * (0.5 * members.log_var).exp()
    samples = samples.flatten(0, 1)
    torch.testing.assert_close(prediction.change, samples.mean(0), rtol=0, atol=2e-3)
    torch.testing.assert_close(prediction.log_var.exp(), samples.var(0), rtol=0.02, atol=0)


@pytest.mark.parametrize("raw", [-1e6, 0.0, 1e6])
def test_variance_is_bounded(raw: float):
    """Whatever the network says, the variance stays in its range and finite."""
    spec = cartpole()
    predictor = make(spec, PredictorCfg(network=SMALL, variance_head=True))
    state = torch.zeros(1, spec.state.dim)
    y = torch.full((1, 2 * predictor.codec.dim), raw)
    log_var = predictor.residual.decode(y, Encoded(state), state).log_var
    assert log_var is not None
    assert LOG_VAR_RANGE[0] <= log_var.min().item() <= log_var.max().item() <= LOG_VAR_RANGE[1]
    if raw == 0.0:
        assert log_var.abs().max().item() < 1.0


def test_prediction_turns_with_the_scene():
    """When the scene is turned about gravity and shifted by 50 m, next state and forces turn with it."""
    spec = ant()
    predictor, (state, control) = make(spec), sequences(spec)
    turn, shift = yaw(2.0), torch.tensor([50.0, -20.0, 0.0])
    moved = move_state(spec, state, turn, shift)
    one = predictor(state, control, predictor.contacts(state, PlaneGround.flat()))
    other = predictor(moved, control, predictor.contacts(moved, PlaneGround.flat()))
    expected = move_state(spec, predictor.next_state(state, one), turn, shift)
    torch.testing.assert_close(predictor.next_state(moved, other), expected, rtol=0, atol=5e-5)
    assert one.force is not None and other.force is not None
    torch.testing.assert_close(
        other.force, quat_rotate(turn.expand(*one.force.shape[:-1], 4), one.force), atol=1e-4, rtol=0
    )


def test_forces_have_the_scale_of_the_data():
    """The force head works in units of the training data's forces."""
    spec = cartpole()
    predictor, (state, control) = make(spec), sequences(spec)
    one = predictor(state, control).force
    predictor.update_statistics(state, control, state)
    predictor.residual.token_normaliser.mean.zero_()
    weights = {name: value.clone() for name, value in predictor.state_dict().items()}
    predictor.force_scale.fill_(40.0)
    other = predictor(state, control).force
    assert one is not None and other is not None
    torch.testing.assert_close(other, 40.0 * one)
    predictor.load_state_dict(weights)
    assert predictor.force_scale.item() == 1.0


def test_statistics_normalise_tokens_and_targets():
    """After the statistics of some data, its tokens and targets have mean 0 and deviation 1, masked features zero."""
    spec = ant()
    predictor = make(spec)
    state = random_state(spec, 4000, seed=2, spread=0.4)
    control = torch.randn(4000, spec.control_dim)
    after = predictor.codec.apply(state, 0.1 * torch.randn(4000, predictor.codec.dim))
    contacts = predictor.contacts(state, PlaneGround.flat())
    for part in range(0, 4000, 1000):
        chunk = slice(part, part + 1000)
        assert contacts is not None
        predictor.update_statistics(state[chunk], control[chunk], after[chunk], contacts[chunk])
    predictor.finalise_statistics(force_scale=12.0)
    tokens, mask = predictor.encode(state, control, contacts).tokens, predictor.residual.tokenizer.mask(contacts)
    assert mask is not None and not tokens[~mask].any()
    seen = mask.sum(0)
    varies = (tokens.abs().sum(0) > 1.0) & (seen > 100)
    mean = tokens.sum(0) / seen
    deviation = (tokens.square().sum(0) / seen - mean.square()).sqrt()
    torch.testing.assert_close(mean[varies], torch.zeros_like(mean[varies]), rtol=0, atol=1e-3)
    torch.testing.assert_close(deviation[varies], torch.ones_like(mean[varies]), rtol=0, atol=1e-2)
    target = predictor.target(state, after)
    torch.testing.assert_close(target.mean(0), torch.zeros(target.shape[1]), rtol=0, atol=1e-3)
    torch.testing.assert_close(target.std(0), torch.ones(target.shape[1]), rtol=0, atol=1e-2)
    assert predictor.force_scale.item() == 12.0


def test_far_from_the_ground_contacts_do_not_matter():
    """What the entries of slots that are not active hold does not reach the prediction."""
    spec = ant()
    predictor, (state, control) = make(spec), sequences(spec)
    state[..., 2] += 10.0
    contacts = predictor.contacts(state, PlaneGround.flat())
    assert contacts is not None and not contacts.active.any()
    none = Contacts.none(state.shape[:-1], len(spec.slots))
    assert torch.equal(predictor(state, control, contacts).change, predictor(state, control, none).change)


def test_missing_contacts_and_wrong_lengths_are_named():
    """A predictor that sees contacts says so when it gets none; wrong lengths are named with the right ones."""
    spec = ant()
    predictor, (state, control) = make(spec), sequences(spec)
    with pytest.raises(ValueError, match="neither contacts nor a ground"):
        predictor.contacts(state, None)
    with pytest.raises(ValueError, match="no contacts"):
        predictor(state, control)
    with pytest.raises(ValueError, match=f"expected {spec.state.dim} and {spec.control_dim} for 'ant'"):
        predictor(state[..., 1:], control)
    assert make(cartpole()).contacts(state, None) is None
    with pytest.raises(ValueError, match="got ensemble=0, expected at least 1"):
        PredictorCfg(ensemble=0)


def test_network_in_half_precision_keeps_states_single():
    """A network in bfloat16 predicts close to the single-precision one, and states stay in single precision."""
    spec = cartpole()
    predictor, (state, control) = make(spec, PredictorCfg(network=SMALL)), sequences(spec)
    single = predictor(state, control)
    predictor.network.bfloat16()
    half = predictor(state, control)
    assert half.change.dtype == torch.float32 == predictor.next_state(state, half).dtype
    torch.testing.assert_close(half.change, single.change, rtol=0, atol=0.02)


def test_variance_bounds_leave_room():
    """The bounds leave room for errors from a thousandth of the normalised change to several times it."""
    low, high = LOG_VAR_RANGE
    assert math.exp(0.5 * low) < 1e-3 and math.exp(0.5 * high) > 5.0


def test_no_force_acts_where_nothing_is_near():
    """A force head says zero for bodies whose slots are all far from the ground, and for bodies without slots, whatever
    its weights; bodies near the ground get what the network says.
    """
    spec = ant()
    feet = tuple(slot for slot in spec.slots if "foot" in slot.body)
    assert feet and len({slot.body for slot in feet}) < len(spec.bodies)
    spec = dataclasses.replace(spec, slots=feet)
    torch.manual_seed(0)
    predictor = Predictor(spec, PredictorCfg(network=SMALL, force_head=True))
    state = random_state(spec, 64, seed=1)
    at = spec.state
    state[:, at.root_pos] = torch.tensor([0.0, 0.0, 9.0])
    state[::2, at.root_pos] = torch.tensor([0.0, 0.0, 0.3])
    contacts = predictor.contacts(state, PlaneGround.flat())
    assert contacts is not None
    said = predictor(state[:, None], torch.zeros(64, 1, spec.control_dim), contacts.reshape(64, 1))
    assert said.force is not None and said.near is not None
    force, near = said.force[:, 0].norm(dim=-1), said.near[:, 0]
    gap = contacts.distance - torch.tensor([slot.radius for slot in feet])
    for index, body in enumerate(spec.body_names):
        slots = torch.tensor([slot.body == body for slot in feet])
        expected = (contacts.active & (gap < FORCE_REACH))[:, slots].any(-1)
        assert torch.equal(near[:, index], expected)
    assert near.any() and not near[1::2].any()
    assert not force[~near].any() and (force[near] > 0.0).all()
