# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The static collision shapes on a USD stage, as planes and triangles.

Boxes and meshes are exact. Spheres, capsules, cylinders and cones become solids with flat sides that hold less than a
hundredth of their radius less.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pxr import Usd

_SIDES = 32
"""Flat sides around a round shape."""

_BOX = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
"""Faces of a box, counter-clockwise seen from outside; its corners are numbered with the last axis running fastest."""


def static_colliders(stage: Usd.Stage) -> list[tuple[Usd.Prim, np.ndarray]]:
    """Static collision shapes with their matrices to the world (row vectors, as in USD): those of no rigid body."""
    from pxr import Usd, UsdGeom, UsdPhysics

    cache = UsdGeom.XformCache()
    found = []
    walk = iter(Usd.PrimRange(stage.GetPseudoRoot(), Usd.TraverseInstanceProxies()))
    for prim in walk:
        if prim.HasAPI(UsdPhysics.RigidBodyAPI) or prim.HasAPI(UsdPhysics.ArticulationRootAPI):
            walk.PruneChildren()
            continue
        is_shape = prim.HasAPI(UsdPhysics.CollisionAPI) and prim.IsA(UsdGeom.Gprim)
        if is_shape and UsdPhysics.CollisionAPI(prim).GetCollisionEnabledAttr().Get() is not False:
            found.append((prim, np.array(cache.GetLocalToWorldTransform(prim))))
    return found


def plane_of(prim: Usd.Prim, matrix: np.ndarray) -> tuple[np.ndarray, float]:
    """Normal and offset of a USD plane in the world."""
    from pxr import UsdGeom

    axis = "XYZ".index(UsdGeom.Plane(prim).GetAxisAttr().Get())
    normal = matrix[axis, :3] / np.linalg.norm(matrix[axis, :3])
    return normal, float(normal @ matrix[3, :3])


def triangles_of(prim: Usd.Prim, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Vertices in the world [m], shape (V, 3), and triangles, shape (F, 3), of a shape; None for an unknown kind."""
    solid = _solid(prim)
    if solid is None:
        return None
    points, polygons = solid
    triangles = [(face[0], face[i], face[i + 1]) for face in polygons for i in range(1, len(face) - 1)]
    is_mirrored = np.linalg.det(matrix[:3, :3]) < 0.0
    corners = np.array(triangles, dtype=np.int64).reshape(-1, 3)
    return points @ matrix[:3, :3] + matrix[3, :3], corners[:, ::-1] if is_mirrored else corners


def _solid(prim: Usd.Prim) -> tuple[np.ndarray, list] | None:
    """Vertices and polygons of a shape in its own frame."""
    from pxr import UsdGeom

    if prim.IsA(UsdGeom.Mesh):
        mesh = UsdGeom.Mesh(prim)
        corners = np.array(mesh.GetFaceVertexIndicesAttr().Get(), dtype=np.int64)
        counts = mesh.GetFaceVertexCountsAttr().Get()
        ends = list(itertools.accumulate(counts))
        polygons = [corners[end - count : end] for count, end in zip(counts, ends, strict=True)]
        if mesh.GetOrientationAttr().Get() == UsdGeom.Tokens.leftHanded:
            polygons = [polygon[::-1] for polygon in polygons]
        return np.array(mesh.GetPointsAttr().Get(), dtype=np.float64), polygons
    if prim.IsA(UsdGeom.Cube):
        half = 0.5 * UsdGeom.Cube(prim).GetSizeAttr().Get()
        return np.array(list(itertools.product((-half, half), repeat=3))), _BOX
    if prim.IsA(UsdGeom.Sphere):
        radius = UsdGeom.Sphere(prim).GetRadiusAttr().Get()
        return _turned(_arc(radius, 0.0, -math.pi / 2, math.pi / 2), "Z")
    for kind in (UsdGeom.Capsule, UsdGeom.Cylinder, UsdGeom.Cone):
        if prim.IsA(kind):
            shape = kind(prim)
            radius, half = shape.GetRadiusAttr().Get(), 0.5 * shape.GetHeightAttr().Get()
            profile = {
                UsdGeom.Capsule: _arc(radius, -half, -math.pi / 2, 0.0) + _arc(radius, half, 0.0, math.pi / 2),
                UsdGeom.Cylinder: [(0.0, -half), (radius, -half), (radius, half), (0.0, half)],
                UsdGeom.Cone: [(0.0, -half), (radius, -half), (0.0, half)],
            }[kind]
            return _turned(profile, shape.GetAxisAttr().Get())
    return None


def _arc(radius: float, height: float, start: float, end: float) -> list[tuple[float, float]]:
    """Points of an arc about a point on the axis: distance from the axis and height along it."""
    angles = np.linspace(start, end, 1 + round(_SIDES * (end - start) / (2.0 * math.pi)))
    return [(max(radius * math.cos(angle), 0.0), height + radius * math.sin(angle)) for angle in angles.tolist()]


def _turned(profile: list[tuple[float, float]], axis: str) -> tuple[np.ndarray, list]:
    """The solid that a profile, from bottom to top, describes when it is turned about an axis."""
    turn = 2.0 * math.pi * np.arange(_SIDES) / _SIDES
    rings = [np.stack((r * np.cos(turn), r * np.sin(turn), np.full(_SIDES, z)), axis=1) for r, z in profile[1:-1]]
    bottom, top = (0.0, 0.0, profile[0][1]), (0.0, 0.0, profile[-1][1])
    points = np.concatenate((*rings, [bottom, top]))
    low, high = len(points) - 2, len(points) - 1
    polygons = []
    for side in range(_SIDES):
        beside = (side + 1) % _SIDES
        polygons.append((low, beside, side))
        for ring in range(len(rings) - 1):
            here, above = ring * _SIDES, (ring + 1) * _SIDES
            polygons.append((here + side, here + beside, above + beside, above + side))
        last = (len(rings) - 1) * _SIDES
        polygons.append((high, last + side, last + beside))
    order = {"X": [2, 0, 1], "Y": [1, 2, 0], "Z": [0, 1, 2]}[axis]  # cyclic, so that sides keep facing outwards
    return points[:, order], polygons
