# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A slab: a static box whose upper face stands for an endless plane, one in each environment.

Clones of one world share its planes, so that a tilted plane would lie higher below one environment than below the next.
A box moves with its environment; where nothing reaches its edges it is a plane, and contact queries take it as one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isaaclab.sim.spawners.shapes import CuboidCfg
    from pxr import Usd

ATTRIBUTE = "nerd:standsForPlane"
"""Attribute of the shape that marks it."""


def slab_cfg(size: tuple[float, float, float]) -> CuboidCfg:
    """How a slab is brought into a scene, with the friction of Isaac Lab's ground.

    Args:
        size: Lengths of its edges [m].
    """
    import isaaclab.sim as sim_utils

    return sim_utils.CuboidCfg(
        func=spawn_slab,
        size=size,
        collision_props=sim_utils.CollisionPropertiesCfg(),
        physics_material=sim_utils.RigidBodyMaterialCfg(),
        visual_material=sim_utils.PreviewSurfaceCfg(diffuse_color=(0.73, 0.72, 0.7)),
    )


def spawn_slab(prim_path: str, cfg: CuboidCfg, *args, **kwargs) -> Usd.Prim:
    """Makes the box and marks it; arguments as of Isaac Lab's ``spawn_cuboid``."""
    from isaaclab.sim.spawners.shapes import spawn_cuboid
    from isaaclab.sim.utils import find_matching_prims
    from pxr import Sdf, Usd, UsdGeom

    prim = spawn_cuboid(prim_path, cfg, *args, **kwargs)
    for root in find_matching_prims(prim_path):
        for shape in Usd.PrimRange(root):
            if shape.IsA(UsdGeom.Cube):
                shape.CreateAttribute(ATTRIBUTE, Sdf.ValueTypeNames.Bool, custom=True).Set(True)
    return prim


def is_slab(prim: Usd.Prim) -> bool:
    """Whether a shape is marked as one."""
    return prim.GetTypeName() == "Cube" and bool(prim.GetAttribute(ATTRIBUTE).Get())


def upper_face(prim: Usd.Prim, matrix: np.ndarray) -> tuple[np.ndarray, float]:
    """Normal and offset of the plane that a slab stands for, in the world.

    Args:
        prim: The shape.
        matrix: Its matrix to the world, row vectors as in USD.
    """
    from pxr import UsdGeom

    size = UsdGeom.Cube(prim).GetSizeAttr().Get()
    up = matrix[2, :3]
    normal = up / np.linalg.norm(up)
    return normal, float(normal @ (matrix[3, :3] + 0.5 * size * up))
