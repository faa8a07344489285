# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A solver of contacts and stops whose rules are learned.

What a contact does to a robot hangs on the whole robot; what a contact *is* does not. So this solver knows the first
and learns the second. It divides a physics step into substeps as a solver of the simulator does, and keeps an impulse
for each slot and each stop. In a substep each looks at its own gap, its velocity and its impulse, and a small network,
the same for all slots, says how strongly to answer: how much of the approach is taken away, how much of a gap may still
be closed, how much of a penetration is pushed out, how much friction holds. Normal impulses never pull, friction never
exceeds its cone. The robot's mass matrix carries the impulses to all velocities, and the next substep begins.

With its rules untrained it is a plain projected Jacobi solver, and an exact rest is at rest. A few thousand weights say
all of it, because one contact of one foot teaches all contacts of all feet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from .contacts import SAME_PLACE, Contacts
from .multibody import Frames, Motion, Multibody, cross, into_axes, out_of_axes
from .spec import RobotSpec
from .stops import Stops

STRONGEST = 4.0
"""Largest logarithm by which a rule departs from its untrained strength."""

DEEPEST = 0.05
"""Penetration [m or rad] beyond which nothing is pushed out faster."""

NEAR = 0.01
"""Gap [m] below which slots are counted as touching together."""

FAR = 100.0
"""Gap of a slot that is not active [m]."""

PUSH, HOME = math.exp(-1.0), math.exp(-1.5)
"""Untrained shares of a penetration that is pushed out in a substep, and of a drift that friction takes back."""

TINY = 1.0e-12

SEEN, TRAITS, ANSWERS = 7, 4, 6
"""Features of a constraint that change from substep to substep, those that do not, and what the rules say about it."""


@dataclass(frozen=True)
class ContactSolverCfg:
    """Shape of a learned solver of contacts and stops."""

    substeps: int = 0
    """Substeps in a physics step, in each of which forces and impulses act; 0 for no solver. PhysX has as many as it
    makes position iterations."""
    sweeps: int = 3
    """How often all impulses are mended in a substep."""
    hidden: int = 16
    """Features of the rules' network."""
    slots: int = 8
    """Most slots that are looked at, those that come nearest to the ground."""
    scales: tuple[float, ...] = (0.02, 0.5)
    """Velocities [m/s or rad/s] at which the features of the rules begin to saturate: rules tell apart what is of the
    size of one of them."""

    def __post_init__(self):
        if self.substeps < 0 or min(self.sweeps, self.hidden, self.slots) < 1:
            raise ValueError(f"got {self}, expected substeps >= 0 and the others >= 1")
        if not self.scales or not all(0.0 < scale < math.inf for scale in self.scales):
            raise ValueError(f"got the scales {self.scales}, expected some positive finite velocities")


class Rules(nn.Module):
    """A small network from features of one contact or stop to the strengths of its answers."""

    def __init__(self, hidden: int, scales: tuple[float, ...]):
        """Makes the weights; all answers begin at zero.

        Args:
            hidden: Hidden features.
            scales: Where features begin to saturate.
        """
        super().__init__()
        self.scales = scales
        self.inner = nn.Linear(SEEN * len(scales) + TRAITS, hidden)
        self.outer = nn.Linear(hidden, ANSWERS)
        nn.init.zeros_(self.outer.weight)
        nn.init.zeros_(self.outer.bias)

    def forward(self, seen: Tensor, traits: Tensor) -> Tensor:
        """Answers of size one, shape (:data:`ANSWERS`, P, M).

        Args:
            seen: Velocities, and gaps over a physics step [m/s or rad/s], shape (:data:`SEEN`, P, M).
            traits: Further features, of size one, shape (:data:`TRAITS`, P, M).
        """
        squares = seen.square()
        parts = [seen * (squares + scale * scale).rsqrt() for scale in self.scales]
        x = torch.cat((*parts, traits)).flatten(1)
        x = torch.addmm(self.inner.bias.unsqueeze(-1), self.inner.weight, x).relu()
        x = torch.addmm(self.outer.bias.unsqueeze(-1), self.outer.weight, x)
        return (x / torch.add(1.0, x.abs(), alpha=1.0 / STRONGEST)).unflatten(1, seen.shape[1:])


class Surfaces(NamedTuple):
    """The ground below each slot, a plane for the time of a control step."""

    height: Tensor
    """Where a slot's centre touches it, along the normal, from where the root began [m], shape (slots, M)."""
    normal: Tensor
    """Normal, environment axes, shape (slots, 3, M); zeros where there is no ground."""


class ContactSolver(nn.Module):
    """What contacts and stops add to the free motion of one robot in a physics step.

    Constraints stand in rows, batch last: the normals of the chosen slots, the stops, then two directions across each
    normal.
    """

    _slots: Tensor
    _bodies: Tensor
    _points: Tensor
    _radius: Tensor
    _lower: Tensor
    _upper: Tensor
    _stopped: Tensor
    _usual: Tensor

    def __init__(self, bodies: Multibody, cfg: ContactSolverCfg, touches: bool = True):
        """Looks for what can touch, and makes the rules.

        Args:
            bodies: The robot, with the inertias of its bodies.
            cfg: Shape of the solver.
            touches: Whether the robot may touch the ground; otherwise only stops are looked at.
        """
        super().__init__()
        self.spec, self.cfg, self.bodies = bodies.spec, cfg, bodies
        spec = bodies.spec
        slots, limits = outer_slots(spec) if touches else [], Stops(spec)
        if not slots and not limits.joints:
            raise ValueError(f"got a solver of contacts for '{spec.name}', expected contact slots or stops")
        self._root = bodies.dim - len(spec.joints)
        self._touching = min(cfg.slots, len(slots))
        index = {name: number for number, name in enumerate(spec.body_names)}
        buffers = {
            "_slots": torch.tensor(slots, dtype=torch.long),
            "_bodies": torch.tensor([index[spec.slots[slot].body] for slot in slots], dtype=torch.long),
            "_points": torch.tensor([spec.slots[slot].point for slot in slots]).reshape(-1, 3, 1),
            "_radius": torch.tensor([spec.slots[slot].radius for slot in slots]),
            "_stopped": torch.tensor(limits.joints, dtype=torch.long),
            "_lower": limits.lower[list(limits.joints)].unsqueeze(-1),
            "_upper": limits.upper[list(limits.joints)].unsqueeze(-1),
        }
        for name, value in buffers.items():
            self.register_buffer(name, value, persistent=False)
        self.register_buffer("_usual", self._usual_ease(), persistent=False)
        self.rules = nn.ModuleList(Rules(cfg.hidden, cfg.scales) for _ in range(cfg.substeps * cfg.sweeps))

    def surfaces(self, frames: Frames, turn: Tensor | None, contacts: Contacts | None) -> Surfaces | None:
        """The ground below all slots at the beginning of a control step; None for a robot that touches none.

        Args:
            frames: Where the bodies are.
            turn: Rotation matrices of the root, shape (3, 3, M); None for a fixed base.
            contacts: Contacts of all slots of the robot, leading dimension (M,); None counts as none.
        """
        if not self._touching:
            return None
        if contacts is None:
            raise ValueError(f"got no contacts for the solver of '{self.spec.name}', expected those of its slots")
        distance, normal, active = (
            each.index_select(1, self._slots) for each in (contacts.distance, contacts.normal, contacts.active)
        )
        gap = (distance - self._radius).masked_fill(~active, FAR).t()
        normal, centres = normal.permute(1, 2, 0).contiguous(), self._centres(frames)
        centres = centres if turn is None else out_of_axes(turn, centres)
        return Surfaces((centres * normal).sum(1) - gap, normal)

    def forward(
        self, velocity: Tensor, ramp: Tensor, mobility: Tensor, joint_pos: Tensor, below: Constraints | None
    ) -> tuple[Tensor, Tensor]:
        """What the impulses of one physics step add to velocities and places of the robot, each of shape (dim, M).

        Args:
            velocity: Velocities of the robot at the beginning, shape (dim, M).
            ramp: What forces add to them in equal shares in each substep, shape (dim, M).
            mobility: Change of velocities per impulse on them, shape (M, dim, dim).
            joint_pos: Positions of the joints, shape (M, J).
            below: What :meth:`touches` said.
        """
        sides = [] if below is None else [below]
        rows = _joined([*sides, self._stops(joint_pos)] if len(self._stopped) else sides)
        table, touching, count, substeps = rows.table, self._touching, len(rows.gap), self.cfg.substeps
        by_dt = 1.0 / self.spec.physics_dt
        step, by_step = self.spec.physics_dt / substeps, substeps * by_dt
        answers = (table.permute(2, 1, 0).contiguous() @ mobility).permute(2, 1, 0).contiguous()
        ease = (table * answers).sum(0).clamp(min=TINY)
        slip_ease = 0.5 * (ease[count : count + touching] + ease[count + touching :])
        ease, usual = ease[:count], self._usual
        traits = torch.stack(
            (ease / (ease + usual), _padded(slip_ease / (slip_ease + usual[:touching]), count), rows.crowd, rows.kind)
        )
        traits = traits - 0.5
        weight, slip_weight = 1.0 / ease, 1.0 / slip_ease

        speeds, gain = ((table * each.unsqueeze(1)).sum(0) for each in (velocity, ramp / substeps))
        mended, moved = torch.zeros_like(velocity), torch.zeros_like(velocity)
        way, impulse = torch.zeros_like(speeds), torch.zeros_like(speeds)
        held, begun = torch.zeros_like(slip_ease), rows.gap * by_dt
        for substep in range(substeps):
            gap, drift = rows.gap + way[:count], way[count:].unflatten(0, (2, touching))
            opening, inside, near = gap.clamp(min=0.0), gap.clamp(min=-DEEPEST, max=0.0), gap * by_dt
            speeds = speeds + gain
            for sweep in range(self.cfg.sweeps):
                load, grip = impulse[:count], impulse[count:].unflatten(0, (2, touching))
                closing, slip = speeds[:count], speeds[count:].unflatten(0, (2, touching))
                speed = _length(slip)
                across = torch.stack((speed, slip_ease * held, slip_ease * (grip * slip).sum(0) / speed))
                seen = torch.cat((torch.stack((near, begun, closing, ease * load)), _padded(across, count)))
                said = self.rules[substep * self.cfg.sweeps + sweep](seen, traits)
                shares, strength = 2.0 * torch.sigmoid(said[:2] - 0.5), said[2:].exp()
                target = torch.addcmul(opening * strength[0], inside, strength[1], value=PUSH)
                load = (load - shares[0] * weight * torch.add(closing, target, alpha=by_step)).clamp(min=0.0)
                back = torch.addcmul(slip, strength[2, :touching], drift, value=HOME * by_step)
                grip = grip - (shares[1, :touching] * slip_weight) * back
                cone, length = strength[3, :touching] * load[:touching], _length(grip)
                grip = grip * (cone / torch.maximum(length, cone + TINY))
                held = torch.minimum(length, cone)
                new = torch.cat((load, grip.flatten(0, 1)))
                change = (answers * (new - impulse)).sum(1)
                speeds = speeds + (table * change.unsqueeze(1)).sum(0)
                impulse, mended = new, mended + change
            way = torch.add(way, speeds, alpha=step)
            moved = torch.add(moved, mended, alpha=step)
        return mended, moved

    def _centres(self, frames: Frames) -> Tensor:
        """Centres of all slots in the axes of the root, shape (slots, 3, M)."""
        return self.bodies.place(frames, self._bodies, self._points)

    def touches(
        self, frames: Frames, motion: Motion, surfaces: Surfaces, turn: Tensor | None, shift: Tensor | None
    ) -> Constraints:
        """The slots that come nearest to the ground in a physics step.

        Args:
            frames: Where the bodies are.
            motion: How they move.
            surfaces: What :meth:`surfaces` said when the control step began.
            turn: Rotation matrices of the root, shape (3, 3, M); None for a fixed base.
            shift: How far the root has come since, environment axes [m], shape (3, M); None for a fixed base.
        """
        bodies, count = self.bodies, self._touching
        centres, height, normal = self._centres(frames), surfaces.height, surfaces.normal
        if turn is not None and shift is not None:
            height, normal = height - (normal * shift).sum(1), into_axes(turn, normal)
        gap = (centres * normal).sum(1) - height
        spin, moving, place = (
            each.index_select(0, self._bodies) for each in (motion.spin, motion.moving, motion.place)
        )
        approach = ((moving + cross(spin, centres - place)) * normal).sum(1)
        nearest = torch.minimum(gap, torch.add(gap, approach, alpha=self.spec.physics_dt))
        crowd = (nearest < NEAR).sum(0, keepdim=True).to(gap.dtype)
        chosen = nearest.topk(count, dim=0, largest=False).indices
        vectors = chosen.unsqueeze(1).expand(-1, 3, -1)
        gap, normal, centres = gap.gather(0, chosen), normal.gather(0, vectors), centres.gather(0, vectors)
        axes = contact_axes(normal)
        surface = centres - self._radius[chosen].unsqueeze(1) * normal
        table = bodies.jacobian(frames, self._bodies[chosen], surface)
        table = torch.cat([(table * axis).sum(2) for axis in axes], 1)
        return Constraints(
            table[:, :count], gap, (0.25 * crowd).expand_as(gap), torch.zeros_like(gap), table[:, count:]
        )

    def _stops(self, joint_pos: Tensor) -> Constraints:
        """The stops of joints, of each joint the nearer one."""
        now = joint_pos.t().index_select(0, self._stopped)
        upper = self._upper - now < now - self._lower
        gap = torch.where(upper, self._upper - now, now - self._lower)
        unit = torch.eye(self.bodies.dim, device=now.device, dtype=now.dtype)
        table = unit[:, self._stopped + self._root].unsqueeze(-1) * torch.where(upper, -1.0, 1.0).to(now)
        one = torch.ones_like(gap)
        return Constraints(table, gap, 0.5 * one, one, None)

    @torch.no_grad()
    def _usual_ease(self) -> Tensor:
        """How easily constraints give way in the middle of all ranges: slots in the mean, stops each, shape (P, 1)."""
        middle = [0.5 * (j.lower + j.upper) if math.isfinite(j.upper - j.lower) else 0.0 for j in self.spec.joints]
        frames = self.bodies.frames(torch.tensor([middle]))
        mobility = self.bodies.mobility(self.bodies.rows(frames))[0]
        stops = mobility.diagonal()[self._root :][self._stopped]
        if not self._touching:
            return stops.unsqueeze(-1)
        table = self.bodies.jacobian(frames, self._bodies.unsqueeze(-1), self._centres(frames))
        table = table[:, :, 2, 0]
        touches = ((mobility @ table) * table).sum(0).mean()
        return torch.cat((touches.expand(self._touching), stops)).unsqueeze(-1)


@dataclass(frozen=True)
class Constraints:
    """Slots and stops during one physics step, shapes (P, M)."""

    table: Tensor
    """Velocity of each row per velocity of the robot, shape (dim, P, M)."""
    gap: Tensor
    """Gap at the beginning [m or rad]."""
    crowd: Tensor
    """How many slots touch, a quarter of their number."""
    kind: Tensor
    """One for a stop, zero for a slot."""
    across: Tensor | None
    """Rows of the two directions across each normal, shape (dim, 2 P, M)."""


def _joined(sides: list[Constraints]) -> Constraints:
    """All constraints as one, the directions across normals at the end of the table."""
    across = [side.across for side in sides if side.across is not None]
    joined = {name: torch.cat([getattr(side, name) for side in sides]) for name in ("gap", "crowd", "kind")}
    return Constraints(torch.cat([*(side.table for side in sides), *across], 1), **joined, across=None)


def outer_slots(spec: RobotSpec) -> list[int]:
    """Slots without those within another of the same body: at the same point with a radius that is no larger."""
    found: list[int] = []
    for number, slot in enumerate(spec.slots):
        twins = [
            other
            for other, each in enumerate(spec.slots)
            if other != number and each.body == slot.body and math.dist(each.point, slot.point) < SAME_PLACE
        ]
        if not any((spec.slots[other].radius, -other) > (slot.radius, -number) for other in twins):
            found.append(number)
    return found


def contact_axes(normal: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Three axes for normals of shape (P, 3, M), themselves the first. Zeros for a normal of zero.

    The second is what is left of x, or of y for normals along x. Any pair will do: friction is the same all round.
    """
    x, y, z = normal.unbind(1)
    along = x.abs() > 0.8
    left = (torch.where(along, -x * y, 1.0 - x * x), torch.where(along, 1.0 - y * y, -x * y))
    second = torch.stack((*left, -z * torch.where(along, y, x)), 1) * (normal.square().sum(1, keepdim=True) > 0)
    second = second * (second.square().sum(1, keepdim=True) + TINY).rsqrt()
    return normal, second, cross(normal, second)


def _padded(values: Tensor, count: int) -> Tensor:
    """Values of slots, shape (..., P, M), followed by zeros for stops up to ``count`` rows."""
    return nn.functional.pad(values, (0, 0, 0, count - values.shape[-2]))


def _length(vectors: Tensor) -> Tensor:
    """Lengths of vectors of shape (2, P, M), never quite zero."""
    x, y = vectors.unbind()
    return torch.addcmul(x * x + TINY, y, y).sqrt()


__all__ = ["Constraints", "ContactSolver", "ContactSolverCfg", "Surfaces", "outer_slots"]
