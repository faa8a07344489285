# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Physical parameters as inputs of a step: they mean what the specification's mean, per environment, with gradients."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from nerd_core.contact.contacts import ContactModel, Contacts
from nerd_core.contact.grounds import PlaneGround
from nerd_core.mechanics.config import MechanicsCfg
from nerd_core.mechanics.step import Mechanics
from nerd_core.robot.frames import ChangeCodec, out_of_frame, quat_rotate, rotation_matrix
from nerd_core.robot.physical_parameters import OWN_SHAPES, PhysicalParameters, own_shape, specification_with, specified
from nerd_core.robot.spec import RobotSpec
from support.robots import ant, cartpole, driven, random_state, random_tree, with_inertias

CFG = MechanicsCfg(substeps=2, hidden=0, slots=8)
ENVS = 6
IN_SPECIFICATION = specified(with_inertias(ant())).given
DECISIONS = "joint_friction", "bounce_threshold"
"""What only decides between two laws: where it does not, it changes nothing."""


def rubbed(spec: RobotSpec) -> RobotSpec:
    """The robot with position drives of limited effort, friction and limited speeds in all joints."""
    more = {"friction": 0.4, "dynamic_friction": 0.3, "viscous_friction": 0.05, "effort_limit": 6.0}
    return driven(with_inertias(spec), velocity_limit=8.0, **more)


ROBOTS = [
    pytest.param(rubbed(spec), id=f"{spec.name}-{'floating' if spec.floating_base else 'fixed'}")
    for spec in (ant(), cartpole(), random_tree(1), random_tree(2), random_tree(3, floating=False))
]


def situation(spec: RobotSpec, count: int = ENVS) -> tuple[torch.Tensor, torch.Tensor, Contacts | None]:
    """States in double precision of which some touch a slope, with controls and contacts."""
    state = random_state(spec, count, seed=4, spread=0.5).double()
    if spec.floating_base:
        state[:, 2] = torch.linspace(-0.2, 0.6, count)
    control = torch.randn(count, spec.control_dim, generator=torch.Generator().manual_seed(5)).double()
    ground = PlaneGround(torch.nn.functional.normalize(torch.tensor([[0.1, 0.2, 1.0]])), torch.zeros(1))
    contacts = ContactModel(spec).double()(state, ground.double()) if spec.slots else None
    return state, control, contacts


def mechanics_of(spec: RobotSpec) -> Mechanics:
    """Mechanics in double precision."""
    return Mechanics(spec, ChangeCodec(spec), CFG, has_contacts=bool(spec.slots)).double()


def drawn(spec: RobotSpec, *names: str, lead: tuple[int, ...] = (), seed: int = 0) -> PhysicalParameters:
    """Parameters beside those of the specification, moved by up to a tenth; contacts and wrenches at some values."""
    generator, own = torch.Generator().manual_seed(seed), specified(spec)
    values = {}
    for name in names or OWN_SHAPES:
        noise = 2.0 * torch.rand((*lead, *own_shape(spec, name)), generator=generator).double() - 1.0
        base = getattr(own, name)
        if name == "inertia":  # positive definite also after it was turned
            turn = torch.eye(3).double() + 0.1 * noise
            values[name] = turn @ base.double() @ turn.transpose(-1, -2)
        elif name in ("external_force", "external_torque"):
            values[name] = 3.0 * noise
        else:
            values[name] = (0.6 if base is None else base.double()) * (1.0 + 0.1 * noise)
    return PhysicalParameters(**values)


@pytest.mark.parametrize("spec", ROBOTS)
def test_parameters_of_the_specification_change_nothing(spec: RobotSpec):
    """The step with the specification's own numbers as parameters is the step without parameters."""
    mechanics, situated = mechanics_of(spec), situation(spec)
    same = specified(spec).map(torch.Tensor.double)
    assert torch.allclose(mechanics(*situated, same), mechanics(*situated), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("spec", ROBOTS)
@pytest.mark.parametrize("name", [*IN_SPECIFICATION, "all"])
def test_a_specification_with_other_numbers_is_the_same_as_parameters_with_them(spec: RobotSpec, name: str):
    """A robot that is made with other numbers and one that is given them take the same step, and not the former one."""
    moved = drawn(spec, *(IN_SPECIFICATION if name == "all" else (name,)))
    mechanics, situated = mechanics_of(spec), situation(spec)
    said = mechanics(*situated, moved)
    assert torch.allclose(said, mechanics_of(specification_with(spec, moved))(*situated), rtol=1e-5, atol=3e-5)
    if spec.name == "ant" and name not in DECISIONS:
        assert not torch.allclose(said, mechanics(*situated), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("spec", ROBOTS)
def test_environments_are_independent(spec: RobotSpec):
    """Each environment with its own parameters moves as alone, in any leading dimensions, and none changes another."""
    mechanics, situated = mechanics_of(spec), situation(spec)
    parameters = drawn(spec, lead=(ENVS,))
    together = mechanics(*situated, parameters)
    for env in range(ENVS):
        state, control, contacts = situated
        of_env = None if contacts is None else contacts.map(lambda x, env=env: x[env : env + 1])
        alone = mechanics(
            state[env : env + 1], control[env : env + 1], of_env, parameters.map(lambda x, env=env: x[env])
        )
        assert torch.allclose(alone[0], together[env], rtol=1e-9, atol=1e-9)
    state, control, contacts = situated
    pairs = None if contacts is None else contacts.map(lambda x: torch.stack((x, x), 1))
    twice = mechanics(torch.stack((state, state), 1), torch.stack((control, control), 1), pairs, parameters)
    assert torch.allclose(twice, together.unsqueeze(1).expand_as(twice), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in OWN_SHAPES if name not in DECISIONS])
def test_gradients_are_those_of_central_differences(name: str):
    """The derivative along a random direction of each parameter agrees with central differences, in most environments:
    where a contact begins to slide within the difference it may not.
    """
    spec = rubbed(ant())
    mechanics, situated = mechanics_of(spec), situation(spec, 16)
    parameters = replace(drawn(spec, lead=(16,)), dynamic_friction=None)
    if name == "dynamic_friction":
        parameters = drawn(spec, lead=(16,))
    direction = torch.randn(getattr(parameters, name).shape, generator=torch.Generator().manual_seed(1)).double()
    if name == "inertia":
        direction = direction + direction.transpose(-1, -2)
    direction = direction * getattr(parameters, name).abs().mean()  # shorter differences are rounded away
    weights = torch.randn(16, mechanics.codec.dim, generator=torch.Generator().manual_seed(2)).double()
    value = getattr(parameters, name).requires_grad_()

    def total(shift: float) -> torch.Tensor:
        return (mechanics(*situated, replace(parameters, **{name: value + shift * direction})) * weights).sum(-1)

    (gradient,) = torch.autograd.grad(total(0.0).sum(), value)
    step = 1e-5
    with torch.no_grad():
        expected = (total(step) - total(-step)) / (2.0 * step)
    got = (gradient * direction).flatten(1).sum(1) if value.dim() > 1 else gradient * direction
    assert expected.abs().max() > 1e-9, "the parameter does nothing"
    apart = (got - expected).abs() / (expected.abs() + 1e-3 * expected.abs().max())
    assert apart.quantile(0.8) < 1e-4, apart


def test_equal_moments_of_inertia_have_gradients():
    """A ball has no principal axes that differ; its inertia has gradients all the same."""
    spec = rubbed(ant())
    inertia = torch.eye(3).double().mul(0.01).repeat(len(spec.bodies), 1, 1).requires_grad_()
    mechanics_of(spec)(*situation(spec), PhysicalParameters(inertia=inertia)).sum().backward()
    assert inertia.grad is not None and inertia.grad.isfinite().all() and inertia.grad.abs().max() > 0


@pytest.mark.parametrize("spec", ROBOTS)
def test_a_force_on_the_centre_of_mass_is_gravity(spec: RobotSpec):
    """Forces of mass times acceleration on all centres of mass do what gravity does."""
    mechanics, situated = mechanics_of(spec), situation(spec)
    pull, mass = torch.tensor([1.0, -2.0, -3.0]).double(), specified(spec).mass
    assert mass is not None
    none = torch.zeros(3).double()
    pulled = PhysicalParameters(gravity=none, external_force=mass.double().unsqueeze(-1) * pull)
    assert torch.allclose(
        mechanics(*situated, pulled), mechanics(*situated, PhysicalParameters(gravity=pull)), atol=1e-9
    )


def test_a_wrench_changes_the_momenta_of_a_robot_in_the_air():
    """A force and a torque on one body give a flying robot their impulses, about its centre of mass, too."""
    spec = replace(with_inertias(ant()), gravity=(0.0, 0.0, 0.0), physics_dt=1e-4)
    # A stop that takes a joint back within such a step would move the robot by more than all else does.
    spec = replace(spec, joints=tuple(replace(joint, lower=-math.inf, upper=math.inf) for joint in spec.joints))
    mechanics = Mechanics(spec, ChangeCodec(spec), CFG, has_contacts=False).double()
    state = random_state(spec, 4, 1).double()
    control = torch.zeros(4, spec.control_dim).double()
    force, torque = (torch.zeros(4, len(spec.bodies), 3).double() for _ in range(2))
    force[:, 3], torque[:, 5] = torch.tensor([1.0, 2.0, -1.0]), torch.tensor([0.3, -0.2, 0.4])
    pushed = PhysicalParameters(external_force=force, external_torque=torque)
    gained, turned = (
        b - a
        for a, b in zip(
            _momenta(mechanics, state, control, None), _momenta(mechanics, state, control, pushed), strict=True
        )
    )
    dt = spec.control_dt
    assert torch.allclose(gained, dt * force.sum(1), rtol=1e-6, atol=1e-9)
    multibody, at = mechanics.multibody, spec.state
    frames = multibody.frames(state[:, at.joint_pos])
    place = quat_rotate(state[:, at.root_quat], frames.centres_of_mass[3].t()) + state[:, at.root_pos]
    expected = dt * (torque.sum(1) + torch.linalg.cross(place, force[:, 3]))
    assert torch.allclose(turned, expected, rtol=1e-3, atol=1e-7)


def _momenta(mechanics: Mechanics, state, control, parameters) -> tuple[torch.Tensor, torch.Tensor]:
    """Momentum and angular momentum about the origin after a step, environment axes."""
    after = mechanics.codec.apply(state, mechanics(state, control, None, parameters))
    spec, multibody = mechanics.spec, mechanics.multibody
    turn = rotation_matrix(after[:, spec.state.root_quat])
    frames = multibody.frames(after[:, spec.state.joint_pos])
    jacobian = multibody.mass_weighted_jacobian(frames)
    velocity = multibody.generalised_velocity(after, turn.permute(1, 2, 0))
    of_all = (each.t() for each in multibody.centroidal_momentum(frames, jacobian, velocity))
    centre, linear, angular = (out_of_frame(turn, each) for each in of_all)
    return linear, angular + torch.linalg.cross(centre + after[:, spec.state.root_pos], linear)


def test_friction_decides_whether_a_slot_slides():
    """Dynamic friction acts on what slides, and only there; without it static friction does, as before."""
    spec = rubbed(ant())
    mechanics, situated = mechanics_of(spec), situation(spec, 16)
    slots = torch.ones(len(spec.slots)).double()
    rough = mechanics(*situated, PhysicalParameters(static_friction=slots))
    assert torch.equal(rough, mechanics(*situated)), "the learned constant begins at one"
    both = mechanics(*situated, PhysicalParameters(static_friction=slots, dynamic_friction=slots))
    assert torch.allclose(both, rough, atol=1e-12)
    slow = mechanics(*situated, PhysicalParameters(static_friction=slots, dynamic_friction=0.2 * slots))
    weak = mechanics(*situated, PhysicalParameters(static_friction=0.2 * slots))
    assert not torch.allclose(slow, rough) and not torch.allclose(slow, weak)


def test_a_ball_bounces():
    """A body that falls with 2 m/s leaves the ground with the share of restitution, and stays below the threshold."""
    spec = with_inertias(ant())
    spec = replace(spec, bodies=spec.bodies[:1], joints=(), controls=(), slots=spec.slots[:1], gravity=(0.0, 0.0, 0.0))
    inertia = spec.bodies[0].inertia
    assert inertia is not None
    spec = replace(spec, bodies=(replace(spec.bodies[0], inertia=replace(inertia, centre=(0.0, 0.0, 0.0))),))
    cfg = replace(CFG, compliance=0.0)
    mechanics = Mechanics(spec, ChangeCodec(spec), cfg).double()
    state = torch.zeros(1, spec.state.dim).double()
    state[:, 2], state[:, spec.state.root_quat.stop - 1] = 0.255, 1.0
    state[:, spec.state.root_lin_vel] = torch.tensor([0.0, 0.0, -2.0])
    contacts = ContactModel(spec).double()(state, PlaneGround.flat().double())

    def speed(**parameters: torch.Tensor) -> float:
        change = mechanics(state, torch.zeros(1, 0).double(), contacts, PhysicalParameters(**parameters))
        return float(mechanics.codec.apply(state, change)[0, spec.state.root_lin_vel][2].detach())

    share = torch.tensor([0.6]).double()
    assert speed(restitution=share) == pytest.approx(1.2, rel=1e-3)
    assert speed(restitution=share, bounce_threshold=torch.tensor(3.0)) == speed(restitution=0.0 * share)


@pytest.mark.parametrize("shape", [(3,), (2, 9), (ENVS, 2, 9), ()])
def test_a_parameter_of_a_wrong_shape_is_refused(shape: tuple[int, ...]):
    """The shape that came, the name, and the shape that would fit are said."""
    spec = rubbed(ant())
    with pytest.raises(ValueError, match=r"got the parameter 'mass' of shape .* expected \(6, 9\)"):
        mechanics_of(spec)(*situation(spec), PhysicalParameters(mass=torch.ones(shape)))


def test_absurd_masses_lose_their_own_environment_only():
    """An environment whose masses are negative or no number has no next state, and the others have theirs."""
    spec = rubbed(ant())
    mass = specified(spec).mass
    assert mass is not None
    mass = mass.double().repeat(ENVS, 1)
    mass[0], mass[1, 2] = -1.0, float("nan")
    said = mechanics_of(spec)(*situation(spec), PhysicalParameters(mass=mass))
    assert not said[:2].isfinite().all(-1).any() and said[2:].isfinite().all()
