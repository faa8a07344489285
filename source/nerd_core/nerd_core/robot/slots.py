# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Contact slots from collision shapes: sphere 1, capsule 2, box 8, a mesh some points of its convex hull."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import torch

from .frames import quat_rotate
from .spec import IDENTITY_QUAT, ContactSlot, Quaternion, SlotShape, Vector

SLOTS_OF_SHAPE: dict[SlotShape, int] = {"sphere": 1, "capsule": 2, "box": 8, "mesh": 8}
"""Most slots of a shape."""

_DIRECTIONS = 4096
"""Number of directions in which the farthest vertex is taken as a corner of the hull."""


def sphere_slots(body: str, radius: float, pos: Vector = (0.0, 0.0, 0.0)) -> tuple[ContactSlot, ...]:
    """One slot: the centre.

    Args:
        body: Name of the body.
        radius: Radius [m].
        pos: Centre in the frame of the body [m].
    """
    return (ContactSlot(body, pos, float(radius), "sphere"),)


def capsule_slots(
    body: str,
    radius: float,
    half_length: float,
    axis: Vector = (0.0, 0.0, 1.0),
    pos: Vector = (0.0, 0.0, 0.0),
    quat: Quaternion = IDENTITY_QUAT,
) -> tuple[ContactSlot, ...]:
    """Two slots: the ends of the axis, first the one on its negative side.

    Args:
        body: Name of the body.
        radius: Radius [m].
        half_length: Half the length of the cylindrical part [m].
        axis: Unit axis in the frame of the shape.
        pos: Centre in the frame of the body [m].
        quat: Orientation of the shape in the body.
    """
    ends = np.outer((-half_length, half_length), axis)
    return _slots(body, ends, float(radius), "capsule", pos, quat)


def box_slots(
    body: str, half_extents: Vector, pos: Vector = (0.0, 0.0, 0.0), quat: Quaternion = IDENTITY_QUAT
) -> tuple[ContactSlot, ...]:
    """Eight slots: the corners, the last axis running fastest, from negative to positive.

    Args:
        body: Name of the body.
        half_extents: Half the lengths of the edges [m].
        pos: Centre in the frame of the body [m].
        quat: Orientation of the shape in the body.
    """
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=3))) * np.asarray(half_extents)
    return _slots(body, corners, 0.0, "box", pos, quat)


def mesh_slots(
    body: str,
    vertices: np.ndarray,
    count: int,
    pos: Vector = (0.0, 0.0, 0.0),
    quat: Quaternion = IDENTITY_QUAT,
) -> tuple[ContactSlot, ...]:
    """Corners of the convex hull that are spread as far as possible, ``count`` of them or all if there are fewer.

    The first is the farthest from the middle, each other the farthest from those chosen before. The choice does not
    depend on the order of the vertices.

    Args:
        body: Name of the body.
        vertices: Vertices in the frame of the shape [m], shape (V, 3).
        count: Most slots to make.
        pos: Origin of the shape in the frame of the body [m].
        quat: Orientation of the shape in the body.
    """
    if count < 1:
        raise ValueError(f"slots of '{body}': got a count of {count}, expected at least 1")
    corners = hull_corners(vertices)
    distance = np.linalg.norm(corners - 0.5 * (corners.min(0) + corners.max(0)), axis=1)
    chosen = [int(distance.argmax())]
    distance = np.linalg.norm(corners - corners[chosen[0]], axis=1)
    while len(chosen) < min(count, len(corners)):
        chosen.append(int(distance.argmax()))
        distance = np.minimum(distance, np.linalg.norm(corners - corners[chosen[-1]], axis=1))
    return _slots(body, corners[chosen], 0.0, "mesh", pos, quat)


def shapes_of_slots(slots: Sequence[ContactSlot]) -> list[int]:
    """Number of the shape to which each slot belongs: slots of a shape stand one after the other, as many as such a
    shape has.

    Args:
        slots: Slots of a robot.
    """
    numbers: list[int] = []
    for place, slot in enumerate(slots):
        before = slots[place - 1] if place else None
        same = before is not None and (before.body, before.shape, before.radius) == (slot.body, slot.shape, slot.radius)
        full = not same or numbers.count(numbers[-1]) == SLOTS_OF_SHAPE[slot.shape]
        numbers.append((numbers[-1] if numbers else -1) + int(full))
    return numbers


def half_widths(slots: Sequence[ContactSlot]) -> list[float]:
    """Half the smallest width of the shape of each slot [m]: its radius, or half the shortest edge of a box.

    Args:
        slots: Slots of a robot.
    """
    shapes, widths = shapes_of_slots(slots), dict[int, float]()
    for shape in set(shapes):
        points = [slot.point for slot, number in zip(slots, shapes, strict=True) if number == shape]
        apart = [math.dist(one, other) for one, other in itertools.combinations(points, 2)]
        widths[shape] = 0.5 * min(apart, default=0.0)
    return [slot.radius or widths[shape] for slot, shape in zip(slots, shapes, strict=True)]


def hull_corners(vertices: np.ndarray) -> np.ndarray:
    """Corners of the convex hull of points, sorted, shape (V, 3) to (H, 3).

    Found as the farthest points in many directions, so a corner that is nearly flat may be missed; all that are found
    are corners.
    """
    vertices = np.unique(np.asarray(vertices, dtype=np.float64).reshape(-1, 3), axis=0)
    if not len(vertices) or not np.isfinite(vertices).all():
        raise ValueError("convex hull: got no vertices or vertices that are not finite, expected at least one point")
    # A spiral of directions over the sphere. None is an axis, where a whole face of a box would be equally far.
    number = np.arange(_DIRECTIONS) + 0.5
    height = 1.0 - 2.0 * number / _DIRECTIONS
    turn = math.pi * (1.0 + math.sqrt(5.0)) * number
    ring = np.sqrt(1.0 - height**2)
    directions = np.stack((ring * np.cos(turn), ring * np.sin(turn), height), axis=1)
    centred = vertices - vertices.mean(0)
    scale = np.maximum(centred.max(0) - centred.min(0), 1e-9)
    # Corners stay corners when the axes are scaled, and those of a flat or long shape are then found as well.
    return vertices[np.unique((centred / scale @ directions.T).argmax(0))]


def _slots(
    body: str, points: np.ndarray, radius: float, shape: SlotShape, pos: Vector, quat: Quaternion
) -> tuple[ContactSlot, ...]:
    placed = quat_rotate(torch.tensor(quat, dtype=torch.double), torch.as_tensor(points, dtype=torch.double))
    placed = placed + torch.tensor(pos, dtype=torch.double)
    return tuple(ContactSlot(body, (p[0], p[1], p[2]), radius, shape) for p in placed.tolist())
