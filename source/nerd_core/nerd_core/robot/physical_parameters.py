# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Physical parameters of a robot that differ from those of its specification, per environment.

A specification says what a robot weighs and how its joints are driven. Where environments differ, or the numbers are
looked for, they are inputs of a step. Gradients flow to each of them.

Example::

    mass = torch.tensor([body.inertia.mass for body in spec.bodies]) * (0.8 + 0.4 * torch.rand(64, len(spec.bodies)))
    parameters = PhysicalParameters(mass=mass, static_friction=torch.full((64, len(spec.slots)), 0.5))
    next_state = dynamics.step(state, control, parameters=parameters)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

from .spec import Inertia, RobotSpec

OWN_SHAPES: dict[str, tuple[str | int, ...]] = {
    "mass": ("bodies",),
    "centre_of_mass": ("bodies", 3),
    "inertia": ("bodies", 3, 3),
    "parent_pos": ("bodies", 3),
    "armature": ("joints",),
    "stiffness": ("joints",),
    "damping": ("joints",),
    "effort_limit": ("joints",),
    "velocity_limit": ("joints",),
    "joint_friction": ("joints",),
    "joint_dynamic_friction": ("joints",),
    "joint_viscous_friction": ("joints",),
    "lower_limit": ("joints",),
    "upper_limit": ("joints",),
    "static_friction": ("slots",),
    "dynamic_friction": ("slots",),
    "restitution": ("slots",),
    "bounce_threshold": (),
    "gravity": (3,),
    "external_force": ("bodies", 3),
    "external_torque": ("bodies", 3),
}
"""Last dimensions of each parameter: numbers, or what of the specification is counted."""

JOINT_FIELDS = {
    "armature": "armature",
    "stiffness": "stiffness",
    "damping": "damping",
    "effort_limit": "effort_limit",
    "velocity_limit": "velocity_limit",
    "joint_friction": "friction",
    "joint_dynamic_friction": "dynamic_friction",
    "joint_viscous_friction": "viscous_friction",
    "lower_limit": "lower",
    "upper_limit": "upper",
}
"""Parameters of joints and the fields of a specification's joints that they take the places of."""


@dataclass(frozen=True)
class PhysicalParameters:
    """Parameters that a step is to use instead of those of the specification; None for the specification's.

    Each is a tensor with the dimensions that are given below. Others may come before them: the leading dimensions of
    the states, or the first of these, each of their length or one. So a parameter without leading dimensions is that of
    all environments, and one of shape (N, ...) is that of each environment also in sequences of states (N, T, S).
    Bodies, joints and slots are in the order of the specification.
    """

    mass: Tensor | None = None
    """Masses of the bodies [kg], shape (..., B)."""
    centre_of_mass: Tensor | None = None
    """Centres of mass, in the frames of the bodies [m], shape (..., B, 3)."""
    inertia: Tensor | None = None
    """Inertias about the centres of mass, axes of the bodies [kg m^2], symmetric, shape (..., B, 3, 3). They do not
    follow the masses: a body of twice the mass and the same form has twice the inertia."""
    parent_pos: Tensor | None = None
    """Places of the bodies' joints in the frames of their parents [m], shape (..., B, 3): how long links are. That of
    the root changes nothing. Contacts are computed before a step, with the specification's places."""
    armature: Tensor | None = None
    """Inertia added to each joint [kg m^2 or kg], shape (..., J)."""
    stiffness: Tensor | None = None
    """Stiffness of drives [N m/rad or N/m, or 1/s^2 for a drive of accelerations], shape (..., J)."""
    damping: Tensor | None = None
    """Damping of drives [N m s/rad or N s/m, or 1/s], shape (..., J)."""
    effort_limit: Tensor | None = None
    """Largest efforts of drives [N m or N], shape (..., J)."""
    velocity_limit: Tensor | None = None
    """Largest speeds of joints [rad/s or m/s], shape (..., J)."""
    joint_friction: Tensor | None = None
    """Static friction of joints [N m or N], shape (..., J). It decides whether a joint moves: gradients to it are zero
    where something else brakes a moving joint."""
    joint_dynamic_friction: Tensor | None = None
    """Effort by which friction brakes a joint that moves [N m or N], shape (..., J)."""
    joint_viscous_friction: Tensor | None = None
    """More of it by the joint's speed [N m s/rad or N s/m], shape (..., J)."""
    lower_limit: Tensor | None = None
    """Lower limits of joints [rad or m], shape (..., J). A joint that turns freely has none."""
    upper_limit: Tensor | None = None
    """Upper limits of joints [rad or m], shape (..., J)."""
    static_friction: Tensor | None = None
    """Largest friction of a slot that does not slide per normal force, in place of the learned constant, shape
    (..., slots)."""
    dynamic_friction: Tensor | None = None
    """Friction of a slot that slides, per normal force, shape (..., slots); None for the static one."""
    restitution: Tensor | None = None
    """Share of its speed with which a slot leaves the ground after an impact, shape (..., slots); None for none."""
    bounce_threshold: Tensor | None = None
    """Speed of an impact below which there is no restitution [m/s], shape (...); None for zero. Has no gradient."""
    gravity: Tensor | None = None
    """Gravity, environment axes [m/s^2], shape (..., 3)."""
    external_force: Tensor | None = None
    """Forces on the centres of mass of the bodies, held over the step, environment axes [N], shape (..., B, 3)."""
    external_torque: Tensor | None = None
    """Torques on the bodies, held over the step, environment axes [N m], shape (..., B, 3)."""

    @property
    def given(self) -> tuple[str, ...]:
        """Names of the parameters that are not those of the specification."""
        return tuple(each.name for each in fields(self) if getattr(self, each.name) is not None)

    def map(self, function: Callable[[Tensor], Tensor]) -> PhysicalParameters:
        """The same parameters, each what the function makes of it.

        Args:
            function: From one tensor to another.
        """
        return PhysicalParameters(**{name: function(getattr(self, name)) for name in self.given})

    def rows(self, spec: RobotSpec, lead: Iterable[int], like: Tensor) -> PhysicalParameters:
        """The parameters for states whose leading dimensions are made one: each with one dimension before its own, of
        as many rows as there are states, or one where it is the same for all.

        Args:
            spec: The robot.
            lead: Leading dimensions of the states.
            like: A tensor with the type of numbers and the device of the states.
        """
        lead = tuple(lead)
        return PhysicalParameters(**{name: self._rows(name, own_shape(spec, name), lead, like) for name in self.given})

    def _rows(self, name: str, own: tuple[int, ...], lead: tuple[int, ...], like: Tensor) -> Tensor:
        """One parameter for states."""
        value: Tensor = getattr(self, name)
        split = value.dim() - len(own)
        before = tuple(value.shape[: max(split, 0)])
        fits = split >= 0 and tuple(value.shape[split:]) == own and len(before) <= len(lead)
        if not fits or any(got not in (1, count) for got, count in zip(before, lead, strict=False)):
            raise ValueError(
                f"got the parameter '{name}' of shape {tuple(value.shape)} for states with the leading dimensions "
                f"{lead}, expected {(*lead, *own)}, or without the last of the leading ones, each of which may be one"
            )
        value = value.to(like)
        if all(each == 1 for each in before):
            return value.reshape(1, *own)
        spread = value.reshape(*before, *[1] * (len(lead) - len(before)), *own)
        return spread.expand(*lead, *own).reshape(math.prod(lead), *own)


def own_shape(spec: RobotSpec, name: str) -> tuple[int, ...]:
    """Last dimensions of a parameter of a robot.

    Args:
        spec: The robot.
        name: A field of :class:`PhysicalParameters`.
    """
    counts = {"bodies": len(spec.bodies), "joints": len(spec.joints), "slots": len(spec.slots)}
    return tuple(each if isinstance(each, int) else counts[each] for each in OWN_SHAPES[name])


def specified(spec: RobotSpec) -> PhysicalParameters:
    """The parameters that a specification holds, without leading dimensions: all but friction and restitution of
    contacts and external wrenches.

    Args:
        spec: The robot, with the inertias of its bodies.
    """
    inertias = [body.inertia for body in spec.bodies if body.inertia is not None]
    if len(inertias) < len(spec.bodies):
        lacking = [body.name for body in spec.bodies if body.inertia is None]
        raise ValueError(f"got no inertia for the bodies {lacking[:4]} of '{spec.name}', expected one for each")
    matrices = []
    for inertia in inertias:
        (xx, yy, zz), (xy, xz, yz) = inertia.moments, inertia.products
        matrices.append(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
    of_joints = {
        name: torch.tensor([getattr(joint, field) for joint in spec.joints]) for name, field in JOINT_FIELDS.items()
    }
    return PhysicalParameters(
        mass=torch.tensor([inertia.mass for inertia in inertias]),
        centre_of_mass=torch.tensor([inertia.centre for inertia in inertias]),
        inertia=torch.tensor(matrices),
        parent_pos=torch.tensor([body.parent_pos for body in spec.bodies]),
        gravity=torch.tensor(spec.gravity),
        **of_joints,
    )


def specification_with(spec: RobotSpec, parameters: PhysicalParameters) -> RobotSpec:
    """A specification that holds parameters, so that they are those of a model.

    Args:
        spec: The robot.
        parameters: Parameters without leading dimensions, of those that :func:`specified` gives.
    """
    known = {"mass", "centre_of_mass", "inertia", "parent_pos", "gravity", *JOINT_FIELDS}
    shaped = {name: tuple(getattr(parameters, name).shape) == own_shape(spec, name) for name in parameters.given}
    wrong = [name for name, fits in shaped.items() if not fits or name not in known]
    if wrong:
        raise ValueError(
            f"got the parameters {wrong} for the specification of '{spec.name}', expected one value for all "
            f"environments of {sorted(known)}"
        )
    values = {name: getattr(parameters, name).detach().cpu().tolist() for name in parameters.given}
    joints, bodies = list(spec.joints), list(spec.bodies)
    for row, joint in enumerate(joints):
        joints[row] = replace(
            joint, **{JOINT_FIELDS[name]: values[name][row] for name in values if name in JOINT_FIELDS}
        )
    for row, body in enumerate(bodies):
        assert body.inertia is not None or not {"mass", "centre_of_mass", "inertia"} & set(values)
        if body.inertia is not None:
            bodies[row] = replace(body, inertia=_inertia_with(body.inertia, values, row))
        if "parent_pos" in values:
            bodies[row] = replace(bodies[row], parent_pos=tuple(values["parent_pos"][row]))
    gravity = tuple(values.get("gravity", spec.gravity))
    return replace(spec, joints=tuple(joints), bodies=tuple(bodies), gravity=gravity)


def _inertia_with(inertia: Inertia, values: dict[str, Any], row: int) -> Inertia:
    """The inertia of a body with its row of some parameters."""
    fields: dict[str, Any] = {}
    if "mass" in values:
        fields["mass"] = values["mass"][row]
    if "centre_of_mass" in values:
        fields["centre"] = tuple(values["centre_of_mass"][row])
    if "inertia" in values:
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = values["inertia"][row]
        fields |= {"moments": (xx, yy, zz), "products": (xy, xz, yz)}
    return replace(inertia, **fields)


__all__ = ["JOINT_FIELDS", "OWN_SHAPES", "PhysicalParameters", "own_shape", "specification_with", "specified"]
