# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What an asset is before it becomes USD: bodies, joints, shapes, and the little rigid-body algebra they need.

Plain Python floats on purpose: the same numbers come out on every machine, so an asset can be the same to the byte.
Units are SI, angles radians, quaternions xyzw, vectors tuples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal

Vec = tuple[float, float, float]
"""Three numbers: a position, a size or a colour."""
Quat = tuple[float, float, float, float]
"""A rotation as a unit quaternion, xyzw."""
Matrix = tuple[Vec, Vec, Vec]
"""Three rows of three numbers: a rotation, or an inertia tensor."""

NO_ROTATION: Quat = (0.0, 0.0, 0.0, 1.0)
"""The identity rotation."""


@dataclass(frozen=True)
class Shape:
    """A primitive on a body: something to collide with, to look at, or both."""

    kind: Literal["sphere", "capsule", "box"]
    """Sphere, capsule (its axis is the local z), or box."""
    size: Vec
    """Sphere: (radius, 0, 0). Capsule: (radius, distance of the two end centres, 0). Box: the three sides. All [m]."""
    pos: Vec = (0.0, 0.0, 0.0)
    """Centre [m] in the body's frame."""
    quat: Quat = NO_ROTATION
    """Rotation (xyzw) of the shape's frame in the body's frame."""
    collides: bool = True
    """Whether it is a collision shape; otherwise it is only drawn."""
    color: Vec = (0.6, 0.6, 0.6)
    """Colour it is drawn in, RGB from 0 to 1."""
    name: str = ""
    """Prim name; empty: numbered by its place on the body."""


@dataclass(frozen=True)
class MassProperties:
    """Mass, centre of mass and inertia of a body."""

    mass: float
    """Mass [kg]."""
    com: Vec
    """Centre of mass [m] in the body's frame."""
    inertia: Matrix
    """Inertia tensor [kg m^2] about the centre of mass, axes of the body's frame."""


@dataclass(frozen=True)
class UsdBody:
    """One rigid link."""

    name: str
    """Prim name; tasks find the body by it."""
    mass: MassProperties
    """What it weighs."""
    shapes: tuple[Shape, ...] = ()
    """What it looks like and collides with."""
    pos: Vec = (0.0, 0.0, 0.0)
    """Position [m] of its frame in the robot's frame, all joints at zero."""
    quat: Quat = NO_ROTATION
    """Rotation (xyzw) of its frame in the robot's frame, all joints at zero."""


@dataclass(frozen=True)
class UsdJoint:
    """A joint between two bodies."""

    name: str
    """Prim name; tasks find the joint by it."""
    kind: Literal["revolute", "prismatic", "fixed"]
    """What moves: an angle, a distance, or nothing."""
    parent: str
    """Name of the body nearer to the root."""
    child: str
    """Name of the body it moves."""
    axis: Vec
    """Unit axis in the child's frame."""
    pos: Vec
    """Position [m] of the child's frame in the parent's frame, joint at zero."""
    quat: Quat = NO_ROTATION
    """Rotation (xyzw) of the child's frame in the parent's frame, joint at zero."""
    limits: tuple[float, float] | None = None
    """Lower and upper limit [rad or m]; ``None``: unlimited."""
    armature: float = 0.0
    """Inertia [kg m^2 or kg] added on the joint's axis, as of a rotor behind a gear."""
    stiffness: float = 0.0
    """Stiffness [N m/rad or N/m] of its drive, unless a task sets another."""
    damping: float = 0.0
    """Damping [N m s/rad or N s/m] of its drive, unless a task sets another."""
    max_effort: float | None = None
    """Largest effort [N m or N] of its drive; ``None``: unlimited."""
    max_velocity: float | None = None
    """Largest speed [rad/s or m/s]; ``None``: unlimited."""
    start: float = 0.0
    """Position [rad or m] the simulation starts in, before a task writes one; must be within the limits."""
    mimics: str | None = None
    """Name of a joint whose position it repeats; ``None``: it moves by itself."""


@dataclass(frozen=True)
class UsdRobot:
    """A whole articulation, or a single free body."""

    name: str
    """Name of the root prim."""
    bodies: tuple[UsdBody, ...]
    """Bodies, the root first."""
    joints: tuple[UsdJoint, ...] = ()
    """Joints, a parent's before its child's."""
    fixed_base: bool = False
    """Whether the root body is fixed to the world."""
    variants: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    """USD variant sets: the name of each variant, the first the default, and the bodies that do not collide in it."""

    def body(self, name: str) -> UsdBody:
        """Return the body called ``name``."""
        for body in self.bodies:
            if body.name == name:
                return body
        raise KeyError(f"robot '{self.name}' has no body '{name}', it has {[body.name for body in self.bodies]}")

    def placed(self) -> UsdRobot:
        """Return the robot with the pose of every body computed from its joints."""
        placed = {self.bodies[0].name: self.bodies[0]}
        for joint in self.joints:
            parent = placed[joint.parent]
            placed[joint.child] = replace(
                self.body(joint.child),
                pos=add(parent.pos, rotate(parent.quat, joint.pos)),
                quat=multiply(parent.quat, joint.quat),
            )
        return replace(self, bodies=tuple(placed[body.name] for body in self.bodies))


##
# Vectors and rotations
##


def add(a: Vec, b: Vec) -> Vec:
    """Return the sum of two vectors."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def scale(a: Vec, factor: float) -> Vec:
    """Return a vector times a number."""
    return (a[0] * factor, a[1] * factor, a[2] * factor)


def dot(a: Vec, b: Vec) -> float:
    """Return the inner product of two vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vec, b: Vec) -> Vec:
    """Return the cross product of two vectors."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def unit(a: Vec) -> Vec:
    """Return the vector of length one in the same direction."""
    return scale(a, 1.0 / math.sqrt(dot(a, a)))


def multiply(a: Quat, b: Quat) -> Quat:
    """Return the rotation that first does ``b``, then ``a``."""
    u, v = a[:3], b[:3]
    x, y, z = add(add(scale(v, a[3]), scale(u, b[3])), cross(u, v))
    return (x, y, z, a[3] * b[3] - dot(u, v))


def rotate(a: Quat, v: Vec) -> Vec:
    """Return the vector rotated by a unit quaternion."""
    t = scale(cross(a[:3], v), 2.0)
    return add(add(v, scale(t, a[3])), cross(a[:3], t))


def from_axis_angle(axis: Vec, angle: float) -> Quat:
    """Return the rotation by ``angle`` [rad] about a unit ``axis``."""
    x, y, z = scale(axis, math.sin(angle / 2))
    return (x, y, z, math.cos(angle / 2))


def turning(start: Vec, end: Vec) -> Quat:
    """Return the shortest rotation that turns the unit vector ``start`` into the unit vector ``end``."""
    c = dot(start, end)
    if c < -1.0 + 1e-9:  # opposite: half a turn about anything perpendicular
        other: Vec = (1.0, 0.0, 0.0) if abs(start[0]) < 0.9 else (0.0, 1.0, 0.0)
        return (*unit(cross(start, other)), 0.0)
    x, y, z = cross(start, end)
    length = math.sqrt(x * x + y * y + z * z + (1 + c) ** 2)
    return (x / length, y / length, z / length, (1 + c) / length)


def rotation_matrix(a: Quat) -> Matrix:
    """Return the rotation matrix of a unit quaternion; its columns are the rotated axes."""
    x, y, z = (rotate(a, axis) for axis in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))
    return ((x[0], y[0], z[0]), (x[1], y[1], z[1]), (x[2], y[2], z[2]))


def quat_from_matrix(m: Matrix) -> Quat:
    """Return the unit quaternion, w not negative, of a rotation matrix."""
    # the largest of the four candidates divides, so nothing small ever does
    w2 = 1 + m[0][0] + m[1][1] + m[2][2]
    x2 = 1 + m[0][0] - m[1][1] - m[2][2]
    y2 = 1 - m[0][0] + m[1][1] - m[2][2]
    z2 = 1 - m[0][0] - m[1][1] + m[2][2]
    best = max(w2, x2, y2, z2)
    a, b, c = m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]
    d, e, f = m[0][1] + m[1][0], m[0][2] + m[2][0], m[1][2] + m[2][1]
    if best == w2:
        q = (a, b, c, w2)
    elif best == x2:
        q = (x2, d, e, a)
    elif best == y2:
        q = (d, y2, f, b)
    else:
        q = (e, f, z2, c)
    length = math.copysign(math.sqrt(sum(part * part for part in q)), q[3] if q[3] != 0.0 else 1.0)
    return (q[0] / length, q[1] / length, q[2] / length, q[3] / length)
