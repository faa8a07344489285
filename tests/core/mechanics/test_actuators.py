# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Actuators outside of the engine act in every physics step, by the laws of Isaac Lab, in PyTorch and in the kernel."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from nerd_core.mechanics.actuators import Actuators, interpolated
from nerd_core.mechanics.config import MechanicsCfg
from nerd_core.mechanics.kernel.verification import without_kernels
from nerd_core.mechanics.step import Mechanics
from nerd_core.robot.frames import ChangeCodec
from nerd_core.robot.physical_parameters import PhysicalParameters
from nerd_core.robot.spec import Actuator, ActuatorLaw, Control, Parameter, RobotSpec, SpecError
from support.robots import ant, cartpole, random_state, with_inertias

IDEAL = ActuatorLaw(stiffness=8.0, damping=0.5, effort_limit=6.0)
MOTOR = ActuatorLaw(stiffness=8.0, damping=0.5, effort_limit=6.0, saturation_effort=9.0, velocity_limit=4.0)
TABLE = ActuatorLaw(stiffness=8.0, damping=0.5, effort_table=((-1.0, 1.0), (0.0, 4.0), (1.0, 2.0)))
KINDS = {"IdealPDActuator": IDEAL, "DCMotor": MOTOR, "RemotizedPDActuator": TABLE}


def _driven(spec: RobotSpec, kind: str, law: ActuatorLaw | None) -> RobotSpec:
    """The robot with such an actuator in all joints and targets of all kinds."""
    none = {"stiffness": 0.0, "damping": 0.0}  # of the engine's own drives
    joints = tuple(replace(joint, actuator=Actuator(kind, law=law), wraps=False, **none) for joint in spec.joints)
    kinds = ("effort", "position", "velocity")
    controls = tuple(Control(joint.name, each) for each in kinds for joint in joints)
    return replace(spec, joints=joints, controls=controls)


@pytest.mark.parametrize("kind", KINDS)
def test_efforts_are_those_of_the_law(kind: str):
    """A spring and a damper to the targets and the effort beside them, within the limit, the line of a motor's effort
    over its speed, or the table over positions, at speeds beyond what a motor can reach, too.
    """
    spec = _driven(with_inertias(cartpole()), kind, KINDS[kind])
    generator = torch.Generator().manual_seed(0)
    pos, vel, targets = (4.0 * torch.randn(500, n, generator=generator, dtype=torch.double) for n in (2, 2, 6))
    made = Actuators(spec).double()(targets, pos, vel.t()).t()
    effort, position, velocity = targets.view(500, 3, 2).unbind(1)
    expected = 8.0 * (position - pos) + 0.5 * (velocity - vel) + effort
    if kind == "RemotizedPDActuator":
        largest = torch.where(pos < 0.0, 4.0 + 3.0 * pos.clamp(min=-1.0), 4.0 - 2.0 * pos.clamp(max=1.0))
        assert torch.allclose(made, expected.clamp(-largest, largest))
        return
    lower, upper = torch.full_like(pos, -6.0), torch.full_like(pos, 6.0)
    if kind == "DCMotor":
        speed = vel.clamp(-4.0 * (1.0 + 6.0 / 9.0), 4.0 * (1.0 + 6.0 / 9.0))
        upper, lower = (9.0 * (1.0 - speed / 4.0)).clamp(max=6.0), (9.0 * (-1.0 - speed / 4.0)).clamp(min=-6.0)
        assert float((upper < 0).double().mean()) > 0.05
    assert torch.allclose(made, expected.clamp(lower, upper)) and float((made - expected).abs().max()) > 1.0


def test_efforts_follow_the_state_from_physics_step_to_physics_step():
    """A control step of four physics steps is four control steps of one, each with the effort of its own beginning."""
    whole = replace(_driven(with_inertias(cartpole()), "DCMotor", MOTOR), decimation=4)
    single = replace(whole, decimation=1)
    codec, short = ChangeCodec(whole), ChangeCodec(single)
    state, control = random_state(whole, 32, seed=1).double(), torch.randn(32, 6, dtype=torch.double)
    cfg = MechanicsCfg(substeps=4, hidden=0)
    said = codec.apply(state, Mechanics(whole, codec, cfg, has_contacts=False).double()(state, control))
    one = Mechanics(single, short, cfg, has_contacts=False).double()
    after, held = state, state
    first = one.actuators(control, state[:, :2], state[:, 2:].t())
    for _ in range(4):
        after = short.apply(after, one(after, control))
    plain = replace(single, joints=tuple(replace(joint, actuator=None) for joint in single.joints))
    plain = replace(plain, controls=plain.controls[:2])
    free = Mechanics(plain, short, cfg, has_contacts=False).double()
    for _ in range(4):
        held = short.apply(held, free(held, first.t()))
    assert torch.allclose(said, after, atol=1e-9)
    assert float((said - held).abs().max()) > 1e-2, "an effort that is held over the control step would be another"


@pytest.mark.parametrize("heavier", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_kernel_has_the_same_laws(kind: str, heavier: bool):
    """A kernel is made for a robot with explicit actuators, and says what PyTorch says, for robots of other masses,
    too.
    """
    pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")
    spec = replace(_driven(with_inertias(ant()), kind, KINDS[kind]), slots=())
    state, codec = random_state(spec, 64, seed=2, spread=0.5), ChangeCodec(spec)
    control = torch.randn(64, spec.control_dim, generator=torch.Generator().manual_seed(3))
    mechanics = Mechanics(spec, codec, MechanicsCfg(substeps=4, hidden=0), has_contacts=False)
    masses = torch.tensor([1.5 * body.inertia.mass for body in spec.bodies if body.inertia is not None])
    parameters = PhysicalParameters(mass=masses.expand(64, -1)) if heavier else None
    with torch.no_grad():
        said = mechanics(state, control, None, parameters)
        assert all(robot is not None for robot in mechanics._kernels.values()) and mechanics._kernels
        with without_kernels():
            expected = mechanics(state, control, None, parameters)
            assert float((said - mechanics(state, 0.0 * control, None, parameters)).abs().max()) > 1e-2
    assert float((said - expected).abs().amax(-1).quantile(0.9)) < 1e-3


@pytest.mark.parametrize(
    ("kind", "law"),
    [("DelayedPDActuator", replace(IDEAL, max_delay=3)), ("ActuatorNetLSTM", None), ("SomebodysMotor", None)],
)
def test_actuators_with_a_memory_ask_for_their_efforts(kind: str, law: ActuatorLaw | None):
    """Mechanics of delays, networks and laws that nobody knows can be made, refuse to step by themselves with what to
    do, and take the efforts of a source in every physics step, with the state of that moment.
    """
    spec = replace(_driven(with_inertias(cartpole()), kind, law), decimation=3)
    codec, asked = ChangeCodec(spec), []
    mechanics = Mechanics(spec, codec, MechanicsCfg(substeps=4, hidden=0), has_contacts=False)
    state, control = random_state(spec, 4, seed=1), torch.randn(4, 6)
    with pytest.raises(ValueError, match=rf"2 actuators.*{kind}.*--preset bounded"), torch.no_grad():
        mechanics(state, control)

    def source(step: int, pos: torch.Tensor, vel: torch.Tensor) -> torch.Tensor:
        asked.append((step, pos.clone(), vel.clone()))
        return torch.full((4, 2), 2.0)

    mechanics.actuators.source = source
    with torch.no_grad():
        said = codec.apply(state, mechanics(state, control))
    assert [step for step, _, _ in asked] == [0, 1, 2]
    assert torch.equal(asked[0][1], state[:, :2]) and torch.equal(asked[0][2], state[:, 2:])
    assert not torch.equal(asked[1][1], asked[0][1])
    plain = replace(
        spec, joints=tuple(replace(joint, actuator=None) for joint in spec.joints), controls=spec.controls[:2]
    )
    free = Mechanics(plain, ChangeCodec(plain), MechanicsCfg(substeps=4, hidden=0), has_contacts=False)
    with torch.no_grad():
        assert torch.allclose(said, codec.apply(state, free(state, torch.full((4, 2), 2.0))), atol=1e-6)


def test_a_delay_of_nothing_is_none():
    """An actuator that may delay, by zero physics steps, is stepped by its law."""
    spec = _driven(with_inertias(cartpole()), "DelayedPDActuator", IDEAL)
    assert not Actuators(spec).remembering and Actuators(spec).joints == [0, 1]


def test_specifications_of_before_have_their_law_in_parameters():
    """Without numbers of a law those that are part of the content hash are taken, and the law is not part of it."""
    numbers = {"stiffness": 8.0, "damping": 0.5, "actuator_effort_limit": 6.0, "saturation_effort": 9.0}
    numbers["actuator_velocity_limit"] = 4.0
    spec = _driven(with_inertias(cartpole()), "DCMotor", None)
    parameters = tuple(Parameter(*each) for each in numbers.items())
    old = replace(spec, joints=tuple(replace(each, actuator=Actuator("DCMotor", parameters)) for each in spec.joints))
    both = Actuator("DCMotor", parameters, law=MOTOR)
    new = replace(old, joints=tuple(replace(each, actuator=both) for each in old.joints))
    assert Actuators(old).laws == Actuators(new).laws == [MOTOR, MOTOR]
    assert old.content_hash == new.content_hash and RobotSpec.from_json(new.to_json()) == new


@pytest.mark.parametrize(
    "law",
    [
        replace(IDEAL, stiffness=-1.0),
        replace(IDEAL, effort_limit=math.nan),
        replace(MOTOR, velocity_limit=0.0),
        replace(IDEAL, max_delay=-1),
        replace(TABLE, effort_table=((0.0, 1.0), (0.0, 2.0))),
        replace(TABLE, effort_table=((0.0, -1.0),)),
        replace(TABLE, effort_table=((0.0, math.inf),)),
    ],
)
def test_laws_that_no_actuator_has_are_refused(law: ActuatorLaw):
    """Negative gains and delays, motors without speed, and tables that do not rise or are not numbers are refused by
    the name of the joint.
    """
    with pytest.raises(SpecError, match="slide"):
        _driven(with_inertias(cartpole()), "DCMotor", law)


def test_a_table_is_read_between_its_rows():
    """Values between two rows are on the line between them, beyond the ends they stay; one row is a constant."""
    table = torch.tensor([[-1.0, 0.0, 2.0], [1.0, 4.0, 2.0]])
    at = torch.tensor([-5.0, -1.0, -0.5, 0.0, 1.0, 2.0, 9.0])
    assert torch.allclose(interpolated(table, at), torch.tensor([1.0, 1.0, 2.5, 4.0, 3.0, 2.0, 2.0]))
    assert torch.equal(interpolated(table[:, :1], at), torch.ones(7))
