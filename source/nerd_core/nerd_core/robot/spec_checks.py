# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a robot specification may say: kinds, ranges and sizes, and that its parts fit each other."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, get_args

from ..files.messages import shortened
from .materials import Material
from .parts import ActuatorLaw, ControlKind, Inertia, Joint, SlotShape, SpecError

if TYPE_CHECKING:
    from .spec import RobotSpec

MAX_NAME = 200
"""Longest name of a robot, joint or body [characters]."""

MAX_ITEMS = {"joints": 1024, "bodies": 1024, "controls": 2048, "slots": 4096, "other_forces": 1024}
"""Longest lists of a specification that is read from a file. What is made of them grows faster than they do."""

MIN_DT, MAX_DT = 1.0e-9, 1.0e3
"""Shortest and longest step of physics [s]."""

MAX_DECIMATION = 1_000_000
"""Most physics steps in a control step."""

MAX_ITERATIONS = 255
"""Most iterations of a solver in a physics step, PhysX's bound."""

MAX_TABLE = 4096
"""Most rows of a table of efforts."""

MAX_FRICTION = 1.0e4
"""Largest coefficient of friction."""

TOLERANCE = 1.0e-3
"""What rounding may do to a length of one, and to inertias, as a share."""

SMALLEST_INERTIA = 1.0e-12
"""Moments of inertia below this may be rounding [kg m^2]."""

MAX_QUANTITY = 1.0e12
"""Largest mass, length and so on, in SI units: squares of larger ones do not fit into single precision."""


def check_spec(spec: RobotSpec) -> None:
    """Raises :class:`SpecError` where a specification contradicts itself, or describes what no robot is.

    Args:
        spec: The robot.
    """
    _check_names(spec)
    joint_names = set(spec.joint_names)
    for label, names in (("joint", spec.joint_names), ("body", spec.body_names)):
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        if twice:
            said = shortened(twice, MAX_NAME)
            raise SpecError(f"robot '{spec.name}': {label} names must be unique, got {said} more than once")
    if not spec.bodies:
        raise SpecError(f"robot '{spec.name}': got no bodies, expected at least the root")
    if spec.bodies[0].parent is not None:
        raise SpecError(f"robot '{spec.name}': the first body '{spec.bodies[0].name}' must be the root (no parent)")
    if spec.bodies[0].joint is not None:
        raise SpecError(f"robot '{spec.name}': got the joint '{spec.bodies[0].joint}' at the root, expected none there")
    seen: set[str] = set()
    used: list[str] = []
    for body in spec.bodies:
        if body.parent is None and seen:
            raise SpecError(
                f"robot '{spec.name}': body '{body.name}' has no parent, but only the first may be the root"
            )
        if body.parent is not None and body.parent not in seen:
            raise SpecError(f"robot '{spec.name}': the parent '{body.parent}' of body '{body.name}' must precede it")
        if body.joint is not None:
            if body.joint not in joint_names:
                raise SpecError(f"robot '{spec.name}': body '{body.name}' hangs from the unknown joint '{body.joint}'")
            used.append(body.joint)
        seen.add(body.name)
    carried = Counter(used)
    wrong = [f"{carried[name]} on '{name}'" for name in spec.joint_names if carried[name] != 1]
    if wrong:
        shown = ", ".join(wrong[:8]) + (f" and {len(wrong) - 8} more" if len(wrong) > 8 else "")
        raise SpecError(f"robot '{spec.name}': each joint must carry exactly one body, got {shown}")
    for control in spec.controls:
        if control.joint not in joint_names:
            raise SpecError(f"robot '{spec.name}': a control channel acts on the unknown joint '{control.joint}'")
        if control.kind not in get_args(ControlKind):
            raise SpecError(
                f"robot '{spec.name}': the control of '{control.joint}' has kind '{control.kind}', "
                f"expected one of {get_args(ControlKind)}"
            )
    if len(set(spec.controls)) != len(spec.controls):
        raise SpecError(f"robot '{spec.name}': a control channel is listed twice")
    for slot in spec.slots:
        if slot.body not in seen:
            raise SpecError(f"robot '{spec.name}': a contact slot sits on the unknown body '{slot.body}'")
        if slot.shape not in get_args(SlotShape):
            raise SpecError(f"robot '{spec.name}': got slot shape '{slot.shape}', expected {get_args(SlotShape)}")
        if not (math.isfinite(slot.radius) and slot.radius >= 0.0):
            raise SpecError(f"robot '{spec.name}': got slot radius {slot.radius}, expected a finite number >= 0")
        _check_vector(spec, f"point of a slot on '{slot.body}'", slot.point)
        if slot.material is not None:
            _check_material(spec, f"a slot on '{slot.body}'", slot.material)
    if spec.ground is not None:
        _check_material(spec, "the ground", spec.ground)
    for joint in spec.joints:
        _check_joint(spec, joint)
    for body in spec.bodies:
        _check_vector(spec, f"parent_pos of body '{body.name}'", body.parent_pos)
        _check_vector(spec, f"child_pos of body '{body.name}'", body.child_pos)
        _check_vector(spec, f"parent_quat of body '{body.name}'", body.parent_quat, unit=True)
        _check_vector(spec, f"child_quat of body '{body.name}'", body.child_quat, unit=True)
        for what in ("linear_damping", "angular_damping"):
            _check_amount(spec, f"{what} of body '{body.name}'", getattr(body, what))
        for what in ("max_linear_velocity", "max_angular_velocity"):
            _check_limit(spec, f"{what} of body '{body.name}'", getattr(body, what))
        if body.inertia is not None:
            _check_inertia(spec, body.name, body.inertia)
    _check_vector(spec, "root_pos", spec.root_pos)
    _check_vector(spec, "root_quat", spec.root_quat, unit=True)
    _check_vector(spec, "gravity", spec.gravity)
    for what in ("max_root_distance", "max_lin_vel", "max_ang_vel", "joint_margin"):
        if not getattr(spec.guard, what) >= 0.0:
            raise SpecError(
                f"robot '{spec.name}': got {getattr(spec.guard, what)} as {what} of guard, expected at least 0"
            )
    if not MIN_DT <= spec.physics_dt <= MAX_DT:
        raise SpecError(
            f"robot '{spec.name}': got physics_dt {spec.physics_dt}, expected a positive number of seconds, from "
            f"{MIN_DT:g} to {MAX_DT:g}"
        )
    if not 1 <= spec.decimation <= MAX_DECIMATION:
        raise SpecError(
            f"robot '{spec.name}': got decimation {shortened(spec.decimation)}, expected at least 1 and at most "
            f"{MAX_DECIMATION}"
        )

    least = {"position_iterations": 1, "velocity_iterations": 0}
    for what, smallest in least.items():
        value = getattr(spec, what)
        if value is not None and not smallest <= value <= MAX_ITERATIONS:
            raise SpecError(
                f"robot '{spec.name}': got {shortened(value)} {what}, expected {smallest} to {MAX_ITERATIONS}"
            )
    for pair in spec.touching_bodies:
        if len(pair) != 2 or pair[0] == pair[1] or not set(pair) <= set(spec.body_names):
            raise SpecError(
                f"robot '{spec.name}': got the touching bodies {shortened(pair)}, expected pairs of two of its bodies"
            )
    if len({frozenset(pair) for pair in spec.touching_bodies}) < len(spec.touching_bodies):
        raise SpecError(f"robot '{spec.name}': got a pair of touching_bodies twice, expected each once")


def _check_material(spec: RobotSpec, what: str, material: Material) -> None:
    """Raises :class:`SpecError` for friction below zero or huge, and for restitution that is no share."""
    numbers = material.static_friction, material.dynamic_friction
    if not all(0.0 <= value <= MAX_FRICTION for value in numbers):
        raise SpecError(
            f"robot '{spec.name}': got friction of {numbers} of {what}, expected numbers from 0 to {MAX_FRICTION:g}"
        )
    if not 0.0 <= material.restitution <= 1.0:
        raise SpecError(f"robot '{spec.name}': got a restitution of {material.restitution} of {what}, expected 0 to 1")


def _check_names(spec: RobotSpec) -> None:
    """Raises :class:`SpecError` for names that are too long to be repeated, wherever they stand."""
    named = [spec.name, spec.asset_hash, *spec.joint_names, *(control.joint for control in spec.controls)]
    named += [slot.body for slot in spec.slots] + [*spec.other_forces]
    named += [name for body in spec.bodies for name in (body.name, body.parent, body.joint) if name is not None]
    for name in named:
        if len(name) > MAX_NAME:
            raise SpecError(f"got the name {shortened(name)} of {len(name)} characters, expected at most {MAX_NAME}")


def check_sizes(spec: RobotSpec) -> None:
    """Raises :class:`SpecError` for a specification from a file that is so large that models of it take hours.

    Args:
        spec: The robot.
    """
    for what, limit in MAX_ITEMS.items():
        count = len(getattr(spec, what))
        if count > limit:
            raise SpecError(f"robot '{spec.name}': got {count} {what}, expected at most {limit}")


def _check_inertia(spec: RobotSpec, body: str, inertia: Inertia) -> None:
    """Raises :class:`SpecError` for numbers that no rigid body has."""
    _check_vector(spec, f"centre of mass of body '{body}'", inertia.centre)
    _check_vector(spec, f"products of inertia of body '{body}'", inertia.products)
    for what, value in (("mass", inertia.mass), *(("moment of inertia", moment) for moment in inertia.moments)):
        _check_amount(spec, f"{what} of body '{body}'", value)
    (xx, yy, zz), (xy, xz, yz) = inertia.moments, inertia.products
    for product, one, other in ((xy, xx, yy), (xz, xx, zz), (yz, yy, zz)):
        if abs(product) > math.sqrt(one * other) * (1.0 + TOLERANCE) + SMALLEST_INERTIA:
            raise SpecError(
                f"robot '{spec.name}': got the product of inertia {product:g} of body '{body}' with the moments "
                f"{one:g} and {other:g}, expected at most the root of their product: its inertia would be negative"
            )


def _check_joint(spec: RobotSpec, joint: Joint) -> None:
    """Raises :class:`SpecError` for numbers that no joint has, and for one that follows nothing."""
    _check_vector(spec, f"axis of joint '{joint.name}'", joint.axis, unit=True)
    for what in ("stiffness", "damping", "armature", "friction", "dynamic_friction", "viscous_friction"):
        _check_amount(spec, f"{what} of joint '{joint.name}'", getattr(joint, what))
    for what in ("effort_limit", "velocity_limit"):
        _check_limit(spec, f"{what} of joint '{joint.name}'", getattr(joint, what))
    _check_vector(spec, f"target of joint '{joint.name}'", (joint.target,))
    if joint.actuator is not None and joint.actuator.law is not None:
        _check_law(spec, joint.name, joint.actuator.law)
    if joint.mimic is not None:
        mimic = joint.mimic
        if mimic.joint not in set(spec.joint_names) - {joint.name}:
            raise SpecError(f"robot '{spec.name}': '{joint.name}' follows the unknown joint '{mimic.joint}'")
        _check_vector(spec, f"how joint '{joint.name}' follows", (mimic.ratio, mimic.offset))
        for what in ("frequency", "damping_ratio"):
            _check_amount(spec, f"{what} of joint '{joint.name}', which follows", getattr(mimic, what))


def _check_law(spec: RobotSpec, joint: str, law: ActuatorLaw) -> None:
    """Raises :class:`SpecError` for numbers that no actuator has."""
    for what in ("stiffness", "damping"):
        _check_amount(spec, f"{what} of the actuator of '{joint}'", getattr(law, what))
    for what in ("effort_limit", "saturation_effort", "velocity_limit"):
        _check_limit(spec, f"{what} of the actuator of '{joint}'", getattr(law, what))
    if law.saturation_effort == 0.0 or law.velocity_limit == 0.0:
        raise SpecError(f"robot '{spec.name}': got a motor of '{joint}' without effort or speed, expected more than 0")
    if not 0 <= law.max_delay <= MAX_DECIMATION:
        raise SpecError(f"robot '{spec.name}': got a delay of {shortened(law.max_delay)} of '{joint}', expected >= 0")
    places = [place for place, _ in law.effort_table]
    _check_vector(spec, f"effort_table of '{joint}'", tuple(value for row in law.effort_table for value in row))
    rising = all(one < other for one, other in zip(places, places[1:], strict=False))
    if len(places) > MAX_TABLE or not rising or any(effort < 0.0 for _, effort in law.effort_table):
        raise SpecError(
            f"robot '{spec.name}': got the effort_table {shortened(law.effort_table)} of '{joint}', expected at most "
            f"{MAX_TABLE} rows of rising positions, and efforts of at least 0"
        )


def _check_limit(spec: RobotSpec, what: str, value: float) -> None:
    """Raises :class:`SpecError` unless a number is zero or positive; infinity is no limit."""
    if not value >= 0.0:
        raise SpecError(f"robot '{spec.name}': got {value} as {what}, expected at least 0")


def _check_amount(spec: RobotSpec, what: str, value: float) -> None:
    """Raises :class:`SpecError` unless a number is zero or positive, finite and not huge."""
    if not 0.0 <= value <= MAX_QUANTITY:
        raise SpecError(
            f"robot '{spec.name}': got {value} as {what}, expected finite numbers >= 0 and at most {MAX_QUANTITY:g}"
        )


def _check_vector(spec: RobotSpec, what: str, values: tuple[float, ...], unit: bool = False) -> None:
    """Raises :class:`SpecError` unless all numbers are finite, not huge and, where asked for, of length one."""
    if not all(abs(value) <= MAX_QUANTITY for value in values):
        raise SpecError(
            f"robot '{spec.name}': got {values} as {what}, expected finite numbers of at most {MAX_QUANTITY:g}"
        )
    if unit and not abs(math.hypot(*values) - 1.0) < TOLERANCE:
        raise SpecError(
            f"robot '{spec.name}': got {values} of length {math.hypot(*values):.6g} as {what}, expected length 1"
        )


__all__ = ["check_sizes", "check_spec"]
