# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Values of the named quantities in some states, and how large they usually are.

Each is computed when it is first asked for. What a blueprint has changed is what the ones behind it see.

Example::

    readings = Readings(mechanics, state, control, contacts, rows)
    readings["body_lin_vel"]    # (M, B, 3)
    readings["joint_torque"] = readings["joint_torque"] - 0.1 * readings["joint_vel"]
    readings.changed            # {"joint_torque"}
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ...contact.contacts import ContactModel, Contacts
from ...robot.kinematics import rotation_columns
from ...robot.physical_parameters import PhysicalParameters, specified
from ..constraint_solver import ConstraintSolver
from ..multibody import BodyFrames, BodyMotion, Multibody
from ..vectors import cross, rotate, rotate_inverse
from .quantities import PARAMETERS, QUANTITIES, quantity

if TYPE_CHECKING:
    from ..step import Mechanics

USUAL_ACCELERATION = 10.0
"""Acceleration by which the sizes of forces are told [rad/s^2 or m/s^2]."""


class Readings:
    """Named quantities of ``M`` states, each of shape (M, joints or bodies or slots or 1, width)."""

    def __init__(
        self,
        mechanics: Mechanics,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        rows: PhysicalParameters | None,
    ):
        """Keeps what the quantities are read from.

        Args:
            mechanics: The mechanics.
            state: States at the beginning of a physics step, shape (M, S).
            control: Controls, shape (M, C).
            contacts: Contacts of the states, leading dimension (M,); None for a robot that touches nothing.
            rows: What differs from the specification; None for nothing.
        """
        self._mechanics, self._spec = mechanics, mechanics.spec
        self._state, self._control, self._contacts = state, control, contacts
        self._rows = rows or PhysicalParameters()
        self._multibody = mechanics.multibody if rows is None else mechanics.multibody.with_parameters(rows)
        self._known: dict[str, Tensor] = {}
        self._count = state.shape[0]  # not its length, which would be fixed in an exported program
        self.changed: set[str] = set()
        """Names of the quantities that were set."""

    def __getitem__(self, name: str) -> Tensor:
        if name not in self._known:
            self._known[name] = self._read(name)
        return self._known[name]

    def __setitem__(self, name: str, value: Tensor) -> None:
        self._known[name] = value
        self.changed.add(name)

    def unchanged(self, name: str) -> Tensor:
        """The value of a quantity before anything was changed."""
        return self._read(name)

    def in_environment(self, of_bodies: Tensor) -> Tensor:
        """Vectors from the axes of the bodies to those of the environment, shape (M, B, 3)."""
        turned = (self._body_rotation * of_bodies.permute(1, 2, 0).unsqueeze(1)).sum(2)
        return self._to_environment(turned).permute(2, 0, 1)

    def joint_wrenches(self, effort: Tensor) -> tuple[Tensor, Tensor]:
        """Forces and torques on all bodies, environment axes, that do what efforts on joints do: one on the body behind
        a joint and its opposite on the body before it, each of shape (M, B, 3).

        Args:
            effort: Efforts on all joints [N m or N], shape (M, J, 1).
        """
        spec, frames = self._spec, self._frames
        child = [next(i for i, body in enumerate(spec.bodies) if body.joint == name) for name in spec.joint_names]
        parent = [spec.body_names.index(str(spec.bodies[i].parent)) for i in child]
        behind, before = (torch.tensor(each, device=effort.device) for each in (child, parent))
        apart = frames.centres_of_mass[behind] - frames.centres_of_mass[before]
        axes, apart = (self._to_environment(each).permute(2, 0, 1) for each in (frames.joint_axes, apart))
        turns = torch.tensor([joint.kind == "revolute" for joint in spec.joints], device=effort.device).unsqueeze(-1)
        pushed = effort * axes
        force, torque = pushed.masked_fill(turns, 0.0), pushed.masked_fill(~turns, 0.0)
        none = effort.new_zeros(self._count, len(spec.bodies), 3)
        forces = none.index_add(1, behind, force).index_add(1, before, -force)
        torques = none.index_add(1, behind, torque)
        return forces, torques.index_add(1, before, -torque - torch.linalg.cross(apart, force))

    @cached_property
    def slot_bodies(self) -> Tensor:
        """Numbers of the bodies that carry the slots, shape (slots,)."""
        names = self._spec.body_names
        return torch.tensor([names.index(slot.body) for slot in self._spec.slots], device=self._state.device)

    def inertia_matrix(self) -> Tensor:
        """Inertias of the bodies before anything was changed [kg m^2], shape (M, B, 3, 3)."""
        given = self._rows.inertia
        return (self.specified("inertia") if given is None else given).expand(self._count, -1, -1, -1)

    def slot_arms(self) -> Tensor:
        """From the centre of mass of each slot's body to the point of the slot next to the ground, environment axes
        [m], shape (M, slots, 3).
        """
        arm = self._slot_centres - self._frames.centres_of_mass[self.slot_bodies]
        arm = self._to_environment(arm).permute(2, 0, 1)
        if self._contacts is None:
            return arm
        radius = arm.new_tensor([slot.radius for slot in self._spec.slots])
        return arm - radius.unsqueeze(-1) * self._contacts.normal

    # -- inside ----------------------------------------------------------------------------------------------------

    def _read(self, name: str) -> Tensor:
        each = quantity(name)
        if name in PARAMETERS:
            return self._parameter(name)
        readers: dict[str, Callable[[], Tensor]] = {
            "joint_pos": lambda: self._state[:, self._spec.state.joint_pos].unsqueeze(-1),
            "joint_vel": lambda: self._state[:, self._spec.state.joint_vel].unsqueeze(-1),
            "root_lin_vel": lambda: self._of_root(slice(0, 3)),
            "root_ang_vel": lambda: self._of_root(slice(3, 6)),
            "body_pos": lambda: self._frames.centres_of_mass.permute(2, 0, 1),
            "body_down": lambda: self._in_bodies(self._down.expand(len(self._spec.bodies), 3, -1)),
            "body_lin_vel": lambda: self._in_bodies(self._motion.linear_velocity),
            "body_ang_vel": lambda: self._in_bodies(self._motion.angular_velocity),
            "slot_vel": self._slot_velocity,
            "joint_torque": self._joint_torque,
            "contact_distance": self._contact_distance,
        }
        if name in readers:
            return readers[name]()
        if name.endswith("_target"):
            return self._control_of(name.removesuffix("_target"))
        count = len(self._spec.slots) if each.per == "slot" else len(self._spec.bodies)
        return self._state.new_zeros(self._count, count, each.width)  # forces that only blueprints add

    @cached_property
    def _specification(self) -> PhysicalParameters:
        return specified(self._spec).map(lambda each: each.to(self._state))

    @property
    def _friction(self) -> Tensor:
        """The learned coefficient of friction of contacts at rest, shape ()."""
        solver = self._mechanics.solver
        assert isinstance(solver, ConstraintSolver)  # AugmentedMechanics has refused others
        return solver.friction.to(self._state)

    @cached_property
    def _rotation(self) -> Tensor | None:
        """Rotation matrices of the root, shape (3, 3, M)."""
        if not self._spec.floating_base:
            return None
        return rotation_columns(self._state[:, self._spec.state.root_quat].t()).contiguous()

    @cached_property
    def _frames(self) -> BodyFrames:
        return self._multibody.frames(self._state[:, self._spec.state.joint_pos])

    @cached_property
    def _body_rotation(self) -> Tensor:
        """Axes of the bodies in those of the root, shape (B, 3, 3, M)."""
        return self._frames.transforms[:, :, :3]

    @cached_property
    def _velocity(self) -> Tensor:
        return self._multibody.generalised_velocity(self._state, self._rotation)

    @cached_property
    def _motion(self) -> BodyMotion:
        return self._multibody.motion(self._frames, self._velocity)

    @cached_property
    def _down(self) -> Tensor:
        """Direction of gravity in the axes of the root, shape (3, M); zero without gravity."""
        gravity = self._parameter("gravity")[:, 0].t()
        down = gravity / gravity.norm(dim=0, keepdim=True).clamp(min=1.0e-6)
        return down if self._rotation is None else rotate_inverse(self._rotation, down)

    @cached_property
    def _slot_centres(self) -> Tensor:
        """Centres of all slots in the axes of the root [m], shape (slots, 3, M)."""
        points = self._state.new_tensor([slot.point for slot in self._spec.slots]).unsqueeze(-1)
        return self._multibody.place_points(self._frames, self.slot_bodies, points)

    def _to_environment(self, of_root: Tensor) -> Tensor:
        """Vectors of shape (..., 3, M) from the axes of the root to those of the environment."""
        return of_root if self._rotation is None else rotate(self._rotation, of_root)

    def _in_bodies(self, of_root: Tensor) -> Tensor:
        """Vectors of bodies, shape (B, 3, M), from the axes of the root to their own, shape (M, B, 3)."""
        return (self._body_rotation * of_root.unsqueeze(2)).sum(1).permute(2, 0, 1)

    def _of_root(self, part: slice) -> Tensor:
        """Velocities of the root in its axes, shape (M, 1, 3); zero for a fixed base."""
        if not self._spec.floating_base:
            return self._state.new_zeros(self._count, 1, 3)
        return self._velocity[part].t().unsqueeze(1)

    def _slot_velocity(self) -> Tensor:
        centres, body = self._slot_centres, self.slot_bodies
        angular, linear = self._motion.angular_velocity[body], self._motion.linear_velocity[body]
        moved = linear + cross(angular, centres - self._frames.centres_of_mass[body])
        return self._to_environment(moved).permute(2, 0, 1)

    def _control_of(self, kind: str) -> Tensor:
        """What controls of a kind ask of each joint, shape (M, J, 1)."""
        found = self._state.new_zeros(self._count, len(self._spec.joints), 1)
        columns = [i for i, each in enumerate(self._spec.controls) if each.kind == kind]
        joints = [self._spec.joint_names.index(self._spec.controls[i].joint) for i in columns]
        if not columns:
            return found
        return found.index_copy(1, torch.tensor(joints, device=found.device), self._control[:, columns].unsqueeze(-1))

    def _joint_torque(self) -> Tensor:
        """Efforts on joints by controls, and by actuators outside of the engine, but for those with a memory, whose
        efforts are not known before the step.
        """
        actuators, at = self._mechanics.actuators, self._spec.state
        effort = self._control_of("effort")
        if not actuators.joints:
            return effort
        joints = torch.tensor(actuators.joints, device=effort.device)
        if actuators.source is not None or actuators.remembering:
            return effort.index_fill(1, joints, 0.0)
        made = actuators(self._control, self._state[:, at.joint_pos], self._state[:, at.joint_vel].t())
        return effort.index_copy(1, joints, made.t().unsqueeze(-1))

    def _contact_distance(self) -> Tensor:
        """Gaps of slots, with their gate where the ground is far, shape (M, slots, 1)."""
        spec = self._spec
        gate = self._state.new_tensor([slot.gate for slot in spec.slots])
        radius = self._state.new_tensor([slot.radius for slot in spec.slots])
        if self._contacts is None:
            return gate.expand(self._count, -1).unsqueeze(-1)
        return torch.where(self._contacts.active, self._contacts.distance - radius, gate).unsqueeze(-1)

    def _parameter(self, name: str) -> Tensor:
        """A physical parameter as it is given, or as the specification has it, shape (M, elements, width)."""
        given: Tensor | None = getattr(self._rows, name)
        if given is None:
            given = self.specified(name).unsqueeze(0)
        if name == "inertia":
            given = given.diagonal(dim1=-2, dim2=-1)
        each, count = QUANTITIES[name], self._count
        elements = {"joint": len(self._spec.joints), "body": len(self._spec.bodies), "slot": len(self._spec.slots)}
        return given.reshape(given.shape[0], elements.get(each.per, 1), each.width).expand(count, -1, -1)

    def specified(self, name: str) -> Tensor:
        """A physical parameter without leading dimensions, as mechanics have it where nobody gives one."""
        found = getattr(self._specification, name)
        if found is not None:
            return found
        slots, bodies = len(self._spec.slots), len(self._spec.bodies)
        if name in ("static_friction", "dynamic_friction"):
            return self._friction.expand(slots)
        return self._state.new_zeros((slots,) if name == "restitution" else (bodies, 3))


@torch.no_grad()
def usual(multibody: Multibody) -> dict[str, Tensor]:
    """How large changes of quantities usually are for a robot, each of shape (elements or 1, width).

    Forces are what accelerates a joint or a body by :data:`USUAL_ACCELERATION`, with all else free; gains, friction and
    armature are of the size of the inertia that a joint feels.

    Args:
        multibody: The bodies of the robot.
    """
    spec = multibody.spec
    parameters, slots = specified(spec), len(spec.slots)
    assert parameters.mass is not None and parameters.inertia is not None
    middle = [0.5 * (j.lower + j.upper) if math.isfinite(j.upper - j.lower) else 0.0 for j in spec.joints]
    jacobian = multibody.mass_weighted_jacobian(multibody.frames(torch.tensor([middle])))
    armature = torch.tensor([joint.armature for joint in spec.joints])
    felt = (jacobian[multibody.root_dim :].square().sum((1, 2, 3)) + armature).unsqueeze(-1)
    mass = parameters.mass.unsqueeze(-1).clamp(min=1.0e-6)
    moments = parameters.inertia.diagonal(dim1=-2, dim2=-1)
    size = (moments.sum(-1, keepdim=True) / (3.0 * mass)).sqrt()  # of a body [m]
    ones = {"joint": torch.ones(len(spec.joints), 1), "slot": torch.ones(slots, 1), "body": torch.ones(len(mass), 1)}
    force, torque = USUAL_ACCELERATION * mass, USUAL_ACCELERATION * moments.mean(-1, keepdim=True).clamp(min=1.0e-9)
    of_joint = USUAL_ACCELERATION * felt
    return {
        "gravity": torch.ones(1, 1),
        "mass": mass,
        "centre_of_mass": size,
        "inertia": moments,
        "armature": felt,
        "joint_torque": of_joint,
        "body_force": force,
        "body_torque": torque,
        "external_force": force,
        "external_torque": torque,
        "slot_force": USUAL_ACCELERATION * mass.sum() * ones["slot"],
        "contact_distance": 0.005 * ones["slot"],
        "static_friction": 0.5 * ones["slot"],
        "dynamic_friction": 0.5 * ones["slot"],
        "restitution": 0.3 * ones["slot"],
        "stiffness": of_joint,
        "damping": felt,
        "effort_limit": of_joint,
        "velocity_limit": 10.0 * ones["joint"],
        "joint_friction": 0.1 * of_joint,
        "joint_dynamic_friction": 0.1 * of_joint,
        "joint_viscous_friction": felt,
        "lower_limit": 0.1 * ones["joint"],
        "upper_limit": 0.1 * ones["joint"],
    }


def advanced(contacts: Contacts, model: ContactModel, before: Tensor, after: Tensor) -> Contacts:
    """Contacts of states some physics steps later in a control step, for which the ground below a slot is a plane.

    Args:
        contacts: Contacts of the states of the beginning, leading dimension (M,).
        model: Where slots are.
        before: States of the beginning, shape (M, S).
        after: States of now, shape (M, S).
    """
    moved = model.slot_points(after) - model.slot_points(before)
    distance = contacts.distance + (contacts.normal * moved).sum(-1)
    return Contacts(distance, contacts.normal, contacts.point, contacts.active)


__all__ = ["USUAL_ACCELERATION", "Readings", "advanced", "usual"]
