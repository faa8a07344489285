# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Specifications of mechanisms that are measured often: a tossed box, two hinged boxes, a double pendulum.

Numbers come from the file of the recordings. What a file does not say is stated here, where it is assumed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..robot.slots import box_slots
from ..robot.spec import Body, Control, Guard, Inertia, Joint, RobotSpec, SpecError, Vector
from .recording import RecordingError

PENDULUM_AXIS: Vector = (0.0, -1.0, 0.0)
"""Axis of the hinges of a pendulum: at an angle of +90 degrees a link that hangs at zero points along +x."""


def tossed_box(name: str, rate: float, mass: float, moments: Vector, half_extents: Vector, gravity: float) -> RobotSpec:
    """A free box without joints: eight contact slots, at its corners.

    Args:
        name: Name of the robot.
        rate: Frames in a second [Hz].
        mass: Mass [kg].
        moments: Moments of inertia about its centre [kg m^2].
        half_extents: Half the lengths of its edges [m].
        gravity: Size of the acceleration of gravity [m/s^2].
    """
    xx, yy, zz = (float(each) for each in moments)
    x, y, z = (float(each) for each in half_extents)
    return RobotSpec(
        name=name,
        floating_base=True,
        joints=(),
        bodies=(Body(name, inertia=Inertia(float(mass), (0.0, 0.0, 0.0), (xx, yy, zz))),),
        controls=(),
        physics_dt=1.0 / rate,
        decimation=1,
        slots=box_slots(name, (x, y, z)),
        gravity=(0.0, 0.0, -gravity),
    )


def hinged_boxes(name: str, rate: float, facts: Mapping[str, Any]) -> RobotSpec:
    """Two boxes with a hinge between them that do not collide with each other: sixteen contact slots.

    Args:
        name: Name of the robot.
        rate: Frames in a second [Hz].
        facts: ``joint`` with ``parent``, ``child``, ``origin_xyz_m`` and ``axis``; under the names of both links
            ``mass_kg``, ``com_m``, ``inertia_diag_kg_m2``, ``box_size_m`` and ``box_centre_m``; ``gravity_m_s2``.
    """
    joint = _member(facts, "joint")
    names = [str(_member(joint, key, str)) for key in ("parent", "child")]
    inertias, slots = [], []
    for link in names:
        of = _member(facts, link)
        mass = float(_member(of, "mass_kg", (int, float)))
        inertias.append(Inertia(mass, vector_of(of, "com_m"), vector_of(of, "inertia_diag_kg_m2")))
        x, y, z = vector_of(of, "box_size_m")
        slots += box_slots(link, (0.5 * x, 0.5 * y, 0.5 * z), vector_of(of, "box_centre_m"))
    if any(vector_of(joint, "origin_rpy")):
        raise RecordingError("got a hinge whose frame is turned (origin_rpy), expected one with the axes of its parent")
    hinge = f"{names[1]}_joint"
    return _checked(
        name=name,
        floating_base=True,
        joints=(Joint(hinge, "revolute", _unit(vector_of(joint, "axis"))),),
        bodies=(
            Body(names[0], inertia=inertias[0]),
            Body(names[1], names[0], hinge, vector_of(joint, "origin_xyz_m"), inertia=inertias[1]),
        ),
        controls=(),
        physics_dt=1.0 / rate,
        decimation=1,
        slots=tuple(slots),
        gravity=(0.0, 0.0, -float(_member(facts, "gravity_m_s2", (int, float)))),
    )


def double_pendulum(
    name: str,
    rate: float,
    lengths: Sequence[float],
    masses: Sequence[float],
    centres: Sequence[float],
    inertias: Sequence[float],
    *,
    gravity: float = 9.81,
    armature: Sequence[float] = (0.0, 0.0),
    coulomb: Sequence[float] = (0.0, 0.0),
    viscous: Sequence[float] = (0.0, 0.0),
    effort_limits: Sequence[float] = (math.inf, math.inf),
    driven: bool = True,
) -> RobotSpec:
    """Two links that hang from a fixed point: ``shoulder`` from hanging, ``elbow`` relative to the first link.

    Moments about axes in the plane of motion do not enter it: all three of a link are given the same value.

    Args:
        name: Name of the robot.
        rate: Control steps in a second [Hz].
        lengths: Lengths of the links [m].
        masses: Their masses [kg].
        centres: Distances of their centres of mass from their joints [m].
        inertias: Their moments of inertia about their joints [kg m^2].
        gravity: Size of the acceleration of gravity [m/s^2].
        armature: Inertias of rotors, reflected to the joints [kg m^2].
        coulomb: Dry friction of the joints [N m].
        viscous: Viscous friction of the joints [N m s/rad].
        effort_limits: Largest torques [N m].
        driven: Whether there is a torque on each joint.
    """
    values = (lengths, masses, centres, inertias, armature, coulomb, viscous, effort_limits)
    # plain numbers: those of NumPy would make tensors of double precision
    lengths, masses, centres, inertias, armature, coulomb, viscous, effort_limits = (
        [float(each) for each in row] for row in values
    )
    about_centre = [inertia - mass * centre**2 for mass, centre, inertia in zip(masses, centres, inertias, strict=True)]
    if min(about_centre) <= 0.0:
        raise RecordingError(
            f"got moments of inertia {list(inertias)} about the joints, expected more than the mass times the square "
            "of the centre's distance"
        )
    bodies = [Body("base", inertia=Inertia(1.0, (0.0, 0.0, 0.0), (0.01, 0.01, 0.01)))]  # it is fixed
    joints = []
    for number, (joint, link) in enumerate((("shoulder", "upper_link"), ("elbow", "lower_link"))):
        place = (0.0, 0.0, -lengths[0] if number else 0.0)
        moment = about_centre[number]
        inertia = Inertia(masses[number], (0.0, 0.0, -centres[number]), (moment, moment, moment))
        bodies.append(Body(link, bodies[-1].name, joint, place, inertia=inertia))
        joints.append(
            Joint(
                joint,
                "revolute",
                PENDULUM_AXIS,
                armature=armature[number],
                friction=coulomb[number],
                dynamic_friction=coulomb[number],
                viscous_friction=viscous[number],
                effort_limit=effort_limits[number],
            )
        )
    return _checked(
        name=name,
        floating_base=False,
        joints=tuple(joints),
        bodies=tuple(bodies),
        controls=tuple(Control(joint.name, "effort") for joint in joints) if driven else (),
        physics_dt=1.0 / rate,
        decimation=1,
        gravity=(0.0, 0.0, -gravity),
        guard=Guard(max_ang_vel=500.0),
    )


def vector_of(facts: Mapping[str, Any], name: str) -> Vector:
    """Three numbers of a JSON object.

    Args:
        facts: The object.
        name: Name of the list.
    """
    values = facts.get(name)
    values = values if isinstance(values, list) else []
    if len(values) != 3 or any(isinstance(each, bool) or not isinstance(each, (int, float)) for each in values):
        raise RecordingError(f"the physical facts have no three numbers '{name}'")
    x, y, z = (float(each) for each in values)
    return (x, y, z)


def _member(facts: Mapping[str, Any], name: str, kind: Any = dict) -> Any:
    value = facts.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise RecordingError(f"the physical facts have no '{name[:60]}', or one of another kind")
    return value


def _unit(axis: Vector) -> Vector:
    length = math.hypot(*axis)
    if not length > 0.0:
        raise RecordingError("got a joint axis of length zero")
    return (axis[0] / length, axis[1] / length, axis[2] / length)


def _checked(**fields: Any) -> RobotSpec:
    try:
        return RobotSpec(**fields)
    except SpecError as error:
        raise RecordingError(f"the physical facts describe no robot: {error}") from None


__all__ = ["PENDULUM_AXIS", "double_pendulum", "hinged_boxes", "tossed_box", "vector_of"]
