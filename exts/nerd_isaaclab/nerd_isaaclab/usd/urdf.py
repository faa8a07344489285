# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Robots from URDF files, those of ``example-robot-data`` by name, converted by ``urdf-usd-converter`` and tidied.

The converter turns links, masses, joints and limits into USD; meshes and collision shapes are left out beforehand,
since ours come instead. What it wrote is read back and tidied: links that are fixed to another are merged with it,
unless a task asks for them by name, and every position gets back the decimals of the URDF (the converter stores
float32).
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import math
import os
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from . import inertia
from .model import NO_ROTATION, MassProperties, Quat, Shape, UsdBody, UsdJoint, UsdRobot, Vec, add, multiply, rotate

ROBOTS = "cmeel.prefix/share/example-robot-data/robots"
"""Where the distribution ``example-robot-data`` keeps its robots, below the folder packages are installed in."""


@dataclass(frozen=True)
class Link:
    """One link of the URDF: where it hangs, what it weighs, how it moves."""

    name: str
    """Its name."""
    parent: str | None
    """Name of the link it hangs from; ``None``: the root."""
    pos: Vec
    """Position [m] in the parent's frame, joints at zero."""
    quat: Quat
    """Rotation (xyzw) in the parent's frame, joints at zero."""
    mass: MassProperties | None
    """What it weighs; ``None``: nothing."""
    joint: UsdJoint | None
    """Joint to the parent; ``None``: fixed to it."""


def urdf_path(relative: str) -> Path:
    """Return the path of a URDF file of ``example-robot-data``.

    Args:
        relative: Path below the folder of all robots.

    Raises:
        ImportError: The distribution is not installed; the message says how to install it.
    """
    try:
        path = Path(str(importlib.metadata.distribution("example-robot-data").locate_file(ROBOTS))) / relative
    except importlib.metadata.PackageNotFoundError as error:
        raise ImportError(_needs("example-robot-data")) from error
    if not path.is_file():
        raise ImportError(f"example-robot-data is installed but has no {path}; version 6 has it")
    return path


def links(path: str) -> list[Link]:
    """Convert a URDF file and return its links, a parent before its children.

    Args:
        path: Absolute path of a file, or one below the folder of all robots of ``example-robot-data``.
    """
    tree = ElementTree.parse(path if os.path.isabs(path) else urdf_path(path))
    for link in tree.getroot().iter("link"):
        for tag in ("visual", "collision", "self_filter"):
            for element in link.findall(tag):
                link.remove(element)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "robot.urdf"
        tree.write(source)
        try:
            with _quiet():
                import urdf_usd_converter

                usd = urdf_usd_converter.Converter(layer_structure=False, scene=False).convert(str(source), folder)
        except ModuleNotFoundError as error:
            raise ImportError(_needs("urdf-usd-converter")) from error
        return list(_read(str(usd.path)))


def assemble(
    name: str,
    parts: Sequence[Link],
    keep: Collection[str],
    shapes: Mapping[str, Sequence[Shape]],
    fixed_base: bool = False,
) -> UsdRobot:
    """Merge links that are fixed to each other, and add shapes.

    Args:
        name: Name of the robot's root prim.
        parts: Links of the URDF, a parent before its children.
        keep: Links to keep as bodies of their own although they are fixed to another.
        shapes: Shapes in the frame of the URDF link they are listed under.
        fixed_base: Whether the root is fixed to the world.
    """
    names = [part.name for part in parts]
    unknown = (set(keep) | set(shapes)) - set(names)
    if unknown:
        raise ValueError(f"'{name}' has no links {sorted(unknown)}, it has {names}")
    place: dict[str, tuple[str, Vec, Quat]] = {}  # link -> body it belongs to, and its pose there
    masses: dict[str, list[MassProperties]] = {}
    body_shapes: dict[str, list[Shape]] = {}
    joints: list[UsdJoint] = []
    for part in parts:
        owner, pos, quat = (part.name, part.pos, part.quat)
        if part.parent is not None:
            owner, parent_pos, parent_quat = place[part.parent]
            pos, quat = add(parent_pos, rotate(parent_quat, part.pos)), multiply(parent_quat, part.quat)
        if part.parent is None or part.joint is not None or part.name in keep:
            if part.parent is not None:
                joint = part.joint or UsdJoint(
                    f"{part.name}_fixed", "fixed", parent=owner, child=part.name, axis=(1.0, 0.0, 0.0), pos=pos
                )
                joints.append(replace(joint, parent=owner, pos=_tidy(pos), quat=quat, start=_start(joint.limits)))
            owner, pos, quat = part.name, (0.0, 0.0, 0.0), NO_ROTATION
            masses[owner], body_shapes[owner] = [], []
        place[part.name] = (owner, pos, quat)
        if part.mass is not None:
            masses[owner].append(inertia.moved(part.mass, pos, quat))
        for shape in shapes.get(part.name, ()):
            body_shapes[owner].append(
                replace(shape, pos=add(pos, rotate(quat, shape.pos)), quat=multiply(quat, shape.quat))
            )
    bodies = tuple(UsdBody(owner, inertia.total(found), tuple(body_shapes[owner])) for owner, found in masses.items())
    return UsdRobot(name, bodies, tuple(joints), fixed_base)


def _start(limits: tuple[float, float] | None) -> float:
    """Where a joint stands in the file: at zero, or in the middle of limits that leave zero out. The engine throws a
    robot apart that begins far beyond its limits.
    """
    return 0.0 if limits is None or limits[0] <= 0.0 <= limits[1] else sum(limits) / 2


def _read(path: str) -> Iterator[Link]:
    """Read the links of a converted file."""
    from pxr import Usd, UsdGeom, UsdPhysics

    stage = Usd.Stage.Open(path)
    joints = {}
    for prim in stage.Traverse():
        if prim.IsA(UsdPhysics.RevoluteJoint) or prim.IsA(UsdPhysics.PrismaticJoint):
            joint = _joint(prim)
            joints[joint.child] = joint
    geometry = stage.GetDefaultPrim().GetChild("Geometry")
    for prim in Usd.PrimRange(geometry):
        if prim == geometry or not prim.IsA(UsdGeom.Xform):
            continue
        pos, quat = (0.0, 0.0, 0.0), NO_ROTATION
        if prim.HasAttribute("xformOp:translate"):
            pos = _tidy(prim.GetAttribute("xformOp:translate").Get())
            quat = _quat(prim.GetAttribute("xformOp:orient").Get())
        parent = prim.GetParent()
        yield Link(
            prim.GetName(),
            None if parent == geometry else parent.GetName(),
            pos,
            quat,
            _mass(prim),
            joints.get(prim.GetName()),
        )


def _mass(prim) -> MassProperties | None:
    """Read what a link weighs, from the full tensor that the converter keeps beside the principal moments."""
    mass = prim.GetAttribute("physics:mass").Get() if prim.HasAttribute("physics:mass") else None
    if not mass:
        return None
    xx, yy, zz, xy, xz, yz = prim.GetAttribute("newton:inertia").Get()
    com = prim.GetAttribute("physics:centerOfMass").Get()
    return MassProperties(_decimals(mass), _tidy(com), ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))


def _joint(prim) -> UsdJoint:
    """Read a joint that moves; where it sits is read from its child link."""
    from pxr import UsdPhysics

    joint = UsdPhysics.Joint(prim)
    revolute = prim.IsA(UsdPhysics.RevoluteJoint)
    unit = math.radians if revolute else float
    axis = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}[prim.GetAttribute("physics:axis").Get()]
    x, y, z = rotate(_quat(joint.GetLocalRot1Attr().Get()), axis)
    low, high = (prim.GetAttribute(f"physics:{end}Limit").Get() for end in ("lower", "upper"))
    velocity = prim.GetAttribute("newton:velocityLimit").Get() if prim.HasAttribute("newton:velocityLimit") else None
    effort = prim.GetAttribute("urdf:limit:effort").Get() if prim.HasAttribute("urdf:limit:effort") else None
    mimics = prim.GetRelationship("newton:mimicJoint").GetTargets() if prim.HasRelationship("newton:mimicJoint") else []
    return UsdJoint(
        prim.GetName(),
        "revolute" if revolute else "prismatic",
        parent="",
        child=joint.GetBody1Rel().GetTargets()[0].name,
        axis=(round(x, 6) + 0.0, round(y, 6) + 0.0, round(z, 6) + 0.0),
        pos=(0.0, 0.0, 0.0),
        limits=None if math.isinf(low) else (_decimals(unit(low)), _decimals(unit(high))),
        max_effort=None if effort is None else _decimals(effort),
        max_velocity=None if velocity is None else _decimals(unit(velocity)),
        mimics=mimics[0].name if mimics else None,
    )


def _decimals(value: float) -> float:
    """Return a number that went through float32 with the six or seven digits it had before."""
    return float(f"{value:.6g}") if abs(value) > 1e-9 else 0.0


def _tidy(vector) -> Vec:
    """Return a position [m] without what float32 added: rounded to a hundredth of a micrometre."""
    x, y, z = (round(float(part), 8) + 0.0 for part in vector)
    return (x, y, z)


def _quat(value) -> Quat:
    """Return a Gf quaternion, stored as float32, as xyzw and of length one."""
    parts = (*value.GetImaginary(), value.GetReal())
    # halves and right angles are exact in a URDF and off by a digit in float32
    exact = (0.0, 0.5, math.sqrt(0.5), 1.0)
    x, y, z, w = (
        next((math.copysign(known, part) for known in exact if abs(abs(part) - known) < 2e-7), part) for part in parts
    )
    length = math.sqrt(x * x + y * y + z * z + w * w)
    return (x / length, y / length, z / length, w / length)


def _needs(package: str) -> str:
    """Return what to do when a package is missing."""
    return f"it is made from the package {package}: pip install 'nerd-isaaclab[assets]', then nerd assets build"


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Hold back what the converter prints, also from C++; an exception still gets through."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = [os.dup(1), os.dup(2)]
    with open(os.devnull, "w") as nowhere:
        for stream in (1, 2):
            os.dup2(nowhere.fileno(), stream)
        try:
            yield
        finally:
            for stream, original in zip((1, 2), saved, strict=True):
                os.dup2(original, stream)
                os.close(original)
