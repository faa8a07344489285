# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The ground of a running simulation, as the learned model's contact queries see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from nerd_core.contact.grounds import Ground, PlaneGround
from nerd_core.contact.triangle_mesh import TriangleMeshGround

if TYPE_CHECKING:
    from isaaclab.envs import ManagerBasedEnv
    from pxr import Usd


NO_GROUND_BELOW = 1.0e6
"""How far below the robots the plane lies that stands for no ground at all [m]: out of reach of every contact."""


class GroundError(ValueError):
    """A scene whose ground the contact queries cannot express."""


def find_ground(env: ManagerBasedEnv) -> Ground:
    """The static surface below the robots: what has a collision shape and belongs to no rigid body.

    Planes are taken as they are. Meshes are taken as triangles. A scene with both is refused, as is one with static
    shapes inside the environments (walls, tables): a model knows only one ground. Without any static shape the robot
    touches nothing, and the ground is a plane out of its reach.

    Raises:
        GroundError: The ground cannot be expressed.
    """
    planes, meshes = [], []
    for prim, matrix in _static_colliders(env.sim.stage):
        (planes if prim.GetTypeName() == "Plane" else meshes).append((prim, matrix))
    origins = env.scene.env_origins
    if planes and not meshes:
        normal, offset = zip(*(_plane(prim, matrix) for prim, matrix in planes), strict=True)
        normals = torch.tensor(np.array(normal), dtype=torch.float32, device=env.device).expand(len(origins), -1, -1)
        offsets = torch.tensor(np.array(offset), dtype=torch.float32, device=env.device) - (
            origins[:, None] * normals
        ).sum(-1)
        if len(planes) == 1:
            return PlaneGround(normals[:, 0].contiguous(), offsets[:, 0].contiguous())
        return PlaneGround(normals.contiguous(), offsets.contiguous())
    if meshes and not planes:
        vertices, triangles = _merge(meshes)
        return TriangleMeshGround(
            torch.tensor(vertices, dtype=torch.float32, device=env.device),
            torch.tensor(triangles, dtype=torch.long, device=env.device),
            placement=origins,
        )
    if planes or meshes:
        raise GroundError(
            "got planes and meshes as static ground, expected one kind: neural mode cannot see contacts with both"
        )
    up = torch.tensor([[0.0, 0.0, 1.0]], device=env.device).expand(len(origins), -1)
    return PlaneGround(up.contiguous(), torch.full((len(origins),), -NO_GROUND_BELOW, device=env.device))


def _static_colliders(stage: Usd.Stage) -> list[tuple[Usd.Prim, np.ndarray]]:
    """Static collision shapes with their matrices to the world (row vectors, as in USD)."""
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


def _plane(prim: Usd.Prim, matrix: np.ndarray) -> tuple[np.ndarray, float]:
    """Normal and offset of a USD plane in the world."""
    from pxr import UsdGeom

    axis = "XYZ".index(UsdGeom.Plane(prim).GetAxisAttr().Get())
    normal = matrix[axis, :3] / np.linalg.norm(matrix[axis, :3])
    return normal, float(normal @ matrix[3, :3])


def _merge(meshes: list[tuple[Usd.Prim, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """All meshes as one list of vertices in the world and one of triangles; polygons are fanned."""
    from pxr import UsdGeom

    vertices, triangles, count = [], [], 0
    for prim, matrix in meshes:
        if not prim.IsA(UsdGeom.Mesh):
            raise GroundError(
                f"the static shape '{prim.GetPath()}' is a {prim.GetTypeName()}, expected a plane or a mesh: "
                "neural mode cannot see its contacts"
            )
        mesh = UsdGeom.Mesh(prim)
        points = np.array(mesh.GetPointsAttr().Get(), dtype=np.float64)
        vertices.append(points @ matrix[:3, :3] + matrix[3, :3])
        indices = np.array(mesh.GetFaceVertexIndicesAttr().Get())
        start = 0
        for corners in mesh.GetFaceVertexCountsAttr().Get():
            face = indices[start : start + corners] + count
            triangles += [(face[0], face[i], face[i + 1]) for i in range(1, corners - 1)]
            start += corners
        count += len(points)
    return np.concatenate(vertices), np.array(triangles)
