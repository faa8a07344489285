# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Ground given by heights on a regular grid.

The surface is the one that a physics engine collides with: two triangles a cell. The nearest of all triangles is found,
not only the one below a point, so a step or a slope is met at its true distance.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from .grounds import Ground, GroundHit
from .triangles import closest_on_triangle, face_normal, per_environment, pick_nearest, resolve, searchable

_CHUNK = 1 << 17
"""Points that are searched at once, to bound the memory of the lists of candidates."""

_CORNERS = {
    "forward": (((0, 0), (0, 0)), ((1, 0), (1, 1)), ((1, 1), (0, 1))),
    "backward": (((0, 0), (1, 0)), ((1, 0), (1, 1)), ((0, 1), (0, 1))),
}
"""Grid points of a cell that its first and its second triangle have as first, second and third corner."""


class HeightFieldGround(Ground):
    """One or more height fields, and which environment stands where on which."""

    heights: Tensor
    placement: Tensor
    field: Tensor
    _bounds: Tensor

    def __init__(
        self,
        heights: Tensor,
        spacing: float,
        placement: Tensor | None = None,
        field: Tensor | None = None,
        diagonal: Literal["forward", "backward"] = "forward",
    ):
        """Sets the fields.

        Args:
            heights: Heights [m] at the grid points ``(i, j) * spacing`` of the field's frame, shape (F, X, Y), or
                (X, Y) for one.
            spacing: Distance between neighbouring grid points [m].
            placement: Position of each environment's origin in the frame of its field [m], shape (N, 3), or (1, 3) when
                all stand at the same place; by default in the corner at grid point (0, 0).
            field: Field of each environment, shape (N,), or (1,) when all share one; by default the first for all when
                there is one, else one an environment.
            diagonal: Whether a cell is cut from (i, j) to (i + 1, j + 1), as Isaac Lab's terrain generator does, or
                from (i + 1, j) to (i, j + 1).
        """
        super().__init__()
        heights = heights if heights.ndim == 3 else heights.unsqueeze(0)
        if heights.ndim != 3 or min(heights.shape[1:]) < 2:
            raise ValueError(f"height field: got heights of shape {tuple(heights.shape)}, expected (F, X >= 2, Y >= 2)")
        if not (spacing > 0 and math.isfinite(spacing)):
            raise ValueError(f"height field: got a spacing of {spacing} m, expected a positive number")
        if diagonal not in ("forward", "backward"):
            raise ValueError(f"height field: got diagonal '{diagonal}', expected 'forward' or 'backward'")
        self.spacing, self.diagonal = float(spacing), diagonal
        self.register_buffer("heights", heights.contiguous(), persistent=False)
        self.register_buffer("placement", heights.new_zeros(1, 3) if placement is None else placement, persistent=False)
        field = torch.arange(heights.shape[0], device=heights.device) if field is None else field
        self.register_buffer("field", field, persistent=False)
        self.register_buffer("_bounds", _pyramid(heights), persistent=False)

    def query(self, points: Tensor, env_ids: Tensor | None = None, reach: float | Tensor = math.inf) -> GroundHit:
        """See :meth:`Ground.query`. Beyond the border of a field there is nothing, and above or below is told by the
        height at the border.
        """
        return per_environment(self._nearest, points, self.placement, self.field, env_ids, reach, _CHUNK)

    def height_at(self, x: Tensor, y: Tensor, field: Tensor) -> Tensor:
        """Height of the surface.

        Args:
            x: First coordinate in the field's frame [m], shape (M,), clamped to the field.
            y: Second coordinate, likewise.
            field: Field, shape (M,).

        Returns:
            Heights [m], shape (M,).
        """
        i, j = self._cell(x, 1), self._cell(y, 2)
        s = (x / self.spacing - i).clamp(0.0, 1.0)
        t = (y / self.spacing - j).clamp(0.0, 1.0)
        h00, h10, h01, h11 = self._corner_heights(field, i, j)
        if self.diagonal == "forward":
            return h00 + torch.where(s >= t, (h10 - h00) * s + (h11 - h10) * t, (h11 - h01) * s + (h01 - h00) * t)
        near = h00 + (h10 - h00) * s + (h01 - h00) * t
        return torch.where(s + t <= 1.0, near, h11 + (h01 - h11) * (1.0 - s) + (h10 - h11) * (1.0 - t))

    def _nearest(self, points: Tensor, field: Tensor, reach: Tensor) -> GroundHit:
        with torch.no_grad():
            found = searchable(points)
            corners, above = self._choose(found, field, reach)
            # In double precision, because the winner's closest point is what everything else is measured from.
            closest, part = closest_on_triangle(found.double(), corners.double())
        return resolve(points, corners, closest.to(points.dtype), part, face_normal(corners), above)

    def _choose(self, points: Tensor, field: Tensor, reach: Tensor) -> tuple[Tensor, Tensor]:
        """Corners of the nearest triangle of each point, and whether the point is above the surface."""
        x, y, z = points
        cells_y = self.heights.shape[2] - 1
        i, j = self._cell(x, 1), self._cell(y, 2)
        above = z >= self.height_at(x, y, field)
        best, choice = self._best_of_cell(points, field, i, j)
        own = (i * cells_y + j) * 2 + choice

        # The nearest triangle is within ``best`` of the point. With all heights that near between a lowest and a
        # highest, that leaves a narrower ring of cells, for one look-up.
        limit = torch.minimum(best.sqrt(), reach)
        level = torch.ceil(torch.log2((limit / self.spacing).clamp(min=0.5))).long() + 1
        low, high = self._bounds[:, field, level.clamp(max=self._bounds.shape[2] - 1), i, j]
        gap = torch.maximum(z - high, low - z).clamp(min=0.0)
        radius = (limit.square() - gap.square()).clamp(min=0.0).sqrt()
        radius = torch.where(gap > limit, torch.zeros_like(radius), radius * (1.0 + 1e-5) + 1e-6)

        first_i, last_i = self._cell(x - radius, 1), self._cell(x + radius, 1)
        first_j, last_j = self._cell(y - radius, 2), self._cell(y + radius, 2)
        rows, columns = last_i - first_i + 1, last_j - first_j + 1
        count = rows * columns
        point = torch.repeat_interleave(count)
        number = torch.arange(point.numel(), device=point.device) - (count.cumsum(0) - count)[point]
        cell_i = first_i[point] + torch.div(number, columns[point], rounding_mode="floor")
        cell_j = first_j[point] + number % columns[point]

        # Of these, only cells whose box is nearer than what was found already are looked at closely.
        low, high = self._bounds[:, field[point], 0, cell_i, cell_j]
        dx = _outside(x[point], cell_i * self.spacing, (cell_i + 1) * self.spacing)
        dy = _outside(y[point], cell_j * self.spacing, (cell_j + 1) * self.spacing)
        dz = _outside(z[point], low, high)
        keep = (dx.square() + dy.square() + dz.square() < best[point]).nonzero().squeeze(-1)
        point, cell_i, cell_j = point[keep], cell_i[keep], cell_j[keep]
        squared, choice = self._best_of_cell(points[:, point], field[point], cell_i, cell_j)
        triangle = pick_nearest(best, own, point, squared, (cell_i * cells_y + cell_j) * 2 + choice)
        cell = triangle // 2
        return self._corners(field, cell // cells_y, cell % cells_y, triangle % 2), above

    def _best_of_cell(self, points: Tensor, field: Tensor, i: Tensor, j: Tensor) -> tuple[Tensor, Tensor]:
        """Squared distance to the nearer of a cell's two triangles, and which one it is."""
        squared = []
        for half in (0, 1):
            closest, _ = closest_on_triangle(points, self._corners(field, i, j, half))
            squared.append((points - closest).square().sum(0))
        return torch.minimum(*squared), (squared[1] < squared[0]).long()

    def _cell(self, coordinate: Tensor, dim: int) -> Tensor:
        return torch.floor(coordinate / self.spacing).clamp(0, self.heights.shape[dim] - 2).long()

    def _corner_heights(self, field: Tensor, i: Tensor, j: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        h = self.heights
        return h[field, i, j], h[field, i + 1, j], h[field, i, j + 1], h[field, i + 1, j + 1]

    def _corners(self, field: Tensor, i: Tensor, j: Tensor, half: Tensor | int) -> Tensor:
        """Corners of one triangle of a cell, counter-clockwise from above, shape (3, 3, M)."""
        corners = []
        for (i0, j0), (i1, j1) in _CORNERS[self.diagonal]:
            corner_i, corner_j = i + i0 + (i1 - i0) * half, j + j0 + (j1 - j0) * half
            height = self.heights[field, corner_i, corner_j]
            corners.append(torch.stack((corner_i * self.spacing, corner_j * self.spacing, height)))
        return torch.stack(corners)


def _pyramid(heights: Tensor) -> Tensor:
    """Lowest and highest height around each cell: level 0 of the cell itself, level n within 2^(n-1) cells of it.

    Shape (2, F, levels, X - 1, Y - 1).
    """
    corners = (heights[:, :-1, :-1], heights[:, 1:, :-1], heights[:, :-1, 1:], heights[:, 1:, 1:])
    high = torch.stack(corners).amax(0)
    low = -torch.stack(corners).amin(0)
    levels = [torch.stack((low, high))]
    levels.append(F.max_pool2d(levels[0].flatten(0, 1), 3, stride=1, padding=1).view_as(levels[0]))
    width = 1
    while width < max(high.shape[1:]):
        padded = F.pad(levels[-1].flatten(0, 1), (width,) * 4, value=-math.inf)
        levels.append(F.max_pool2d(padded, 3, stride=1, dilation=width).view_as(levels[0]))
        width *= 2
    low, high = torch.stack(levels, dim=2)
    return torch.stack((-low, high))


def _outside(value: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """How far a value is outside of an interval, zero inside."""
    return torch.maximum(low - value, value - high).clamp(min=0.0)
