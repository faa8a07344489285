# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Contact forces and what joints carry: they explain the motion, whoever computes them."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from nerd_core.contact.contacts import ContactModel, Contacts
from nerd_core.contact.grounds import PlaneGround
from nerd_core.dynamics import NeuralDynamics
from nerd_core.mechanics.augmentation.augmented_step import AugmentedMechanics
from nerd_core.mechanics.augmentation.blueprints import Blueprint
from nerd_core.mechanics.config import MechanicsCfg
from nerd_core.mechanics.forces import BodyForces
from nerd_core.mechanics.kernel import verification
from nerd_core.mechanics.step import Mechanics
from nerd_core.network.architectures.mlp import MlpCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.frames import ChangeCodec, rotation_matrix
from nerd_core.robot.physical_parameters import PhysicalParameters
from nerd_core.robot.spec import RobotSpec
from support.robots import ant, random_state, random_tree, with_inertias

CFG = MechanicsCfg(substeps=4, hidden=0, slots=32)
ENVS = 32


def tree(seed: int, floating: bool = True, free: bool = False) -> RobotSpec:
    """A random tree of hinges and slides; if it is to be free, with nothing in its joints but efforts."""
    spec = with_inertias(random_tree(seed, floating=floating))
    joints = spec.joints
    if free:
        joints = tuple(replace(each, damping=0.0, lower=-torch.inf, upper=torch.inf, wraps=False) for each in joints)
    return replace(spec, joints=joints)


def situation(spec: RobotSpec, double: bool = True) -> tuple[Tensor, Tensor, Contacts | None]:
    """States of which some touch a slope, with controls and contacts."""
    state = random_state(spec, ENVS, seed=4, spread=0.3)
    control = torch.randn(ENVS, spec.control_dim, generator=torch.Generator().manual_seed(5))
    if spec.floating_base:
        state[:, 2] = torch.linspace(0.1, 1.0, ENVS)
    ground = PlaneGround(torch.nn.functional.normalize(torch.tensor([[0.1, 0.2, 1.0]])), torch.zeros(1))
    contacts = ContactModel(spec)(state, ground) if spec.slots else None
    if not double:
        return state, control, contacts
    exact = contacts if contacts is None else contacts.map(lambda x: x if x.dtype == torch.bool else x.double())
    return state.double(), control.double(), exact


def carried(forces: BodyForces) -> tuple[Tensor, Tensor]:
    """What joints carry: forces and torques."""
    assert forces.joint_force is not None and forces.joint_torque is not None
    return forces.joint_force, forces.joint_torque


def mechanics_of(spec: RobotSpec, has_contacts: bool = True) -> Mechanics:
    """Mechanics with the constants of the beginning."""
    return Mechanics(spec, ChangeCodec(spec), CFG, has_contacts=has_contacts and bool(spec.slots))


def momentum(mechanics: Mechanics, state: Tensor) -> Tensor:
    """Momentum of all bodies, environment axes [kg m/s], shape (M, 3)."""
    multibody, at = mechanics.multibody, mechanics.spec.state
    turn = rotation_matrix(state[:, at.root_quat])
    velocity = multibody.generalised_velocity(state, turn.permute(1, 2, 0))
    frames = multibody.frames(state[:, at.joint_pos])
    linear = multibody.centroidal_momentum(frames, multibody.mass_weighted_jacobian(frames), velocity).linear
    return (turn @ linear.t().unsqueeze(-1)).squeeze(-1)


@pytest.mark.parametrize("restitution", [0.0, 0.8])
def test_forces_of_contacts_and_gravity_change_the_momentum(restitution: float):
    """What contacts and gravity give in a physics step is what the momentum gains, bounces included, and the change of
    state is the one that is given without forces.
    """
    spec = replace(with_inertias(ant()), decimation=1)
    mechanics, situated = mechanics_of(spec).double(), situation(spec)
    parameters = None
    if restitution:
        parameters = PhysicalParameters(restitution=torch.full((len(spec.slots),), restitution).double())
    change, forces = mechanics.with_forces(*situated, parameters)
    assert torch.equal(change, mechanics(*situated, parameters))
    after = mechanics.codec.apply(situated[0], change)
    gained = (momentum(mechanics, after) - momentum(mechanics, situated[0])) / spec.physics_dt
    mass = sum(body.inertia.mass for body in spec.bodies if body.inertia is not None)
    expected = (forces.normal + forces.friction)[:, 0].sum(1) + mass * torch.tensor(spec.gravity).double()
    torch.testing.assert_close(gained, expected, rtol=1e-5, atol=1e-5)
    assert (forces.normal[..., 2].sum((1, 2)) > 1.0).sum() > ENVS // 4, "some have to touch"


def test_normal_forces_push_along_the_ground_and_friction_stays_in_its_cone():
    """Normal forces are along the normal of the slope, never pull, and friction is across it and within the cone."""
    spec = with_inertias(ant())
    cfg = replace(CFG, constraint_law="fitted")  # the engine's law lets friction hold before the normal force is there
    mechanics, situated = Mechanics(spec, ChangeCodec(spec), cfg).double(), situation(spec)
    _, forces = mechanics.with_forces(*situated)
    normal = torch.nn.functional.normalize(torch.tensor([0.1, 0.2, 1.0]), dim=0).double()
    pushed = forces.normal @ normal
    assert pushed.min() >= -1e-9
    torch.testing.assert_close(forces.normal, pushed.unsqueeze(-1) * normal, rtol=1e-6, atol=1e-6)
    assert (forces.friction @ normal).abs().max() < 1e-6 * pushed.max()
    largest = mechanics.solver.friction * pushed
    assert (forces.friction.norm(dim=-1) <= largest + 1e-6).all()
    assert (forces.friction.norm(dim=-1) > 0.99 * largest)[pushed > 1.0].any(), "some have to slide"


@pytest.mark.parametrize("floating", [True, False])
@pytest.mark.parametrize("seed", [1, 2, 5])
def test_along_its_axis_a_free_joint_carries_its_effort(seed: int, floating: bool):
    """What a joint without stop, drive and friction puts on its body along its axis is the effort, less what the
    inertia of the motor takes; a hinge by its torque, a slide by its force.
    """
    spec = replace(tree(seed, floating, free=True), decimation=1)
    mechanics = mechanics_of(spec, has_contacts=False).double()
    state, control, _ = situation(spec)
    change, forces = mechanics.with_forces(state, control)
    force, torque = carried(forces)
    after = mechanics.codec.apply(state, change)
    rates = (after - state)[:, spec.state.joint_vel] / spec.physics_dt
    efforts = torch.zeros(ENVS, len(spec.joints)).double()
    for column, each in enumerate(spec.controls):
        if each.kind == "effort":
            efforts[:, spec.joint_names.index(each.joint)] += control[:, column]
    for number, body in enumerate(spec.bodies):
        if body.joint is None:
            continue
        place = spec.joint_names.index(body.joint)
        joint = spec.joints[place]
        axis = torch.nn.functional.normalize(torch.tensor(joint.axis), dim=0).double()
        along = (force if joint.kind == "prismatic" else torque)[:, number] @ axis
        expected = efforts[:, place] - joint.armature * rates[:, place]
        scale = 1.0 + torque[:, number].norm(dim=-1)
        assert ((along - expected).abs() / scale).max() < 1e-5, body.name


def test_a_tree_that_hangs_still_pulls_its_root_by_its_weight():
    """The joints of a robot on a fixed base carry the weight of what is behind them; what a wrench from outside lifts
    off, they do not.
    """
    spec = replace(tree(3, False, free=True), decimation=1)
    mechanics = mechanics_of(spec, has_contacts=False).double()
    state, control, _ = situation(spec)
    state[:, spec.state.joint_vel] = 0.0
    _, forces = mechanics.with_forces(state, control)
    last = max(range(len(spec.bodies)), key=lambda number: len(mechanics._wrenches._behind[:, number].nonzero()))
    lifted = torch.zeros(len(spec.bodies), 3).double()
    lifted[last] = torch.tensor([0.3, -0.2, 0.9])
    parameters = PhysicalParameters(external_force=lifted)
    _, pushed = mechanics.with_forces(state, control, None, parameters)
    apart = (carried(pushed)[0] - carried(forces)[0])[:, 0].norm(dim=-1)
    assert apart.min() > 0.0
    heavier = PhysicalParameters(mass=2.0 * mechanics.multibody._mass.flatten())
    _, more = mechanics.with_forces(state, control, None, heavier)
    assert not torch.allclose(carried(more)[0][:, 0], carried(forces)[0][:, 0])


def test_mechanics_with_networks_in_it_tells_forces_of_all_its_physics_steps():
    """With networks that change nothing yet, forces are those of plain mechanics, physics step by physics step; with
    ones that push, the joints carry something else.
    """
    spec = with_inertias(ant())
    cfg = replace(CFG, blueprints=(Blueprint.parse("joint_torque<-joint_pos,joint_vel"),))
    augmented, situated = AugmentedMechanics(spec, ChangeCodec(spec), cfg).double(), situation(spec)
    (change, forces), (expected, plain) = (
        augmented.with_forces(*situated),
        mechanics_of(spec).double().with_forces(*situated),
    )
    assert forces.normal.shape == (ENVS, spec.decimation, len(spec.bodies), 3)
    torch.testing.assert_close(change, expected)
    for said, wanted in zip(forces, plain, strict=True):
        torch.testing.assert_close(said, wanted)
    with torch.no_grad():
        for each in augmented.augmentation.parameters():
            each.add_(0.3)
    assert torch.equal((pushed := augmented.with_forces(*situated))[0], augmented(*situated))
    assert not torch.allclose(carried(pushed[1])[1], carried(forces)[1])


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(tree(3, False), id="tree on a fixed base"),
        pytest.param(with_inertias(ant()), id="ant", marks=pytest.mark.long),  # half a minute of compiling
    ],
)
def test_the_kernel_says_what_pytorch_says(spec: RobotSpec):
    """Forces of contacts and joints by the kernel are those by PyTorch, and the step is the same with and without."""
    pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")
    mechanics, situated = mechanics_of(spec), situation(spec, double=False)
    with torch.no_grad():
        change, said = mechanics.with_forces(*situated)
        assert all(mechanics._kernels.values()) and mechanics._kernels
        assert torch.equal(change, mechanics(*situated))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(verification.SWITCH, "0")
            expected = copy.deepcopy(mechanics).with_forces(*situated)[1]
    for name in BodyForces._fields:
        ours, theirs = getattr(said, name).flatten(1), getattr(expected, name).flatten(1)
        apart = (ours - theirs).abs().amax(-1) / (1.0 + theirs.abs().amax(-1))
        assert apart.quantile(0.75) < 2e-3, (name, float(apart.quantile(0.75)))
    assert carried(said)[0].abs().max() > 0.0


def test_a_stepper_gives_forces_when_asked(monkeypatch):
    """A model with mechanics gives forces with its predictions if it is asked, behind a network, too; others refuse."""
    monkeypatch.setenv(verification.SWITCH, "0")
    spec = with_inertias(ant())
    prior = MechanicsPriorCfg(hidden=0, slots=5)
    for network in (None, MlpCfg(hidden=(8,), window=1)):
        predictor = Predictor(spec, PredictorCfg(network=network, prior=prior)).eval()
        state, control, _ = situation(spec, double=False)
        dynamics = NeuralDynamics(predictor, ENVS, ground=PlaneGround.flat())
        plain = dynamics.step(state, control)
        assert dynamics.prediction is not None and dynamics.prediction.body_forces is None
        dynamics.reset()
        dynamics.ask_for_forces("contacts")
        assert torch.equal(dynamics.step(state, control), plain)
        forces = dynamics.prediction.body_forces
        assert forces is not None and forces.normal.shape == (ENVS, spec.decimation, len(spec.bodies), 3)
        assert forces.joint_force is None
        dynamics.ask_for_forces("joints")
        dynamics.step(state, control)
        forces = dynamics.prediction.body_forces
        assert forces is not None and forces.joint_force is not None
        assert forces.joint_force.shape == (ENVS, len(spec.bodies), 3)
    alone = Predictor(spec, PredictorCfg(network=MlpCfg(hidden=(8,), window=1)))
    with pytest.raises(ValueError, match="knows no forces, expected one with mechanics"):
        NeuralDynamics(alone, ENVS, ground=PlaneGround.flat()).ask_for_forces("contacts")
