# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A network that knows how robots fall: what it cannot get wrong."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nerd_core.contact.grounds import PlaneGround
from nerd_core.data.dataset import TrajectoryBatch
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.network.symmetry import image, symmetries_of
from nerd_core.network.token_config import TokenCfg
from nerd_core.network.tokens import CONTACT_REACH
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.free_fall import FreeFallCfg
from nerd_core.predictor.free_motion import FreeMotion, FreeMotionCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.frames import ChangeCfg, quat_normalize
from nerd_core.training.losses import one_step_loss
from nerd_core.training.regimes import Regimes
from support.robots import ant, cartpole, move_state, random_state, symmetric_ant

FALLING = TokenCfg(contacts=False, limits=True)
AIR = PredictorCfg(network=ResidualMlpCfg(width=8, hidden=8, layers=1), token=FALLING, prior=FreeFallCfg())


def shaken(cfg: PredictorCfg, spec=None, size: float = 0.3) -> Predictor:
    """A predictor with weights that are not zero anywhere, and normalisers of some width."""
    torch.manual_seed(1)
    predictor = Predictor(spec or ant(), cfg)
    with torch.no_grad():
        for param in predictor.parameters():
            param.add_(size * torch.randn_like(param))
        inner = predictor.prior.predictor if isinstance(predictor.prior, FreeMotion) else None
        for each in (predictor, inner):
            if each is not None:
                each.change_normaliser.std.mul_(0.02)
                each.change_normaliser.mean.add_(0.01)
                each.residual.token_normaliser.std.mul_(3.0)
                each.residual.token_normaliser.mean.add_(0.1)
    return predictor


def at_rest(state: torch.Tensor) -> torch.Tensor:
    """The states with joints in the middle of their ranges and without any velocity."""
    spec = ant()
    state = state.clone()
    state[:, spec.state.joint_pos] = torch.tensor([0.5 * (joint.lower + joint.upper) for joint in spec.joints])
    for where in (spec.state.root_lin_vel, spec.state.root_ang_vel, spec.state.joint_vel):
        state[:, where] = 0.0
    return state


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_what_nothing_drives_falls_and_does_nothing_else(seed):
    """A robot at rest, or with a velocity of its root alone, falls as the solver does that the statistics have seen, to
    a tenth of a micrometre a second, whatever the weights are.
    """
    predictor, spec = shaken(AIR), ant()
    state = at_rest(random_state(spec, 32, seed))
    state[:, spec.state.root_lin_vel] = torch.randn(32, 3, generator=torch.Generator().manual_seed(seed))
    after, gravity = state.clone(), torch.tensor(spec.gravity)
    for _ in range(spec.decimation):
        after[:, spec.state.root_lin_vel] += spec.physics_dt * gravity
        after[:, spec.state.root_pos] += spec.physics_dt * after[:, spec.state.root_lin_vel]
    control = torch.zeros(32, spec.control_dim)
    std, mean = predictor.change_normaliser.std.clone(), predictor.change_normaliser.mean.clone()
    predictor.update_statistics(state, control, after)
    predictor.finalise_statistics()
    predictor.change_normaliser.std.copy_(std)
    predictor.change_normaliser.mean.copy_(mean)
    said = predictor.next_state(state, predictor.extend(state, control)[0])
    torch.testing.assert_close(said, after, rtol=0, atol=3e-6)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_motion_in_itself_knows_neither_gravity_nor_speed(seed):
    """Turned in space and thrown at another speed, a driven robot changes in itself as before: the change of velocities
    beside the fall turns with it, and joints do the same.
    """
    predictor, spec = shaken(AIR), ant()
    generator = torch.Generator().manual_seed(seed)
    state, control = random_state(spec, 16, seed), torch.randn(16, spec.control_dim, generator=generator)
    turned = move_state(spec, state, quat_normalize(torch.randn(4, generator=generator)), torch.randn(3))
    turned[:, spec.state.root_lin_vel] = 3.0 * torch.randn(16, 3, generator=generator)
    inner = []
    for each in (state, turned):
        seen = predictor.encode(each, control, None)
        change = predictor.change_normaliser.inverse(predictor.extend(each, control)[0].change)
        assert seen.prior_change is not None
        inner.append(change - predictor.change_normaliser.inverse(seen.prior_change))
    assert inner[0].abs().mean() > 1e-3
    torch.testing.assert_close(*inner, rtol=1e-3, atol=1e-5)


def test_small_drives_make_small_errors():
    """Ten times smaller velocities and efforts are seen in the same direction, and what the network says of them is ten
    times smaller but for the size that it is told.
    """
    predictor, spec = shaken(AIR), ant()
    state, control = at_rest(random_state(spec, 8, 3)), torch.randn(8, spec.control_dim)
    state[:, spec.state.joint_vel] = torch.randn(8, len(spec.joints))
    weak, weak_control = state.clone(), 0.1 * control
    weak[:, spec.state.joint_vel] *= 0.1
    strong, weaker = predictor.encode(state, control, None), predictor.encode(weak, weak_control, None)
    assert strong.drive_scale is not None
    torch.testing.assert_close(weaker.drive_scale, 0.1 * strong.drive_scale)
    where = predictor.residual.tokenizer.slices
    for name in ("joint_vel", "control", "root_ang_vel"):
        torch.testing.assert_close(weaker.tokens[:, where[name]], strong.tokens[:, where[name]])


def test_a_joint_beyond_its_stop_is_driven():
    """A robot at rest with a joint beyond its stop is pushed, so that the network may say something."""
    predictor, spec = shaken(AIR), ant()
    state, control = at_rest(random_state(spec, 2, 3)), torch.zeros(2, spec.control_dim)
    state[1, spec.state.joint_pos.start] = spec.joints[0].upper + 0.01
    size = predictor.encode(state, control, None).drive_scale
    assert size is not None and float(size[0]) < 1e-5 and float(size[1]) > 1e-2


def test_errors_are_judged_beside_the_drive():
    """The loss of a prediction that is wrong by the same share of the drive is the same for weak drives and strong."""
    predictor, spec = shaken(AIR), ant()
    state, control = at_rest(random_state(spec, 64, 3)), torch.zeros(64, spec.control_dim)
    losses = []
    for speed in (1.0, 0.01):
        moving = state.clone()
        moving[:, spec.state.joint_vel] = speed
        prediction = predictor.extend(moving, control)[0]
        assert prediction.drive_scale is not None
        target = replace(prediction, change=prediction.change + 0.1 * prediction.drive_scale)
        after = predictor.next_state(moving, target)
        batch = TrajectoryBatch(torch.stack((moving, after), 1), control.unsqueeze(1))
        losses.append(float(one_step_loss(predictor, batch, regimes=Regimes(spec)).detach()))
    assert abs(losses[0] - losses[1]) < 0.1


def test_views_and_falling_go_together():
    """In equivalent views, a falling robot's image moves as the image of its motion."""
    spec = symmetric_ant()
    predictor = shaken(replace(AIR, token=replace(FALLING, symmetric=True)), spec).double()
    for normaliser in (predictor.residual.token_normaliser, predictor.change_normaliser):
        normaliser.mean.zero_()  # as data of all views have it
    state, control = random_state(spec, 32, 5).double(), torch.randn(32, spec.control_dim).double()
    after = predictor.next_state(state, predictor.extend(state, control)[0])
    for each in symmetries_of(spec):
        seen = image(spec, each, state)
        said = predictor.next_state(seen, predictor.extend(seen, each.controls(control))[0])
        expected = image(spec, each, after)
        joints = spec.state.joint_vel
        torch.testing.assert_close(said[:, joints], expected[:, joints], rtol=0, atol=1e-6)
        torch.testing.assert_close(said[:, spec.state.root_pos], expected[:, spec.state.root_pos], rtol=0, atol=1e-6)


def test_a_robot_in_the_air_is_left_to_its_fall():
    """Around a network that falls, the network of contacts says nothing until a slot is within reach of the ground."""
    token = TokenCfg(contact_motion=True, limits=True)
    predictor = shaken(replace(AIR, token=token, prior=FreeMotionCfg.of(AIR)))
    spec = predictor.spec
    state, control = at_rest(random_state(spec, 2, 3)), torch.zeros(2, spec.control_dim)
    state[:, spec.state.root_quat] = torch.tensor([0.0, 0.0, 0.0, 1.0])
    points = predictor.contact_model.slot_points(state)
    radius = torch.tensor([slot.radius for slot in spec.slots])
    lowest = (points[..., 2] - radius).amin(-1)
    state[:, 2] -= lowest - CONTACT_REACH - torch.tensor([0.01, 0.0])
    contacts, free = predictor.contacts(state, PlaneGround.flat()), predictor.prior(state, control)
    assert contacts is not None and bool(contacts.active.any(-1).all()) and free is not None
    said = predictor.extend(state, control, contacts)[0].change
    assert (said == predictor.change_normaliser(free)).all(-1).tolist() == [True, False]


@pytest.mark.parametrize(
    ("spec", "token", "change"),
    [
        (cartpole(), FALLING, ChangeCfg()),
        (ant(), replace(FALLING, contacts=True), ChangeCfg()),
        (ant(), replace(FALLING, gravity=True), ChangeCfg()),
        (ant(), FALLING, ChangeCfg(integration="none")),
    ],
)
def test_what_cannot_fall_is_refused(spec, token, change):
    """Fixed bases, contacts, gravity that is seen, and changes that hold the velocity, with what was expected."""
    with pytest.raises(ValueError, match="expected"):
        Predictor(spec, replace(AIR, token=token, change=change))
