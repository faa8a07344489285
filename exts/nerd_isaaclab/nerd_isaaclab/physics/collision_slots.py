# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Contact slots from the collision shapes that a USD stage gives to a body."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from nerd_core.robot.materials import Material
from nerd_core.robot.slots import box_slots, capsule_slots, mesh_slots, sphere_slots
from nerd_core.robot.spec import AXES, ContactSlot, Quaternion, Vector

if TYPE_CHECKING:
    from pxr import Usd

MESH_POINTS = 8
"""Slots of a mesh: as many as of a box."""


def slots_of_body(
    name: str, prim: Usd.Prim, others: list[Usd.Prim], materials: Iterator[Material] | None = None
) -> list[ContactSlot]:
    """Slots of all collision shapes that belong to a body.

    A cylinder counts as a capsule of the same length, as in the published method; cones and meshes get points of
    their convex hull.

    Args:
        name: Name of the body.
        prim: Prim of the body.
        others: Prims of the robot's other bodies: what lies below one of them belongs to that body.
        materials: Gives the material of each shape; None to leave it open.
    """
    slots: list[ContactSlot] = []
    for shape, matrix in _collision_shapes(prim, {other.GetPath() for other in others}):
        material = None if materials is None else next(materials)
        slots += [dataclasses.replace(slot, material=material) for slot in _slots_of_shape(name, shape, matrix)]
    return slots


def slots_by_shape(prim: Usd.Prim, others: list[Usd.Prim]) -> list[int]:
    """Number of slots of each collision shape of a body, in the order of the engine; arguments as of
    :func:`slots_of_body`.
    """
    shapes = _collision_shapes(prim, {other.GetPath() for other in others})
    return [len(_slots_of_shape("", shape, matrix)) for shape, matrix in shapes]


def shapes_of_body(prim: Usd.Prim, others: list[Usd.Prim]) -> list[Usd.Prim]:
    """Enabled collision shapes of a body, in the order of the engine; arguments as of :func:`slots_of_body`."""
    return [shape for shape, _ in _collision_shapes(prim, {other.GetPath() for other in others})]


def _collision_shapes(body: Usd.Prim, others: set) -> Iterator[tuple[Usd.Prim, np.ndarray]]:
    """Enabled collision shapes of a body with the matrix (row vectors, as in USD) from the shape to the body."""
    from pxr import Usd, UsdGeom, UsdPhysics

    cache = UsdGeom.XformCache()
    to_body = np.array(cache.GetLocalToWorldTransform(body).GetInverse())
    scale = np.linalg.norm(np.array(cache.GetLocalToWorldTransform(body))[:3, :3], axis=1)
    walk = iter(Usd.PrimRange(body, Usd.TraverseInstanceProxies()))
    for prim in walk:
        if prim.GetPath() in others:
            walk.PruneChildren()
            continue
        if not prim.HasAPI(UsdPhysics.CollisionAPI) or not prim.IsA(UsdGeom.Gprim):
            continue
        if UsdPhysics.CollisionAPI(prim).GetCollisionEnabledAttr().Get() is False:
            continue
        matrix = np.array(cache.GetLocalToWorldTransform(prim)) @ to_body
        matrix[:, :3] *= scale  # the engine's body frames carry no scale
        yield prim, matrix


def _slots_of_shape(body: str, prim: Usd.Prim, matrix: np.ndarray) -> tuple[ContactSlot, ...]:
    """Slots of one shape, given the matrix from its frame to the body's."""
    from pxr import UsdGeom

    pos, quat, scale = _decompose(matrix)
    if prim.IsA(UsdGeom.Sphere):
        return sphere_slots(body, _round(UsdGeom.Sphere(prim).GetRadiusAttr().Get() * scale.max()), pos)
    if prim.IsA(UsdGeom.Capsule) or prim.IsA(UsdGeom.Cylinder):
        shape = UsdGeom.Capsule(prim) if prim.IsA(UsdGeom.Capsule) else UsdGeom.Cylinder(prim)
        along = "XYZ".index(shape.GetAxisAttr().Get())
        radius = shape.GetRadiusAttr().Get() * np.delete(scale, along).max()
        half = 0.5 * shape.GetHeightAttr().Get() * scale[along]
        return capsule_slots(body, _round(radius), _round(half), AXES["XYZ"[along]], pos, quat)
    if prim.IsA(UsdGeom.Cube):
        half = 0.5 * UsdGeom.Cube(prim).GetSizeAttr().Get() * scale
        return box_slots(body, (_round(half[0]), _round(half[1]), _round(half[2])), pos, quat)
    if prim.IsA(UsdGeom.Mesh):
        points = np.array(UsdGeom.Mesh(prim).GetPointsAttr().Get(), dtype=np.float64) * scale
        return mesh_slots(body, points, MESH_POINTS, pos, quat)
    return ()  # a plane or a cone on a robot: no rule for it


def _decompose(matrix: np.ndarray) -> tuple[Vector, Quaternion, np.ndarray]:
    """Position, orientation (xyzw) and scale of a matrix of row vectors without shear."""
    from pxr import Gf

    scale = np.linalg.norm(matrix[:3, :3], axis=1)
    rotation = Gf.Matrix3d(*(matrix[:3, :3] / scale[:, None]).ravel().tolist()).ExtractRotation().GetQuat()
    imaginary = rotation.GetImaginary()
    quat = (_round(imaginary[0]), _round(imaginary[1]), _round(imaginary[2]), _round(rotation.GetReal()))
    x, y, z = (_round(value) for value in matrix[3, :3])
    return (x, y, z), quat, scale


def _round(value: float) -> float:
    """To a ten-thousandth of a millimetre: the noise of single precision must not change a specification's hash."""
    return round(float(value), 7) + 0.0
