# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Ground given by triangle meshes.

The nearest triangle of each point is found in a hierarchy of boxes with eight children a node, level by level for all
points at once. Inside and outside follow from the angle-weighted normal of the nearest face, edge or corner, which is
right for every closed mesh and for terrain (Baerentzen and Aanaes, 2005, doi:10.1109/TVCG.2005.49).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from .grounds import Ground, GroundHit
from .triangles import (
    CORNER_A,
    EDGE_AB,
    EDGE_AC,
    EDGE_BC,
    closest_on_triangle,
    face_normal,
    per_environment,
    pick_nearest,
    resolve,
    searchable,
)

_BRANCHES = 8
_NOWHERE = 1.0e18
"""Coordinate of the inside-out box of a missing child; its square is still a float32."""
_CHUNK = 1 << 16
"""Points that are searched at once, to bound the memory of the lists of candidates."""


class TriangleMeshGround(Ground):
    """One or more triangle meshes, and which environment stands where on which."""

    placement: Tensor
    mesh: Tensor
    _corners: Tensor
    _outward: Tensor
    _first_triangle: Tensor

    def __init__(
        self,
        vertices: Tensor | Sequence[Tensor],
        faces: Tensor | Sequence[Tensor],
        placement: Tensor | None = None,
        mesh: Tensor | None = None,
    ):
        """Sets the meshes and builds their hierarchies.

        Args:
            vertices: Corner points [m], shape (V, 3), of one mesh or of each of several.
            faces: Corners of each triangle, counter-clockwise seen from outside the ground, shape (F, 3), likewise.
                Triangles meet along an edge when they use the same two corner points.
            placement: Position of each environment's origin in the frame of its mesh [m], shape (N, 3), or (1, 3) when
                all stand at the same place; by default at the mesh's origin.
            mesh: Mesh of each environment, shape (N,), or (1,) when all share one; by default the first for all when
                there is one, else one an environment.
        """
        super().__init__()
        all_vertices = [vertices] if isinstance(vertices, Tensor) else list(vertices)
        all_faces = [faces] if isinstance(faces, Tensor) else list(faces)
        if len(all_vertices) != len(all_faces) or not all_vertices:
            raise ValueError(
                f"triangle mesh: got {len(all_vertices)} lists of vertices and {len(all_faces)} of faces, "
                "expected one of each a mesh, and at least one mesh"
            )
        meshes = [_sorted_triangles(v, f) for v, f in zip(all_vertices, all_faces, strict=True)]
        self._depth = max(_depth(corners.shape[0]) for corners, _ in meshes)
        trees = [_hierarchy(corners, self._depth) for corners, _ in meshes]
        self.register_buffer("_corners", torch.cat([corners for corners, _ in meshes]), False)
        self.register_buffer("_outward", torch.cat([outward for _, outward in meshes]), False)
        self.register_buffer("_first_triangle", _starts([corners for corners, _ in meshes]), False)
        for level, families in enumerate(zip(*trees, strict=True)):
            self.register_buffer(f"_boxes_{level}", torch.cat(families), False)
            self.register_buffer(f"_first_family_{level}", _starts(families), False)
        device = self._corners.device
        self.register_buffer("placement", torch.zeros(1, 3, device=device) if placement is None else placement, False)
        self.register_buffer("mesh", torch.arange(len(meshes), device=device) if mesh is None else mesh, False)

    def query(self, points: Tensor, env_ids: Tensor | None = None, reach: float | Tensor = math.inf) -> GroundHit:
        """See :meth:`Ground.query`."""
        return per_environment(self._nearest, points, self.placement, self.mesh, env_ids, reach, _CHUNK)

    def _nearest(self, points: Tensor, mesh: Tensor, reach: Tensor) -> GroundHit:
        with torch.no_grad():
            found = searchable(points)
            triangle = self._choose(found, mesh, reach)
            corners, closest, part, outward, above = self._sides(found, triangle)
            # Where nothing is within reach this triangle need not be the nearest. A point above the ground may well be
            # behind it, metres away, and would count as deep inside: those are looked at again.
            far = (found.double() - closest).square().sum(0) > reach.double().square()
            doubtful = (far & ~above).nonzero()[:, 0]
            if len(doubtful):
                anywhere = torch.full_like(reach.expand(mesh.shape)[doubtful], math.inf)
                triangle[doubtful] = self._choose(found[:, doubtful], mesh[doubtful], anywhere)
                corners, closest, part, outward, above = self._sides(found, triangle)
        return resolve(points, corners, closest.to(points.dtype), part, outward, above)

    def _sides(self, points: Tensor, triangle: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Corners of triangles, the nearest point of each, its part, the normal there, and whether that is below."""
        corners = self._corners[triangle].permute(1, 2, 0)
        exact = points.double()
        closest, part = closest_on_triangle(exact, corners.double())
        outward = self._outward[triangle, part].t()
        return corners, closest, part, outward, ((exact - closest) * outward).sum(0) >= 0

    def _choose(self, points: Tensor, mesh: Tensor, reach: Tensor) -> Tensor:
        """Row of the nearest triangle of each point."""
        # First straight down, always into the nearest box. What is found at the bottom is seldom far from the nearest.
        node = torch.zeros_like(mesh)
        for level in range(self._depth):
            low, high = self._children(level, node, mesh)
            # Boxes that hold the point are all equally near: the share of their middle decides.
            to_middle = (0.5 * (low + high) - points.t().unsqueeze(-1)).square().sum(1)
            node = node * _BRANCHES + (_to_boxes(points, low, high) + 0.1 * to_middle).argmin(-1)
        own = node + self._first_triangle[mesh]
        best = self._to_triangles(points, own)

        # Then into every box that may hide something nearer, and that is within reach.
        limit = torch.minimum(best, reach.square()).unsqueeze(-1)
        point, node = torch.arange(mesh.numel(), device=mesh.device), torch.zeros_like(mesh)
        for level in range(self._depth):
            squared = _to_boxes(points[:, point], *self._children(level, node, mesh[point]))
            if level == self._depth - 1:
                # Most of what is left hides nothing: one more guess for each point, the nearest of all its boxes.
                nearest, child = squared.min(-1)
                triangle = node * _BRANCHES + child + self._first_triangle[mesh[point]]
                guess = pick_nearest(torch.full_like(best, math.inf), own, point, nearest, triangle)
                guessed = self._to_triangles(points, guess)
                own, best = torch.where(guessed < best, guess, own), torch.minimum(guessed, best)
                limit = torch.minimum(limit, best.unsqueeze(-1))
            row, child = (squared < limit[point]).nonzero(as_tuple=True)
            point, node = point[row], node[row] * _BRANCHES + child
        triangle = node + self._first_triangle[mesh[point]]
        return pick_nearest(best, own, point, self._to_triangles(points[:, point], triangle), triangle)

    def _children(self, level: int, node: Tensor, mesh: Tensor) -> tuple[Tensor, Tensor]:
        """Low and high corners of the boxes of the children of nodes (P,), each of shape (P, 3, 8)."""
        low, high = getattr(self, f"_boxes_{level}")[node + getattr(self, f"_first_family_{level}")[mesh]].split(
            3, dim=1
        )
        return low, high

    def _to_triangles(self, points: Tensor, triangle: Tensor) -> Tensor:
        """Squared distance of each point (3, P) to a triangle, shape (P,)."""
        closest, _ = closest_on_triangle(points, self._corners[triangle].permute(1, 2, 0))
        return (points - closest).square().sum(0)


def _to_boxes(points: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Squared distances from points (3, P) to boxes (P, 3, 8) each, shape (P, 8)."""
    here = points.t().unsqueeze(-1)
    return torch.maximum(low - here, here - high).clamp(min=0.0).square().sum(1)


def _sorted_triangles(vertices: Tensor, faces: Tensor) -> tuple[Tensor, Tensor]:
    """Corners (F, 3, 3) and outward normals of the seven parts (F, 7, 3), neighbours in space next to each other."""
    if vertices.ndim != 2 or vertices.shape[1] != 3 or faces.ndim != 2 or faces.shape[1] != 3 or not len(faces):
        raise ValueError(
            f"triangle mesh: got vertices of shape {tuple(vertices.shape)} and faces of shape {tuple(faces.shape)}, "
            "expected (V, 3) and (F >= 1, 3)"
        )
    faces = faces.long()
    if int(faces.min()) < 0 or int(faces.max()) >= len(vertices):
        raise ValueError(
            f"triangle mesh: got corners {int(faces.min())} to {int(faces.max())}, expected 0 to {len(vertices) - 1}"
        )
    corners = vertices[faces]
    flat = torch.linalg.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]).abs().amax(-1) == 0
    faces, corners = faces[~flat], corners[~flat]
    if not len(faces):
        raise ValueError("triangle mesh: got triangles without area only, expected a surface")
    order = _along_a_curve(corners.mean(1))
    return corners[order].contiguous(), _outward_normals(vertices, faces, corners)[order].contiguous()


def _outward_normals(vertices: Tensor, faces: Tensor, corners: Tensor) -> Tensor:
    """Normals of the face, the corners (weighted by angle) and the edges of each triangle, shape (F, 7, 3)."""
    exact = corners.double()
    normal = face_normal(exact.permute(1, 2, 0)).t()
    outward = torch.empty(len(faces), 7, 3, dtype=torch.double, device=vertices.device)
    outward[:] = normal[:, None]
    at_vertex = torch.zeros(len(vertices), 3, dtype=torch.double, device=vertices.device)
    for i in range(3):
        one, two = exact[:, (i + 1) % 3] - exact[:, i], exact[:, (i + 2) % 3] - exact[:, i]
        across = torch.linalg.vector_norm(torch.linalg.cross(one, two), dim=-1)
        angle = torch.atan2(across, (one * two).sum(-1))
        at_vertex.index_add_(0, faces[:, i], angle[:, None] * normal)
    outward[:, CORNER_A : CORNER_A + 3] = at_vertex[faces]
    ends = torch.stack((faces[:, [0, 1]], faces[:, [0, 2]], faces[:, [1, 2]]), dim=1).sort(-1).values
    name, edge = torch.unique(ends.flatten(0, 1), dim=0, return_inverse=True)
    at_edge = torch.zeros(len(name), 3, dtype=torch.double, device=vertices.device)
    at_edge.index_add_(0, edge, normal.repeat_interleave(3, dim=0))
    outward[:, [EDGE_AB, EDGE_AC, EDGE_BC]] = at_edge[edge].unflatten(0, (-1, 3))
    length = torch.linalg.vector_norm(outward, dim=-1, keepdim=True)
    # Where two sheets lie back to back their normals cancel: the face's own normal is taken.
    outward = torch.where(length > 1e-9, outward / length.clamp(min=1e-9), normal[:, None])
    return outward.to(vertices.dtype)


def _along_a_curve(centres: Tensor) -> Tensor:
    """Order of points along a space-filling curve (Morton, ten bits an axis)."""
    low, high = centres.amin(0), centres.amax(0)
    cell = ((centres - low) / (high - low).max().clamp(min=1e-12) * 1023.0).long()
    code = torch.zeros_like(cell[:, 0])
    for bit in range(10):
        for axis in range(3):
            code |= ((cell[:, axis] >> bit) & 1) << (3 * bit + axis)
    return torch.argsort(code, stable=True)


def _depth(triangles: int) -> int:
    """Levels of boxes between the root and the triangles."""
    depth = 1
    while _BRANCHES**depth < triangles:
        depth += 1
    return depth


def _hierarchy(corners: Tensor, depth: int) -> list[Tensor]:
    """Boxes of the children of all nodes, from the root's down to the triangles' own.

    Each level has shape (nodes, 6, 8): low and high corner of each of the eight children of a node.
    """
    low, high = corners.amin(1), corners.amax(1)
    levels: list[Tensor] = []
    for _ in range(depth):
        missing = -len(low) % _BRANCHES
        low = torch.cat((low, low.new_full((missing, 3), _NOWHERE))).unflatten(0, (-1, _BRANCHES))
        high = torch.cat((high, high.new_full((missing, 3), -_NOWHERE))).unflatten(0, (-1, _BRANCHES))
        levels.insert(0, torch.cat((low, high), dim=-1).transpose(1, 2).contiguous())
        low, high = low.amin(1), high.amax(1)
    return levels


def _starts(parts: Sequence[Tensor]) -> Tensor:
    """Where each of several tensors begins when they are joined."""
    starts = itertools.accumulate((len(part) for part in parts[:-1]), initial=0)
    return torch.tensor(list(starts), device=parts[0].device)
