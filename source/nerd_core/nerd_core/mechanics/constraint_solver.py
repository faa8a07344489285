# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A solver of contacts, stops and drives, of which the constants and the rules are learned.

What a contact does to a robot hangs on the whole robot; what a contact *is* does not. So this solver knows the first
and learns the second. It goes the way of PhysX (Gauss and Seidel, with substeps): in each substep forces add their
share, and then one constraint after the other is mended, joints first and then slots, each branch of the robot before
the next. A joint is braked by its drive and held by its stop; a slot is held by its normal impulse, which never pulls,
and by friction, which never exceeds its cone. Impulses are kept over the substeps, and each change of one of them is
carried to all others by the robot's mass matrix.

Learned are a few constants (how much of a penetration is pushed out in a substep, how strong friction is), and, if it
is asked for, rules that bend them: a small network, the same for all slots and stops, which looks at gap, velocity and
impulse at the beginning of a substep. Untrained it bends nothing, and an exact rest is at rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from .contact_rules import Rules
from .contacts import SAME_PLACE, Contacts
from .impulses import TINY, Impulses
from .multibody import Frames, Motion, Multibody, cross, into_axes, out_of_axes
from .spec import RobotSpec
from .stops import Stops

NEAR = 0.01
"""Gap [m] below which slots are counted as touching together."""

FAR = 100.0
"""Gap of what cannot be closed [m or rad]."""

SLIDES = 0.1
"""Square of the speed [m^2/s^2] above which directions of friction are along and across the motion of the body."""

CONSTANTS = {
    "push": 0.8,
    "push of a stop": 0.9,
    "fastest push": 10.0,
    "home": 0.8,
    "friction": 1.0,
    "carried": 0.6,
    "turned": 0.9,
}
"""What is learned, and where it begins: shares of a penetration that are pushed out in a substep, by a slot and by a
stop; the speed of a push [m/s]; the share of a drift that friction takes back; friction; and how much of what a body's
own motion adds to the velocity of a slot is seen, by the motion of its centre and by its turning."""


@dataclass(frozen=True)
class ContactSolverCfg:
    """Shape of a learned solver of contacts and stops."""

    substeps: int = 0
    """Substeps in a physics step, in each of which forces and impulses act; 0 for no solver. PhysX has as many as it
    makes position iterations."""
    hidden: int = 16
    """Features of the rules' network; 0 for constants alone."""
    slots: int = 8
    """Most slots that are looked at, those that come nearest to the ground."""
    reach: float = 0.02
    """Gap below which a solver looks at a slot at all [m], and ..."""
    reach_by_radius: float = 0.04
    """... more, as a share of its radius. The contact offsets that PhysX chooses for a plane and for a shape."""
    soft: float = 0.025
    """How much more a constraint gives way than masses say, as a share of that: each mending falls short by so much.
    What PhysX mixes into the constraints of articulations where nothing is authored."""
    scales: tuple[float, ...] = (0.02, 0.5, 5.0)
    """Velocities [m/s or rad/s] at which the features of the rules begin to saturate: rules tell apart what is of the
    size of one of them."""

    def __post_init__(self):
        if min(self.substeps, self.hidden) < 0 or self.slots < 1 or not 0.0 <= self.reach < FAR:
            raise ValueError(f"got {self}, expected substeps, hidden and reach >= 0 and slots >= 1")
        if not all(0.0 <= share < math.inf for share in (self.reach_by_radius, self.soft)):
            raise ValueError(
                f"got reach_by_radius={self.reach_by_radius} and soft={self.soft}, expected finite shares >= 0"
            )
        if not self.scales or not all(0.0 < scale < math.inf for scale in self.scales):
            raise ValueError(f"got the scales {self.scales}, expected some positive finite velocities")


class Surfaces(NamedTuple):
    """The ground below each slot, a plane for the time of a control step."""

    height: Tensor
    """Where a slot's centre touches it, along the normal, from where the root began [m], shape (slots, M)."""
    normal: Tensor
    """Normal, environment axes, shape (slots, 3, M); zeros where there is no ground."""


class Touches(NamedTuple):
    """The slots that may touch in a physics step. Rows are normals, then two directions across each."""

    table: Tensor
    """Velocity of each row per velocity of the robot, shape (dim, 3 P, M)."""
    carried: Tensor
    """What the motion of the bodies' centres adds to the velocity of each row in the step [m/s], shape (3 P, M)."""
    turned: Tensor
    """The same by the turning of the bodies."""
    gap: Tensor
    """Gaps at the beginning [m], shape (P, M)."""
    within: Tensor
    """One for a slot that the solver looks at, zero for one that is too far, shape (P, M)."""
    crowd: Tensor
    """How many slots touch, a quarter of their number, shape (P, M)."""


class ContactSolver(nn.Module):
    """What contacts, stops and drives add to the free motion of one robot in a physics step.

    Constraints stand in rows, batch last: the normals of the chosen slots, the joints, then two directions across each
    normal.
    """

    touching: int
    """Most slots that are looked at."""
    slots: Tensor
    """Slots that can be chosen, in the order in which they are mended, shape (K,)."""
    joints: Tensor
    """Joints in the order in which they are mended, shape (J,). What follows is in the same order."""
    stopped: list[bool]
    """Whether each joint has a stop."""
    lower: Tensor
    """Lower stops [rad or m], minus infinity where there is none, shape (J, 1)."""
    upper: Tensor
    """Upper stops [rad or m], infinity where there is none, shape (J, 1)."""
    usual: Tensor
    """How easily constraints give way in the middle of all ranges: slots in the mean, joints each, shape (P + J, 1)."""
    _bodies: Tensor
    _points: Tensor
    _radius: Tensor
    _units: Tensor
    _places: Tensor
    _damping: Tensor

    def __init__(self, bodies: Multibody, cfg: ContactSolverCfg, touches: bool = True):
        """Looks for what can touch, and makes constants and rules.

        Args:
            bodies: The robot, with the inertias of its bodies.
            cfg: Shape of the solver.
            touches: Whether the robot may touch the ground; otherwise only joints are looked at.
        """
        super().__init__()
        self.spec, self.cfg, self.bodies = bodies.spec, cfg, bodies
        spec = bodies.spec
        index = {name: number for number, name in enumerate(spec.body_names)}
        rank = {number: place for place, number in enumerate(bodies.order)}
        slots = outer_slots(spec) if touches else []
        slots.sort(key=lambda slot: (rank[index[spec.slots[slot].body]], slot))
        limits = Stops(spec)
        carried = {body.joint: rank[index[body.name]] for body in spec.bodies}
        joints = sorted(range(len(spec.joints)), key=lambda i: carried[spec.joint_names[i]])
        self._root = bodies.dim - len(spec.joints)
        self.touching = min(cfg.slots, len(slots))
        self._count = self.touching + len(joints)
        self._braked = [bool(spec.joints[i].damping) for i in joints]
        self.stopped = [i in limits.joints for i in joints]
        buffers = {
            "slots": torch.tensor(slots, dtype=torch.long),
            "_bodies": torch.tensor([index[spec.slots[slot].body] for slot in slots], dtype=torch.long),
            "_points": torch.tensor([spec.slots[slot].point for slot in slots]).reshape(-1, 3, 1),
            "_radius": torch.tensor([spec.slots[slot].radius for slot in slots]),
            "joints": torch.tensor(joints, dtype=torch.long),
            "_units": torch.eye(bodies.dim)[:, [self._root + i for i in joints]].unsqueeze(-1),
            "_places": torch.tensor([joints.index(i) for i in range(len(joints))], dtype=torch.long),
            "lower": limits.lower[joints].unsqueeze(-1),
            "upper": limits.upper[joints].unsqueeze(-1),
            "_damping": torch.tensor([spec.joints[i].damping for i in joints]).unsqueeze(-1),
        }
        for name, value in buffers.items():
            self.register_buffer(name, value, persistent=False)
        self.register_buffer("usual", self._usual_ease(), persistent=False)
        self.constants = nn.Parameter(torch.tensor(list(CONSTANTS.values())).log())
        """Logarithms of :data:`CONSTANTS`."""
        self.rules = nn.ModuleList(Rules(cfg.hidden, cfg.scales) for _ in range(cfg.substeps if cfg.hidden else 0))

    def surfaces(self, frames: Frames, turn: Tensor | None, contacts: Contacts | None) -> Surfaces | None:
        """The ground below all slots at the beginning of a control step; None for a robot that touches none.

        Args:
            frames: Where the bodies are.
            turn: Rotation matrices of the root, shape (3, 3, M); None for a fixed base.
            contacts: Contacts of all slots of the robot, leading dimension (M,); None for one that touches nothing.
        """
        if contacts is None:
            return None
        distance, normal, active = (
            each.index_select(1, self.slots) for each in (contacts.distance, contacts.normal, contacts.active)
        )
        gap = (distance - self._radius).masked_fill(~active, FAR).t()
        normal, centres = normal.permute(1, 2, 0).contiguous(), self._centres(frames)
        centres = centres if turn is None else out_of_axes(turn, centres)
        return Surfaces((centres * normal).sum(1) - gap, normal)

    def touches(
        self, frames: Frames, motion: Motion, surfaces: Surfaces, turn: Tensor | None, shift: Tensor | None
    ) -> Touches:
        """The slots that come nearest to the ground in a physics step.

        Args:
            frames: Where the bodies are.
            motion: How they move.
            surfaces: What :meth:`surfaces` said when the control step began.
            turn: Rotation matrices of the root, shape (3, 3, M); None for a fixed base.
            shift: How far the root has come since, environment axes [m], shape (3, M); None for a fixed base.
        """
        dt, centres, height, normal = self.spec.physics_dt, self._centres(frames), surfaces.height, surfaces.normal
        if turn is not None and shift is not None:
            height, normal = height - (normal * shift).sum(1), into_axes(turn, normal)
        gap = (centres * normal).sum(1) - height
        spin, moving, bend, pull, arm = (each.index_select(0, self._bodies) for each in (*motion, frames.centres))
        arm = centres - arm
        nearest = torch.minimum(gap, torch.add(gap, ((moving + cross(spin, arm)) * normal).sum(1), alpha=dt))
        crowd = (nearest < NEAR).sum(0, keepdim=True).to(gap.dtype)
        chosen = nearest.topk(self.touching, dim=0, largest=False).indices.sort(0).values
        vectors = chosen.unsqueeze(1).expand(-1, 3, -1)
        gap, radius = gap.gather(0, chosen), self._radius[chosen]
        normal, centres, moving, bend, pull, arm = (
            each.gather(0, vectors) for each in (normal, centres, moving, bend, pull, arm)
        )
        axes = contact_axes(normal, torch.add(moving, pull, alpha=dt), turn)
        below = radius.unsqueeze(1) * normal
        table = self.bodies.jacobian(frames, self._bodies[chosen], centres - below)
        turned = cross(bend, arm - below)
        return Touches(
            table=torch.cat([(table * axis).sum(2) for axis in axes], 1),
            carried=dt * torch.cat([(pull * axis).sum(1) for axis in axes]),
            turned=dt * torch.cat([(turned * axis).sum(1) for axis in axes]),
            gap=gap,
            within=(gap < torch.add(self.cfg.reach, radius, alpha=self.cfg.reach_by_radius)).to(gap.dtype),
            crowd=(0.25 * crowd).expand_as(gap),
        )

    def forward(
        self, velocity: Tensor, ramp: Tensor, mobility: Tensor, joint_pos: Tensor, below: Touches | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """What the impulses of one physics step add to velocities and places of the robot, each of shape (dim, M), and
        where the joints are after it, shape (M, J).

        Joints are moved from substep to substep, as PhysX moves them: four metres from zero it matters in which order
        numbers of single precision are added.

        Args:
            velocity: Velocities of the robot at the beginning, shape (dim, M).
            ramp: What forces add to them in equal shares in each substep, shape (dim, M).
            mobility: Change of velocities per impulse on them, shape (M, dim, dim).
            joint_pos: Positions of the joints, shape (M, J).
            below: What :meth:`touches` said.
        """
        if not self._count:
            return torch.zeros_like(velocity), torch.zeros_like(velocity), joint_pos
        push, stop_push, fastest, home, friction, carried, turned = self.constants.exp().unbind()
        touching, count, substeps = self.touching, self._count, self.cfg.substeps
        step, softer = self.spec.physics_dt / substeps, 1.0 + self.cfg.soft
        pos = joint_pos.t().index_select(0, self.joints)
        upper = self.upper - pos < pos - self.lower
        sign = torch.where(upper, -1.0, 1.0).to(pos)
        table = self._units * sign
        gap = self._before_stop(pos, upper)
        within = (gap < FAR).to(gap.dtype)
        stiff = torch.where(gap > 0, 1.0, stop_push)
        if below is not None:
            table = torch.cat((below.table[:, :touching], table, below.table[:, touching:]), 1)
            stiff = torch.cat((torch.where(below.gap > 0, 1.0, push), stiff))
            gap, within = torch.cat((below.gap, gap)), torch.cat((below.within, within))
        rows = table.permute(2, 1, 0).contiguous()
        answers = rows @ mobility
        couplings = (answers @ rows.transpose(1, 2)).permute(1, 2, 0).contiguous()
        ease = couplings.diagonal().t().clamp(min=TINY)
        weight, slip_weight = within / (softer * ease[:count]), 1.0 / (softer * ease[count:])
        stiff = stiff / step

        speeds, gain = ((table * each.unsqueeze(1)).sum(0) for each in (velocity, ramp / substeps))
        if below is not None:
            own = carried * below.carried + turned * below.turned
            speeds = speeds + torch.cat((own[:touching], torch.zeros_like(gap[touching:]), own[touching:]))
        brake = self._damping * step
        brakes = (brake / (1.0 + brake * ease[touching:count])).unbind()
        way, moving = torch.zeros_like(speeds), Impulses(speeds, couplings, touching, count)
        given = impulse = torch.zeros_like(speeds)
        traits = self._traits(ease, below) if self.rules else None
        for substep in range(substeps):
            moving.speeds = moving.speeds + gain
            now = torch.cat((gap[:touching] + way[:touching], self._before_stop(pos, upper)))
            firm, back, pull, hold = stiff, home / step * way[count:], weight, slip_weight
            cone = friction.expand_as(gap[:touching])
            if traits is not None:
                factors = self.rules[substep](self._seen(now, gap, ease, moving), traits)
                pull, firm = weight * factors[0], stiff * torch.where(gap > 0, factors[2], factors[3])
                slips = factors[:, :touching].repeat(1, 2, 1)
                hold, back, cone = slip_weight * slips[1], back * slips[4], friction * factors[5, :touching]
            targets, pulls = torch.maximum(firm * now, -fastest).unbind(), pull.unbind()
            for joint, (braked, stopped) in enumerate(zip(self._braked, self.stopped, strict=True)):
                row = touching + joint
                if braked or stopped:
                    moving.mend_joint(joint, pulls[row], targets[row], (brakes[joint], ease[row]) if braked else None)
            backs, holds, cones = back.unbind(), hold.unbind(), cone.unbind()
            for slot in range(touching):
                moving.press(slot, pulls[slot], targets[slot])
                other = touching + slot
                moving.hold(slot, cones[slot], (holds[slot], holds[other]), (backs[slot], backs[other]))
            way = torch.add(way, moving.speeds, alpha=step)
            pos = torch.add(pos, sign * moving.speeds[touching:count], alpha=step)
            impulse = moving.total()
            given = given + impulse
        impulses = torch.stack((impulse, step * given)).permute(2, 0, 1).contiguous()
        mended, moved = (impulses @ answers).permute(1, 2, 0).contiguous().unbind()
        return mended, moved, pos.index_select(0, self._places).t()

    def _centres(self, frames: Frames) -> Tensor:
        """Centres of all slots in the axes of the root, shape (slots, 3, M)."""
        return self.bodies.place(frames, self._bodies, self._points)

    def _before_stop(self, pos: Tensor, upper: Tensor) -> Tensor:
        """How far joints are before their upper stops, or else their lower ones; :data:`FAR` where there is none."""
        return torch.where(upper, self.upper - pos, pos - self.lower).clamp(max=FAR)

    def _traits(self, ease: Tensor, below: Touches | None) -> Tensor:
        """What the rules are told of each constraint that stays the same over the substeps."""
        touching, count = self.touching, self._count
        slips = 0.5 * (ease[count : count + touching] + ease[count + touching :])
        ease, usual = ease[:count], self.usual
        joint = torch.ones_like(ease[touching:])
        crowd = 0.5 * joint if below is None else torch.cat((below.crowd, 0.5 * joint))
        kind = torch.cat((torch.zeros_like(ease[:touching]), joint))
        slips = _padded(slips / (slips + usual[:touching]), count)
        return torch.stack((ease / (ease + usual), slips, crowd, kind)) - 0.5

    def _seen(self, now: Tensor, gap: Tensor, ease: Tensor, moving: Impulses) -> Tensor:
        """What the rules are told of each constraint at the beginning of a substep."""
        count, pair, by_dt = self._count, (2, self.touching), 1.0 / self.spec.physics_dt
        speeds, held = moving.speeds, torch.stack((*moving.load, *moving.grip)) * ease
        slip, gripped = speeds[count:].unflatten(0, pair), held[count:].unflatten(0, pair)
        speed = _length(slip)
        across = torch.stack((speed, _length(gripped), (gripped * slip).sum(0) / speed))
        seen = torch.stack((now * by_dt, gap * by_dt, speeds[:count], held[:count]))
        return torch.cat((seen, _padded(across, count)))

    @torch.no_grad()
    def _usual_ease(self) -> Tensor:
        """How easily constraints give way in the middle of all ranges: slots in the mean, joints each, shape (P, 1)."""
        middle = [0.5 * (j.lower + j.upper) if math.isfinite(j.upper - j.lower) else 0.0 for j in self.spec.joints]
        frames = self.bodies.frames(torch.tensor([middle]))
        mobility = self.bodies.mobility(self.bodies.rows(frames))[0]
        joints = mobility.diagonal()[self._root :][self.joints]
        if not self.touching:
            return joints.unsqueeze(-1)
        table = self.bodies.jacobian(frames, self._bodies.unsqueeze(-1), self._centres(frames))
        table = table[:, :, 2, 0]
        touches = ((mobility @ table) * table).sum(0).mean()
        return torch.cat((touches.expand(self.touching), joints)).unsqueeze(-1)


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


def contact_axes(normal: Tensor, moving: Tensor, turn: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Three axes for normals of shape (P, 3, M), themselves the first. Zeros for a normal of zero.

    Friction is mended along one of the others and then along the next, so it matters which they are. PhysX takes the
    direction of motion, and across a robot that hardly moves one that hangs on the environment.

    Args:
        normal: The normals.
        moving: Velocities [m/s], same shape.
        turn: Rotation matrices, shape (3, 3, M), in whose axes both stand; None for those of the environment.
    """
    if turn is None:
        turn = torch.eye(3, device=normal.device, dtype=normal.dtype).unsqueeze(-1).expand(-1, -1, normal.shape[2])
    ahead, up = turn[0], turn[2]  # the first and the last axis of the environment
    along = (normal * ahead).sum(1, keepdim=True).square() > 0.5
    still = cross(torch.where(along, up, ahead), normal)
    slip = moving - normal * (normal * moving).sum(1, keepdim=True)
    second = torch.where(slip.square().sum(1, keepdim=True) > SLIDES, slip, still)
    second = second * (normal.square().sum(1, keepdim=True) > 0)
    second = second * (second.square().sum(1, keepdim=True) + TINY).rsqrt()
    return normal, second, cross(normal, second)


def _padded(values: Tensor, count: int) -> Tensor:
    """Values of slots, shape (..., P, M), followed by zeros for joints up to ``count`` rows."""
    return nn.functional.pad(values, (0, 0, 0, count - values.shape[-2]))


def _length(vectors: Tensor) -> Tensor:
    """Lengths of vectors of shape (2, P, M), never quite zero."""
    x, y = vectors.unbind()
    return torch.addcmul(x * x + TINY, y, y).sqrt()


__all__ = ["CONSTANTS", "ContactSolver", "ContactSolverCfg", "Surfaces", "Touches", "contact_axes", "outer_slots"]
