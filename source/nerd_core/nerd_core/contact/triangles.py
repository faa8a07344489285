# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Closest points on triangles, and what they mean for a surface.

A ground made of triangles first *chooses* the nearest triangle of each point, which no gradient passes through, and
then evaluates that one triangle so that the answer is differentiable, twice where it matters: the normal turns as a
point moves around an edge or a corner.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from .grounds import GroundHit

FACE, CORNER_A, CORNER_B, CORNER_C, EDGE_AB, EDGE_AC, EDGE_BC = range(7)
"""Parts of a triangle that can hold its closest point."""

MIN_NORMAL_DISTANCE = 1.0e-4
"""Distance [m] below which the direction to the closest point is noise, and the surface's own normal is used."""

_NOWHERE = 1.0e9
"""Coordinate [m] from which on a point is nowhere."""


def closest_on_triangle(points: Tensor, corners: Tensor) -> tuple[Tensor, Tensor]:
    """Closest points on triangles (Ericson, Real-Time Collision Detection, section 5.1.5), without branches.

    Args:
        points: Points [m], shape (3, M); coordinates come first so that operations run over long rows.
        corners: Corners of one triangle a point [m], shape (corners 3, coordinates 3, M).

    Returns:
        Closest points [m], shape (3, M), and the part of the triangle that holds them, shape (M,).
    """
    a, b, c = corners
    ab, ac, ap = b - a, c - a, points - a
    ab_ac = _dot(ab, ac)
    d1, d2 = _dot(ab, ap), _dot(ac, ap)
    d3, d4 = d1 - _dot(ab, ab), d2 - ab_ac
    d5, d6 = d1 - ab_ac, d2 - _dot(ac, ac)
    va, vb, vc = d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2
    past_b, past_c = d4 - d3, d5 - d6
    zero, one = torch.zeros_like(d1), torch.ones_like(d1)
    along_bc = past_b / _nonzero(past_b + past_c)
    area = _nonzero(va + vb + vc)
    v, w = vb / area, vc / area
    part = torch.zeros_like(d1, dtype=torch.long)
    # Later entries take precedence: (part, condition, weight of b, weight of c).
    for index, condition, weight_b, weight_c in (
        (EDGE_BC, (va <= 0) & (past_b >= 0) & (past_c >= 0), 1.0 - along_bc, along_bc),
        (EDGE_AC, (vb <= 0) & (d2 >= 0) & (d6 <= 0), zero, d2 / _nonzero(d2 - d6)),
        (CORNER_C, (d6 >= 0) & (d5 <= d6), zero, one),
        (EDGE_AB, (vc <= 0) & (d1 >= 0) & (d3 <= 0), d1 / _nonzero(d1 - d3), zero),
        (CORNER_B, (d3 >= 0) & (d4 <= d3), one, zero),
        (CORNER_A, (d1 <= 0) & (d2 <= 0), zero, zero),
    ):
        v, w = torch.where(condition, weight_b, v), torch.where(condition, weight_c, w)
        part = part.masked_fill(condition, index)
    return a + v * ab + w * ac, part


def face_normal(corners: Tensor) -> Tensor:
    """Unit normals of triangles, counter-clockwise seen from outside, shape (3, 3, M) to (3, M)."""
    a, b, c = corners
    normal = torch.linalg.cross(b - a, c - a, dim=0)
    return normal / _nonzero(torch.linalg.vector_norm(normal, dim=0))


def resolve(
    points: Tensor, corners: Tensor, closest: Tensor, part: Tensor, outward: Tensor, above: Tensor
) -> GroundHit:
    """The differentiable answer once the nearest triangle is known.

    Args:
        points: Points [m], shape (3, M).
        corners: Corners of the nearest triangles [m], shape (3, 3, M).
        closest: Closest points [m], shape (3, M).
        part: Part of the triangle that holds them, shape (M,).
        outward: Normal of the surface there, for points that touch it, shape (3, M).
        above: Whether the points are outside of the ground, shape (M,), bool.

    Returns:
        Distance, shape (M,), normal and closest point, both of shape (3, M).
    """
    with torch.no_grad():
        a, b, c = corners
        edge = torch.where(part == EDGE_AB, b - a, torch.where(part == EDGE_AC, c - a, c - b))
        edge = edge / _nonzero(torch.linalg.vector_norm(edge, dim=0))
        face = face_normal(corners)
        sign = above.to(points.dtype) * 2.0 - 1.0
    # While the part stays the same, the closest point moves with the point's share along that part.
    step = points - closest
    in_face = step - _dot(step, face) * face
    on_edge = _dot(step, edge) * edge
    moved = torch.where(part == FACE, in_face, torch.where(part >= EDGE_AB, on_edge, torch.zeros_like(step)))
    # ``moved`` is zero but for rounding: only its derivative counts, and the answer stays on the triangle.
    nearest = closest + (moved - moved.detach())
    away = points - nearest
    squared = _dot(away, away)
    on_surface = squared < MIN_NORMAL_DISTANCE**2
    length = torch.where(on_surface, torch.ones_like(squared), squared).sqrt()
    normal = torch.where(on_surface, outward, sign * away / length)
    return GroundHit(_dot(away, normal), normal, nearest)


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def pick_nearest(best: Tensor, own: Tensor, point: Tensor, squared: Tensor, triangle: Tensor) -> Tensor:
    """The nearest of all candidates of each point; of equals the first, so that the choice is deterministic.

    Args:
        best: Squared distance to what each point knows already [m^2], shape (M,).
        own: Triangle that it belongs to, shape (M,).
        point: Point that each candidate is for, shape (C,).
        squared: Squared distance to each candidate [m^2], shape (C,).
        triangle: Candidates, shape (C,).

    Returns:
        Triangles, shape (M,).
    """
    nearest = best.scatter_reduce(0, point, squared, "amin")
    nowhere = torch.iinfo(torch.long).max
    winner = torch.where(squared <= nearest[point], triangle, nowhere)
    found = torch.full_like(own, nowhere).scatter_reduce(0, point, winner, "amin")
    return torch.where((nearest < best) & (found < nowhere), found, own)


def per_environment(
    nearest: Callable[[Tensor, Tensor, Tensor], GroundHit],
    points: Tensor,
    placement: Tensor,
    surface: Tensor,
    env_ids: Tensor | None,
    reach: float | Tensor,
    chunk: int,
) -> GroundHit:
    """Asks a surface for points of many environments, in the surface's own frame and in bounded portions.

    Args:
        nearest: Answers for points (3, M), surfaces (M,) and reaches (M,) as :func:`resolve` does.
        points: Points relative to the origin of the environment [m], shape (N, ..., 3).
        placement: Position of each environment's origin in the frame of its surface [m], shape (1 or all, 3).
        surface: Surface of each environment, shape (1 or all,).
        env_ids: Environments that the first dimension of ``points`` stands for, shape (N,).
        reach: Distance that is of interest [m], broadcastable to (N, ...).
        chunk: Most points that are asked for at once.
    """
    shape = points.shape[:-1]
    per_env = []
    for name, value in (("placement", placement), ("surface", surface)):
        if value.shape[0] > 1 and env_ids is not None:
            value = value.index_select(0, env_ids)
        if value.shape[0] not in (1, shape[0]):
            raise ValueError(
                f"ground: got points of {shape[0]} environments, expected {value.shape[0]} as in its {name} "
                "(pass env_ids to query some of them)"
            )
        per_env.append(value.view(-1, *(1,) * (points.ndim - 2), *value.shape[1:]))
    origin = per_env[0].to(points.dtype)
    local = (points + origin).reshape(-1, 3).t()
    # Squares of larger numbers overflow; like NaN they are nowhere, and no gate lets their distance pass.
    local = torch.where(local.abs() < _NOWHERE, local, torch.full_like(local, torch.nan))
    surfaces = per_env[1].expand(shape).reshape(-1)
    reaches = torch.as_tensor(reach, dtype=points.dtype, device=points.device).expand(shape).reshape(-1)
    portions = zip(local.split(chunk, dim=1), surfaces.split(chunk), reaches.split(chunk), strict=True)
    hits = [nearest(*portion) for portion in portions]
    distance, normal, closest = (torch.cat(parts, dim=-1) for parts in zip(*hits, strict=True))
    return GroundHit(distance.view(shape), normal.t().reshape(points.shape), closest.t().reshape(points.shape) - origin)


def searchable(points: Tensor) -> Tensor:
    """Points without a gradient, and with zero for NaN, which a search could not compare."""
    return torch.nan_to_num(points.detach(), nan=0.0)


def _nonzero(value: Tensor) -> Tensor:
    """Denominators that a degenerate triangle may have made zero."""
    return torch.where(value == 0, torch.ones_like(value), value)
