# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Contacts of one robot as constraints: which slots may touch the ground, along which axes, and how they move.

The ground below a slot is a plane for the time of a control step. With ``n`` for its normal, ``J`` for the Jacobian of
the point of the slot that is next to it, and ``v`` for the generalised velocities, the constraint of a contact is::

    gap(t) >= 0          d gap / dt = transpose(n) J v          (along the ground: friction)

Example::

    slots = ContactSlots(multibody, MechanicsCfg(substeps=4))
    planes = slots.ground_planes(frames, root_rotation, contacts)
    constraints = slots.constraints(frames, motion, planes, root_rotation, root_displacement)
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..contact.contacts import SAME_PLACE, Contacts
from ..robot.physical_parameters import PhysicalParameters
from ..robot.slots import half_widths, shapes_of_slots
from ..robot.spec import RobotSpec
from .altered import altered
from .config import MechanicsCfg
from .constants import COUNTED_GAP, EPSILON, UNREACHABLE
from .constraint_laws import law_of
from .contact_patches import Patches, find_patches
from .contact_turns import is_lower_end, joint_order, joints_before
from .friction_anchors import Anchoring, FrictionAnchors, anchoring
from .multibody import BodyFrames, BodyMotion, Multibody
from .self_contacts import Meeting, SelfContacts
from .touch_order import TouchOrder, needed_order
from .vectors import cross, rotate, rotate_inverse


class GroundPlanes(NamedTuple):
    """The ground below each slot, a plane for the time of a control step."""

    offset: Tensor
    """Where a slot's centre touches it, along the normal, from where the root began [m], shape (slots, M)."""
    normal: Tensor
    """Normal, environment axes, shape (slots, 3, M); zeros where there is no ground."""


class ContactConstraints(NamedTuple):
    """The slots that may touch in a physics step. Rows are normals, then two directions along the ground for each."""

    jacobian: Tensor
    """Velocity of each row per generalised velocity, shape (dim, 3 P, M)."""
    linear_bias_velocity: Tensor
    """What the bias accelerations of the bodies' centres of mass add to the velocity of each row in the step [m/s],
    shape (3 P, M)."""
    angular_bias_velocity: Tensor
    """The same by the angular bias accelerations of the bodies."""
    gap: Tensor
    """Gaps at the beginning [m], shape (P, M)."""
    in_reach: Tensor
    """One for a slot that the solver looks at, zero for one that is too far, shape (P, M)."""
    count: Tensor
    """How many of all slots are near the ground, shape (1, M)."""
    bodies: Tensor
    """Numbers of the bodies that carry the slots, shape (P, M)."""
    directions: tuple[Tensor, Tensor, Tensor]
    """Directions of the rows, axes of the root: normals, and both along the ground, each of shape (P, 3, M)."""
    points: Tensor
    """Points of the slots that are next to the ground, axes of the root [m], shape (P, 3, M)."""
    other_bodies: Tensor | None = None
    """Numbers of the bodies that they touch, the same where that is the ground; None where it is always."""
    static_friction: Tensor | None = None
    """Static friction per normal impulse, shape (P, M); None for the learned one."""
    dynamic_friction: Tensor | None = None
    """Dynamic friction per normal impulse, shape (P, M); None for the static one."""
    restitution: Tensor | None = None
    """Share of the speed of an impact with which it is left, shape (P, M); None for none."""
    bounce_threshold: Tensor | None = None
    """Speed of an impact below which there is no restitution [m/s], shape (1 or M,); None for zero."""
    patches: Patches | None = None
    """Which contacts are patches; None where each is one by itself."""
    anchoring: Anchoring | None = None
    """Where contacts with the ground were made; None for a step without memory."""
    turns: Tensor | None = None
    """How many joints are solved before each contact with the ground, shape (P, M); None where all are."""
    lower_ends: Tensor | None = None
    """One for a contact with the ground that is one patch with the next one, else zero, shape (P, M); None where each
    is one by itself."""

    def bounces(self, approach: Tensor, dt: float) -> tuple[Tensor, Tensor] | None:
        """Which contacts are impacts that are answered by restitution, and the velocities that take the places of their
        corrections [m/s], each of shape (P, M); None for a robot without restitution.

        Args:
            approach: Velocities of normals at the beginning of the physics step, shape (P, M).
            dt: The physics step [s].
        """
        if self.restitution is None:
            return None
        threshold = 0.0 if self.bounce_threshold is None else self.bounce_threshold
        met = (-approach > threshold) & (-dt * approach > self.gap) & (self.restitution > 0.0)
        return met, self.restitution * approach


class ContactSlots(nn.Module):
    """The slots of one robot that can touch the ground. Has no parameters."""

    slots: Tensor
    """Numbers of the slots in the order in which they are solved: body by body, each branch to its end; shape (K,)."""
    ground_contacts: int
    """Most slots that are looked at in a physics step."""
    max_contacts: int
    """Most contacts: these, and behind them those between bodies of the robot."""
    own: SelfContacts | None
    """Contacts between bodies of the robot; None for none."""
    order: TouchOrder | None
    """The order of the shapes of a body; None where it is always that of the specification."""
    place_of_slot: Tensor
    """Place of each slot of the robot among :attr:`slots`; of one within another that of the body's first."""
    _bodies: Tensor
    _points: Tensor
    _radius: Tensor
    _shapes: Tensor
    turns: Tensor
    """How many joints are solved before each of them, shape (K,)."""
    lower_ends: Tensor
    """One for the first end of a capsule whose other end is the next slot, else zero, shape (K,)."""
    reach: Tensor
    """Gaps below which the solver looks at them [m], shape (K,)."""
    _static_friction: Tensor | None
    _dynamic_friction: Tensor | None
    _restitution: Tensor | None
    _bounce_threshold: Tensor | None

    def __init__(self, multibody: Multibody, cfg: MechanicsCfg, has_contacts: bool = True):
        """Looks for what can touch.

        Args:
            multibody: The robot.
            cfg: Settings of mechanics.
            has_contacts: Whether the robot may touch the ground at all.
        """
        super().__init__()
        self.spec, self.cfg, self.multibody = multibody.spec, cfg, multibody
        self.law, spec = law_of(cfg, multibody.spec), multibody.spec
        index = {name: number for number, name in enumerate(spec.body_names)}
        rank = {number: place for place, number in enumerate(multibody.depth_first)}
        slots = outer_slots(spec) if has_contacts else []
        slots.sort(key=lambda slot: (rank[index[spec.slots[slot].body]], slot))
        self.ground_contacts, shapes = min(cfg.slots, len(slots)), shapes_of_slots(spec.slots)
        turn_of_body = joints_before(spec, multibody.depth_first, joint_order(spec, multibody.depth_first))
        self.own = None
        if cfg.self_contacts and spec.touching_bodies and slots:
            self.own = SelfContacts(multibody, cfg.self_contacts, cfg.reach_by_radius)
        self.max_contacts = self.ground_contacts + (0 if self.own is None else self.own.most)
        sizes = half_widths(spec.slots) if self.law.has_patches else [slot.radius for slot in spec.slots]
        turns = [turn_of_body[index[spec.slots[slot].body]] for slot in slots]
        of_slots = [index[spec.slots[slot].body] for slot in slots]
        ranks = [rank[body] for body in of_slots]
        self.order = needed_order(ranks, [shapes[slot] for slot in slots]) if self.law.touch_order else None
        self.in_turn = turns, [float(lower) for lower in is_lower_end(spec, slots)]
        """:attr:`turns` and :attr:`lower_ends` as numbers, which are there before tensors hold any."""
        buffers = {
            "slots": torch.tensor(slots, dtype=torch.long),
            "place_of_slot": torch.tensor(_places(spec, slots), dtype=torch.long),
            "_bodies": torch.tensor(of_slots, dtype=torch.long),
            "_points": torch.tensor([spec.slots[slot].point for slot in slots]).reshape(-1, 3, 1),
            "_radius": torch.tensor([spec.slots[slot].radius for slot in slots]),
            "_shapes": torch.tensor([shapes[slot] for slot in slots], dtype=torch.long),
            "turns": torch.tensor(turns, dtype=torch.long),
            "lower_ends": torch.tensor(self.in_turn[1]),
            "reach": torch.tensor([cfg.reach + cfg.reach_by_radius * sizes[slot] for slot in slots]),
        }
        for name, value in buffers.items():
            self.register_buffer(name, value, persistent=False)
        for name in ("_static_friction", "_dynamic_friction", "_restitution", "_bounce_threshold"):
            self.register_buffer(name, None, persistent=False)

    def with_parameters(self, rows: PhysicalParameters) -> ContactSlots:
        """The same slots with friction and restitution of their own.

        Args:
            rows: What :meth:`PhysicalParameters.rows` gave.
        """
        given = {name: getattr(rows, name) for name in ("static_friction", "dynamic_friction", "restitution")}
        tables = {
            f"_{name}": value.t().index_select(0, self.slots) for name, value in given.items() if value is not None
        }
        if rows.bounce_threshold is not None:
            tables["_bounce_threshold"] = rows.bounce_threshold
        return altered(self, tables) if tables else self

    def ground_planes(
        self, frames: BodyFrames, root_rotation: Tensor | None, contacts: Contacts | None
    ) -> GroundPlanes | None:
        """The ground below all slots at the beginning of a control step; None for a robot that touches none.

        Args:
            frames: Where the bodies are.
            root_rotation: Rotation matrices of the root, shape (3, 3, M); None for a fixed base.
            contacts: Contacts of all slots of the robot, leading dimension (M,); None for one that touches nothing.
        """
        if contacts is None:
            return None
        distance, normal, active = (
            each.index_select(1, self.slots) for each in (contacts.distance, contacts.normal, contacts.active)
        )
        gap = (distance - self._radius).masked_fill(~active, UNREACHABLE).t()
        normal, centres = normal.permute(1, 2, 0).contiguous(), self._centres(frames)
        centres = centres if root_rotation is None else rotate(root_rotation, centres)
        return GroundPlanes((centres * normal).sum(1) - gap, normal)

    def constraints(
        self,
        frames: BodyFrames,
        motion: BodyMotion,
        planes: GroundPlanes,
        root_rotation: Tensor | None,
        root_displacement: Tensor | None,
        anchors: FrictionAnchors | None = None,
    ) -> ContactConstraints:
        """The slots that come nearest to the ground in a physics step.

        Args:
            frames: Where the bodies are.
            motion: How they move.
            planes: What :meth:`ground_planes` gave when the control step began.
            root_rotation: Rotation matrices of the root, shape (3, 3, M); None for a fixed base.
            root_displacement: How far the root has come since, environment axes [m], shape (3, M); None for a fixed
                base.
            anchors: Where slots were put down; None for a step without memory.
        """
        dt, centres, offset, normal = self.spec.physics_dt, self._centres(frames), planes.offset, planes.normal
        if root_rotation is not None and root_displacement is not None:
            offset = offset - (normal * root_displacement).sum(1)
            normal = rotate_inverse(root_rotation, normal)
        gap = (centres * normal).sum(1) - offset
        angular, linear, angular_bias, linear_bias, arm = (
            each.index_select(0, self._bodies) for each in (*motion, frames.centres_of_mass)
        )
        arm = centres - arm
        approach = ((linear + cross(angular, arm)) * normal).sum(1)
        nearest = torch.minimum(gap, torch.add(gap, approach, alpha=dt))
        count = (nearest < COUNTED_GAP).sum(0, keepdim=True).to(gap.dtype)
        chosen, places = nearest.topk(self.ground_contacts, dim=0, largest=False).indices.sort(0).values, None
        if self.order is not None:
            along = centres[:, 0] if root_rotation is None else (centres * root_rotation[0]).sum(1)
            near = gap.t() < self.reach, along.t() - self._radius
            places = self.order.listed(None if anchors is None else anchors.places, *near)
            chosen = self.order.sorted(chosen, places)
        vectors = chosen.unsqueeze(1).expand(-1, 3, -1)
        gap, radius = gap.gather(0, chosen), self._radius[chosen]
        normal, centres, linear, angular_bias, linear_bias, arm = (
            each.gather(0, vectors) for each in (normal, centres, linear, angular_bias, linear_bias, arm)
        )
        least = self.law.sliding_speed_squared
        axes = contact_axes(normal, torch.add(linear, linear_bias, alpha=dt), root_rotation, least)
        in_reach = (gap < self.reach[chosen]).to(gap.dtype)
        patches, depth = None, radius
        if self.law.has_patches:
            patches = find_patches(centres, self._shapes[chosen], in_reach)
            depth = torch.where(radius > 0.0, radius, gap)
        to_ground, bodies = depth.unsqueeze(1) * normal, self._bodies[chosen]
        points = centres - to_ground
        remembered, turns, lower_ends = None, None, None
        if self.law.links_in_turn:
            turns, lower_ends = self.turns[chosen], self.lower_ends[chosen]
            follows = (chosen.diff(dim=0) == 1).to(gap.dtype) * in_reach[1:]
            lower_ends = lower_ends * in_reach * nn.functional.pad(follows, (0, 0, 0, 1))
        if anchors is not None:
            rotations = frames.transforms[:, :, :3].gather(0, bodies[:, None, None].expand(-1, 3, 3, -1))
            of_root = root_rotation, root_displacement
            remembered = anchoring(anchors, chosen, rotations, centres, radius, axes, *of_root, lower_ends, places)
        jacobian = self.multibody.point_jacobian(frames, bodies, points)
        rotational_bias = cross(angular_bias, arm - to_ground)
        found = ContactConstraints(
            jacobian=torch.cat([(jacobian * axis).sum(2) for axis in axes], 1),
            linear_bias_velocity=dt * torch.cat([(linear_bias * axis).sum(1) for axis in axes]),
            angular_bias_velocity=dt * torch.cat([(rotational_bias * axis).sum(1) for axis in axes]),
            gap=gap,
            in_reach=in_reach,
            count=count,
            bodies=bodies,
            directions=axes,
            points=points,
            static_friction=_of_chosen(self._static_friction, chosen),
            dynamic_friction=_of_chosen(self._dynamic_friction, chosen),
            restitution=_of_chosen(self._restitution, chosen),
            bounce_threshold=self._bounce_threshold,
            patches=patches,
            anchoring=remembered,
            turns=turns,
            lower_ends=lower_ends,
        )
        if self.own is None:
            return found
        return self._with_own(found, self.own.nearest(frames), frames, motion, root_rotation)

    def _with_own(
        self,
        ground: ContactConstraints,
        met: Meeting,
        frames: BodyFrames,
        motion: BodyMotion,
        root_rotation: Tensor | None,
    ) -> ContactConstraints:
        """Contacts with the ground, and behind them those between bodies of the robot, whose friction is the learned
        one, or what their two shapes have in the mean.

        Args:
            ground: Contacts with the ground.
            met: Pairs of shapes of the robot.
            frames: Where the bodies are.
            motion: How they move.
            root_rotation: Rotation matrices of the root; None for a fixed base.
        """
        dt, bodies = self.spec.physics_dt, met.bodies
        linear, angular_bias, linear_bias, centre = (
            [_of_bodies(each, body) for body in bodies]
            for each in (motion.linear_velocity, motion.angular_bias, motion.linear_bias, frames.centres_of_mass)
        )
        axes = contact_axes(
            met.normal,
            torch.add(linear[0] - linear[1], linear_bias[0] - linear_bias[1], alpha=dt),
            root_rotation,
            self.law.sliding_speed_squared,
        )
        first, second = (self.multibody.point_jacobian(frames, body, met.point) for body in bodies)
        turning = [cross(each, met.point - of_mass) for each, of_mass in zip(angular_bias, centre, strict=True)]
        of_linear, of_angular = linear_bias[0] - linear_bias[1], turning[0] - turning[1]

        def joined(of_ground: Tensor, own: Tensor) -> Tensor:
            return torch.cat((of_ground.unflatten(-2, (3, -1)), own), -2).flatten(-3, -2)

        def behind(of_ground: Tensor | None, of_slots: Tensor | None) -> Tensor | None:
            if of_ground is None or of_slots is None:
                return None
            table = of_slots.expand(-1, met.gap.shape[1])
            one, other = (table.gather(0, self.place_of_slot[each]) for each in met.slots)
            return torch.cat((of_ground, 0.5 * (one + other)))

        restitution = ground.restitution
        return ground._replace(
            jacobian=joined(ground.jacobian, torch.stack([((first - second) * axis).sum(2) for axis in axes], 1)),
            linear_bias_velocity=joined(
                ground.linear_bias_velocity, dt * torch.stack([(of_linear * axis).sum(1) for axis in axes])
            ),
            angular_bias_velocity=joined(
                ground.angular_bias_velocity, dt * torch.stack([(of_angular * axis).sum(1) for axis in axes])
            ),
            gap=torch.cat((ground.gap, met.gap)),
            in_reach=torch.cat((ground.in_reach, (met.gap < met.reach).to(met.gap.dtype))),
            bodies=torch.cat((ground.bodies, bodies[0])),
            directions=(*(torch.cat(each) for each in zip(ground.directions, axes, strict=True)),),
            points=torch.cat((ground.points, met.point)),
            other_bodies=torch.cat((ground.bodies, bodies[1])),
            static_friction=behind(ground.static_friction, self._static_friction),
            dynamic_friction=behind(ground.dynamic_friction, self._dynamic_friction),
            restitution=None if restitution is None else torch.cat((restitution, torch.zeros_like(met.gap))),
        )

    def normal_jacobian(self, frames: BodyFrames) -> Tensor:
        """Velocities of all slots' centres along the third axis of the root per generalised velocity, shape
        (dim, slots), in the first of the poses.

        Args:
            frames: Where the bodies are.
        """
        return self.multibody.point_jacobian(frames, self._bodies.unsqueeze(-1), self._centres(frames))[:, :, 2, 0]

    def _centres(self, frames: BodyFrames) -> Tensor:
        """Centres of all slots in the axes of the root, shape (slots, 3, M)."""
        return self.multibody.place_points(frames, self._bodies, self._points)


def _of_bodies(values: Tensor, bodies: Tensor) -> Tensor:
    """Vectors of bodies, shape (B, 3, M), for contacts by the numbers of their bodies, shape (P, M)."""
    return values.gather(0, bodies.unsqueeze(1).expand(-1, 3, -1))


def _of_chosen(of_slots: Tensor | None, chosen: Tensor) -> Tensor | None:
    """Numbers of the chosen slots, shape (slots, 1 or M) to (P, M)."""
    return None if of_slots is None else of_slots.expand(-1, chosen.shape[1]).gather(0, chosen)


def _places(spec: RobotSpec, slots: list[int]) -> list[int]:
    """Place of each slot of a robot among those that are listed, or of the first one of its body."""
    bodies = [spec.slots[slot].body for slot in slots]
    return [
        slots.index(number) if number in slots else bodies.index(slot.body)
        for number, slot in enumerate(spec.slots if slots else ())
    ]


def outer_slots(spec: RobotSpec) -> list[int]:
    """Slots without those within another of the same body: at the same point with a radius that is no larger."""
    found: list[int] = []
    neighbours: dict[tuple[str, int], list[int]] = {}  # by body, and by where they are along its first axis
    for number, slot in enumerate(spec.slots):
        neighbours.setdefault((slot.body, _cell(slot.point[0])), []).append(number)
    for number, slot in enumerate(spec.slots):
        cell = _cell(slot.point[0])
        near = (neighbours.get((slot.body, cell + step), []) for step in (-1, 0, 1))
        twins = [
            other
            for of_cell in near
            for other in of_cell
            if other != number and math.dist(spec.slots[other].point, slot.point) < SAME_PLACE
        ]
        if not any((spec.slots[other].radius, -other) > (slot.radius, -number) for other in twins):
            found.append(number)
    return found


def _cell(place: float) -> int:
    """Number of the stretch of :data:`SAME_PLACE` in which a coordinate lies."""
    return math.floor(place / SAME_PLACE)


def contact_axes(
    normal: Tensor, velocity: Tensor, rotation: Tensor | None = None, sliding_speed_squared: float = 1.0e-4
) -> tuple[Tensor, Tensor, Tensor]:
    """Three axes for normals of shape (P, 3, M), themselves the first. Zeros for a normal of zero.

    Friction is solved along one of the others and then along the next, so it matters which they are. PhysX takes the
    direction of motion, and for a body that hardly moves one that depends on the axes of the environment.

    Args:
        normal: The normals.
        velocity: Velocities of the bodies [m/s], same shape.
        rotation: Rotation matrices, shape (3, 3, M), in whose axes both stand; None for those of the environment.
        sliding_speed_squared: Square of the speed [m^2/s^2] below which a body hardly moves.
    """
    if rotation is None:
        rotation = torch.eye(3, device=normal.device, dtype=normal.dtype).unsqueeze(-1).expand(-1, -1, normal.shape[2])
    first, third = rotation[0], rotation[2]  # axes of the environment
    along_first = (normal * first).sum(1, keepdim=True).square() > 0.5
    at_rest = cross(torch.where(along_first, third, first), normal)
    slip = velocity - normal * (normal * velocity).sum(1, keepdim=True)
    tangent = torch.where(slip.square().sum(1, keepdim=True) > sliding_speed_squared, slip, at_rest)
    tangent = tangent * (normal.square().sum(1, keepdim=True) > 0)
    tangent = tangent * (tangent.square().sum(1, keepdim=True) + EPSILON).rsqrt()
    return normal, tangent, cross(normal, tangent)


__all__ = ["ContactConstraints", "ContactSlots", "GroundPlanes", "contact_axes", "outer_slots"]
