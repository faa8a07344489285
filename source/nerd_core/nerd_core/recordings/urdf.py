# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A robot specification from a URDF file: links, joints, masses, and the collision shapes that are boxes, spheres and
cylinders. Shapes that are meshes lie in other files, which are not read: they have no contact slots.

Damping and friction of a joint become its viscous and dry friction; efforts act on all joints that move by themselves.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from ..files.messages import printable, shortened
from ..files.safe_files import UnsafeFile, read_bytes
from ..robot.frames import quat_from_rotvec, quat_mul, rotation_matrix
from ..robot.slots import box_slots, mesh_slots, sphere_slots
from ..robot.spec import Body, ContactSlot, Control, Inertia, Joint, Mimic, Quaternion, RobotSpec, Vector
from ..robot.spec_checks import check_sizes
from .recording import RecordingError

MAX_BYTES = 16 * 2**20
"""Largest file [bytes]."""

KINDS = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "fixed": None}
"""Kinds of joints in URDF, and here; None for no joint."""

RIM_POINTS = 8
"""Contact slots of a cylinder, on the rims of its ends."""


def read_urdf(path: str | Path, *, floating: bool, rate: float) -> RobotSpec:
    """The specification of a robot.

    Args:
        path: URDF file.
        floating: Whether its root moves freely.
        rate: Control steps in a second [Hz].
    """
    path = Path(path)
    try:
        content = read_bytes(path, MAX_BYTES)
    except UnsafeFile as error:
        raise RecordingError(str(error)) from None
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise RecordingError(f"'{path.name}' declares a document type or entities, which no URDF file needs")
    try:
        return _robot(ElementTree.fromstring(content), floating, rate)
    except ElementTree.ParseError as error:
        raise RecordingError(f"'{path.name}' is not sound XML: {error}") from None
    except (ValueError, KeyError, RecursionError) as error:
        said = printable(shortened(str(error), 500)[1:-1])
        raise RecordingError(f"'{path.name}' describes no robot: {said}") from None


def _robot(root: ElementTree.Element, floating: bool, rate: float) -> RobotSpec:
    if root.tag != "robot":
        raise ValueError(f"the document is a <{root.tag[:40]}>, expected a <robot>")
    links = {link.get("name", ""): link for link in root.findall("link")}
    to_parent: dict[str, ElementTree.Element] = {}
    children: dict[str, list[str]] = {name: [] for name in links}
    for joint in root.findall("joint"):
        parent, child = (_find(joint, tag).get("link", "") for tag in ("parent", "child"))
        if parent not in links or child not in links or child in to_parent:
            raise ValueError(f"the joint '{joint.get('name')}' joins links that are not there, or one a second time")
        to_parent[child] = joint
        children[parent].append(child)
    roots = [name for name in links if name not in to_parent]
    if len(roots) != 1:
        raise ValueError(f"it has {len(roots)} links without a parent, expected one: the root")
    order, waiting = [], [roots[0]]
    while waiting:
        order.append(waiting.pop())
        waiting += reversed(children[order[-1]])
    if len(order) != len(links):
        raise ValueError("its joints form a loop")
    joints = [found for joint in root.findall("joint") if (found := _joint(joint)) is not None]
    bodies = [_body(links[name], to_parent.get(name)) for name in order]
    slots = [slot for name in order for slot in _slots(name, links[name])]
    free = [joint.name for joint in joints if joint.mimic is None]
    spec = RobotSpec(
        name=root.get("name") or "robot",
        floating_base=floating,
        joints=tuple(joints),
        bodies=tuple(bodies),
        controls=tuple(Control(name, "effort") for name in free),
        physics_dt=1.0 / rate,
        decimation=1,
        slots=tuple(slots) if floating else (),
    )
    check_sizes(spec)
    return spec


def _joint(element: ElementTree.Element) -> Joint | None:
    name, kind = element.get("name", ""), element.get("type", "")
    if kind not in KINDS:
        raise ValueError(f"the joint '{name}' is of type '{kind[:40]}', expected one of {', '.join(KINDS)}")
    if KINDS[kind] is None:
        return None
    limit, dynamics, mimic = element.find("limit"), element.find("dynamics"), element.find("mimic")
    axis = _vector(element.find("axis"), "xyz", (1.0, 0.0, 0.0))
    length = math.hypot(*axis)
    if not length > 0.0:
        raise ValueError(f"the axis of the joint '{name}' has no length")
    made = Joint(
        name,
        "revolute" if KINDS[kind] == "revolute" else "prismatic",
        (axis[0] / length, axis[1] / length, axis[2] / length),
        lower=-math.inf if kind == "continuous" else _number(limit, "lower", -math.inf),
        upper=math.inf if kind == "continuous" else _number(limit, "upper", math.inf),
        effort_limit=_number(limit, "effort", math.inf),
        velocity_limit=_number(limit, "velocity", math.inf),
        friction=_number(dynamics, "friction", 0.0),
        dynamic_friction=_number(dynamics, "friction", 0.0),
        viscous_friction=_number(dynamics, "damping", 0.0),
    )
    if mimic is None:
        return made
    ratio, offset = _number(mimic, "multiplier", 1.0), _number(mimic, "offset", 0.0)
    return replace(made, mimic=Mimic(mimic.get("joint", ""), ratio, offset))


def _body(link: ElementTree.Element, joint: ElementTree.Element | None) -> Body:
    inertia = _inertia(link.find("inertial"))
    if joint is None:
        return Body(link.get("name", ""), inertia=inertia)
    pos, quat = _origin(joint)
    moves = KINDS.get(joint.get("type", "")) is not None
    parent = _find(joint, "parent").get("link", "")
    return Body(link.get("name", ""), parent, joint.get("name", "") if moves else None, pos, quat, inertia=inertia)


def _inertia(element: ElementTree.Element | None) -> Inertia | None:
    """Mass and moments about the centre of mass in the axes of the link; a link without any weighs next to nothing."""
    if element is None:
        return Inertia(1e-6, (0.0, 0.0, 0.0), (1e-9, 1e-9, 1e-9))
    pos, quat = _origin(element)
    moments = element.find("inertia")
    xx, yy, zz, xy, xz, yz = (_number(moments, f"i{name}", 0.0) for name in ("xx", "yy", "zz", "xy", "xz", "yz"))
    turn = rotation_matrix(torch.tensor(quat, dtype=torch.double)).numpy()
    matrix = turn @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ turn.T
    mass = _number(element.find("mass"), "value", 0.0)
    diagonal = (float(matrix[0, 0]), float(matrix[1, 1]), float(matrix[2, 2]))
    return Inertia(mass, pos, diagonal, (float(matrix[0, 1]), float(matrix[0, 2]), float(matrix[1, 2])))


def _slots(name: str, link: ElementTree.Element) -> list[ContactSlot]:
    found: list[ContactSlot] = []
    for collision in link.findall("collision"):
        (pos, quat), geometry = _origin(collision), _find(collision, "geometry")
        box, sphere, cylinder = (geometry.find(tag) for tag in ("box", "sphere", "cylinder"))
        if box is not None:
            x, y, z = _vector(box, "size", (0.0, 0.0, 0.0))
            found += box_slots(name, (0.5 * x, 0.5 * y, 0.5 * z), pos, quat)
        elif sphere is not None:
            found += sphere_slots(name, _number(sphere, "radius", 0.0), pos)
        elif cylinder is not None:
            radius, half = _number(cylinder, "radius", 0.0), 0.5 * _number(cylinder, "length", 0.0)
            turn = 2.0 * math.pi * np.arange(RIM_POINTS // 2) / (RIM_POINTS // 2)
            rim = [(radius * math.cos(each), radius * math.sin(each), end) for end in (-half, half) for each in turn]
            found += mesh_slots(name, np.array(rim), RIM_POINTS, pos, quat)
    return found


def _origin(element: ElementTree.Element) -> tuple[Vector, Quaternion]:
    """Position and orientation of an <origin>: roll, pitch and yaw about fixed axes, in this order."""
    origin = element.find("origin")
    roll, pitch, yaw = _vector(origin, "rpy", (0.0, 0.0, 0.0))
    turns = torch.tensor([[roll, 0.0, 0.0], [0.0, pitch, 0.0], [0.0, 0.0, yaw]], dtype=torch.double)
    about_x, about_y, about_z = quat_from_rotvec(turns)
    x, y, z, w = quat_mul(about_z, quat_mul(about_y, about_x)).tolist()
    return _vector(origin, "xyz", (0.0, 0.0, 0.0)), (x, y, z, w)


def _find(element: ElementTree.Element, tag: str) -> ElementTree.Element:
    found = element.find(tag)
    if found is None:
        raise ValueError(f"a <{element.tag}> has no <{tag}>")
    return found


def _vector(element: ElementTree.Element | None, name: str, default: Vector) -> Vector:
    text = None if element is None else element.get(name)
    if text is None:
        return default
    values = [float(word) for word in text.split()]
    if len(values) != 3 or not all(map(math.isfinite, values)):
        raise ValueError(f"'{name}' is {shortened(text)}, expected three finite numbers")
    return (values[0], values[1], values[2])


def _number(element: ElementTree.Element | None, name: str, default: float) -> float:
    text = None if element is None else element.get(name)
    return default if text is None else float(text)


__all__ = ["read_urdf"]
