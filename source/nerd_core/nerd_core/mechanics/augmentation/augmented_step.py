# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A control step of mechanics with networks in it.

Before each physics step the networks see the quantities of its beginning and change some. What they changed goes in as
what a step takes anyway: efforts as controls, wrenches, masses, gains and friction as physical parameters, distances as
contacts. So the step itself is that of :class:`~nerd_core.mechanics.step.Mechanics`, and the kernel takes it as ever.
Its adjoint pulls gradients back to efforts and distances; where a network changes anything else they flow through
PyTorch, and one line says so.

Example::

    mechanics = AugmentedMechanics(spec, ChangeCodec(spec), MechanicsCfg(blueprints=(blueprint,)))
    change = mechanics(state, control, contacts)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import override

import torch
from torch import Tensor

from ...contact.contacts import ContactModel, Contacts
from ...robot.frames import ChangeCodec
from ...robot.parts import Control
from ...robot.physical_parameters import PhysicalParameters
from ...robot.spec import RobotSpec
from ..actuators import is_explicit
from ..altered import altered
from ..config import MechanicsCfg
from ..constraint_solver import ConstraintSolver
from ..forces import BodyForces
from ..step import Mechanics
from .augmentation import Augmentation, BlueprintNetworks
from .quantities import PARAMETERS
from .readings import Readings, advanced

OF_RIGID_CONTACTS = frozenset({"static_friction", "dynamic_friction", "restitution"})
"""Quantities that only the solver of rigid contacts takes."""

WRENCHES = frozenset({"external_force", "external_torque", "body_force", "body_torque", "slot_force"})
"""Quantities that become external forces and torques on bodies."""


class AugmentedMechanics(Mechanics):
    """The mechanics of one robot with networks that change quantities of each physics step."""

    _port_columns: Tensor
    _port_joints: Tensor

    def __init__(self, spec: RobotSpec, codec: ChangeCodec, cfg: MechanicsCfg, has_contacts: bool = True):
        """Makes the mechanics and the networks.

        Args:
            spec: The robot, with the inertias of its bodies.
            codec: Writes changes of state.
            cfg: Settings of mechanics, with blueprints.
            has_contacts: Whether the robot may touch the ground.
        """
        ported = with_efforts(spec)
        super().__init__(replace(ported, decimation=1), codec, cfg, has_contacts)
        self._decimation, self._passed = spec.decimation, 0
        self._control_dim = len(spec.controls)
        columns = {each.joint: i for i, each in enumerate(ported.controls) if each.kind == "effort"}
        ports = [i for i in range(len(spec.joints)) if i not in self.actuators.joints]
        places = torch.tensor([columns[spec.joint_names[i]] for i in ports], dtype=torch.long)
        self.register_buffer("_port_columns", places, persistent=False)
        self.register_buffer("_port_joints", torch.tensor(ports, dtype=torch.long), persistent=False)
        self._slots = ContactModel(spec) if spec.slots and spec.decimation > 1 else None
        self.augmentation = Augmentation(self.multibody, cfg.blueprints)
        """The networks."""
        self._require_rigid_contacts()

    @property
    @override
    def has_memory(self) -> bool:
        return False  # each physics step is a step by itself, between which networks change what it is made of

    @override
    def forward(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None = None,
        parameters: PhysicalParameters | None = None,
    ) -> Tensor:
        return self._all_steps(state, control, contacts, parameters)

    @override
    def with_forces(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None = None,
        parameters: PhysicalParameters | None = None,
        joints: bool = True,
        memory: Tensor | None = None,
    ) -> tuple[Tensor, BodyForces]:
        found: list[BodyForces] = []

        def take(state: Tensor, control: Tensor, contacts: Contacts | None, rows: PhysicalParameters | None) -> Tensor:
            next_state, forces = self._taken_with_forces(state, control, contacts, rows, joints)
            found.append(forces)
            return next_state

        change = self._all_steps(state, control, contacts, parameters, take)
        normal, friction = (torch.cat(each, 1) for each in zip(*(each[:2] for each in found), strict=True))
        forces = found[-1]._replace(normal=normal, friction=friction)
        return change, forces.map(lambda each: each.reshape(*state.shape[:-1], *each.shape[1:]))

    def _all_steps(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        parameters: PhysicalParameters | None,
        take: Callable[..., Tensor] | None = None,
    ) -> Tensor:
        """The change of state in a control step, whose physics steps ``take`` takes, if it is given."""
        lead, state, control, contacts, rows = self._flat(state, control, contacts, parameters)
        place = self.spec.state.root_pos
        # From a root at the origin: nothing depends on where it is.
        begin = now = torch.cat((torch.zeros_like(state[:, place]), state[:, place.stop :]), dim=-1)
        near = contacts
        for number in range(self._decimation):
            self._passed = number
            if number and contacts is not None and self._slots is not None:
                near = advanced(contacts, self._slots, begin, now)
            following = self._physics_step(now, control, near, rows, take)
            moved = now[:, place] + following[:, place]
            now = torch.cat((moved, following[:, place.stop :]), dim=-1)
        self._passed = 0
        return self._change(state, now).reshape(*lead, self.codec.dim)

    def changed_by(self, networks: BlueprintNetworks, said: Tensor, state: Tensor, control: Tensor) -> Tensor:
        """The change of state if some networks said something given, and the others nothing, shape (M, D).

        Args:
            networks: Some of the networks.
            said: What they say in their units, shape (1 or M, E, outputs).
            state: States, shape (M, S).
            control: Controls, shape (M, C).
        """
        found = altered(self, {}, _augment=lambda readings: networks.put(readings, said))
        return found(state, control)

    @override
    def update_statistics(self, state: Tensor, control: Tensor, contacts: Contacts | None = None) -> None:
        """Takes states into the units of what the networks see; arguments as of :meth:`forward`."""
        readings = self.readings(state, control, contacts)
        for each in self.augmentation.networks_of():
            each.update_statistics(readings)

    @override
    def finalise_statistics(self) -> None:
        """Sets the units of what the networks see."""
        for each in self.augmentation.networks_of():
            each.finalise_statistics()

    @override
    def penalty(self) -> Tensor | float:
        return self.augmentation.penalty()

    def readings(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None = None,
        parameters: PhysicalParameters | None = None,
    ) -> Readings:
        """The quantities of some states, as they are without networks; arguments as of :meth:`forward`."""
        _, state, control, contacts, rows = self._flat(state, control, contacts, parameters)
        return Readings(self, state, control, contacts, rows)

    def _require_rigid_contacts(self) -> None:
        """Raises ValueError for a blueprint of numbers that contacts which give way do not have."""
        terms = [term for each in self.augmentation.networks_of() for term in each.blueprint.terms()]
        strange = sorted({each.quantity.name for each in terms if each.quantity.name in OF_RIGID_CONTACTS})
        if strange and not isinstance(self.solver, ConstraintSolver):
            raise ValueError(
                f"got blueprints with {', '.join(strange)} for contacts that give way, which have a law of their own, "
                "expected other quantities, as slot_force, or --prior mechanics"
            )

    def _physics_step(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        rows: PhysicalParameters | None,
        take: Callable[..., Tensor] | None = None,
    ) -> Tensor:
        """States one physics step later, the root's position counted from where it began."""
        readings = Readings(self, state, control, contacts, rows)
        self._augment(readings)
        control, contacts = self._changed_controls(readings, control), _contacts(readings, contacts)
        rows = self._changed_parameters(readings, rows)
        if take is not None:
            return take(state, control, contacts, rows)
        return self._step_for(state, control, contacts, rows)(state, control, contacts)

    def _augment(self, readings: Readings) -> None:
        """Changes the quantities of a physics step, in place."""
        self.augmentation(readings)

    @override
    def _flat_control(self, control: Tensor, count: int) -> Tensor:
        """Controls with one more for each joint without an effort among them, shape (M, controls and ports)."""
        control = control.reshape(count, self._control_dim)
        return torch.nn.functional.pad(control, (0, len(self.spec.controls) - self._control_dim))

    def _changed_controls(self, readings: Readings, control: Tensor) -> Tensor:
        """Controls with efforts as they were changed."""
        if "joint_torque" not in readings.changed:
            return control
        added = readings["joint_torque"] - readings.unchanged("joint_torque")
        return control.index_add(1, self._port_columns, added.squeeze(-1).index_select(1, self._port_joints))

    def _changed_parameters(self, readings: Readings, rows: PhysicalParameters | None) -> PhysicalParameters | None:
        """Physical parameters with what was changed; None for those of the specification."""
        found: dict[str, Tensor] = {}
        for name in readings.changed - WRENCHES:
            if name in PARAMETERS:
                found[name] = _parameter(readings, name)
        through_bodies = "joint_torque" in readings.changed and bool(self.actuators.joints)
        if readings.changed & WRENCHES or through_bodies:
            force, torque = readings["external_force"], readings["external_torque"]
            if {"body_force", "body_torque"} & readings.changed:
                force = force + readings.in_environment(readings["body_force"])
                torque = torque + readings.in_environment(readings["body_torque"])
            if "slot_force" in readings.changed:
                pushed, arms = readings["slot_force"], readings.slot_arms()
                force = force.index_add(1, readings.slot_bodies, pushed)
                torque = torque.index_add(1, readings.slot_bodies, torch.linalg.cross(arms, pushed))
            if through_bodies:
                added = readings["joint_torque"] - readings.unchanged("joint_torque")
                forces, torques = readings.joint_wrenches(added.index_fill(1, self._port_joints, 0.0))
                force, torque = force + forces, torque + torques
            found |= {"external_force": force, "external_torque": torque}
        return replace(rows or PhysicalParameters(), **found) if found else rows

    @override
    def _pushed(
        self, effort: Tensor, control: Tensor, joint_pos: Tensor, velocity: Tensor, physics_step: int
    ) -> Tensor:
        return super()._pushed(effort, control, joint_pos, velocity, self._passed + physics_step)


def with_efforts(spec: RobotSpec) -> RobotSpec:
    """A robot with an effort among the controls of each joint, but for those of actuators outside of the engine, whose
    law takes it.

    Args:
        spec: The robot.
    """
    has = {each.joint for each in spec.controls if each.kind == "effort"}
    lacking = [joint.name for joint in spec.joints if joint.name not in has and not is_explicit(joint)]
    return replace(spec, controls=(*spec.controls, *(Control(name, "effort") for name in lacking)))


def make_mechanics(spec: RobotSpec, codec: ChangeCodec, cfg: MechanicsCfg, has_contacts: bool = True) -> Mechanics:
    """Mechanics, with networks in them where settings have blueprints; arguments as of :class:`Mechanics`."""
    return (AugmentedMechanics if cfg.blueprints else Mechanics)(spec, codec, cfg, has_contacts)


def _contacts(readings: Readings, contacts: Contacts | None) -> Contacts | None:
    """Contacts with distances as they were changed, where the ground is near."""
    if contacts is None or "contact_distance" not in readings.changed:
        return contacts
    added = (readings["contact_distance"] - readings.unchanged("contact_distance")).squeeze(-1)
    return replace(contacts, distance=contacts.distance + added * contacts.active)


def _parameter(readings: Readings, name: str) -> Tensor:
    """A changed quantity as a physical parameter, shape (M, ...)."""
    value = readings[name]
    if name == "inertia":
        full = readings.inertia_matrix()
        return full + torch.diag_embed(value - full.diagonal(dim1=-2, dim2=-1))
    if name == "gravity":
        return value[:, 0]
    return value if name == "centre_of_mass" else value.squeeze(-1)


__all__ = ["AugmentedMechanics", "make_mechanics", "with_efforts"]
