# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The ground of a running simulation, as the learned model's contact queries see it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import torch

from nerd_core.contact.grounds import Ground, PlaneGround, UnionGround
from nerd_core.contact.triangle_mesh import TriangleMeshGround

from .slab import is_slab, upper_face
from .static_shapes import plane_of, static_colliders, triangles_of

if TYPE_CHECKING:
    from isaaclab.envs import ManagerBasedEnv
    from pxr import Usd


NO_GROUND_BELOW = 1.0e6
"""How far below the robots the plane lies that stands for no ground at all [m]: out of reach of every contact."""


class GroundError(ValueError):
    """A scene whose ground the contact queries cannot express."""


def find_ground(env: ManagerBasedEnv) -> Ground:
    """The static surface that the robots may touch: what has a collision shape and belongs to no rigid body.

    Planes are taken as they are, and so are slabs (:mod:`nerd_isaaclab.physics.slab`), all other shapes as triangles,
    and all of them count at once. Shapes inside the
    environments (tables, walls) are those of the first one, for each environment at the same place. What
    ``cfg.nerd.ignored_shapes`` matches is left out. Without any shape the robot touches nothing, and the ground is a
    plane out of its reach.

    Raises:
        GroundError: A shape cannot be expressed, with the option that leaves it out.
    """
    inside = re.compile(re.escape(env.scene.env_ns) + r"/[^/]*?(\d+)(/|$)")
    ignored = getattr(getattr(env.cfg, "nerd", None), "ignored_shapes", None)
    shared, own = [], []
    for prim, matrix in static_colliders(env.sim.stage):
        path = str(prim.GetPath())
        if ignored is not None and re.fullmatch(ignored, path):
            continue
        place = inside.match(path)
        if place is None:
            shared.append((prim, matrix))
        elif int(place[1]) == 0:
            own.append((prim, matrix))
    origins = env.scene.env_origins
    parts = [
        *_planes([item for item in shared if _is_plane(item[0])], origins),
        *_planes([item for item in own if _is_plane(item[0])], origins[:1].expand_as(origins)),
        *_triangles([item for item in shared if not _is_plane(item[0])], origins),
        *_triangles([item for item in own if not _is_plane(item[0])], origins[:1]),
    ]
    if parts:
        return parts[0] if len(parts) == 1 else UnionGround(parts)
    up = torch.tensor([[0.0, 0.0, 1.0]], device=env.device).expand(len(origins), -1)
    return PlaneGround(up.contiguous(), torch.full((len(origins),), -NO_GROUND_BELOW, device=env.device))


def _is_plane(prim: Usd.Prim) -> bool:
    return prim.GetTypeName() == "Plane" or is_slab(prim)


def _planes(planes: list[tuple[Usd.Prim, np.ndarray]], origins: torch.Tensor) -> list[Ground]:
    """Planes as the environments see them; nothing where there are none.

    Args:
        planes: Prims with their matrices to the world.
        origins: Where the environments stand in that world [m], shape (N, 3).
    """
    if not planes:
        return []
    found = ((upper_face if is_slab(prim) else plane_of)(prim, matrix) for prim, matrix in planes)
    normal, offset = zip(*found, strict=True)
    normals = torch.tensor(np.array(normal), dtype=torch.float32, device=origins.device).expand(len(origins), -1, -1)
    offsets = torch.tensor(np.array(offset), dtype=torch.float32, device=origins.device)
    offsets = offsets - (origins[:, None] * normals).sum(-1)
    if len(planes) == 1:
        return [PlaneGround(normals[:, 0].contiguous(), offsets[:, 0].contiguous())]
    return [PlaneGround(normals.contiguous(), offsets.contiguous())]


def _triangles(shapes: list[tuple[Usd.Prim, np.ndarray]], placement: torch.Tensor) -> list[Ground]:
    """All shapes as one surface of triangles; nothing where there are none.

    Args:
        shapes: Prims with their matrices to the world.
        placement: Where the environments stand in that world [m], shape (N, 3) or (1, 3).
    """
    vertices, triangles, count = [], [], 0
    for prim, matrix in shapes:
        found = triangles_of(prim, matrix)
        if found is None or not len(found[1]):
            path = prim.GetPath()
            raise GroundError(
                f"the static shape '{path}' is a {prim.GetTypeName() or 'prim without type'} that has no triangles, "
                "expected a plane, a box, a sphere, a capsule, a cylinder, a cone or a mesh. To go on without it, so "
                f"that the model does not see contacts with it, add env.nerd.ignored_shapes='{re.escape(str(path))}'"
            )
        vertices.append(found[0])
        triangles.append(found[1] + count)
        count += len(found[0])
    if not shapes:
        return []
    return [
        TriangleMeshGround(
            torch.tensor(np.concatenate(vertices), dtype=torch.float32, device=placement.device),
            torch.tensor(np.concatenate(triangles), dtype=torch.long, device=placement.device),
            placement=placement,
        )
    ]
