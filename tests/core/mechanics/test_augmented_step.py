# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Mechanics with networks in it: nothing at first, then what the networks say, wherever they say it."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from nerd_core import checkpoint
from nerd_core.checkpoint_limits import expected_tensors
from nerd_core.contact.contacts import ContactModel, Contacts
from nerd_core.contact.grounds import PlaneGround
from nerd_core.dynamics import NeuralDynamics
from nerd_core.files.safe_files import UnsafeFile
from nerd_core.mechanics.augmentation.augmented_step import AugmentedMechanics
from nerd_core.mechanics.augmentation.blueprints import Blueprint
from nerd_core.mechanics.augmentation.quantities import element_names
from nerd_core.mechanics.config import CompliantCfg, MechanicsCfg
from nerd_core.mechanics.step import Mechanics
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.robot.frames import ChangeCodec, quat_rotate, rotation_matrix
from nerd_core.robot.kinematics import ForwardKinematics
from nerd_core.robot.parts import Actuator, ActuatorLaw
from nerd_core.robot.physical_parameters import PhysicalParameters
from nerd_core.robot.spec import RobotSpec
from support.identified_arm import arm, model
from support.robots import ant, cartpole, random_state, random_tree, with_inertias

CFG = MechanicsCfg(substeps=2, hidden=0)
ALL_FORCES = "body_force,body_torque,external_force,external_torque<-body_lin_vel,body_down"


@pytest.fixture(autouse=True)
def _without_kernel(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if "kernel" not in request.node.name:
        monkeypatch.setenv("NERD_FUSED", "0")


def augmented(spec: RobotSpec, *texts: str, cfg: MechanicsCfg = CFG) -> AugmentedMechanics:
    """Mechanics with blueprints, in double precision."""
    cfg = replace(cfg, blueprints=tuple(map(Blueprint.parse, texts)))
    torch.manual_seed(0)
    return AugmentedMechanics(spec, ChangeCodec(spec), cfg).double()


def plain(spec: RobotSpec, cfg: MechanicsCfg = CFG) -> Mechanics:
    """The same without."""
    return Mechanics(spec, ChangeCodec(spec), cfg).double()


def saying(mechanics: AugmentedMechanics, wanted: float | Tensor) -> AugmentedMechanics:
    """Separate networks that say the same whatever they see, in the unit of the quantity."""
    (networks,) = mechanics.augmentation.networks_of()
    with torch.no_grad():
        networks.networks.biases[-1].copy_((wanted / networks.unit).unsqueeze(1))
    return mechanics


def shaken(mechanics: AugmentedMechanics) -> AugmentedMechanics:
    """Networks that say something."""
    with torch.no_grad():
        for each in mechanics.augmentation.parameters():
            each.add_(0.3 * torch.randn(each.shape, generator=torch.Generator().manual_seed(1)))
    return mechanics


def moving(spec: RobotSpec, count: int = 8) -> tuple[Tensor, Tensor]:
    """States and controls."""
    control = torch.randn(count, len(spec.controls), generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    return random_state(spec, count, 3, dtype=torch.float64), control


def touching(spec: RobotSpec, state: Tensor) -> Contacts:
    """Contacts of states with a plane at the height of the slots' mean."""
    slots = ContactModel(spec).double()
    height = float(slots.slot_points(state)[..., 2].mean())
    return slots(state, PlaneGround.flat(height).double())


TREE = replace(with_inertias(random_tree(3, bodies=5)), decimation=1, slots=())


@pytest.mark.parametrize("spec", [arm(), with_inertias(cartpole()), replace(TREE, decimation=3)], ids=lambda x: x.name)
@pytest.mark.parametrize(
    "text", ["joint_torque<-joint_pos,joint_vel[*],effort_target; sharing=separate; odd", ALL_FORCES]
)
def test_forces_begin_as_nothing(spec, text):
    """New networks that add to forces change no bit of a physics step, and rounding alone of several."""
    state, control = moving(spec)
    expected, found = (each(state, control) for each in (plain(spec), augmented(spec, text)))
    torch.testing.assert_close(found, expected, rtol=0.0, atol=0.0 if spec.decimation == 1 else 1e-12)


@pytest.mark.parametrize(
    "text",
    ["mass,inertia,centre_of_mass<-body_ang_vel", "armature,damping<-joint_vel", "gravity<-joint_vel[*]"],
)
@pytest.mark.parametrize("mode", ["residual", "replace"])
def test_parameters_begin_as_specified(text, mode):
    """New networks that change parameters begin at those of the specification, but for rounding."""
    state, control = moving(TREE)
    found = augmented(TREE, f"{text}; mode={mode}")(state, control)
    torch.testing.assert_close(found, plain(TREE)(state, control), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("spec", [arm(), with_inertias(cartpole())], ids=lambda x: x.name)
def test_a_torque_is_an_effort(spec):
    """What a network adds to joint torques does what efforts do."""
    state, control = moving(spec)
    found = saying(augmented(spec, "joint_torque<-joint_vel; sharing=separate"), 0.3)
    torch.testing.assert_close(found(state, control), plain(spec)(state, control + 0.3))


def test_a_joint_without_a_control_feels_torques():
    """A network changes the torque of a joint that no control drives, as if one did."""
    driven, spec = arm(), replace(arm(), controls=arm().controls[1:])
    state, control = moving(spec)
    found = saying(augmented(spec, "joint_torque[shoulder]<-joint_vel; sharing=separate"), 0.3)
    expected = plain(driven)(state, torch.cat((torch.full_like(control, 0.3), control), dim=-1))
    torch.testing.assert_close(found(state, control), expected)


@pytest.mark.parametrize("spec", [arm(), TREE], ids=lambda x: x.name)
def test_efforts_go_through_bodies_where_they_must(spec):
    """Where an actuator outside of the engine takes the effort of a joint, a torque acts as a wrench on the body behind
    it and its opposite on the body before, and does the same, for hinges and slides.
    """
    motor = Actuator("IdealPDActuator", law=ActuatorLaw())
    motors = replace(spec, joints=tuple(replace(each, actuator=motor) for each in spec.joints))
    state, control = moving(spec)
    control = torch.zeros_like(control)
    effort = torch.linspace(-0.5, 0.5, len(spec.joints), dtype=torch.float64).unsqueeze(-1)
    text = "joint_torque<-joint_vel; sharing=separate"
    expected = saying(augmented(spec, text), effort)(state, control)
    torch.testing.assert_close(saying(augmented(motors, text), effort)(state, control), expected)


def test_forces_of_bodies_stand_in_their_axes():
    """A force along the first axis of a body is that column of its rotation in environment axes."""
    state, control = moving(TREE)
    along = torch.tensor([0.7, 0.0, 0.0], dtype=torch.float64)
    found = saying(augmented(TREE, "body_force<-body_down; sharing=separate"), along)
    rotation = rotation_matrix(ForwardKinematics(TREE).double()(state)[1])
    expected = plain(TREE)(state, control, None, PhysicalParameters(external_force=0.7 * rotation[..., 0]))
    torch.testing.assert_close(found(state, control), expected)


def test_a_force_at_a_slot_turns_its_body():
    """A force at the point of a slot next to the ground is that force on its body, and its moment."""
    spec = with_inertias(replace(ant(), decimation=1))
    state, control = moving(spec, 4)
    contacts = touching(spec, state)
    slot = len(spec.slots) - 1
    names = element_names(spec, "slot")
    force = torch.tensor([0.3, -0.2, 0.5], dtype=torch.float64)
    found = saying(augmented(spec, f"slot_force[{names[slot]}]<-slot_vel; sharing=separate"), force)
    body = spec.body_names.index(spec.slots[slot].body)
    pos, quat = ForwardKinematics(spec).double()(state)
    centre = pos[:, body] + quat_rotate(quat[:, body], torch.tensor(spec.bodies[body].inertia.centre).double())
    point = ContactModel(spec).double().slot_points(state)[:, slot]
    at = point - spec.slots[slot].radius * contacts.normal[:, slot]
    wrenches = torch.zeros(2, len(state), len(spec.bodies), 3, dtype=torch.float64)
    wrenches[0, :, body], wrenches[1, :, body] = force, torch.linalg.cross(at - centre, force.expand_as(at))
    outer = PhysicalParameters(external_force=wrenches[0], external_torque=wrenches[1])
    expected = plain(spec)(state, control, contacts, outer)
    torch.testing.assert_close(found(state, control, contacts), expected)


def test_each_physics_step_is_augmented():
    """Over a control step of several physics steps, a network sees each, and contacts are those of each: the same as
    control steps of one, and without blueprints' doing the same as mechanics.
    """
    spec = with_inertias(replace(ant(), decimation=3))
    state, control = moving(spec, 4)
    contacts = touching(spec, state)
    found = augmented(spec, "joint_torque<-joint_vel,contact_distance[*]; sharing=separate")
    torch.testing.assert_close(found(state, control, contacts), plain(spec)(state, control, contacts))
    texts = "joint_torque<-joint_vel,joint_pos; sharing=separate"
    whole, single = (shaken(augmented(replace(spec, decimation=n), texts)) for n in (3, 1))
    ground, now = PlaneGround.flat(-100.0).double(), state  # without contacts, whose plane is that of the beginning
    slots = ContactModel(spec).double()
    far = slots(state, ground)
    for _ in range(3):
        now = single.codec.apply(now, single(now, control, far))
    torch.testing.assert_close(whole.codec.apply(state, whole(state, control, far)), now)


@pytest.mark.parametrize(
    "text",
    [
        "joint_torque<-joint_vel,body_down; sharing=separate",
        ALL_FORCES,
        "mass,inertia,centre_of_mass<-body_lin_vel",
        "armature,damping<-joint_pos; mode=replace",
    ],
)
def test_gradients_are_those_of_differences(text):
    """Derivatives by a weight of the last layer are those of differences, whatever is changed."""
    state, control = moving(TREE)
    mechanics = augmented(TREE, text + "; scale=0.1")
    weight = mechanics.augmentation.networks_of()[0].networks.weights[-1]

    def value() -> Tensor:
        return mechanics(state, control).square().sum()

    value().backward()
    index = tuple(0 for _ in weight.shape)
    found, step = float(weight.grad[index]), 1e-5
    sides = []
    for sign in (1.0, -1.0):
        with torch.no_grad():
            weight[index] += sign * step
            sides.append(float(value()))
            weight[index] -= sign * step
    assert found == pytest.approx((sides[0] - sides[1]) / (2.0 * step), rel=1e-4, abs=1e-8)
    assert found != 0.0


def test_bounds_hold_and_let_go():
    """A quantity never leaves its bounds, and has a derivative that leads it back from beyond them."""
    state, control = moving(arm())
    mechanics = saying(augmented(arm(), "joint_torque<-joint_vel; sharing=separate; lower=-0.1; upper=0.2"), 5.0)
    readings = mechanics.readings(state, control)
    mechanics.augmentation(readings)
    assert bool((readings["joint_torque"] == 0.2).all())
    mechanics(state, control).sum().backward()
    assert bool(mechanics.augmentation.networks_of()[0].networks.biases[-1].grad.abs().min() > 0.0)
    heavy = saying(augmented(arm(), "damping<-joint_vel; sharing=separate"), -5.0)
    readings = heavy.readings(state, control)
    heavy.augmentation(readings)
    assert bool((readings["damping"] == 0.0).all())  # what makes sense


def test_odd_networks_answer_opposites_with_opposites():
    """With ``odd`` opposite motion feels the opposite torque, also by angles that turn without an end."""
    state, control = moving(arm())
    mechanics = shaken(augmented(arm(), "joint_torque<-joint_vel[*],joint_pos; odd"))
    there, back = (mechanics.readings(sign * state, 0.0 * control) for sign in (1.0, -1.0))
    for each in (there, back):
        mechanics.augmentation(each)
    torch.testing.assert_close(there["joint_torque"], -back["joint_torque"])
    assert bool((there["joint_torque"] != 0.0).all())


def test_sharing_is_what_it_says():
    """A shared network says the same of joints in the same state, separate ones do not; what is named alone is changed
    alone.
    """
    state = torch.full((3, 4), 0.4, dtype=torch.float64)
    control = torch.zeros(3, 2, dtype=torch.float64)
    for text, is_same in (
        ("joint_torque<-joint_vel; scale=0.1", True),
        ("joint_torque<-joint_vel; sharing=separate", False),
    ):
        mechanics = shaken(augmented(arm(), text))
        (networks,) = mechanics.augmentation.networks_of()
        said = networks.networks(networks.features(mechanics.readings(state, control)))
        assert torch.allclose(said[:, 0], said[:, 1]) == is_same
    alone = shaken(augmented(arm(), "joint_torque[elbow]<-joint_vel[shoulder]"))
    readings = alone.readings(state, control)
    alone.augmentation(readings)
    assert bool((readings["joint_torque"][:, 0] == 0.0).all()) and bool((readings["joint_torque"][:, 1] != 0.0).all())


def test_units_are_those_of_the_data():
    """Statistics set the unit of what networks see to its root mean square, and leave what is always zero alone."""
    predictor = model(arm(), MechanicsPriorCfg(hidden=0, substeps=1, blueprints=(Blueprint.parse(TWO_INPUTS),)))
    state = torch.tensor([[0.1, 0.2, 3.0, -3.0], [0.1, 0.2, -3.0, 3.0]])
    predictor.update_statistics(state, torch.zeros(2, 2), state)
    predictor.finalise_statistics()
    (networks,) = predictor.prior.mechanics.augmentation.networks_of()
    torch.testing.assert_close(networks.input_scale, torch.tensor([3.0, 1.0]))


TWO_INPUTS = "joint_torque<-joint_vel,effort_target; penalty=0.5"


def test_the_penalty_is_that_of_the_weights():
    """Training pays the penalty times the sum of squares."""
    predictor = model(arm(), MechanicsPriorCfg(hidden=0, substeps=1, blueprints=(Blueprint.parse(TWO_INPUTS),)))
    (networks,) = predictor.prior.mechanics.augmentation.networks_of()
    squares = sum(float(each.square().sum()) for each in networks.networks.weights)
    assert float(predictor.prior.penalty()) == pytest.approx(0.5 * squares)
    assert model(arm()).prior.penalty() == 0.0


def test_it_goes_through_a_checkpoint_and_the_guard(tmp_path):
    """A saved augmented model predicts the same when it is read back, steps many environments, and a state that is no
    number is held by the guard while the others move on.
    """
    texts = ("joint_torque<-joint_pos,joint_vel; sharing=separate", "body_force<-body_lin_vel; odd")
    cfg = MechanicsPriorCfg(hidden=0, substeps=1, blueprints=tuple(map(Blueprint.parse, texts)))
    predictor = model(arm(), cfg)
    shaken(predictor.prior.mechanics)
    state, control = (each.float() for each in moving(arm()))
    again = checkpoint.load(checkpoint.save(tmp_path / "model", predictor))
    assert again.cfg.prior == cfg
    torch.testing.assert_close(again.prior(state, control), predictor.prior(state, control), rtol=0.0, atol=0.0)
    dynamics = NeuralDynamics(again, len(state))
    state[2, 3] = math.nan
    after = dynamics.step(state, control)
    assert dynamics.held.nonzero().flatten().tolist() == [2]
    assert bool(after.isfinite().all())


def test_settings_of_a_file_are_tried_before_they_are_used():
    """A checkpoint whose blueprint names what the robot does not have is refused by one message."""
    for text, words in (
        ("joint_torque[ankle]<-joint_vel", "no joint of that name"),
        ("body_force<-joint_vel", "for outputs of bodies"),
    ):
        cfg = MechanicsPriorCfg(hidden=0, blueprints=(Blueprint.parse(text),))
        with pytest.raises(UnsafeFile, match=words):
            expected_tensors(arm(), PredictorCfg(network=None, prior=cfg))


def test_contacts_that_give_way_have_a_law_of_their_own():
    """Friction of slots is refused for contacts that give way, which would not ask for it; forces are not."""
    whole = with_inertias(ant())
    slots = tuple(slot for slot in whole.slots if slot.body == whole.bodies[0].name)
    cube = replace(whole, joints=(), controls=(), bodies=whole.bodies[:1], slots=slots)
    with pytest.raises(ValueError, match="static_friction for contacts that give way"):
        augmented(cube, "static_friction<-slot_vel", cfg=CompliantCfg(hidden=0))
    state = random_state(cube, 4, 3, dtype=torch.float64)
    contacts, none = touching(cube, state), torch.zeros(4, 0, dtype=torch.float64)
    found = augmented(cube, "slot_force<-slot_vel", cfg=CompliantCfg(hidden=0))(state, none, contacts)
    torch.testing.assert_close(found, plain(cube, CompliantCfg(hidden=0))(state, none, contacts))


@pytest.mark.parametrize(
    "text",
    [
        "joint_torque<-joint_vel,joint_pos; sharing=separate",
        ALL_FORCES,
        "mass<-joint_pos[*]",
    ],
)
def test_the_kernel_steps_augmented_mechanics(text: str):
    """In single precision the kernel takes the step, and its adjoint the gradients of whatever networks change."""
    pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")
    state, control = (each.float() for each in moving(arm(), 64))
    mechanics = shaken(augmented(arm(), text, cfg=replace(CFG, substeps=1))).float()
    exact = copy.deepcopy(mechanics).double()
    with torch.no_grad():
        found = mechanics(state, control)
    torch.testing.assert_close(found.double(), exact(state.double(), control.double()), rtol=1e-3, atol=1e-3)
    assert any(kernel is not None for kernel in mechanics._kernels.values())
    weights = torch.randn(found.shape, generator=torch.Generator().manual_seed(0))
    (mechanics(state, control) * weights).sum().backward()
    (exact(state.double(), control.double()) * weights.double()).sum().backward()
    assert all(mechanics._gradients.values()) and mechanics._gradients
    for ours, theirs in zip(mechanics.augmentation.parameters(), exact.augmentation.parameters(), strict=True):
        scale = float(theirs.grad.abs().max())
        torch.testing.assert_close(ours.grad.double(), theirs.grad, rtol=1e-2, atol=1e-3 * scale)
