# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Contacts between the bodies of one robot: how far apart their shapes are, and along which normal they meet.

Which bodies may touch each other the specification says (``touching_bodies``): those that the engine does not filter.
Spheres and capsules are segments with a radius; a box is met by the ends of segments and by the corners of other
boxes, and meets segments with its own corners. Corners of meshes meet segments and boxes, not each other. Edges of two
boxes pass through each other: only corners are found.

Example::

    pairs = SelfContacts(multibody, most=4)
    found = pairs.nearest(frames)        # gaps, normals, points and bodies of the four nearest
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..robot.slots import half_widths, shapes_of_slots
from ..robot.spec import ContactSlot, RobotSpec
from .constants import EPSILON
from .multibody import BodyFrames, Multibody


class Meeting(NamedTuple):
    """Pairs of shapes that come near each other, all in the axes of the root."""

    gap: Tensor
    """Gaps between their surfaces, negative where they overlap [m], shape (P, M)."""
    normal: Tensor
    """Unit normals, out of the second body into the first, shape (P, 3, M)."""
    point: Tensor
    """Points on the surface of the first body [m], shape (P, 3, M)."""
    reach: Tensor
    """Gaps below which the engine looks at them [m], shape (P, M)."""
    bodies: tuple[Tensor, Tensor]
    """Numbers of both bodies, each of shape (P, M)."""


class _Segments(NamedTuple):
    """Pairs of segments with radii: rows of points on bodies, as lists, to become tensors."""

    bodies: list[tuple[int, int]]
    points: list[list[tuple[float, float, float]]]
    radii: list[tuple[float, float]]
    reach: list[float]


class _PointsAtBoxes(NamedTuple):
    """Points with radii that may enter a box of another body."""

    bodies: list[tuple[int, int]]
    points: list[tuple[float, float, float]]
    radii: list[float]
    boxes: list[list[tuple[float, float, float]]]
    reach: list[float]


class SelfContacts(nn.Module):
    """All pairs of shapes of one robot that may meet. Has no parameters."""

    most: int
    """Most pairs that are looked at in a physics step."""
    segment_bodies: Tensor
    segment_points: Tensor
    segment_radii: Tensor
    segment_reach: Tensor
    point_bodies: Tensor
    points: Tensor
    point_radii: Tensor
    point_reach: Tensor
    boxes: Tensor

    def __init__(self, multibody: Multibody, most: int, reach_by_radius: float):
        """Lists the pairs.

        Args:
            multibody: The robot.
            most: Most pairs that are looked at in a physics step.
            reach_by_radius: Gap below which the engine looks at a pair, as a share of the half widths of both shapes.
        """
        super().__init__()
        self.multibody = multibody
        segments, points = _list_pairs(multibody.spec, reach_by_radius)
        self.most = min(most, len(segments.bodies) + len(points.bodies))
        buffers = {
            "segment_bodies": torch.tensor(segments.bodies, dtype=torch.long).reshape(-1, 2),
            "segment_points": torch.tensor(segments.points).reshape(-1, 4, 3, 1),
            "segment_radii": torch.tensor(segments.radii).reshape(-1, 2, 1),
            "segment_reach": torch.tensor(segments.reach),
            "point_bodies": torch.tensor(points.bodies, dtype=torch.long).reshape(-1, 2),
            "points": torch.tensor(points.points).reshape(-1, 3, 1),
            "point_radii": torch.tensor(points.radii),
            "point_reach": torch.tensor(points.reach),
            # a corner, and the edges that lead to the three corners beside it
            "boxes": torch.tensor(points.boxes).reshape(-1, 4, 3, 1),
        }
        for name, value in buffers.items():
            self.register_buffer(name, value, persistent=False)

    def nearest(self, frames: BodyFrames) -> Meeting:
        """The pairs that are nearest to each other.

        Args:
            frames: Where the bodies are.
        """
        found = [self._of_segments(frames), self._of_points(frames)]
        gap, normal, point, reach, first, second = (torch.cat([each[number] for each in found]) for number in range(6))
        chosen = (gap - reach).topk(self.most, dim=0, largest=False).indices.sort(0).values
        vectors = chosen.unsqueeze(1).expand(-1, 3, -1)
        return Meeting(
            gap.gather(0, chosen),
            normal.gather(0, vectors),
            point.gather(0, vectors),
            reach.expand_as(gap).gather(0, chosen),
            (first.expand_as(gap).gather(0, chosen), second.expand_as(gap).gather(0, chosen)),
        )

    def _of_segments(self, frames: BodyFrames) -> tuple[Tensor, ...]:
        """Gaps, normals, points, reaches and bodies of pairs of segments."""
        one, other = self.segment_bodies.unbind(1)
        place = self.multibody.place_points
        p, q = (place(frames, one, self.segment_points[:, end]) for end in (0, 1))
        r, s = (place(frames, other, self.segment_points[:, end]) for end in (2, 3))
        first, second = _closest_points(p, q, r, s)
        apart = first - second
        distance = (apart.square().sum(1, keepdim=True) + EPSILON).sqrt()
        normal = apart / distance
        radii = self.segment_radii
        gap = distance.squeeze(1) - radii.sum(1)
        point = first - radii[:, :1] * normal
        return gap, normal, point, self.segment_reach.unsqueeze(-1), one.unsqueeze(-1), other.unsqueeze(-1)

    def _of_points(self, frames: BodyFrames) -> tuple[Tensor, ...]:
        """The same of points and boxes."""
        one, other = self.point_bodies.unbind(1)
        place = self.multibody.place_points
        point = place(frames, one, self.points)
        corner, *ends = (place(frames, other, self.boxes[:, number]) for number in range(4))
        edges = torch.stack([end - corner for end in ends], dim=1)  # (C, 3 edges, 3, M)
        half = 0.5 * (edges.square().sum(2) + EPSILON).sqrt()
        axes = 0.5 * edges / half.unsqueeze(2)
        centre = corner + 0.5 * edges.sum(1)
        local = ((point - centre).unsqueeze(1) * axes).sum(2)
        beyond = local.abs() - half
        outside = beyond.clamp(min=0.0)
        distance = (outside.square().sum(1) + EPSILON).sqrt()
        depth, face = beyond.max(1)
        is_inside = depth < 0.0
        of_face = nn.functional.one_hot(face, 3).permute(0, 2, 1).to(local.dtype)
        along = torch.where(is_inside.unsqueeze(1), of_face, outside / distance.unsqueeze(1)) * local.sign()
        normal = (along.unsqueeze(2) * axes).sum(1)
        radius = self.point_radii.unsqueeze(-1)
        gap = torch.where(is_inside, depth, distance) - radius
        surface = point - radius.unsqueeze(1) * normal
        return gap, normal, surface, self.point_reach.unsqueeze(-1), one.unsqueeze(-1), other.unsqueeze(-1)


def _closest_points(p: Tensor, q: Tensor, r: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
    """Points of the segments from ``p`` to ``q`` and from ``r`` to ``s`` that are closest to each other, all of shape
    (C, 3, M); a segment may be a point (Ericson, *Real-Time Collision Detection*, 2005, section 5.1.9).
    """
    d, e, between = q - p, s - r, p - r
    a, c = (each.square().sum(1, keepdim=True) + EPSILON for each in (d, e))
    b = (d * e).sum(1, keepdim=True)
    along_d, along_e = ((each * between).sum(1, keepdim=True) for each in (d, e))
    cross = a * c - b * b
    parallel = cross < 1.0e-9 * a * c
    share = ((b * along_e - along_d * c) / torch.where(parallel, 1.0, cross)).clamp(0.0, 1.0)
    share = torch.where(parallel, 0.5, share)
    other = ((b * share + along_e) / c).clamp(0.0, 1.0)
    share = ((b * other - along_d) / a).clamp(0.0, 1.0)
    return p + share * d, r + other * e


def _list_pairs(spec: RobotSpec, reach_by_radius: float) -> tuple[_Segments, _PointsAtBoxes]:
    """All pairs of shapes of bodies that may touch, as the module needs them."""
    number = {name: place for place, name in enumerate(spec.body_names)}
    segments, points = _Segments([], [], [], []), _PointsAtBoxes([], [], [], [], [])
    shapes, widths = _shapes_by_body(spec), dict(zip(spec.slots, half_widths(spec.slots), strict=True))
    for one, other in spec.touching_bodies:
        for first, second in itertools.product(shapes.get(one, []), shapes.get(other, [])):
            reach = reach_by_radius * (widths[first[0]] + widths[second[0]])
            for body, shape, at_body, at_shape in ((one, first, other, second), (other, second, one, first)):
                pair = number[body], number[at_body]
                if at_shape[0].shape == "box":
                    corners = [at_shape[place].point for place in (0, 4, 2, 1)]
                    for slot in shape:
                        points.bodies.append(pair)
                        points.points.append(slot.point)
                        points.radii.append(slot.radius)
                        points.boxes.append(corners)
                        points.reach.append(reach)
            for pair, ends in _segment_pairs((number[one], first), (number[other], second)):
                segments.bodies.append(pair)
                segments.points.append([slot.point for slot in ends])
                segments.radii.append((ends[0].radius, ends[2].radius))
                segments.reach.append(reach)
    return segments, points


def _segment_pairs(
    one: tuple[int, list[ContactSlot]], other: tuple[int, list[ContactSlot]]
) -> Iterator[tuple[tuple[int, int], tuple[ContactSlot, ContactSlot, ContactSlot, ContactSlot]]]:
    """Pairs of segments of two shapes: of rounded shapes one, of corners and a rounded shape one for each corner."""
    for (body, shape), (at_body, at_shape) in ((one, other), (other, one)):
        if at_shape[0].shape not in ("sphere", "capsule"):
            continue
        is_rounded = shape[0].shape in ("sphere", "capsule")
        if is_rounded and body == other[0]:
            continue  # the pair of two rounded shapes is there already
        for ends in [(shape[0], shape[-1])] if is_rounded else [(slot, slot) for slot in shape]:
            yield (body, at_body), (*ends, at_shape[0], at_shape[-1])


def _shapes_by_body(spec: RobotSpec) -> dict[str, list[list[ContactSlot]]]:
    """Slots of each shape, by body."""
    found: dict[str, list[list[ContactSlot]]] = {}
    for _, group in itertools.groupby(
        zip(shapes_of_slots(spec.slots), spec.slots, strict=True), key=lambda each: each[0]
    ):
        slots = [slot for _, slot in group]
        found.setdefault(slots[0].body, []).append(slots)
    return found


__all__ = ["Meeting", "SelfContacts"]
