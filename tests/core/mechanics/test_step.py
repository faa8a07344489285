# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Mechanics without contacts: what holds of the free motion of any robot."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from nerd_core import checkpoint
from nerd_core.contact.grounds import PlaneGround
from nerd_core.mechanics.config import MechanicsCfg
from nerd_core.mechanics.multibody import Multibody
from nerd_core.mechanics.precision import exact_products
from nerd_core.mechanics.step import Mechanics
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.network.token_config import TokenCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.frames import ChangeCodec, out_of_frame, rotation_matrix
from nerd_core.robot.spec import Control, ControlKind, Mimic, RobotSpec
from support.robots import ant, cartpole, move_state, random_state, random_tree, with_inertias, yaw

UNTRAINED = MechanicsCfg(substeps=4, hidden=0)
SHORT = 1.0e-5
"""Physics step in which what a whole step rounds off is not seen [s]."""


def free(spec: RobotSpec) -> RobotSpec:
    """The robot without gravity, drives, stops and rotors, with very short steps."""
    none = {"damping": 0.0, "stiffness": 0.0, "armature": 0.0, "lower": -math.inf, "upper": math.inf}
    joints = tuple(replace(joint, **none) for joint in spec.joints)
    controls = tuple(Control(joint.name, "effort") for joint in joints)
    spec = replace(with_inertias(spec), joints=joints, controls=controls, gravity=(0.0, 0.0, 0.0), physics_dt=SHORT)
    return spec


TREES = [
    pytest.param(free(spec), id=spec.name + ("" if spec.floating_base else "-fixed"))
    for spec in (ant(), cartpole(), random_tree(1), random_tree(2), random_tree(3, floating=False))
]


def step(spec: RobotSpec, state: torch.Tensor, control: torch.Tensor) -> torch.Tensor:
    """States one control step later, in double precision."""
    codec = ChangeCodec(spec)
    return codec.apply(state, Mechanics(spec, codec, UNTRAINED, has_contacts=False).double()(state, control))


def momenta(spec: RobotSpec, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Energy, momentum and angular momentum about the origin, environment axes."""
    multibody = Multibody(spec).double()
    frames = multibody.frames(state[:, spec.state.joint_pos])
    quat = state[:, spec.state.root_quat] if spec.floating_base else None
    turn = None if quat is None else rotation_matrix(quat).permute(1, 2, 0)
    jacobian, velocity = multibody.mass_weighted_jacobian(frames), multibody.generalised_velocity(state, turn)
    energy = 0.5 * (jacobian * velocity.view(-1, 1, 1, len(state))).sum(0).square().sum((0, 1))
    centre, linear, angular = (each.t() for each in multibody.centroidal_momentum(frames, jacobian, velocity))
    if not spec.floating_base:
        return energy, linear, angular
    turn = rotation_matrix(state[:, spec.state.root_quat])
    linear, angular, centre = (out_of_frame(turn, each) for each in (linear, angular, centre))
    return energy, linear, angular + torch.linalg.cross(centre + state[:, spec.state.root_pos], linear)


@pytest.mark.parametrize("spec", TREES)
def test_energy_and_momenta_are_kept(spec: RobotSpec):
    """Bodies that nothing drives keep their energy, and in the air both momenta, as far as short steps can."""
    state = random_state(spec, 6, 1).double()
    after = step(spec, state, torch.zeros(6, spec.control_dim, dtype=torch.double))
    assert not torch.equal(state, after)
    before, now = momenta(spec, state), momenta(spec, after)
    assert torch.allclose(now[0], before[0], rtol=2e-6, atol=2e-6)
    if spec.floating_base:
        assert torch.allclose(now[1], before[1], rtol=1e-9, atol=1e-9)
        assert torch.allclose(now[2], before[2], rtol=1e-6, atol=2e-6)


@pytest.mark.parametrize("spec", TREES)
def test_efforts_do_work(spec: RobotSpec):
    """The energy that a robot gains is the work of its efforts."""
    state = random_state(spec, 6, 2).double()
    control = torch.randn(6, spec.control_dim, generator=torch.Generator().manual_seed(0)).double()
    after, at = step(spec, state, control), spec.state
    gained = momenta(spec, after)[0] - momenta(spec, state)[0]
    order = [spec.joint_names.index(each.joint) for each in spec.controls]
    mean = 0.5 * (state[:, at.joint_vel] + after[:, at.joint_vel])[:, order]
    work = spec.control_dt * (mean * control).sum(-1)
    assert torch.allclose(gained, work, rtol=1e-3, atol=3e-6)


def test_a_moved_scene_moves_along():
    """Turning an Ant by a quarter about the vertical and shifting it turns and shifts where it goes: what bodies answer
    is asked along the axes of the environment, as in PhysX.
    """
    spec = with_inertias(ant())
    state = random_state(spec, 8, 3).double()
    turn, shift = yaw(0.5 * math.pi).double(), torch.tensor([40.0, -7.0, 2.0], dtype=torch.double)
    turn = turn / turn.norm()
    control = torch.randn(8, spec.control_dim, generator=torch.Generator().manual_seed(0)).double()
    image = step(spec, move_state(spec, state, turn, shift), control)
    assert torch.allclose(image, move_state(spec, step(spec, state, control), turn, shift), atol=1e-6)


def test_far_from_the_origin_nothing_is_lost():
    """A kilometre away, in single precision, the change of state is that at the origin, to the last bit."""
    spec = with_inertias(ant())
    mechanics, state = Mechanics(spec, ChangeCodec(spec), UNTRAINED, has_contacts=False), random_state(spec, 4, 4)
    away = state.clone()
    away[:, spec.state.root_pos] += 1000.0
    control = torch.ones(4, spec.control_dim)
    assert torch.equal(mechanics(state, control), mechanics(away, control))


@pytest.mark.parametrize("kind", ["position", "velocity"])
def test_targets_that_no_drive_follows_are_refused(kind: ControlKind):
    """Targets of actuators that make efforts themselves, which leave the simulator's drive without gains, are refused
    by the names of their joints, with a way out; where there is a drive, or the joint follows another, they are not.
    """
    spec = with_inertias(ant())
    controls = (replace(spec.controls[0], kind=kind), *spec.controls[1:])

    def with_first(**fields: object) -> RobotSpec:
        joint = replace(spec.joints[0], **fields)  # pyright: ignore[reportArgumentType]
        return replace(spec, joints=(joint, *spec.joints[1:]), controls=controls)

    with pytest.raises(
        ValueError, match=rf"{kind} target of '{spec.joints[0].name}'.*ImplicitActuatorCfg.*--free-moti"
    ):
        Mechanics(with_first(damping=0.0), ChangeCodec(spec), UNTRAINED)
    for fields in ({"stiffness": 5.0}, {"damping": 1.0}, {"damping": 0.0, "mimic": Mimic(spec.joints[1].name)}):
        Mechanics(with_first(**fields), ChangeCodec(spec), UNTRAINED)


def test_tendons_are_refused():
    """A robot with tendons is refused by their names, with a way out: mechanics would ignore them."""
    spec = replace(with_inertias(ant()), tendons=("left_knee", "right_knee"))
    with pytest.raises(ValueError, match=r"tendons \['left_knee', 'right_knee'\].*Take them out of the asset"):
        Mechanics(spec, ChangeCodec(spec), UNTRAINED)


@pytest.mark.parametrize("network", [None, ResidualMlpCfg(width=8, hidden=8, layers=1)])
def test_a_fresh_predictor_of_an_ant_in_the_air_is_right(tmp_path, network):
    """High up, a predictor with mechanics says where free motion leads, before and after it was saved."""
    spec = with_inertias(ant())
    cfg = PredictorCfg(network=network, token=TokenCfg(contact_motion=True), prior=MechanicsPriorCfg())
    predictor = Predictor(spec, cfg).eval()
    checkpoint.save(tmp_path / "model", predictor)
    state = random_state(spec, 4, 5, 0.1)
    state[:, spec.state.joint_pos] = torch.tensor([0.5 * (joint.lower + joint.upper) for joint in spec.joints])
    state[:, 2] = 5.0
    control = torch.randn(4, spec.control_dim, generator=torch.Generator().manual_seed(0))
    codec = ChangeCodec(spec)
    expected = codec.apply(state, Mechanics(spec, codec, UNTRAINED, has_contacts=False)(state, control))
    for each in (predictor, checkpoint.load(tmp_path / "model", expected_spec=spec)):
        said = each.extend(state, control, each.contacts(state, PlaneGround.flat()))[0]
        assert torch.allclose(each.next_state(state, said), expected, atol=1e-6)


def test_without_a_network_there_is_a_prior():
    """No network and no prior would say nothing; heads and views need a network. The errors name what is asked."""
    with pytest.raises(ValueError, match="neither a network nor a prior"):
        PredictorCfg(network=None)
    with pytest.raises(ValueError, match="got --variance-head --token.symmetric without a network"):
        PredictorCfg(
            network=None,
            prior=MechanicsPriorCfg(),
            variance_head=True,
            token=TokenCfg(symmetric=True),
        )


def test_products_are_exact_on_a_gpu():
    """What others allow products of matrices on a GPU to round is forbidden inside, and allowed again behind."""
    before = torch.backends.cuda.matmul.allow_tf32
    try:
        torch.backends.cuda.matmul.allow_tf32 = True
        with exact_products(torch.device("cuda")):
            assert not torch.backends.cuda.matmul.allow_tf32
        assert torch.backends.cuda.matmul.allow_tf32
        with exact_products(torch.device("cpu")):
            assert torch.backends.cuda.matmul.allow_tf32
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
