# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Robots that have everything of which the adjoint of the kernel knows, in situations in which it matters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from nerd_core.contact.contacts import ContactModel, Contacts
from nerd_core.contact.grounds import PlaneGround
from nerd_core.mechanics.config import MechanicsCfg
from nerd_core.mechanics.step import Mechanics
from nerd_core.robot.frames import ChangeCodec
from nerd_core.robot.spec import Actuator, ActuatorLaw, Control, Mimic, RobotSpec
from support.robots import ant, driven, random_state, random_tree, with_inertias

CONSTANTS = MechanicsCfg(substeps=4, hidden=0, slots=32, constraint_law="fitted")
ENGINE = replace(CONSTANTS, constraint_law="engine")
ENVS = 96


def busy_tree(seed: int, floating: bool) -> RobotSpec:
    """A random tree whose joints have drives of all kinds, friction, limits and stops, and whose bodies are damped,
    slowed and weightless.
    """
    spec = driven(with_inertias(random_tree(seed, floating=floating)), lower=-0.5, upper=0.8, wraps=False)
    of_joints = (
        {"stiffness": 3.0e3, "effort_limit": 0.5},
        {"friction": 0.01, "dynamic_friction": 0.008, "viscous_friction": 0.1},
        {"friction": 50.0, "dynamic_friction": 1.0},
        {"velocity_limit": 0.2},
        {"drive": "acceleration"},
        {"lower": 0.0, "upper": 5.0},
        {},
    )
    of_bodies = (
        {"linear_damping": 0.5, "angular_damping": 0.7},
        {"max_linear_velocity": 0.4, "max_angular_velocity": 0.5},
        {"has_gravity": False},
        {},
    )
    joints = tuple(replace(each, **of_joints[i % 7]) for i, each in enumerate(spec.joints))  # pyright: ignore
    bodies = tuple(replace(each, **of_bodies[i % 4]) for i, each in enumerate(spec.bodies))
    return replace(spec, joints=joints, bodies=bodies)


def finger_tree(seed: int, floating: bool) -> RobotSpec:
    """A random tree in which one joint follows another firmly, and one does so by a spring."""
    spec = driven(with_inertias(random_tree(seed, floating=floating)), lower=-0.5, upper=0.8, wraps=False)
    mimics = {2: Mimic(spec.joint_names[0], 0.7, 0.1), 3: Mimic(spec.joint_names[1], -1.0, 0.0, 30.0, 0.7)}
    joints = tuple(
        replace(each, mimic=mimics[i], stiffness=0.0, damping=0.0) if i in mimics else each
        for i, each in enumerate(spec.joints)
    )
    return replace(spec, joints=joints, controls=tuple(Control(each.name, "effort") for each in joints))


def stopped_tree(seed: int, floating: bool) -> RobotSpec:
    """A random tree of hinges and slides with stops, and drives that only brake."""
    spec = with_inertias(random_tree(seed, floating=floating))
    return replace(spec, joints=tuple(replace(each, lower=-0.5, upper=0.8, wraps=False) for each in spec.joints))


MOTORS = (
    Actuator("DCMotor", law=ActuatorLaw(8.0, 0.5, effort_limit=6.0, saturation_effort=7.0, velocity_limit=1.0)),
    Actuator("IdealPDActuator", law=ActuatorLaw(8.0, 0.5, effort_limit=6.0)),
    Actuator("RemotizedPDActuator", law=ActuatorLaw(8.0, 0.5, effort_table=((-0.6, 1.0), (0.0, 4.0), (0.7, 2.0)))),
    None,
)


def motor_tree(seed: int, floating: bool) -> RobotSpec:
    """A small random tree whose joints have motors outside of the engine, by all their laws in turn, but for one in
    four that has a drive of the engine, with targets of all kinds.
    """
    tree = with_inertias(random_tree(seed, bodies=7, floating=floating))
    spec = driven(tree, lower=-1.0, upper=1.0, wraps=False, stiffness=3.0, damping=0.5)
    joints = []
    for i, joint in enumerate(spec.joints):
        motor = MOTORS[i % len(MOTORS)]
        joints.append(joint if motor is None else replace(joint, actuator=motor, stiffness=0.0, damping=0.0))
    return replace(spec, joints=tuple(joints))


CASES = {
    "ant with rules": (with_inertias(ant()), replace(CONSTANTS, hidden=16)),
    "ant whose friction slides": (replace(with_inertias(ant()), decimation=1), CONSTANTS),
    "stops, floating": (stopped_tree(1, True), replace(CONSTANTS, hidden=8, substeps=2)),
    "stops, fixed": (stopped_tree(3, False), replace(CONSTANTS, hidden=8, substeps=1)),
    "drives and damping, floating": (busy_tree(3, True), CONSTANTS),
    "drives and damping, fixed": (busy_tree(3, False), CONSTANTS),
    "followers, floating": (finger_tree(2, True), CONSTANTS),
    "engine: ant with rules": (with_inertias(ant()), replace(ENGINE, hidden=16)),
    "engine: ant whose friction slides": (replace(with_inertias(ant()), decimation=1), ENGINE),
    "engine: stops, floating": (stopped_tree(1, True), replace(ENGINE, hidden=8, substeps=2)),
    "engine: stops, fixed": (stopped_tree(3, False), replace(ENGINE, hidden=8, substeps=3)),
    "engine: drives and damping, floating": (busy_tree(3, True), ENGINE),
    "engine: followers, floating": (finger_tree(2, True), ENGINE),
    "engine: motors, floating": (motor_tree(6, True), replace(ENGINE, substeps=2)),
    "motors, fixed": (motor_tree(4, False), replace(CONSTANTS, substeps=2)),
}


def mechanics_of(spec: RobotSpec, cfg: MechanicsCfg) -> Mechanics:
    """Mechanics with other constants than those of the beginning, and rules that change them strongly."""
    torch.manual_seed(0)
    mechanics = Mechanics(spec, ChangeCodec(spec), cfg, has_contacts=bool(spec.slots))
    with torch.no_grad():
        for name, param in mechanics.named_parameters():
            param.add_((0.1 if name.endswith("constants") else 0.3) * torch.randn_like(param))
    return mechanics


def situation(spec: RobotSpec, count: int = ENVS) -> tuple[torch.Tensor, torch.Tensor, Contacts | None]:
    """States of which some touch a slope, some lean on stops and some do neither, with controls and contacts.
    Orientations are not quite of length one, for gradients count there, too.
    """
    state = random_state(spec, count, seed=4, spread=0.5 if spec.floating_base else 0.2)
    ground = PlaneGround(torch.nn.functional.normalize(torch.tensor([[0.1, 0.2, 1.0]])), torch.zeros(1))
    control = torch.randn(count, spec.control_dim, generator=torch.Generator().manual_seed(5))
    if spec.floating_base:
        state[:, 2] = torch.linspace(-0.05, 1.5, count)
        state[:, spec.state.root_quat] *= 1.1
    contacts = ContactModel(spec)(state, ground) if spec.slots else None
    if contacts is not None and not spec.floating_base:  # a fixed base may stand deep in the ground: no such contacts
        contacts = replace(contacts, distance=contacts.distance.clamp(min=-0.01))
    return state, control, contacts


def doubled(contacts: Contacts | None) -> Contacts | None:
    """Contacts in double precision."""
    return None if contacts is None else contacts.map(lambda x: x if x.dtype == torch.bool else x.double())


def with_kernel(mechanics: Mechanics) -> Callable:
    """The step of mechanics, which fails where PyTorch would have to step in."""

    def step(*args: torch.Tensor | Contacts | None) -> torch.Tensor:
        said = mechanics(*args)
        assert mechanics._gradients and all(each is not None for each in mechanics._gradients.values())
        return said

    return step


def apart(ours: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
    """Difference of derivatives in each environment, as a share of their size."""
    size = truth.reshape(len(truth), -1).norm(dim=-1)
    return (ours - truth).reshape(len(truth), -1).norm(dim=-1) / (size + 1.0e-3 * size.mean() + 1.0e-12)
