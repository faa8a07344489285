# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A model of free motion within another: what it says, what is built on it, and that it stays as it is."""

from dataclasses import replace

import pytest
import torch

from nerd_core import checkpoint
from nerd_core.cli import main
from nerd_core.contact.grounds import PlaneGround
from nerd_core.data.layout import ShardMeta
from nerd_core.data.shards import ShardWriter
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.network.architectures.transformer import TransformerCfg
from nerd_core.network.token_config import TokenCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.free_motion import FreeMotion, FreeMotionCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.stops import LEANING, STOP_BAND
from support.checkpoints import pendulum
from support.robots import ant, cartpole, cube, move_state, random_state, yaw

AIR = PredictorCfg(network=ResidualMlpCfg(width=8, hidden=8, layers=1), token=TokenCfg(contacts=False, limits=True))
WHOLE = PredictorCfg(
    network=ResidualMlpCfg(width=12, hidden=12, layers=1),
    token=TokenCfg(contact_motion=True),
    prior=FreeMotionCfg.of(AIR),
)
TINY = ["--network.width", "8", "--network.hidden", "8", "--network.layers", "1"]
QUICK = ["--batch-size", "64", "--normaliser-transitions", "500", "--validations", "1"]
QUICK += ["--validation-horizons", "5", "--validation-trajectories", "4"]


def shaken(predictor: Predictor, size: float = 0.3) -> Predictor:
    """With weights that are not zero anywhere, and normalisers of some width."""
    torch.manual_seed(1)
    with torch.no_grad():
        for param in predictor.parameters():
            param.add_(size * torch.randn_like(param))
        inner = predictor.prior.predictor if isinstance(predictor.prior, FreeMotion) else None
        for each in (predictor, inner):
            if each is not None:
                each.change_normaliser.std.mul_(0.02)
                each.change_normaliser.mean.add_(0.01)
    return predictor


def moments(count: int = 24) -> tuple[torch.Tensor, torch.Tensor]:
    """States of an Ant on the ground and controls."""
    spec = ant()
    state = random_state(spec, count, seed=3, spread=0.3)
    return state, torch.randn(count, spec.control_dim)


def test_without_weights_of_its_own_a_model_moves_freely():
    """Where the network says zero, as a new one nearly does, the next state is that of free motion, to rounding."""
    predictor = Predictor(ant(), WHOLE)
    assert isinstance(predictor.prior, FreeMotion)
    shaken(predictor.prior.predictor)
    predictor.change_normaliser.std.mul_(0.2)
    with torch.no_grad():
        predictor.get_parameter("residual.network.head.bias").zero_()
    state, control = moments()
    contacts = predictor.contacts(state, PlaneGround.flat())
    said = predictor.next_state(state, predictor.extend(state, control, contacts)[0])
    alone = predictor.prior.predictor.next_state(state, predictor.prior.predictor.extend(state, control)[0])
    torch.testing.assert_close(said, alone, rtol=0, atol=1e-5)


def test_slots_say_where_free_motion_takes_them():
    """The motion of a slot in the token ends where the slot is in the state that free motion leads to."""
    predictor = shaken(Predictor(ant(), WHOLE))
    state, control = moments()
    ground = PlaneGround.flat()
    contacts = predictor.contacts(state, ground)
    free = predictor.prior(state, control)
    assert contacts is not None and free is not None
    ahead = predictor.contact_model(predictor.codec.apply(state, free), ground)
    raw, _ = predictor.residual.raw_tokens(state, control, contacts, free)
    gap = raw[:, predictor.residual.tokenizer.slices["contact_gap_next"]]
    radius = torch.tensor([slot.radius for slot in predictor.spec.slots])
    both = contacts.active & ahead.active & (ahead.distance - radius < 0.04)
    assert both.sum() > 10
    torch.testing.assert_close(gap[both], (ahead.distance - radius)[both], rtol=0, atol=1e-5)
    still = predictor.residual.tokenizer(state, control, contacts)[
        :, predictor.residual.tokenizer.slices["contact_gap_next"]
    ]
    assert (still - gap)[both].abs().max() > 1e-3  # at the present velocities it would be elsewhere


def test_nothing_is_added_far_from_stops_and_ground():
    """With free motion that knows no stops, a prediction is free motion to the last bit where neither stop nor ground
    is near, and more than that at a stop, also one that only free motion reaches, and near ground.
    """
    air = FreeMotionCfg.of(replace(AIR, token=replace(AIR.token, limits=False)))
    predictor = shaken(Predictor(cartpole(), replace(WHOLE, token=TokenCfg(limits=True), prior=air)))
    assert isinstance(predictor.prior, FreeMotion)
    predictor.prior.predictor.change_normaliser.std.mul_(0.01)
    predictor.prior.predictor.change_normaliser.mean.mul_(0.01)
    rail, band = 4.0, 8.0 * STOP_BAND * LEANING
    places = [0.0, rail - 1.5 * band, rail - 0.5 * band, -rail, rail - 1.5 * band]
    state = torch.zeros(len(places), predictor.spec.state.dim)
    state[:, 0] = torch.tensor(places)
    state[-1, 2] = 1.5 * band / predictor.spec.control_dt  # only after the step at the stop
    control = torch.zeros(len(places), predictor.spec.control_dim)
    said = predictor.extend(state, control)[0].change
    free = predictor.prior(state, control)
    assert free is not None
    same = (said == predictor.change_normaliser(free)).all(-1)
    assert same.tolist() == [True, True, False, False, False]

    crawler = shaken(Predictor(ant(), replace(WHOLE, prior=air)))
    state, control = moments(2)
    middle = torch.tensor([0.5 * (joint.lower + joint.upper) for joint in crawler.spec.joints])
    state[:, crawler.spec.state.joint_pos], state[:, crawler.spec.state.joint_vel] = middle, 0.0
    state[0, 2], state[1, 2] = 5.0, 0.3
    said = crawler.extend(state, control, crawler.contacts(state, PlaneGround.flat()))[0].change
    free = crawler.prior(state, control)
    assert free is not None
    assert (said == crawler.change_normaliser(free)).all(-1).tolist() == [True, False]


def test_stops_are_seen_where_free_motion_leads():
    """The token of a joint says how far beyond its stop free motion would carry it, if that knows no stops."""
    air = FreeMotionCfg.of(replace(AIR, token=replace(AIR.token, limits=False)))
    predictor = shaken(Predictor(cartpole(), replace(WHOLE, token=TokenCfg(limits=True), prior=air)))
    state = random_state(cartpole(), 20, seed=5)
    state[:, 0] = 4.0 - 0.2 * torch.rand(20)
    control = torch.randn(20, 2)
    free = predictor.prior(state, control)
    assert free is not None
    ahead = predictor.codec.apply(state, free)[:, 0]
    raw, _ = predictor.residual.raw_tokens(state, control, None, free)
    above = raw[:, predictor.residual.tokenizer.slices["limit_next"]][:, 0]
    torch.testing.assert_close(above, (ahead - 4.0).clamp(min=-8.0 * STOP_BAND), rtol=0, atol=1e-6)


def test_all_ways_of_evaluation_agree():
    """Cached, functional and whole-sequence predictions of a model with free motion are equal to 1e-5."""
    cfg = replace(WHOLE, network=TransformerCfg(width=16, layers=1, heads=2, window=4), ensemble=2)
    predictor = shaken(Predictor(ant(), cfg), 0.05)
    state, control = moments(24)
    state, control = state.unflatten(0, (3, 8)), control.unflatten(0, (3, 8))
    contacts = predictor.contacts(state, PlaneGround.flat())
    assert contacts is not None
    full, cache, past = predictor(state, control, contacts).change, predictor.init_cache(3), None
    for t in range(8):
        moment = state[:, t], control[:, t], contacts[:, t]
        cached = predictor.step(*moment, cache).change
        extended, past = predictor.extend(*moment, past)
        torch.testing.assert_close(cached, full[:, t], rtol=0, atol=1e-5)
        torch.testing.assert_close(extended.change, full[:, t], rtol=0, atol=1e-5)


def test_a_body_that_nothing_drives_has_free_motion_too():
    """A tossed cube has neither joints nor controls; high above the ground it moves as its free motion says."""
    spec = cube()
    predictor = shaken(Predictor(spec, WHOLE))
    state = random_state(spec, 24, seed=3)
    state[:, 2] += 50.0
    control, contacts = torch.zeros(24, 0), predictor.contacts(state, PlaneGround.flat())
    said, _ = predictor.extend(state, control, contacts)
    assert predictor.prior is not None
    expected = predictor.codec.apply(state, predictor.prior(state, control, contacts))
    torch.testing.assert_close(predictor.next_state(state, said), expected, rtol=0, atol=1e-5)


def test_prediction_turns_with_the_scene():
    """When the scene is turned about gravity and shifted by 50 m, the next state turns and moves with it."""
    predictor, (state, control) = shaken(Predictor(ant(), WHOLE), 0.1), moments()
    turn, shift = yaw(2.0), torch.tensor([50.0, -20.0, 0.0])
    moved = move_state(predictor.spec, state, turn, shift)
    nexts = []
    for each in (state, moved):
        prediction, _ = predictor.extend(each, control, predictor.contacts(each, PlaneGround.flat()))
        nexts.append(predictor.next_state(each, prediction))
    torch.testing.assert_close(nexts[1], move_state(predictor.spec, nexts[0], turn, shift), rtol=0, atol=5e-5)


def test_gradients_reach_states_through_free_motion_but_not_its_weights():
    """A roll-out is differentiable in the state and the control also where free motion is known; its weights rest."""
    predictor, (state, control) = shaken(Predictor(ant(), WHOLE)), moments(4)
    assert isinstance(predictor.prior, FreeMotion)
    state.requires_grad_()
    control.requires_grad_()
    free = predictor.prior(state, control)
    assert free is not None
    free.square().sum().backward()
    assert state.grad is not None and control.grad is not None and bool(control.grad.abs().sum() > 0)
    assert not any(param.requires_grad for param in predictor.prior.parameters())


@pytest.mark.parametrize("wrong", [{"ensemble": 2}, {"force_head": True}, {"network": TransformerCfg(window=4)}])
def test_only_a_plain_network_can_be_built_in(wrong):
    """Ensembles, heads and networks with memory are refused with what was got and what was expected."""
    with pytest.raises(ValueError, match="expected a single residual one without heads"):
        FreeMotionCfg.of(replace(AIR, **wrong))
    with pytest.raises(ValueError, match="no contacts and has no memory"):
        FreeMotionCfg(ResidualMlpCfg(), TokenCfg())


def test_checkpoint_brings_free_motion_along(tmp_path):
    """What is saved and read again predicts the same to the last bit."""
    predictor, (state, control) = shaken(Predictor(ant(), WHOLE)), moments()
    checkpoint.save(tmp_path / "model", predictor)
    again = checkpoint.load(tmp_path / "model")
    assert again.cfg == WHOLE
    contacts = predictor.contacts(state, PlaneGround.flat())
    assert torch.equal(
        again.extend(state, control, contacts)[0].change, predictor.extend(state, control, contacts)[0].change
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Trajectories of a pendulum that drifts."""
    path = tmp_path_factory.mktemp("data") / "pendulum"
    torch.manual_seed(3)
    states = torch.randn(60, 1, 2) + 0.01 * torch.randn(60, 11, 2).cumsum(1)
    with ShardWriter(path, pendulum(), ShardMeta(task="pendulum", seed=3)) as writer:
        writer.append(states.numpy(), torch.randn(60, 10, 1).numpy())
    return path


def test_train_builds_in_a_model_and_leaves_it_alone(data, tmp_path, capsys):
    """``--free-motion`` copies the other model's numbers, training changes none of them, and so does starting from the
    result; to repeat it from its settings alone is refused with the option that is missing.
    """
    words = ["--updates", "5", *TINY, *QUICK]
    assert main(["train", str(data), "--token.no-contacts", "--out", str(tmp_path / "air"), *words]) == 0
    built = ["--free-motion", str(tmp_path / "air" / "best"), "--out", str(tmp_path / "whole")]
    assert main(["train", str(data), *built, *words]) == 0
    onward = ["--start", str(tmp_path / "whole" / "best"), "--out", str(tmp_path / "onward"), "--updates", "5", *QUICK]
    assert main(["train", str(data), *onward]) == 0
    air = checkpoint.read(tmp_path / "air" / "best").tensors
    for name in ("whole", "onward"):
        tensors = checkpoint.read(tmp_path / name / "best").tensors
        assert all(torch.equal(tensors[f"prior.predictor.{key}"], value) for key, value in air.items())
    assert any(
        not torch.equal(value, tensors[key])
        for key, value in checkpoint.read(tmp_path / "whole" / "best").tensors.items()
    )
    assert main(["train", str(data), *onward, "--overwrite", "--free-motion", str(tmp_path / "air" / "best")]) != 0
    assert "both --start and --free-motion" in capsys.readouterr().err
    again = ["--config", str(tmp_path / "whole" / "best"), "--out", str(tmp_path / "again")]
    assert main(["train", str(data), *again]) != 0
    assert "--free-motion" in capsys.readouterr().err


def test_train_refuses_a_model_of_another_kind(data, tmp_path, capsys):
    """A network with memory cannot be built in; the message says what can."""
    words = ["--updates", "2", *QUICK, "--preset", "tiny", "--window-length", "8"]
    assert main(["train", str(data), "--out", str(tmp_path / "air"), *words]) == 0
    built = ["--free-motion", str(tmp_path / "air" / "best"), "--out", str(tmp_path / "whole"), "--updates", "2"]
    assert main(["train", str(data), *built]) != 0
    assert "expected a single residual one without heads" in capsys.readouterr().err
