# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A slab: a static block whose upper face stands for an endless plane, one in each environment.

Clones of one world share its planes, so that a tilted plane would lie higher below one environment than below the next.
A slab moves with its environment; where nothing reaches its edges it is a plane, and contact queries take it as one. It
is a mesh of twelve triangles and no box: of a fast capsule PhysX misses contacts with a box for whole physics steps,
which it finds on planes and on triangles, where the same step comes out alike to the fourth digit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from isaaclab.sim.spawners.meshes import MeshCuboidCfg
    from pxr import Usd

PLANE_CONTACT_OFFSET = 0.02
"""Gap to a plane below which PhysX makes contacts where nothing is authored [m]; a mesh would have another."""

ATTRIBUTE = "nerd:standsForPlane"
"""Attribute of the shape that marks it: how high its upper face is above its origin [m]."""


def slab_cfg(size: tuple[float, float, float], material: Any = None) -> MeshCuboidCfg:
    """How a slab is brought into a scene.

    Args:
        size: Lengths of its edges [m].
        material: What it is made of; None for what Isaac Lab's ground is made of.
    """
    import isaaclab.sim as sim_utils

    return sim_utils.MeshCuboidCfg(
        func=spawn_slab,
        size=size,
        collision_props=sim_utils.CollisionPropertiesCfg(contact_offset=PLANE_CONTACT_OFFSET, rest_offset=0.0),
        physics_material=material or sim_utils.RigidBodyMaterialCfg(),
        visual_material=sim_utils.PreviewSurfaceCfg(diffuse_color=(0.73, 0.72, 0.7)),
    )


def spawn_slab(prim_path: str, cfg: MeshCuboidCfg, *args, **kwargs) -> Usd.Prim:
    """Makes the block and marks it; arguments as of Isaac Lab's ``spawn_mesh_cuboid``."""
    from isaaclab.sim.spawners.meshes import spawn_mesh_cuboid
    from isaaclab.sim.utils import find_matching_prims
    from pxr import Sdf, Usd, UsdGeom, UsdPhysics

    prim = spawn_mesh_cuboid(prim_path, cfg, *args, **kwargs)
    for root in find_matching_prims(prim_path):
        for shape in Usd.PrimRange(root):
            if shape.IsA(UsdGeom.Mesh):
                UsdPhysics.MeshCollisionAPI.Apply(shape).GetApproximationAttr().Set("none")
                shape.CreateAttribute(ATTRIBUTE, Sdf.ValueTypeNames.Float, custom=True).Set(0.5 * cfg.size[2])
    return prim


def is_slab(prim: Usd.Prim) -> bool:
    """Whether a shape is marked as one."""
    return bool(prim.HasAttribute(ATTRIBUTE))


def upper_face(prim: Usd.Prim, matrix: np.ndarray) -> tuple[np.ndarray, float]:
    """Normal and offset of the plane that a slab stands for, in the world.

    Args:
        prim: The shape.
        matrix: Its matrix to the world, row vectors as in USD.
    """
    height = float(prim.GetAttribute(ATTRIBUTE).Get())
    up = matrix[2, :3]
    normal = up / np.linalg.norm(up)
    return normal, float(normal @ (matrix[3, :3] + height * up))
