# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The solver of contacts, stops and drives of one environment, for one thread: :mod:`nerd_core.contact_solver` and its
rules, without what comes to nothing. A slot or stop that is neither near nor loaded costs a comparison.

Rows of constraints are joints in the order of the solver, then three for each slot that is near: its normal and the two
directions of friction.
"""

from __future__ import annotations

import math
from typing import Any

import warp as wp

from ..contact_rules import SEEN, STRONGEST, TRAITS
from ..contact_solver import FAR, NEAR, SLIDES
from ..impulses import TINY
from .bodies import Body, Link, combined, load_of_force

AnswersOfRules = wp.types.vector(length=8, dtype=wp.float32)
"""Answers of the rules, two of them unused: eight fit a register."""

WEAKEST = math.exp(-STRONGEST)
"""Less than any factor of the rules."""


@wp.struct
class Joint:
    """What stays the same of a joint."""

    place: int
    """Place in a state."""
    velocity: int
    """Number of the velocity."""
    stopped: int
    """Whether there is a stop."""
    lower: float
    """Stops [rad or m], very far away where there is none."""
    upper: float
    damping: float
    """Damping of the drive, zero without one."""
    usual: float
    """How easily the joint gives way in the middle of its range."""


@wp.struct
class Slot:
    """What stays the same of a slot."""

    place: int
    """Place among the contacts."""
    body: int
    """Number of the body that carries it."""
    point: wp.vec3
    """Its centre, in the frame of the body [m]."""
    radius: float
    """Its radius [m]."""


@wp.struct
class Solver:
    """Numbers of the solver, see :class:`~nerd_core.contact_solver.ContactSolverCfg`."""

    dt: float
    """Physics step [s]."""
    substeps: int
    softer: float
    reach: float
    reach_by_radius: float
    usual: float
    """How easily slots give way, in the mean."""
    hidden: int
    """Features of the rules; 0 without rules."""


@wp.struct
class Ground:
    """The ground below a slot, a plane for the time of a control step."""

    height: float
    """Where the slot's centre touches it, along the normal, from where the root began [m]."""
    normal: wp.vec3
    """Normal, environment axes; zero where there is no ground."""
    gap: float
    """How far away it is at the beginning of a physics step [m]."""
    ahead: float
    """The same, or at the end of the step with the velocity of the beginning if that is nearer [m]."""


@wp.struct
class Row:
    """A constraint."""

    gap: float
    """Gap of a slot or stop at the beginning [m or rad]."""
    sign: float
    """One, or minus one for a joint that looks at its upper stop."""
    base: float
    """Speed without the impulses of this physics step."""
    gain: float
    """What forces add to it in a substep."""
    speed: float
    """Speed at the end of the last substep, or the beginning of this one."""
    ease: float
    """Change of the speed per impulse."""
    load: float
    """The impulse: of a stop, of a normal or of friction; not of a drive."""
    way: float
    """How far it has come."""


@wp.func
def centre_of(slots: wp.array[Slot], slot: int, bodies: wp.array[Body]):
    """Where the centre of a slot is."""
    body = slots[slot].body
    return bodies[body].turn * slots[slot].point + bodies[body].shift


@wp.func
def near_slots(
    slots: wp.array[Slot],
    solver: Solver,
    bodies: wp.array[Body],
    turn: wp.mat33,
    shift: wp.vec3,
    grounds: wp.array[Ground],
    near: wp.array[int],
):
    """Lists the slots that the solver looks at; ``turn`` and ``shift`` say where the root is, from where it began.

    Returns:
        How many there are, and how many of all slots touch.
    """
    crowd, found = int(0), int(0)
    for i in range(slots.shape[0]):
        body = slots[i].body
        normal = wp.transpose(turn) * grounds[i].normal
        place = centre_of(slots, i, bodies)
        gap = wp.dot(place, normal) - (grounds[i].height - wp.dot(grounds[i].normal, shift))
        moving = bodies[body].moving + wp.cross(bodies[body].spin, place - bodies[body].centre)
        ahead = wp.min(gap, gap + solver.dt * wp.dot(moving, normal))
        grounds[i].gap = gap
        grounds[i].ahead = ahead
        if ahead < NEAR:
            crowd = crowd + 1
    for i in range(slots.shape[0]):
        if grounds[i].gap < solver.reach + solver.reach_by_radius * slots[i].radius:
            nearer = int(0)
            for other in range(slots.shape[0]):
                if grounds[other].ahead < grounds[i].ahead:
                    nearer = nearer + 1
            if nearer < near.shape[0] and found < near.shape[0]:
                near[found] = i
                found = found + 1
    return found, crowd


@wp.func
def across_normal(normal: wp.vec3, moving: wp.vec3, turn: wp.mat33):
    """Two directions across a normal: along the motion, or else one that hangs on the environment, and the next."""
    ahead = wp.vec3(turn[0, 0], turn[0, 1], turn[0, 2])
    up = wp.vec3(turn[2, 0], turn[2, 1], turn[2, 2])
    along = wp.dot(normal, ahead)
    second = wp.cross(ahead, normal)
    if along * along > 0.5:
        second = wp.cross(up, normal)
    slip = moving - normal * wp.dot(normal, moving)
    if wp.dot(slip, slip) > SLIDES:
        second = slip
    second = second / wp.sqrt(wp.dot(second, second) + TINY)
    return second, wp.cross(normal, second)


@wp.func
def before_stop(joint: Joint, pos: float, sign: float):
    """How far a joint is before the stop that it looks at."""
    if sign < 0.0:
        return wp.min(joint.upper - pos, FAR)
    return wp.min(pos - joint.lower, FAR)


@wp.func
def begin_row(i: int, direction: Any, speed: float, gain: float, rows: wp.array[Row], white: wp.array[Any]):
    """Begins a row with its direction in the units of ``white``, its speed, and what forces add in a substep."""
    white[i] = direction
    rows[i].base = speed
    rows[i].speed = speed
    rows[i].gain = gain
    rows[i].ease = wp.max(wp.dot(direction, direction), TINY)
    rows[i].load = 0.0
    rows[i].way = 0.0


@wp.func
def begin_rows(
    links: wp.array[Link],
    joints: wp.array[Joint],
    slots: wp.array[Slot],
    solver: Solver,
    floating: int,
    constants: wp.array[float],
    velocity: Any,
    ramp: Any,
    turn: wp.mat33,
    shift: wp.vec3,
    joint_pos: wp.array[float],
    bodies: wp.array[Body],
    grounds: wp.array[Ground],
    near: wp.array[int],
    inverse: wp.array[Any],
    rows: wp.array[Row],
    white: wp.array[Any],
    zeros: Any,
):
    """Begins the rows of all joints and of the slots that are near.

    Args:
        velocity: Velocities of the robot at the beginning; ``ramp`` is what forces add to them in a substep.
        turn: Where the root is, with ``shift``, from where it began.
        inverse: What :func:`~nerd_core.fused.bodies.factorise` said of the mass matrix.

    Returns:
        How many slots are near, and how many of all touch.
    """
    count = joints.shape[0]
    for i in range(count):
        own = joints[i].velocity
        pos = joint_pos[joints[i].place]
        sign = float(1.0)
        if joints[i].upper - pos < pos - joints[i].lower:
            sign = -1.0
        rows[i].sign = sign
        rows[i].gap = before_stop(joints[i], pos, sign)
        begin_row(i, sign * inverse[own], sign * velocity[own], sign * ramp[own], rows, white)
    touching, crowd = near_slots(slots, solver, bodies, turn, shift, grounds, near)
    for number in range(touching):
        slot = int(near[number])
        body = int(slots[slot].body)
        i = count + 3 * number
        normal = wp.transpose(turn) * grounds[slot].normal
        point = centre_of(slots, slot, bodies) - slots[slot].radius * normal
        pull = solver.dt * bodies[body].pull
        bend = solver.dt * wp.cross(bodies[body].bend, point - bodies[body].centre)
        drift = constants[5] * pull + constants[6] * bend
        along, across = across_normal(normal, bodies[body].moving + pull, turn)
        rows[i].gap = grounds[slot].gap
        for axis in range(3):
            direction = normal
            if axis == 1:
                direction = along
            elif axis == 2:
                direction = across
            # What a unit force does to the robot's velocities is what these do to the speed along it.
            table = load_of_force(links, floating, bodies, body, direction, wp.cross(point, direction), zeros)
            speed = wp.dot(table, velocity) + wp.dot(drift, direction)
            begin_row(i + axis, combined(inverse, table, zeros), speed, wp.dot(table, ramp), rows, white)
    return touching, crowd


@wp.func
def bent(
    solver: Solver,
    scales: wp.array[float],
    inner: wp.array2d[Any],
    outer: wp.array2d[AnswersOfRules],
    substep: int,
    seen: wp.vec4,
    across: wp.vec3,
    traits: wp.vec4,
):
    """What the rules say of one constraint, see :class:`~nerd_core.contact_rules.Rules`."""
    count = scales.shape[0]
    hidden = inner[substep, SEEN * count + TRAITS]
    for number in range(count):
        square = scales[number] * scales[number]
        for i in range(4):
            value = seen[i] / wp.sqrt(seen[i] * seen[i] + square)
            hidden = hidden + value * inner[substep, SEEN * number + i]
        if across[0] != 0.0:
            for i in range(3):
                value = across[i] / wp.sqrt(across[i] * across[i] + square)
                hidden = hidden + value * inner[substep, SEEN * number + 4 + i]
    for i in range(TRAITS):
        hidden = hidden + traits[i] * inner[substep, SEEN * count + i]
    answers = outer[substep, solver.hidden]
    for i in range(solver.hidden):
        answers = answers + wp.max(hidden[i], 0.0) * outer[substep, i]
    for i in range(6):
        value = answers[i] / (1.0 + wp.abs(answers[i]) / STRONGEST)
        if i < 2:
            answers[i] = 2.0 / (1.0 + wp.exp(-value))
        else:
            answers[i] = wp.exp(value)
    return answers


@wp.func
def mended(
    joints: wp.array[Joint],
    touching: int,
    crowd: int,
    solver: Solver,
    constants: wp.array[float],
    scales: wp.array[float],
    inner: wp.array2d[Any],
    outer: wp.array2d[AnswersOfRules],
    joint_pos: wp.array[float],
    rows: wp.array[Row],
    white: wp.array[Any],
    zeros: Any,
):
    """Mends one constraint after the other in each substep, and moves the joints.

    Returns:
        Impulses at the end, and their sum over the substeps times their length, in the units of ``white``.
    """
    push, stop_push, fastest = constants[0], constants[1], constants[2]
    home, friction = constants[3], constants[4]
    step, by_dt = solver.dt / float(solver.substeps), 1.0 / solver.dt
    count = joints.shape[0]
    least = float(1.0)
    if solver.hidden > 0:
        least = WEAKEST
    crowded = 0.25 * float(crowd) - 0.5
    given = zeros
    moved = zeros
    for substep in range(solver.substeps):
        for i in range(count + 3 * touching):
            rows[i].base = rows[i].base + rows[i].gain
            rows[i].speed = rows[i].speed + rows[i].gain

        for i in range(count):
            joint = joints[i]
            ease = rows[i].ease
            load = rows[i].load
            speed = rows[i].base + wp.dot(white[i], given)
            change = float(0.0)
            if joint.damping > 0.0:
                brake = joint.damping * step
                change = -brake / (1.0 + brake * ease) * speed
                speed = speed + ease * change
            gap = rows[i].gap
            if joint.stopped == 1 and gap < FAR:
                now = before_stop(joint, joint_pos[joint.place], rows[i].sign)
                stiff = 1.0 / step
                if gap <= 0.0:
                    stiff = stop_push / step
                target = wp.max(stiff * now, -fastest)
                if now <= 0.0 or load > 0.0 or speed + least * target < 0.0:
                    pull = float(1.0)
                    if solver.hidden > 0:
                        seen = wp.vec4(now * by_dt, gap * by_dt, rows[i].speed, load * ease)
                        traits = wp.vec4(ease / (ease + joint.usual) - 0.5, -0.5, 0.0, 0.5)
                        answers = bent(solver, scales, inner, outer, substep, seen, wp.vec3(), traits)
                        pull = answers[0]
                        firm = answers[3]
                        if gap > 0.0:
                            firm = answers[2]
                        target = wp.max(stiff * firm * now, -fastest)
                    new = wp.max(load - pull / (solver.softer * ease) * (speed + target), 0.0)
                    change = change + (new - load)
                    rows[i].load = new
            if change != 0.0:
                given = given + change * white[i]

        for slot in range(touching):
            i = count + 3 * slot
            gap = rows[i].gap
            ease = rows[i].ease
            load = rows[i].load
            a = rows[i + 1].load
            b = rows[i + 2].load
            now = gap + rows[i].way
            stiff = 1.0 / step
            if gap <= 0.0:
                stiff = push / step
            target = wp.max(stiff * now, -fastest)
            speed = rows[i].base + wp.dot(white[i], given)
            if now <= 0.0 or load > 0.0 or speed + least * target < 0.0:
                x, y = rows[i + 1], rows[i + 2]
                answers = AnswersOfRules(1.0)
                if solver.hidden > 0:
                    slip, grip = wp.vec2(x.speed, y.speed), wp.vec2(x.load * x.ease, y.load * y.ease)
                    slipping = wp.sqrt(wp.dot(slip, slip) + TINY)
                    across = wp.vec3(slipping, wp.sqrt(wp.dot(grip, grip) + TINY), wp.dot(grip, slip) / slipping)
                    seen = wp.vec4(now * by_dt, gap * by_dt, rows[i].speed, load * ease)
                    slips = 0.5 * (x.ease + y.ease)
                    traits = wp.vec4(
                        ease / (ease + solver.usual) - 0.5, slips / (slips + solver.usual) - 0.5, crowded, -0.5
                    )
                    answers = bent(solver, scales, inner, outer, substep, seen, across, traits)
                    firm = answers[3]
                    if gap > 0.0:
                        firm = answers[2]
                    target = wp.max(stiff * firm * now, -fastest)
                new = wp.max(load - answers[0] / (solver.softer * ease) * (speed + target), 0.0)
                given = given + (new - load) * white[i]
                load = new
                rows[i].load = new
                if new > 0.0:
                    back = home / step * answers[4]
                    hold = answers[1] / solver.softer
                    x_speed = x.base + wp.dot(white[i + 1], given) + back * x.way
                    y_speed = y.base + wp.dot(white[i + 2], given) + back * y.way
                    a = a - hold / x.ease * x_speed
                    b = b - hold / y.ease * y_speed
                    cone = friction * answers[5] * new
                    share = wp.min(cone / wp.sqrt(a * a + b * b + TINY), 1.0)
                    a = a * share
                    b = b * share
            if load == 0.0:
                a = 0.0
                b = 0.0
            if a != rows[i + 1].load or b != rows[i + 2].load:
                given = given + (a - rows[i + 1].load) * white[i + 1] + (b - rows[i + 2].load) * white[i + 2]
                rows[i + 1].load = a
                rows[i + 2].load = b

        for i in range(count + 3 * touching):
            speed = rows[i].base + wp.dot(white[i], given)
            rows[i].speed = speed
            rows[i].way = rows[i].way + step * speed
        for i in range(count):
            place = joints[i].place
            joint_pos[place] = joint_pos[place] + step * (rows[i].sign * rows[i].speed)
        moved = moved + given
    return given, step * moved
