# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Contacts between the bodies of one robot, for one thread: as :mod:`nerd_core.mechanics.self_contacts` says for
batches. Shapes whose surrounding spheres are apart cost a comparison.

Their rows stand behind those of contacts with the ground, three for each, and are solved before joints, as the
engine does. They have no memory of friction.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from ..constants import MIN_FACTOR, Constant, Factor
from .constraint_rows import begin_row
from .contact_constraints import cone_share, friction_axes
from .forces import ForceArrays, add_forces
from .joint_stops import rate_factor, softness
from .multibody import generalised_force, weighted_sum
from .rules import Factors, contact_factors
from .shape_pairs import MeetingState, of_part


@wp.func
def keep_nearest(meetings: Any, parts: Any, met: MeetingState, count: int):
    """Puts a contact among those that are kept, in their order; where there is no room, instead of the one that is
    farthest away, if it is nearer.

    Returns:
        How many are kept.
    """
    kept = int(count)
    if count == meetings.shape[0]:
        farthest = int(0)
        for i in range(count):
            if meetings[i].excess > meetings[farthest].excess:
                farthest = i
        if met.excess >= meetings[farthest].excess:
            return kept
        for i in range(farthest, count - 1):
            meetings[i] = meetings[i + 1]
        kept = count - 1
    place = int(kept)
    own = parts[int(met.part)].order
    for i in range(kept):
        before = kept - 1 - i
        if place == before + 1 and parts[int(meetings[before].part)].order > own:
            meetings[place] = meetings[before]
            place = before
    meetings[place] = met
    return kept + 1


@wp.func
def find_meetings(robot: Any, work: Any):
    """Lists the contacts between bodies that the solver looks at in ``work.meetings``, and returns how many there
    are.
    """
    pairs = robot.pairs
    parts = robot.parts
    bodies = work.bodies
    meetings = work.meetings
    count = int(0)
    for i in range(pairs.shape[0]):
        first, second = int(pairs[i].first), int(pairs[i].second)
        centre = bodies[first].rotation * pairs[i].centre + bodies[first].position
        other = bodies[second].rotation * pairs[i].other_centre + bodies[second].position
        if wp.length_sq(centre - other) < pairs[i].near * pairs[i].near:
            for part in range(pairs[i].begin, pairs[i].end):
                met = of_part(bodies, parts[part])
                met.part = part
                met.excess = met.gap - pairs[i].reach
                if met.excess < 0.0:
                    count = keep_nearest(meetings, parts, met, count)
    return count


@wp.func
def begin_meetings(robot: Any, weights: Any, work: Any, contacts: int, velocity: Any, gain: Any, zeros: Any):
    """Begins the rows of contacts between bodies.

    Args:
        robot: Tables of the robot.
        weights: Constants and rules.
        work: Memory of the environment, with the orientation of the root.
        contacts: How many contacts with the ground there are, whose rows come first.
        velocity: Generalised velocities at the beginning.
        gain: What applied forces add to them in a substep.
        zeros: A generalised vector of zeros.

    Returns:
        How many there are.
    """
    constants = weights.constants
    parts = robot.parts
    bodies = work.bodies
    meetings = work.meetings
    rows = work.rows
    whitened_rows = work.whitened_rows
    inverse_factor = work.inverse_factor
    count = find_meetings(robot, work)
    for number in range(count):
        part = int(meetings[number].part)
        a, b = int(parts[part].first), int(parts[part].second)
        i = robot.joints.shape[0] + 3 * (contacts + number)
        normal, point = meetings[number].normal, meetings[number].point
        linear_bias = robot.solver.dt * (bodies[a].linear_bias - bodies[b].linear_bias)
        turning = wp.cross(bodies[a].angular_bias, point - bodies[a].centre_of_mass)
        angular_bias = robot.solver.dt * (turning - wp.cross(bodies[b].angular_bias, point - bodies[b].centre_of_mass))
        bias = constants[Constant.LINEAR_BIAS_SHARE] * linear_bias
        bias = bias + constants[Constant.ANGULAR_BIAS_SHARE] * angular_bias
        apart = bodies[a].linear_velocity - bodies[b].linear_velocity + linear_bias
        first, second = friction_axes(normal, apart, work.root_rotation, robot.solver.sliding_speed_squared)
        meetings[number].first_axis = first
        meetings[number].second_axis = second
        rows[i].gap = meetings[number].gap
        for axis in range(3):
            direction = normal
            if axis == 1:
                direction = first
            elif axis == 2:
                direction = second
            torque = wp.cross(point, direction)
            jacobian = generalised_force(robot.tree, robot.floating, bodies, a, direction, torque, zeros)
            jacobian = jacobian - generalised_force(robot.tree, robot.floating, bodies, b, direction, torque, zeros)
            speed = wp.dot(jacobian, velocity) + wp.dot(bias, direction)
            whitened = weighted_sum(inverse_factor, jacobian, zeros)
            begin_row(i + axis, whitened, speed, wp.dot(jacobian, gain), rows, whitened_rows)
            if robot.solver.way_is_bent == 1:
                rows[i + axis].own_motion = constants[Constant.LINEAR_BIAS_SHARE] * wp.dot(linear_bias, direction)
        rows[i].approach = -rows[i].velocity - rows[i].gap / robot.solver.dt
    return count


@wp.func
def mean_friction(one: float, other: float):
    """Friction of two shapes, less than zero where it is the learned one."""
    if one < 0.0:
        return one
    return 0.5 * (one + other)


@wp.func
def solve_meeting(
    robot: Any, weights: Any, work: Any, substep: int, contacts: int, number: int, near: float, solved: Any, zeros: Any
):
    """Solves the normal and then the friction of a contact between bodies.

    Args:
        robot: Tables of the robot.
        weights: Constants and rules.
        work: Memory of the environment.
        substep: Number of the substep.
        contacts: How many contacts with the ground there are.
        number: Number of the contact.
        near: What rules see of how many slots are near the ground.
        solved: All impulses, in whitened units.
        zeros: A generalised vector of zeros.

    Returns:
        All impulses, in whitened units.
    """
    rows = work.rows
    whitened_rows = work.whitened_rows
    slots = robot.slots
    constants = weights.constants
    substep_dt = robot.solver.dt / float(robot.solver.substeps)
    fastest = constants[Constant.MAX_CORRECTION_SPEED]
    least = float(1.0)
    if robot.solver.hidden > 0:
        least = MIN_FACTOR
    i = robot.joints.shape[0] + 3 * (contacts + number)
    initial_gap, impulse = rows[i].gap, rows[i].impulse
    gap = initial_gap + rows[i].displacement
    rate = 1.0 / substep_dt
    if initial_gap <= 0.0:
        rate = constants[Constant.CONTACT_BAUMGARTE] / substep_dt
    correction = wp.max(rate * gap, -fastest)
    velocity = rows[i].free_velocity + wp.dot(whitened_rows[i], solved)
    has_floor = robot.solver.friction_floor > 0.0 and rows[i].approach > 0.0
    a, b = float(0.0), float(0.0)
    if gap <= 0.0 or impulse > 0.0 or velocity + least * correction < 0.0 or has_floor:
        part = int(work.meetings[number].part)
        one, other = int(robot.parts[part].slot), int(robot.parts[part].other_slot)
        soft = wp.max(
            softness(robot, work, int(robot.parts[part].first), zeros),
            softness(robot, work, int(robot.parts[part].second), zeros),
        )
        factors = Factors(1.0)
        if robot.solver.hidden > 0:
            factors = contact_factors(robot, weights, work, substep, i, gap, near)
            correction = wp.max(rate * rate_factor(factors, initial_gap) * gap, -fastest)
        softened = robot.solver.softening * rows[i].delassus + soft
        new = wp.max(impulse - factors[Factor.NORMAL_RELAXATION] / softened * (velocity + correction), 0.0)
        solved = solved + (new - impulse) * whitened_rows[i]
        rows[i].impulse = new
        pressed = new
        if has_floor:
            pressed = wp.max(new, robot.solver.friction_floor * rows[i].approach / softened)
        if pressed > 0.0:
            x, y = rows[i + 1], rows[i + 2]
            return_rate = constants[Constant.FRICTION_RETURN] / substep_dt * factors[Factor.FRICTION_RETURN]
            relaxation = robot.solver.friction_share * factors[Factor.FRICTION_RELAXATION]
            x_velocity = x.free_velocity + wp.dot(whitened_rows[i + 1], solved) + return_rate * x.displacement
            y_velocity = y.free_velocity + wp.dot(whitened_rows[i + 2], solved) + return_rate * y.displacement
            a = x.impulse - relaxation / (robot.solver.softening * x.delassus + soft) * x_velocity
            b = y.impulse - relaxation / (robot.solver.softening * y.delassus + soft) * y_velocity
            static = mean_friction(slots[one].static_friction, slots[other].static_friction)
            dynamic = mean_friction(slots[one].dynamic_friction, slots[other].dynamic_friction)
            share = cone_share(robot, constants, static, dynamic, factors[Factor.FRICTION_COEFFICIENT], pressed, a, b)
            a = share * a
            b = share * b
    if a != rows[i + 1].impulse or b != rows[i + 2].impulse:
        first, second = a - rows[i + 1].impulse, b - rows[i + 2].impulse
        solved = solved + first * whitened_rows[i + 1] + second * whitened_rows[i + 2]
        rows[i + 1].impulse = a
        rows[i + 2].impulse = b
    return solved


@wp.func
def write_meeting_forces(
    robot: Any, work: Any, contacts: int, env: int, physics_step: int, root_rotation: wp.mat33, forces: ForceArrays
):
    """Adds the forces of contacts between bodies to those of the ground; arguments as of
    :func:`~nerd_core.mechanics.kernel.forces.write_forces`.
    """
    rows = work.rows
    meetings = work.meetings
    per_dt = 1.0 / robot.solver.dt
    for number in range(work.meeting_count):
        part = int(meetings[number].part)
        i = robot.joints.shape[0] + 3 * (contacts + number)
        push = per_dt * rows[i].impulse * meetings[number].normal
        rub = rows[i + 1].impulse * meetings[number].first_axis + rows[i + 2].impulse * meetings[number].second_axis
        for side in range(2):
            body, sign = int(robot.parts[part].first), float(1.0)
            if side == 1:
                body = int(robot.parts[part].second)
                sign = -1.0
            add_forces(
                work,
                body,
                meetings[number].point,
                sign * push,
                sign * per_dt * rub,
                env,
                physics_step,
                root_rotation,
                forces,
            )


__all__ = ["begin_meetings", "find_meetings", "solve_meeting", "write_meeting_forces"]
