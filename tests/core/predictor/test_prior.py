# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Each prior alone, and the network side alone: what one leaves, the other adds."""

from dataclasses import dataclass, replace
from typing import Literal, override

import pytest
import torch
from torch import Tensor

from nerd_core.contact.contacts import Contacts
from nerd_core.contact.grounds import PlaneGround
from nerd_core.files.kinds import Kinds, OfKind, UnknownKind
from nerd_core.mechanics.step import Mechanics
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.network.config import NetworkCfg
from nerd_core.network.token_config import TokenCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.free_fall import FreeFallCfg
from nerd_core.predictor.free_motion import FreeMotionCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.prediction import Encoded
from nerd_core.predictor.predictor import Predictor
from nerd_core.predictor.prior import Prior, PriorCfg, PriorTraits
from nerd_core.predictor.residual import NoResidual
from nerd_core.predictor.residual_network import ResidualNetwork
from nerd_core.robot.frames import ChangeCodec
from nerd_core.robot.spec import RobotSpec
from support.robots import ant, cartpole, random_state, with_inertias

SMALL = ResidualMlpCfg(width=8, hidden=8, layers=1)


def moments(spec: RobotSpec, count: int = 6) -> tuple[Tensor, Tensor]:
    """States and controls."""
    return random_state(spec, count, seed=2, spread=0.3), torch.randn(count, spec.control_dim)


def shaken[T: torch.nn.Module](module: T) -> T:
    """With weights that are not zero anywhere."""
    torch.manual_seed(0)
    with torch.no_grad():
        for param in module.parameters():
            param.add_(0.3 * torch.randn_like(param))
    return module


# -- priors ----------------------------------------------------------------------------------------------------


def test_free_fall_is_gravity_and_nothing_else():
    """Velocities of the root change by gravity times the step, its place as the data say; no joint moves."""
    spec = ant()
    codec = ChangeCodec(spec)
    prior, (state, control) = FreeFallCfg().build(spec, codec, contacts=False), moments(spec)
    state[:, spec.state.root_quat] = torch.tensor([0.0, 0.0, 0.0, 1.0])
    after = state.clone()
    after[:, spec.state.root_lin_vel] += spec.control_dt * torch.tensor(spec.gravity)
    after[:, spec.state.root_pos] += 0.5 * spec.control_dt * (state + after)[:, spec.state.root_lin_vel]
    change = prior(state, control)
    assert not change[:, codec.slices["joint_pos"]].any() and not change[:, codec.slices["joint_vel"]].any()
    torch.testing.assert_close(
        change[:, codec.slices["root_lin_vel"]], (spec.control_dt * torch.tensor(spec.gravity)).expand(6, 3)
    )
    prior.update_statistics(state, codec.encode(state, after))
    prior.finalise_statistics()
    assert abs(float(prior.integration_offset)) < 1e-6


def test_free_motion_is_its_predictor_and_rests():
    """It predicts what the predictor within predicts, with any leading dimensions, and its weights do not learn."""
    spec = cartpole()
    cfg = FreeMotionCfg(SMALL, TokenCfg(contacts=False))
    prior, (state, control) = shaken(cfg.build(spec, ChangeCodec(spec), contacts=False)), moments(spec)
    inner = prior.predictor
    expected = inner.change_normaliser.inverse(inner.extend(state, control)[0].change)
    assert torch.equal(prior(state, control), expected)
    assert torch.equal(prior(state.unflatten(0, (2, 3)), control.unflatten(0, (2, 3))), expected.unflatten(0, (2, 3)))
    assert not prior.trainable and not any(param.requires_grad for param in prior.parameters())
    assert prior.traits.leaves_stops and prior.traits.only_near_contact
    seeing_stops = replace(cfg, token=TokenCfg(contacts=False, limits=True))
    assert not seeing_stops.build(spec, ChangeCodec(spec), contacts=False).traits.leaves_stops


def test_the_mechanics_prior_is_mechanics():
    """It predicts what mechanics with the same settings and weights predict."""
    spec = with_inertias(ant())
    codec, cfg = ChangeCodec(spec), MechanicsPriorCfg(hidden=4)
    prior, (state, control) = cfg.build(spec, codec, contacts=False), moments(spec)
    mechanics = Mechanics(spec, codec, cfg, has_contacts=False)
    mechanics.load_state_dict(prior.mechanics.state_dict())
    assert torch.equal(prior(state, control), mechanics(state, control))
    assert prior.trainable and not prior.export_obstacle()


def test_without_a_network_the_prediction_is_the_prior():
    """The residual that adds nothing gives the prior's change, bit for bit, by all ways of evaluation; no weights."""
    residual, change = NoResidual(), torch.randn(2, 3, 4)
    encoded = residual.encode(torch.zeros(2, 3, 5), torch.zeros(2, 3, 1), None, change)._replace(prior_change=change)
    state, cache = torch.zeros(2, 3, 5), residual.init_cache(2)
    for prediction in (
        residual(encoded, state),
        residual.prefill(encoded, state)[0],
        residual.step(encoded, state, cache),
    ):
        assert prediction.change is change
    assert not list(residual.state_dict()) and cache == {}


# -- the network side ------------------------------------------------------------------------------------------


def network_side(traits: PriorTraits | None, token: TokenCfg | None = None) -> ResidualNetwork:
    """A network for an Ant behind a prior with the given traits."""
    spec = ant()
    cfg = PredictorCfg(network=SMALL, token=token or TokenCfg(contact_motion=True, limits=True))
    return shaken(ResidualNetwork(spec, cfg, ChangeCodec(spec), traits))


def situation(side: ResidualNetwork) -> tuple[Tensor, Tensor, Contacts | None, Tensor]:
    """States near the ground, controls, contacts and what some prior predicts."""
    (state, control), generator = moments(side.spec), torch.Generator().manual_seed(4)
    predictor = Predictor(side.spec, PredictorCfg(network=SMALL))
    contacts = predictor.contacts(state, PlaneGround.flat())
    return state, control, contacts, 0.01 * torch.randn(len(state), side.codec.dim, generator=generator)


def test_tokens_look_ahead_only_where_the_prior_does():
    """The state that a prior leads to stands in the token if its traits say so, and then alone."""
    kinds = {False: PriorTraits(looks_ahead=False), True: PriorTraits()}
    for looks, traits in kinds.items():
        side = network_side(traits)
        state, control, contacts, change = situation(side)
        with_prior, _ = side.raw_tokens(state, control, contacts, change)
        without, _ = side.raw_tokens(state, control, contacts, None)
        assert torch.equal(with_prior, without) != looks


def test_the_network_is_silent_far_from_contact_if_the_prior_asks_for_it():
    """High in the air and far from stops nothing is added behind such a prior, and something behind any other."""
    for alone in (True, False):
        side = network_side(PriorTraits(only_near_contact=alone, leaves_stops=False))
        state, control, contacts, change = situation(side)
        state[:, 2] += 50.0
        assert contacts is not None
        contacts = Contacts.none((len(state),), len(side.spec.slots))
        encoded = side.encode(state, control, contacts, change)
        prediction = side.decode(
            side.network(encoded.tokens.unsqueeze(1)).squeeze(1), encoded._replace(prior_change=change), state
        )
        assert torch.equal(prediction.change, change) == alone


def test_the_unit_of_what_is_added_is_the_error_of_the_prior():
    """Behind a prior with that trait the network's output counts in the unit that was set; other priors have none."""
    side = network_side(PriorTraits(scaled_by_error=True))
    encoded = Encoded(torch.zeros(1, 1), prior_change=torch.zeros(1, side.codec.dim))
    output = torch.ones(1, side.codec.dim)
    side.set_scale(torch.full((side.codec.dim,), 0.25))
    assert torch.equal(side.decode(output, encoded, torch.zeros(1, side.spec.state.dim)).change, 0.25 * output)
    other = network_side(PriorTraits())
    other.set_scale(torch.full((side.codec.dim,), 0.25))
    assert "residual_scale" not in other.state_dict()
    assert torch.equal(other.decode(output, encoded, torch.zeros(1, side.spec.state.dim)).change, output)


def test_hidden_parts_are_not_seen():
    """What a prior hides is not in the token; to ask for it is an error that says so."""
    hides = PriorTraits(hidden_parts=("root_lin_vel", "gravity"))
    assert not {"root_lin_vel", "gravity"} & set(network_side(hides).tokenizer.slices)
    assert {"root_lin_vel", "gravity"} <= set(network_side(None).tokenizer.slices)
    with pytest.raises(ValueError, match="expected neither to be seen"):
        network_side(hides, TokenCfg(gravity=True))


# -- kinds -----------------------------------------------------------------------------------------------------


def test_each_kind_that_is_built_in_is_found_by_its_name():
    """The table of kinds leads to settings whose own kind is that name."""
    for family in (NetworkCfg, PriorCfg):
        for kind in family.kinds.built_in:
            settings = family.kinds.settings(kind)
            assert issubclass(settings, family) and settings.kind == kind


@pytest.mark.parametrize(
    "kind", ["wave", "", "os.system", "nerd_core.predictor.free_fall:FreeFallCfg", None, 3, ["mlp"]]
)
def test_an_unknown_kind_is_named_with_what_to_do(kind):
    """Whatever is not a known name is refused, and nothing is imported: import strings are no names."""
    with pytest.raises(UnknownKind, match=r"built in are \['mlp', 'recurrent', 'residual', 'transformer'\].*install"):
        NetworkCfg.kinds.settings(kind)


def test_settings_of_another_family_are_refused():
    """An entry point whose class is of another family, or has another name, is its package's fault, and named so."""

    class Point:
        name, value, load = "odd", "package:Odd", staticmethod(lambda: FreeFallCfg)

    with pytest.raises(UnknownKind, match="not what its package says"):
        Kinds("network", "group", {})._load(Point())  # type: ignore[arg-type]
    assert issubclass(FreeFallCfg, OfKind)


# -- a prior of one's own --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SlowDownCfg(PriorCfg):
    """Joints lose a share of their velocity: the example of :mod:`nerd_core.predictor.prior`."""

    kind: Literal["slow_down"] = "slow_down"
    rate: float = 0.1

    @override
    def build(self, spec: RobotSpec, codec: ChangeCodec, contacts: bool) -> Prior:
        return SlowDown(codec, self.rate)


class SlowDown(Prior):
    """See :class:`SlowDownCfg`."""

    def __init__(self, codec: ChangeCodec, rate: float):
        super().__init__()
        self.codec, self.rate = codec, rate

    @override
    def forward(self, state: Tensor, control: Tensor, contacts: Contacts | None = None) -> Tensor:
        change = state.new_zeros(*state.shape[:-1], self.codec.dim)
        change[..., self.codec.slices["joint_vel"]] = -self.rate * state[..., self.codec.spec.state.joint_vel]
        return change


@pytest.mark.parametrize("network", [None, SMALL])
def test_a_new_prior_needs_one_file(network):
    """Settings and module are enough: a fresh predictor predicts what the prior says, with a network and without."""
    spec = cartpole()
    predictor, (state, control) = Predictor(spec, PredictorCfg(network=network, prior=SlowDownCfg())), moments(spec)
    after = predictor.next_state(state, predictor.extend(state, control)[0])
    velocity = spec.state.joint_vel
    torch.testing.assert_close(after[:, velocity], 0.9 * state[:, velocity])
