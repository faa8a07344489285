# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A solver of contacts and stops whose rules are learned.

What a contact does to a robot hangs on the whole robot; what a contact *is* does not. So this solver knows the first
and learns the second. It divides the control step into substeps as a solver of the simulator does, and keeps an impulse
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

import torch
from torch import Tensor, nn

from .contacts import SAME_PLACE, Contacts
from .frames import ChangeCodec, into_frame, rotation_matrix
from .multibody import Frames, Multibody, cross, turned
from .spec import RobotSpec
from .stops import Stops

SCALES = (0.02, 0.5)
"""Velocities [m/s or rad/s] at which the features of the rules begin to saturate."""

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
    """Substeps in a control step; 0 for no solver."""
    sweeps: int = 2
    """How often all impulses are mended in a substep."""
    hidden: int = 32
    """Features of the rules' network."""
    anew: bool = False
    """Whether impulses begin anew in each physics step of the control step, with the mass matrix of the moment, as they
    do in PhysX. Otherwise a contact can take back what it gave, and masses are those of the beginning."""
    slots: int = 8
    """Most slots that are looked at, those that come nearest to the ground."""
    teacher: int = 8
    """Substeps of the simulator in a control step, in each of which it adds forces to velocities. PhysX with 4 position
    iterations and a decimation of 2 makes 8."""

    def __post_init__(self):
        if self.substeps < 0 or min(self.sweeps, self.hidden, self.slots, self.teacher) < 1:
            raise ValueError(f"got {self}, expected substeps >= 0 and the others >= 1")


class Rules(nn.Module):
    """A small network from features of one contact or stop to the strengths of its answers."""

    def __init__(self, hidden: int):
        """Makes the weights; all answers begin at zero.

        Args:
            hidden: Hidden features.
        """
        super().__init__()
        self.inner = nn.Linear(SEEN * len(SCALES) + TRAITS, hidden)
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
        parts = [seen * (squares + scale * scale).rsqrt() for scale in SCALES]
        x = torch.cat((*parts, traits)).flatten(1)
        x = nn.functional.silu(torch.addmm(self.inner.bias.unsqueeze(-1), self.inner.weight, x))
        x = torch.addmm(self.outer.bias.unsqueeze(-1), self.outer.weight, x)
        return (STRONGEST * torch.tanh(x / STRONGEST)).unflatten(1, seen.shape[1:])


class ContactSolver(nn.Module):
    """What contacts and stops add to the free motion of one robot.

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

    def __init__(self, spec: RobotSpec, codec: ChangeCodec, cfg: ContactSolverCfg, touches: bool = True):
        """Looks for what can touch, and makes the rules.

        Args:
            spec: The robot, with the inertias of its bodies.
            codec: Writes changes of state.
            cfg: Shape of the solver.
            touches: Whether the robot may touch the ground; otherwise only stops are looked at.
        """
        super().__init__()
        if codec.cfg.rotation != "rotvec" or codec.cfg.integration != "trapezoid":
            raise ValueError(f"got changes {codec.cfg} for a solver of contacts, expected rotvec and trapezoid")
        self.spec, self.cfg = spec, cfg
        self.bodies = Multibody(spec)
        slots, limits = outer_slots(spec) if touches else [], Stops(spec)
        if not slots and not limits.joints:
            raise ValueError(f"got a solver of contacts for '{spec.name}', expected contact slots or stops")
        self._root = self.bodies.dim - len(spec.joints)
        self._touching = min(cfg.slots, len(slots))
        index = {name: number for number, name in enumerate(spec.body_names)}
        buffers = {
            "_slots": torch.tensor(slots, dtype=torch.long),
            "_bodies": torch.tensor([index[spec.slots[slot].body] for slot in slots], dtype=torch.long),
            "_points": torch.tensor([spec.slots[slot].point for slot in slots]).reshape(-1, 3),
            "_radius": torch.tensor([spec.slots[slot].radius for slot in slots]),
            "_stopped": torch.tensor(limits.joints, dtype=torch.long),
            "_lower": limits.lower[list(limits.joints)].unsqueeze(-1),
            "_upper": limits.upper[list(limits.joints)].unsqueeze(-1),
        }
        for name, value in buffers.items():
            self.register_buffer(name, value, persistent=False)
        self.register_buffer("_usual", self._usual_ease(), persistent=False)
        self.rules = nn.ModuleList(Rules(cfg.hidden) for _ in range(cfg.substeps * cfg.sweeps))

    def forward(self, state: Tensor, free: Tensor, ahead: Tensor, contacts: Contacts | None) -> Tensor:
        """The change of state with contacts and stops.

        Args:
            state: States, shape (..., S).
            free: Changes of state without contacts, shape (..., D), not normalised.
            ahead: States that these lead to, shape (..., S).
            contacts: Contacts of ``state`` of all slots of the robot; None for a robot that has none.

        Returns:
            Changes, shape (..., D).
        """
        lead, at = state.shape[:-1], self.spec.state
        state, ahead = state.reshape(-1, state.shape[-1]), ahead.reshape(-1, ahead.shape[-1])
        free = free.reshape(-1, free.shape[-1])
        turn = rotation_matrix(state[..., at.root_quat]) if self.spec.floating_base else None
        frames = self.bodies.frames(state[:, at.joint_pos])
        sides = [self._stops(state, ahead)] if len(self._stopped) else []
        if self._touching:
            if contacts is None:
                raise ValueError(f"got no contacts for the solver of '{self.spec.name}', expected those of its slots")
            sides.insert(0, self._touches(frames, state, ahead, turn, contacts.reshape(-1)))
        added = free[:, free.shape[-1] - self.bodies.dim :].t()
        start = self._velocity(state, turn)
        mobilities = [self.bodies.mobility(frames)]
        if self.cfg.anew:
            root, parts = self._root, self.spec.decimation
            for part in range(1, parts):
                share = part / parts
                mean = (start + 0.5 * share * added)[root:].t()
                later = state[:, at.joint_pos] + share * self.spec.control_dt * mean
                mobilities.append(self.bodies.mobility(self.bodies.frames(later)))
        mended = self._solve(_joined(sides), start, added, mobilities)
        return (free + mended.t()).reshape(*lead, -1)

    def _solve(self, rows: _Constraints, start: Tensor, added: Tensor, mobilities: list[Tensor]) -> Tensor:
        """The change of state, shape (D, M), by the impulses that keep the constraints. A mobility holds until the next
        one, in equal shares of the control step.
        """
        table, touching, count, substeps = rows.table, self._touching, len(rows.gap), self.cfg.substeps
        whole, dt = self.spec.control_dt, self.spec.physics_dt
        step = whole / substeps
        tall = table.permute(2, 1, 0).contiguous()
        answers, ease, slip_ease, traits = self._eases(rows, tall, mobilities[0])
        by_dt, by_step = 1.0 / dt, 1.0 / step
        velocity, gain = ((table * each.unsqueeze(1)).sum(0) for each in (start, added))
        # Forces act in each of the simulator's own substeps, so that velocities rise in a ramp.
        late = 0.5 * (1.0 + substeps / self.cfg.teacher)
        straight = velocity[:count] + 0.5 * (1.0 + 1.0 / self.cfg.teacher) * gain[:count]
        # What a straight way at these velocities misses of the free one is added as time goes on.
        bend = rows.free_way - whole * straight
        gain = gain / substeps

        mended, moved = torch.zeros_like(start), torch.zeros_like(start)
        way, impulse = torch.zeros_like(velocity), torch.zeros_like(velocity)
        for substep in range(substeps):
            share = (substep + 1) / substeps
            gap = torch.add(rows.gap + way[:count], bend, alpha=share * share)
            part, within = divmod(substep * self.spec.decimation, substeps)
            if within == 0:
                anchor, begun = way[count:], gap * by_dt
                if part and self.cfg.anew:
                    answers, ease, slip_ease, traits = self._eases(rows, tall, mobilities[part])
                    impulse = torch.zeros_like(impulse)
            drift = (way[count:] - anchor).unflatten(0, (2, touching))
            opening, inside = gap.clamp(min=0.0), gap.clamp(min=-DEEPEST, max=0.0)
            before, velocity, further = velocity, velocity + gain, torch.zeros_like(start)
            for sweep in range(self.cfg.sweeps):
                load, grip = impulse[:count], impulse[count:].unflatten(0, (2, touching))
                closing, slip = velocity[:count], velocity[count:].unflatten(0, (2, touching))
                speed = _length(slip)
                across = slip_ease * torch.stack((_length(grip), (grip * slip).sum(0) / speed))
                across = _padded(torch.cat((speed.unsqueeze(0), across)), count)
                seen = torch.cat((torch.stack((gap * by_dt, begun, closing, ease * load)), across))
                said = self.rules[substep * self.cfg.sweeps + sweep](seen, traits)
                shares, strength = 2.0 * torch.sigmoid(said[:2] - 0.5), said[2:].exp()
                target = opening * strength[0] + inside * (PUSH * strength[1])
                load = (load - shares[0] * torch.add(closing, target, alpha=by_step) / ease).clamp(min=0.0)
                back = torch.addcmul(slip, strength[2, :touching], drift, value=HOME * by_step)
                grip = grip - (shares[1, :touching] / slip_ease) * back
                cone = strength[3, :touching] * load[:touching]
                grip = grip * (cone / torch.maximum(_length(grip), cone + TINY))
                new = torch.cat((load, grip.flatten(0, 1)))
                change = (answers * (new - impulse)).sum(1)
                velocity = velocity + (table * change.unsqueeze(1)).sum(0)
                impulse, further = new, further + change
            way = torch.add(way, torch.lerp(before, velocity, late), alpha=step)
            moved = moved + step * torch.add(mended, further, alpha=late)
            mended = mended + further
        return torch.cat((moved - 0.5 * whole * mended, mended))

    def _eases(self, rows: _Constraints, tall: Tensor, mobility: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """What an impulse on each row does to the robot, shape (dim, R, M), to its own gap, shape (P, M), and to slips,
        shape (slots, M); and the traits of the constraints, :data:`TRAITS` of shape (P, M).
        """
        count, touching, usual = len(rows.gap), self._touching, self._usual
        answers = (tall @ mobility).permute(2, 1, 0).contiguous()
        ease = (rows.table * answers).sum(0).clamp(min=TINY)
        slip_ease = 0.5 * (ease[count : count + touching] + ease[count + touching :])
        ease = ease[:count]
        shares = ease / (ease + usual), _padded(slip_ease / (slip_ease + usual[:touching]), count)
        return answers, ease, slip_ease, torch.stack((*shares, rows.crowd, rows.kind)) - 0.5

    def _velocity(self, state: Tensor, turn: Tensor | None) -> Tensor:
        """Velocities of the robot, shape (dim, M)."""
        at = self.spec.state
        if turn is None:
            return state[:, at.joint_vel].t().contiguous()
        root = [into_frame(turn, state[:, where]) for where in (at.root_lin_vel, at.root_ang_vel)]
        return torch.cat((*root, state[:, at.joint_vel]), -1).t().contiguous()

    def _touches(
        self, frames: Frames, state: Tensor, ahead: Tensor, turn: Tensor | None, contacts: Contacts
    ) -> _Constraints:
        """The slots that come nearest to the ground."""
        at, bodies, count = self.spec.state, self.bodies, self._touching
        distance, normal, active = (
            each.index_select(1, self._slots) for each in (contacts.distance, contacts.normal, contacts.active)
        )
        gap = (distance - self._radius).masked_fill(~active, FAR).t()
        if turn is not None:
            normal = into_frame(turn.unsqueeze(1), normal)
        normal = normal.permute(1, 2, 0).contiguous()
        everyone = self._bodies.unsqueeze(-1).expand_as(gap)
        points = self._points.unsqueeze(-1)
        centres = bodies.place(frames, everyone, points)
        # The centre of a slot goes where free motion takes it.
        end = bodies.place(bodies.frames(ahead[:, at.joint_pos]), everyone, points)
        if turn is not None:
            away = into_frame(turn, ahead[:, at.root_pos] - state[:, at.root_pos])
            rotation = turn.transpose(-1, -2) @ rotation_matrix(ahead[:, at.root_quat])
            end = turned(rotation.permute(1, 2, 0).unsqueeze(0), end) + away.t()
        free_way = ((end - centres) * normal).sum(1)
        nearest = torch.minimum(gap, gap + free_way)
        crowd = (nearest < NEAR).sum(0, keepdim=True).to(gap.dtype)
        chosen = nearest.topk(count, dim=0, largest=False).indices
        gap, free_way = gap.gather(0, chosen), free_way.gather(0, chosen)
        vectors = chosen.unsqueeze(1).expand(-1, 3, -1)
        normal, centres = normal.gather(0, vectors), centres.gather(0, vectors)
        axes = contact_axes(normal)
        surface = centres - self._radius[chosen].unsqueeze(1) * normal
        table = bodies.jacobian(frames, self._bodies[chosen], surface)
        table = torch.cat([(table * axis).sum(2) for axis in axes], 1)
        zero = torch.zeros_like(gap)
        return _Constraints(table[:, :count], gap, free_way, (0.25 * crowd).expand_as(gap), zero, table[:, count:])

    def _stops(self, state: Tensor, ahead: Tensor) -> _Constraints:
        """The stops of joints, of each joint the nearer one."""
        where = self.spec.state.joint_pos
        now, then = (each[:, where].t().index_select(0, self._stopped) for each in (state, ahead))
        upper = self._upper - now < now - self._lower
        side = torch.where(upper, -1.0, 1.0).to(now)
        gap = torch.where(upper, self._upper - now, now - self._lower)
        unit = torch.eye(self.bodies.dim, device=state.device, dtype=state.dtype)
        table = unit[:, self._stopped + self._root].unsqueeze(-1) * side
        one = torch.ones_like(gap)
        return _Constraints(table, gap, side * (then - now), 0.5 * one, one, None)

    @torch.no_grad()
    def _usual_ease(self) -> Tensor:
        """How easily constraints give way in the middle of all ranges: slots in the mean, stops each, shape (P, 1)."""
        middle = [0.5 * (j.lower + j.upper) if math.isfinite(j.upper - j.lower) else 0.0 for j in self.spec.joints]
        frames = self.bodies.frames(torch.tensor([middle]))
        mobility = self.bodies.mobility(frames)[0]
        stops = mobility.diagonal()[self._root :][self._stopped]
        if not self._touching:
            return stops.unsqueeze(-1)
        places = self._bodies.unsqueeze(-1)
        table = self.bodies.jacobian(frames, places, self.bodies.place(frames, places, self._points.unsqueeze(-1)))
        table = table[:, :, 2, 0]
        touches = ((mobility @ table) * table).sum(0).mean()
        return torch.cat((touches.expand(self._touching), stops)).unsqueeze(-1)


@dataclass(frozen=True)
class _Constraints:
    """Slots and stops during one control step, shapes (P, M)."""

    table: Tensor
    """Velocity of each row per velocity of the robot, shape (dim, P, M)."""
    gap: Tensor
    """Gap at the beginning [m or rad]."""
    free_way: Tensor
    """By how much free motion opens it [m or rad]."""
    crowd: Tensor
    """How many slots touch, a quarter of their number."""
    kind: Tensor
    """One for a stop, zero for a slot."""
    across: Tensor | None
    """Rows of the two directions across each normal, shape (dim, 2 P, M)."""


def _joined(sides: list[_Constraints]) -> _Constraints:
    """All constraints as one, the directions across normals at the end of the table."""
    across = [side.across for side in sides if side.across is not None]
    joined = {name: torch.cat([getattr(side, name) for side in sides]) for name in ("gap", "free_way", "crowd", "kind")}
    return _Constraints(torch.cat([*(side.table for side in sides), *across], 1), **joined, across=None)


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
    return (vectors.square().sum(0) + TINY).sqrt()


__all__ = ["ContactSolver", "ContactSolverCfg", "outer_slots"]
