# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Which shapes of one robot may meet, and how near they are to each other, for one thread: the geometry in
:mod:`nerd_core.mechanics.self_contacts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import warp as wp
from torch import Tensor

from ..constants import EPSILON
from ..self_contacts import SelfContacts


@wp.struct
class PairParameters:
    """What stays the same of two shapes that may meet."""

    first: int
    """Number of the body of the one."""
    second: int
    """Number of the body of the other."""
    centre: wp.vec3
    """Centre of a sphere around the one, in the frame of its body [m]."""
    other_centre: wp.vec3
    """The same of the other."""
    near: float
    """Distance of these centres below which they may be within reach of each other [m]."""
    reach: float
    """Gap below which they are looked at [m]."""
    begin: int
    """Number of the first of their parts."""
    end: int
    """Number behind the last of them."""


@wp.struct
class PartParameters:
    """What stays the same of a part of two shapes: two segments with radii, or a point with a radius and a box."""

    order: int
    """Place in the order in which contacts are solved."""
    is_box: int
    """Whether the second is a box."""
    first: int
    """Number of the body of the first."""
    second: int
    """Number of the body of the second."""
    slot: int
    """A slot of the first, by its place among those of the solver."""
    other_slot: int
    """A slot of the second."""
    begin: wp.vec3
    """Where the first segment begins, or the point, in the frame of its body [m]."""
    end: wp.vec3
    """Where the first segment ends."""
    other_begin: wp.vec3
    """Where the second segment begins, or the centre of the box, in the frame of its body [m]."""
    other_end: wp.vec3
    """Where the second segment ends, or half the edges of the box [m]."""
    axes: wp.mat33
    """Axes of the box as columns, in the frame of its body."""
    radius: float
    """Radius of the first [m]."""
    other_radius: float
    """Radius of the second [m]."""


@wp.struct
class MeetingState:
    """A contact between two bodies in a physics step."""

    part: int
    """Number of its part."""
    excess: float
    """Its gap without its reach [m]."""
    gap: float
    """Its gap [m]."""
    normal: wp.vec3
    """Normal, out of the second body into the first."""
    point: wp.vec3
    """Point on the surface of the first [m]."""
    first_axis: wp.vec3
    """First direction of friction."""
    second_axis: wp.vec3
    """Second direction of friction."""


@wp.func
def closest_points(p: wp.vec3, q: wp.vec3, r: wp.vec3, s: wp.vec3):
    """Points of the segments from ``p`` to ``q`` and from ``r`` to ``s`` that are closest to each other (Ericson,
    *Real-Time Collision Detection*, 2005, section 5.1.9).
    """
    d, e, between = q - p, s - r, p - r
    a, c = wp.dot(d, d) + EPSILON, wp.dot(e, e) + EPSILON
    b, along_d, along_e = wp.dot(d, e), wp.dot(d, between), wp.dot(e, between)
    across = a * c - b * b
    share = float(0.5)
    if across >= 1.0e-9 * a * c:
        share = wp.clamp((b * along_e - along_d * c) / across, 0.0, 1.0)
    other = wp.clamp((b * share + along_e) / c, 0.0, 1.0)
    share = wp.clamp((b * other - along_d) / a, 0.0, 1.0)
    return p + share * d, r + other * e


@wp.func
def of_segments(bodies: Any, part: PartParameters):
    """The contact of two segments."""
    one, other = int(part.first), int(part.second)
    turned, shift = bodies[one].rotation, bodies[one].position
    other_turned, other_shift = bodies[other].rotation, bodies[other].position
    near, far = closest_points(
        turned * part.begin + shift,
        turned * part.end + shift,
        other_turned * part.other_begin + other_shift,
        other_turned * part.other_end + other_shift,
    )
    apart = near - far
    distance = wp.sqrt(wp.dot(apart, apart) + EPSILON)
    normal = apart / distance
    met = MeetingState()
    met.gap = distance - part.radius - part.other_radius
    met.normal = normal
    met.point = near - part.radius * normal
    return met


@wp.func
def of_point(bodies: Any, part: PartParameters):
    """The contact of a point and a box."""
    one, other = int(part.first), int(part.second)
    point = bodies[one].rotation * part.begin + bodies[one].position
    centre = bodies[other].rotation * part.other_begin + bodies[other].position
    axes = bodies[other].rotation * part.axes
    local = wp.transpose(axes) * (point - centre)
    outside, along, depth = wp.vec3(), wp.vec3(), float(-1.0e9)
    face = int(0)
    for i in range(3):
        beyond = wp.abs(local[i]) - part.other_end[i]
        outside[i] = wp.max(beyond, 0.0)
        if beyond > depth:
            depth = beyond
            face = i
    gap = depth
    if depth < 0.0:
        along[face] = wp.sign(local[face])
    else:
        gap = wp.sqrt(wp.dot(outside, outside) + EPSILON)
        for i in range(3):
            along[i] = wp.sign(local[i]) * outside[i] / gap
    met = MeetingState()
    met.gap = gap - part.radius
    met.normal = axes * along
    met.point = point - part.radius * met.normal
    return met


@wp.func
def of_part(bodies: Any, part: PartParameters):
    """The contact of a part of two shapes."""
    if part.is_box == 1:
        return of_point(bodies, part)
    return of_segments(bodies, part)


def pair_tables(own: SelfContacts, places: Sequence[int]) -> tuple[list[Any], list[Any]]:
    """What stays the same of shapes that may meet, and of their parts.

    Args:
        own: Contacts between bodies of the robot.
        places: Place of each slot of the robot among those of the solver.
    """
    of_pairs: list[list[Any]] = [[] for _ in own.pairs]
    for number, pair in enumerate(own.segment_pair):
        part = PartParameters()
        ends = [wp.vec3(*end) for end in own.segment_points[number].flatten(1).tolist()]
        part.begin, part.end, part.other_begin, part.other_end = ends
        part.radius, part.other_radius = own.segment_radii[number].flatten().tolist()
        _set_owners(part, number, own.segment_bodies[number], own.segment_slots[number], places)
        of_pairs[pair].append(part)
    for number, pair in enumerate(own.point_pair):
        part = PartParameters()
        corner, *ends = own.boxes[number].squeeze(-1).unbind()
        edges = torch.stack([end - corner for end in ends], 1)
        half = 0.5 * edges.norm(dim=0)
        part.is_box, part.radius = 1, own.point_radii[number].item()
        part.begin = wp.vec3(*own.points[number].flatten().tolist())
        part.other_begin, part.other_end = (wp.vec3(*each.tolist()) for each in (corner + 0.5 * edges.sum(1), half))
        part.axes = wp.mat33(*(0.5 * edges / half.clamp(min=EPSILON)).flatten().tolist())
        order = len(own.segment_pair) + number
        _set_owners(part, order, own.point_bodies[number], own.point_slots[number], places)
        of_pairs[pair].append(part)
    pairs, parts = [], []
    for pair, of_pair in zip(own.pairs, of_pairs, strict=True):
        found, ((centre, radius), (other_centre, other_radius)) = PairParameters(), pair.spheres
        found.first, found.second = pair.bodies
        found.centre, found.other_centre = wp.vec3(*centre), wp.vec3(*other_centre)
        found.near, found.reach = radius + other_radius + pair.reach, pair.reach
        found.begin, found.end = len(parts), len(parts) + len(of_pair)
        pairs.append(found)
        parts += of_pair
    return pairs, parts


def _set_owners(part: Any, order: int, bodies: Tensor, slots: Tensor, places: Sequence[int]) -> None:
    """Sets to which bodies and slots a part belongs, and its place in the order of solving."""
    part.order = order
    part.first, part.second = bodies.tolist()
    part.slot, part.other_slot = (places[slot] for slot in slots.tolist())


__all__ = ["MeetingState", "PairParameters", "PartParameters", "of_part", "pair_tables"]
