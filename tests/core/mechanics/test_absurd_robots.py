# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Damaged and absurd robots: a clear error, or a correct result."""

from __future__ import annotations

import logging
import math
from dataclasses import replace

import pytest
import torch

from nerd_core.contact.contacts import ContactModel
from nerd_core.contact.grounds import PlaneGround
from nerd_core.dynamics import NeuralDynamics
from nerd_core.mechanics.config import MechanicsCfg
from nerd_core.mechanics.contact_constraints import outer_slots
from nerd_core.mechanics.kernel import verification
from nerd_core.mechanics.step import Mechanics
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.frames import ChangeCodec
from nerd_core.robot.parts import Body, ContactSlot, Control, Inertia, Joint, SpecError
from nerd_core.robot.physical_parameters import PhysicalParameters
from nerd_core.robot.slots import mesh_slots
from nerd_core.robot.spec import RobotSpec
from support.robots import ant, cartpole, random_state, with_inertias

CFG = MechanicsCfg(substeps=2, hidden=0, slots=4)


def made(spec: RobotSpec) -> Mechanics:
    """Mechanics of a robot."""
    return Mechanics(spec, ChangeCodec(spec), CFG, has_contacts=bool(spec.slots))


def with_inertia(inertia: Inertia | None, number: int = 1) -> RobotSpec:
    """The cartpole with a body of another inertia."""
    spec = with_inertias(cartpole())
    bodies = list(spec.bodies)
    bodies[number] = replace(bodies[number], inertia=inertia)
    return replace(spec, bodies=tuple(bodies))


ROUND = (0.1, 0.1, 0.1)


@pytest.mark.parametrize(
    ("inertia", "words"),
    [
        ((-1.0, ROUND), "got -1.0 as mass"),
        ((math.nan, ROUND), "got nan as mass"),
        ((math.inf, ROUND), "got inf as mass"),
        ((1.0, (-0.1, 0.1, 0.1)), "got -0.1 as moment of inertia"),
        ((1.0, (math.nan, 0.1, 0.1)), "got nan as moment of inertia"),
    ],
)
def test_impossible_inertias_are_refused_with_the_body_named(inertia, words: str):
    """Negative, infinite and undefined masses and moments name the body and what was expected."""
    with pytest.raises(SpecError, match=words) as refusal:
        made(with_inertia(Inertia(inertia[0], (0.0, 0.0, 0.0), inertia[1], (0.0, 0.0, 0.0))))
    assert "expected finite numbers >= 0" in str(refusal.value)


def test_a_robot_that_moves_no_mass_is_refused():
    """Nothing behind a joint: the mass matrix has no inverse, and the error says what is expected."""
    nothing = Inertia(0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match="some motion moves no mass"):
        light = branches(1, 1)
        made(replace(light, bodies=(light.bodies[0], replace(light.bodies[1], inertia=nothing))))
    with pytest.raises(ValueError, match="got no inertia for the bodies"):
        made(with_inertia(None))


def test_a_point_of_mass_swings_as_one():
    """A pole without any moment of inertia is a point at the end of a rod: its swing obeys the pendulum's law."""
    length, dt = 0.7, 1.0e-4
    spec = RobotSpec(
        name="point",
        floating_base=False,
        joints=(Joint("hinge", "revolute", (0.0, 1.0, 0.0), -math.inf, math.inf),),
        bodies=(
            Body("base", inertia=Inertia(1.0, (0.0, 0.0, 0.0), ROUND, (0.0, 0.0, 0.0))),
            Body("bob", "base", "hinge", inertia=Inertia(2.0, (0.0, 0.0, -length), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))),
        ),
        controls=(Control("hinge", "effort"),),
        physics_dt=dt,
        decimation=1,
    )
    mechanics = made(spec).double()
    state = torch.tensor([[0.8, 0.0]]).double()
    change = mechanics(state, torch.zeros(1, 1).double())
    rate = (mechanics.codec.apply(state, change) - state)[0, spec.state.joint_vel] / dt
    assert rate.item() == pytest.approx(-9.81 / length * math.sin(0.8), rel=1e-4)


@pytest.mark.parametrize("field", ["damping", "stiffness", "armature", "effort_limit", "friction"])
@pytest.mark.parametrize("value", [math.nan, -1.0])
def test_gains_that_are_no_numbers_or_negative_are_refused(field: str, value: float):
    """Each number of a drive names the joint and what was expected."""
    spec = with_inertias(cartpole())
    joints = (replace(spec.joints[0], **{field: value}), *spec.joints[1:])
    with pytest.raises(SpecError, match=f"'{spec.joints[0].name}'.*expected"):
        made(replace(spec, joints=joints))


@pytest.mark.parametrize("name", ["mass", "damping", "static_friction"])
def test_one_environment_with_absurd_parameters_is_held_and_the_others_go_on(name: str, monkeypatch):
    """What is no number in one environment holds that one alone; the others move as they would without it."""
    monkeypatch.setenv(verification.SWITCH, "0")
    spec = with_inertias(ant())
    predictor = Predictor(spec, PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0, slots=5))).eval()
    state = random_state(spec, 4, seed=1, spread=0.2)
    state[:, 2] = 0.4
    control = torch.zeros(4, spec.control_dim)
    counts = {"mass": len(spec.bodies), "damping": len(spec.joints), "static_friction": len(spec.slots)}
    values = torch.full((4, counts[name]), 0.5)
    dynamics = NeuralDynamics(predictor, 4, ground=PlaneGround.flat())
    expected = dynamics.step(state, control, parameters=PhysicalParameters(**{name: values}))
    assert not dynamics.held.any()
    values = values.clone()
    values[2] = math.nan
    dynamics.reset()
    found = dynamics.step(state, control, parameters=PhysicalParameters(**{name: values}))
    assert dynamics.held.tolist() == [False, False, True, False]
    assert found.isfinite().all() and torch.equal(found[[0, 1, 3]], expected[[0, 1, 3]])


def branches(joints: int, length: int) -> RobotSpec:
    """Chains of so many equal links each, side by side on a fixed base."""
    inertia = Inertia(1.0, (0.0, 0.0, -0.1), (0.001, 0.001, 0.0005), (0.0, 0.0, 0.0))
    bodies = [Body("base", inertia=inertia)]
    for i in range(joints):
        parent = "base" if i % length == 0 else f"link_{i - 1}"
        bodies.append(Body(f"link_{i}", parent, f"joint_{i}", (0.0, 0.0, -0.2), inertia=inertia))
    names = [f"joint_{i}" for i in range(joints)]
    return RobotSpec(
        name="branches",
        floating_base=False,
        joints=tuple(Joint(name, "revolute", (0.0, 1.0, 0.0), -math.inf, math.inf) for name in names),
        bodies=tuple(bodies),
        controls=(Control(names[0], "effort"),),
        physics_dt=0.001,
        decimation=1,
    )


def test_two_hundred_joints_swing_as_they_should(caplog, monkeypatch):
    """Two hundred pendulums on one base fall as one alone does, each from where it is; no kernel is made for so many,
    and one line says why.
    """
    monkeypatch.delenv(verification.SWITCH, raising=False)
    monkeypatch.setattr(verification, "_warned", set())
    spec = branches(200, 1)
    mechanics = made(spec)
    state = torch.zeros(1, spec.state.dim)
    state[0, :200] = torch.linspace(-1.5, 1.5, 200)
    with torch.no_grad(), caplog.at_level(logging.WARNING):
        change = mechanics(state, torch.zeros(1, 1))
    assert "has 200 velocities, and a kernel takes 128 at most" in caplog.text
    rates = mechanics.codec.apply(state, change)[0, spec.state.joint_vel] / spec.physics_dt
    expected = -9.81 * 0.1 / (0.001 + 0.1**2) * state[0, :200].sin()
    torch.testing.assert_close(rates, expected, rtol=1e-3, atol=1e-2)


def test_a_chain_too_long_for_single_precision_is_refused():
    """The last of 200 links in a row has a ten-millionth of the inertia that the first one moves: it would be lost."""
    with pytest.raises(ValueError, match="others are lost, expected a body with mass behind every joint"):
        made(branches(200, 200))


def test_bodies_of_ten_thousand_triangles_touch_with_the_corners_of_their_hull():
    """A mesh of 10,000 triangles becomes a few slots of its convex hull, the lowest of which touches the ground."""
    generator = torch.Generator().manual_seed(2)
    points = torch.nn.functional.normalize(torch.randn(5002, 3, generator=generator), dim=-1).double().numpy()
    slots = mesh_slots("torso", 0.3 * points, 8, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
    assert len(slots) == 8
    assert all(math.dist(slot.point, (0.0, 0.0, 0.0)) == pytest.approx(0.3, rel=1e-2) for slot in slots)


def test_thousands_of_slots_are_looked_through(monkeypatch):
    """Of as many slots as a specification may have, twins are found in a moment, and those that are nearest touch."""
    monkeypatch.setenv(verification.SWITCH, "0")
    spec = with_inertias(ant())
    points = [(0.001 * (i % 64), 0.001 * (i // 64), 0.0) for i in range(4000)]
    slots = tuple(ContactSlot(spec.bodies[0].name, point, 0.0, "mesh") for point in points)
    spec = replace(spec, slots=(*slots, *slots[:50]))
    assert sorted(outer_slots(spec)) == list(range(4000))
    state = torch.zeros(1, spec.state.dim)
    state[:, spec.state.root_quat.stop - 1], state[:, 2] = 1.0, -0.001
    contacts = ContactModel(spec)(state, PlaneGround.flat())
    change = made(spec)(state.requires_grad_(), torch.zeros(1, spec.control_dim), contacts)
    assert change.isfinite().all()
