# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Contacts between the bodies of one robot: how far apart their shapes are, and along which normal they meet.

Which bodies may touch each other the specification says (``touching_bodies``): those that the engine does not filter.
Bodies that no joint moves against each other are left out.
Spheres and capsules are segments with a radius; a box is met by the ends of segments and by the corners of other
boxes, and meets segments with its own corners. Corners of meshes meet segments and boxes, not each other. Edges of two
boxes pass through each other: only corners are found.

Example::

    pairs = SelfContacts(multibody, most=4)
    found = pairs.nearest(frames)        # gaps, normals, points and bodies of the four nearest
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..robot.slots import half_widths, shapes_of_slots
from ..robot.spec import ContactSlot, RobotSpec, Vector
from .constants import EPSILON
from .multibody import BodyFrames, Multibody

ROUNDED = ("sphere", "capsule")
"""Shapes that are a segment with a radius."""


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
    slots: tuple[Tensor, Tensor]
    """Numbers of a slot of either shape, each of shape (P, M)."""


class ShapePair(NamedTuple):
    """Two shapes that may meet."""

    bodies: tuple[int, int]
    """Numbers of their bodies."""
    spheres: tuple[tuple[Vector, float], tuple[Vector, float]]
    """Centres, in the frames of their bodies, and radii of spheres around them [m]."""
    reach: float
    """Gap below which the engine looks at them [m]."""


class _Segments(NamedTuple):
    """Pairs of segments with radii: rows of points on bodies, as lists, to become tensors."""

    bodies: list[tuple[int, int]]
    slots: list[tuple[int, int]]
    points: list[list[Vector]]
    radii: list[tuple[float, float]]
    pair: list[int]


class _PointsAtBoxes(NamedTuple):
    """Points with radii that may enter a box of another body."""

    bodies: list[tuple[int, int]]
    slots: list[tuple[int, int]]
    points: list[Vector]
    radii: list[float]
    boxes: list[list[Vector]]
    pair: list[int]


class SelfContacts(nn.Module):
    """All pairs of shapes of one robot that may meet. Has no parameters."""

    most: int
    """Most pairs that are looked at in a physics step."""
    pairs: list[ShapePair]
    """The shapes that may meet."""
    segment_pair: list[int]
    """To which of them each pair of segments belongs."""
    point_pair: list[int]
    """To which each point at a box belongs."""
    segment_bodies: Tensor
    segment_slots: Tensor
    segment_points: Tensor
    segment_radii: Tensor
    segment_reach: Tensor
    point_bodies: Tensor
    point_slots: Tensor
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
        self.pairs, segments, points = _list_pairs(multibody.spec, reach_by_radius)
        self.segment_pair, self.point_pair = segments.pair, points.pair
        self.most = min(most, len(segments.bodies) + len(points.bodies))
        reach = torch.tensor([pair.reach for pair in self.pairs])
        buffers = {
            "segment_bodies": torch.tensor(segments.bodies, dtype=torch.long).reshape(-1, 2),
            "segment_slots": torch.tensor(segments.slots, dtype=torch.long).reshape(-1, 2),
            "segment_points": torch.tensor(segments.points).reshape(-1, 4, 3, 1),
            "segment_radii": torch.tensor(segments.radii).reshape(-1, 2, 1),
            "segment_reach": reach[segments.pair],
            "point_bodies": torch.tensor(points.bodies, dtype=torch.long).reshape(-1, 2),
            "point_slots": torch.tensor(points.slots, dtype=torch.long).reshape(-1, 2),
            "points": torch.tensor(points.points).reshape(-1, 3, 1),
            "point_radii": torch.tensor(points.radii),
            "point_reach": reach[points.pair],
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
        found = zip(self._of_segments(frames), self._of_points(frames), strict=True)
        gap, normal, point = (torch.cat(each) for each in found)
        reach = torch.cat((self.segment_reach, self.point_reach)).unsqueeze(-1).expand_as(gap)
        bodies = torch.cat((self.segment_bodies, self.point_bodies))
        slots = torch.cat((self.segment_slots, self.point_slots))
        chosen = (gap - reach).topk(self.most, dim=0, largest=False).indices.sort(0).values
        vectors = chosen.unsqueeze(1).expand(-1, 3, -1)
        return Meeting(
            gap.gather(0, chosen),
            normal.gather(0, vectors),
            point.gather(0, vectors),
            reach.gather(0, chosen),
            (bodies[:, 0][chosen], bodies[:, 1][chosen]),
            (slots[:, 0][chosen], slots[:, 1][chosen]),
        )

    def _of_segments(self, frames: BodyFrames) -> tuple[Tensor, ...]:
        """Gaps, normals and points of pairs of segments."""
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
        return gap, normal, point

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
        side = torch.where(local < 0.0, -1.0, 1.0).to(local.dtype)  # also in the middle there is one
        along = torch.where(is_inside.unsqueeze(1), of_face, outside / distance.unsqueeze(1)) * side
        normal = (along.unsqueeze(2) * axes).sum(1)
        radius = self.point_radii.unsqueeze(-1)
        gap = torch.where(is_inside, depth, distance) - radius
        surface = point - radius.unsqueeze(1) * normal
        return gap, normal, surface


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


_Shape = list[tuple[int, ContactSlot]]
"""Slots of a shape, with their numbers."""


def _list_pairs(spec: RobotSpec, reach_by_radius: float) -> tuple[list[ShapePair], _Segments, _PointsAtBoxes]:
    """All pairs of shapes of bodies that may touch, and what of them may meet."""
    number = {name: place for place, name in enumerate(spec.body_names)}
    pairs, segments, points = list[ShapePair](), _Segments([], [], [], [], []), _PointsAtBoxes([], [], [], [], [], [])
    shapes, widths = _shapes_by_body(spec), half_widths(spec.slots)
    carrier = _carriers(spec)
    for one, other in spec.touching_bodies:
        if carrier[one] == carrier[other]:
            continue  # nothing moves one of them against the other
        for first, second in itertools.product(shapes.get(one, []), shapes.get(other, [])):
            for shape, at_shape in ((first, second), (second, first)):
                if at_shape[0][1].shape == "box":
                    _add_points(points, number, shape, at_shape, len(pairs))
            for ends in _segment_pairs(first, second):
                segments.bodies.append((number[ends[0][1].body], number[ends[2][1].body]))
                segments.slots.append((ends[0][0], ends[2][0]))
                segments.points.append([slot.point for _, slot in ends])
                segments.radii.append((ends[0][1].radius, ends[2][1].radius))
                segments.pair.append(len(pairs))
            if len(pairs) in (segments.pair[-1:] + points.pair[-1:]):
                reach = reach_by_radius * (widths[first[0][0]] + widths[second[0][0]])
                spheres = _surrounding_sphere(first), _surrounding_sphere(second)
                pairs.append(ShapePair((number[one], number[other]), spheres, reach))
    return pairs, segments, points


def _carriers(spec: RobotSpec) -> dict[str, str]:
    """Of each body the one that a joint moves and to which it is fixed, or the root; often the body itself."""
    found: dict[str, str] = {}
    for body in spec.bodies:
        is_fixed = body.joint is None and body.parent is not None
        found[body.name] = found[body.parent] if is_fixed and body.parent is not None else body.name
    return found


def _add_points(points: _PointsAtBoxes, number: dict[str, int], shape: _Shape, box: _Shape, pair: int) -> None:
    """Adds the points of a shape that may enter a box."""
    corners = [box[place][1].point for place in (0, 4, 2, 1)]
    for place, slot in shape:
        points.bodies.append((number[slot.body], number[box[0][1].body]))
        points.slots.append((place, box[0][0]))
        points.points.append(slot.point)
        points.radii.append(slot.radius)
        points.boxes.append(corners)
        points.pair.append(pair)


def _segment_pairs(one: _Shape, other: _Shape) -> Iterator[_Shape]:
    """Both ends of both segments of pairs of two shapes: of rounded shapes one pair, of corners and a rounded shape one
    for each corner.
    """
    for shape, at_shape in ((one, other), (other, one)):
        if at_shape[0][1].shape not in ROUNDED:
            continue
        is_rounded = shape[0][1].shape in ROUNDED
        if is_rounded and shape is other:
            continue  # the pair of two rounded shapes is there already
        for ends in [[shape[0], shape[-1]]] if is_rounded else [[corner, corner] for corner in shape]:
            yield [*ends, at_shape[0], at_shape[-1]]


def _surrounding_sphere(shape: _Shape) -> tuple[Vector, float]:
    """Centre and radius of a sphere around a shape [m], in the frame of its body."""
    x, y, z = (0.5 * (min(along) + max(along)) for along in zip(*(slot.point for _, slot in shape), strict=True))
    return (x, y, z), max(math.dist((x, y, z), slot.point) + slot.radius for _, slot in shape)


def _shapes_by_body(spec: RobotSpec) -> dict[str, list[_Shape]]:
    """Slots of each shape, by body."""
    found: dict[str, list[_Shape]] = {}
    numbered = zip(shapes_of_slots(spec.slots), enumerate(spec.slots), strict=True)
    for _, group in itertools.groupby(numbered, key=lambda each: each[0]):
        slots = [slot for _, slot in group]
        found.setdefault(slots[0][1].body, []).append(slots)
    return found


__all__ = ["Meeting", "SelfContacts", "ShapePair"]
