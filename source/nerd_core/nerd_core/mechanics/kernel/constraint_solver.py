# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The solver of contacts, stops and drives of one environment, for one thread:
:mod:`nerd_core.mechanics.constraint_solver` and its rules, without what comes to nothing. A slot or stop that is
neither near nor loaded costs a comparison.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from ..constants import CONTACT_COUNT_UNIT, MIN_FACTOR, TRAIT_CENTRE, Constant, Factor
from .capsule_contacts import solve_capsule
from .contact_constraints import (
    ONE_END,
    end_of_capsule,
    held_share,
)
from .contact_patches import solve_patches
from .joint_drives import drive_impulse, friction_impulse, speed_limit_impulse
from .joint_stops import rate_factor, softness, stop_impulse
from .mimic_joints import solve_mimics
from .rules import Factors, contact_factors
from .self_contacts import solve_meeting
from .trace import keep_impulses, keep_substep


@wp.struct
class SolverParameters:
    """Numbers of the solver, see :class:`~nerd_core.mechanics.config.MechanicsCfg`."""

    dt: float
    """Physics step [s]."""
    substeps: int
    """Substeps in it."""
    compliance: float
    """Share of what a body answers that constraints in its joint give way more, where these ask for it."""
    softening: float
    """One and the compliance by what a constraint answers itself, see :mod:`nerd_core.mechanics.constraint_laws`."""
    body_compliance: float
    """The compliance by what bodies answer."""
    friction_share: float
    """Share of what friction lacks to rest that it gives in a substep."""
    friction_floor: float
    """Share of the normal impulse that would end an approach in the physics step, for which friction holds at least."""
    sliding_speed_squared: float
    """Square of the speed above which directions of friction are along the motion [m^2/s^2]."""
    stops_release: int
    """Whether a stop that a joint leaves takes back what brings the joint to rest."""
    way_is_bent: int
    """Whether a contact goes the way that the accelerations of its body's own motion make."""
    typical_delassus: float
    """Delassus diagonal of contacts, in the mean."""
    hidden: int
    """Hidden features of the rules; 0 without rules."""
    sliding_share: float
    """Friction of a contact that slides, as a share of that of one at rest."""
    has_patches: int
    """Whether the contacts of a shape are one patch."""
    touch_order: int
    """Whether the shapes of a body are solved in the order in which they touched."""


@wp.func
def solve_joint(robot: Any, weights: Any, work: Any, substep: int, i: int, solved: Any, zeros: Any):
    """Lets a drive that does nothing else brake a joint, and its stop hold it.

    Returns:
        The change of the joint's impulse, of the drive and of the stop together.
    """
    rows = work.rows
    delassus = rows[i].delassus
    velocity = rows[i].free_velocity + wp.dot(work.whitened_rows[i], solved)
    change = float(0.0)
    if robot.joints[i].damping > 0.0:
        damping = robot.joints[i].damping * robot.solver.dt / float(robot.solver.substeps)
        change = -damping / (1.0 + damping * delassus) * velocity
        velocity = velocity + delassus * change
    return change + stop_impulse(robot, weights, work, substep, i, velocity, zeros)


@wp.func
def solve_driven_joint(robot: Any, weights: Any, work: Any, substep: int, i: int, solved: Any, zeros: Any):
    """Lets the drive of a joint lead it, friction brake it, its stop hold it, and limits its speed.

    Returns:
        The change of the joint's impulse, of all these together.
    """
    rows = work.rows
    drive = robot.drives[i]
    delassus = rows[i].delassus
    free_velocity = rows[i].free_velocity + wp.dot(work.whitened_rows[i], solved)
    velocity = free_velocity
    change = float(0.0)
    if drive.damping + drive.stiffness > 0.0:
        change = drive_impulse(robot, work, i, substep, rows[i].sign, velocity, delassus, zeros)
        velocity = velocity + delassus * change
    if drive.has_friction == 1:
        friction = friction_impulse(robot, work, i, velocity, delassus, zeros)
        change = change + friction
        velocity = velocity + delassus * friction
    change = change + stop_impulse(robot, weights, work, substep, i, velocity, zeros)
    return change + speed_limit_impulse(robot, work, i, free_velocity + delassus * change, delassus, zeros)


@wp.func
def solve_contact(
    robot: Any, weights: Any, work: Any, substep: int, contact: int, near: float, solved: Any, zeros: Any
):
    """Solves the normal and then the friction of a contact.

    Returns:
        All impulses, in whitened units.
    """
    rows = work.rows
    whitened_rows = work.whitened_rows
    constants = weights.constants
    substep_dt = robot.solver.dt / float(robot.solver.substeps)
    fastest = constants[Constant.MAX_CORRECTION_SPEED]
    least = float(1.0)
    if robot.solver.hidden > 0:
        least = MIN_FACTOR
    i = robot.joints.shape[0] + 3 * contact
    initial_gap = rows[i].gap
    delassus = rows[i].delassus
    impulse = rows[i].impulse
    a = rows[i + 1].impulse
    b = rows[i + 2].impulse
    gap = initial_gap + rows[i].displacement
    rate = 1.0 / substep_dt
    if initial_gap <= 0.0:
        rate = constants[Constant.CONTACT_BAUMGARTE] / substep_dt
    correction = wp.max(rate * gap, -fastest)
    if rows[i].bounce > 0.0:
        correction = -rows[i].bounce
    velocity = rows[i].free_velocity + wp.dot(whitened_rows[i], solved)
    has_floor = robot.solver.friction_floor > 0.0 and rows[i].approach > 0.0
    pressed = impulse
    of_second = work.anchors[contact].second_impulse
    holds = int(0)
    if gap <= 0.0 or impulse > 0.0 or velocity + least * correction < 0.0 or has_floor:
        slot = int(work.contacts[contact])
        soft = softness(robot, work, int(robot.slots[slot].body), zeros)
        x, y = rows[i + 1], rows[i + 2]
        factors = Factors(1.0)
        if robot.solver.hidden > 0:
            factors = contact_factors(robot, weights, work, substep, i, gap, near)
            of_rate = rate_factor(factors, initial_gap)
            if rows[i].bounce == 0.0:
                correction = wp.max(rate * of_rate * gap, -fastest)
        relaxation = factors[Factor.NORMAL_RELAXATION]
        softened = robot.solver.softening * delassus + soft
        new = wp.max(impulse - relaxation / softened * (velocity + correction), 0.0)
        solved = solved + (new - impulse) * whitened_rows[i]
        impulse = new
        rows[i].impulse = new
        pressed = new
        if has_floor:
            pressed = wp.max(new, robot.solver.friction_floor * rows[i].approach / softened)
        if pressed > 0.0:
            return_rate = constants[Constant.FRICTION_RETURN] / substep_dt * factors[Factor.FRICTION_RETURN]
            relaxation = robot.solver.friction_share * factors[Factor.FRICTION_RELAXATION] / robot.solver.softening
            anchors = work.anchors[contact]
            bears = pressed
            if anchors.has_second == 1:
                bears = 0.5 * pressed
            x_way, y_way = x.displacement + anchors.drift[0], y.displacement + anchors.drift[1]
            x_velocity = x.free_velocity + wp.dot(whitened_rows[i + 1], solved) + return_rate * x_way
            y_velocity = y.free_velocity + wp.dot(whitened_rows[i + 2], solved) + return_rate * y_way
            a = a - of_second[0] - relaxation / (x.delassus + soft) * x_velocity
            b = b - of_second[1] - relaxation / (y.delassus + soft) * y_velocity
            factor = factors[Factor.FRICTION_COEFFICIENT]
            share = held_share(robot, constants, slot, factor, bears, a, b)
            holds = int(share == 1.0)
            a = a * share
            b = b * share
            if anchors.has_second == 1:
                x_now, y_now = a + of_second[0] - x.impulse, b + of_second[1] - y.impulse
                after = solved + x_now * whitened_rows[i + 1] + y_now * whitened_rows[i + 2]
                x_way, y_way = x.displacement + anchors.second_drift[0], y.displacement + anchors.second_drift[1]
                x_velocity = x.free_velocity + wp.dot(whitened_rows[i + 1], after) + return_rate * x_way
                y_velocity = y.free_velocity + wp.dot(whitened_rows[i + 2], after) + return_rate * y_way
                of_second = wp.vec2(
                    of_second[0] - relaxation / (x.delassus + soft) * x_velocity,
                    of_second[1] - relaxation / (y.delassus + soft) * y_velocity,
                )
                share = held_share(robot, constants, slot, factor, bears, of_second[0], of_second[1])
                holds = holds * int(share == 1.0)
                of_second = share * of_second
                a = a + of_second[0]
                b = b + of_second[1]
    if pressed == 0.0:
        a = 0.0
        b = 0.0
        of_second = wp.vec2()
    of_contacts = work.anchors
    of_contacts[contact].second_impulse = of_second
    of_contacts[contact].holds = holds
    if a != rows[i + 1].impulse or b != rows[i + 2].impulse:
        first, second = a - rows[i + 1].impulse, b - rows[i + 2].impulse
        solved = solved + first * whitened_rows[i + 1] + second * whitened_rows[i + 2]
        rows[i + 1].impulse = a
        rows[i + 2].impulse = b
    return solved


@wp.func
def turn_of(robot: Any, work: Any, contact: int, contacts: int):
    """How many joints are solved before a contact; more than there are where there is no such contact."""
    turn = robot.joints.shape[0] + 1
    if contact < contacts:
        turn = robot.slots[int(work.contacts[contact])].turn
    return turn


def make_solver(
    is_driven: bool,
    is_coupled: bool,
    is_kept: bool = False,
    has_patches: bool = False,
    has_capsules: bool = False,
    has_meetings: bool = False,
) -> Any:
    """The solver, compiled without what a robot has not.

    Args:
        is_driven: Whether there is more in any joint than a drive that brakes it, and a stop.
        is_coupled: Whether any joint follows another.
        is_kept: Whether rows and impulses of all substeps are kept for the adjoint.
        has_patches: Whether the contacts of a shape are one patch.
        has_capsules: Whether both ends of a capsule may be one patch.
        has_meetings: Whether bodies of the robot may touch each other.
    """

    @wp.func
    def solve_due(
        robot: Any, weights: Any, work: Any, substep: int, contact: int, near: float, solved: Any, zeros: Any
    ):
        """Solves a contact, or both ends of the capsule of which it is the first; returns all impulses, in whitened
        units, and the next contact.
        """
        following = contact + 1
        if wp.static(is_kept):
            keep_impulses(work, substep, 1 + robot.joints.shape[0] + contact, solved)
        if wp.static(has_capsules):
            if end_of_capsule(robot, work, contact) == ONE_END:
                solved = solve_capsule(robot, weights, work, substep, contact, near, solved, zeros)
                following = contact + 2
            else:
                solved = solve_contact(robot, weights, work, substep, contact, near, solved, zeros)
        else:
            solved = solve_contact(robot, weights, work, substep, contact, near, solved, zeros)
        return solved, following

    @wp.func
    def solve_constraints(robot: Any, weights: Any, work: Any, contacts: int, near: int, zeros: Any):
        """Solves one constraint after the other in each substep, and moves the joints.

        Args:
            robot: Tables of the robot.
            weights: Constants and rules.
            work: Memory of the environment, with the rows that ``begin_rows`` has begun.
            contacts: How many contacts there are.
            near: How many of all slots are near the ground.
            zeros: A generalised vector of zeros.

        Returns:
            Impulses at the end, and their sum over the substeps times their length, in whitened units.
        """
        joints = robot.joints
        rows = work.rows
        whitened_rows = work.whitened_rows
        joint_pos = work.joint_pos
        substep_dt = robot.solver.dt / float(robot.solver.substeps)
        count = joints.shape[0]
        of_contacts = 3 * contacts
        if wp.static(has_meetings):
            of_contacts = of_contacts + 3 * work.meeting_count
        near_trait = CONTACT_COUNT_UNIT * float(near) - TRAIT_CENTRE
        solved = zeros
        moved = zeros
        for substep in range(robot.solver.substeps):
            for i in range(count + of_contacts):
                rows[i].free_velocity = rows[i].free_velocity + rows[i].gain
                rows[i].velocity = rows[i].velocity + rows[i].gain
            if wp.static(is_kept):
                keep_substep(work, substep, count + of_contacts)
                keep_impulses(work, substep, 0, solved)
            if wp.static(has_meetings):
                for number in range(work.meeting_count):
                    solved = solve_meeting(robot, weights, work, substep, contacts, number, near_trait, solved, zeros)
            if wp.static(is_coupled):
                solved = solve_mimics(robot, work, solved)
            contact = int(0)
            for i in range(count):
                if wp.static(not has_patches):
                    while turn_of(robot, work, contact, contacts) <= i:
                        solved, contact = solve_due(robot, weights, work, substep, contact, near_trait, solved, zeros)
                if wp.static(is_kept):
                    keep_impulses(work, substep, 1 + i, solved)
                if wp.static(is_driven):
                    change = solve_driven_joint(robot, weights, work, substep, i, solved, zeros)
                else:
                    change = solve_joint(robot, weights, work, substep, i, solved, zeros)
                if change != 0.0:
                    solved = solved + change * whitened_rows[i]
            if wp.static(has_patches):
                solved = solve_patches(robot, weights, work, substep, contacts, near_trait, solved)
            else:
                while contact < contacts:
                    solved, contact = solve_due(robot, weights, work, substep, contact, near_trait, solved, zeros)
            for i in range(count + of_contacts):
                velocity = rows[i].free_velocity + wp.dot(whitened_rows[i], solved)
                rows[i].velocity = velocity
                way = velocity - (1.0 - (float(substep) + 0.5) / float(robot.solver.substeps)) * rows[i].own_motion
                rows[i].displacement = rows[i].displacement + substep_dt * way
            for i in range(count):
                place = joints[i].place
                joint_pos[place] = joint_pos[place] + substep_dt * (rows[i].sign * rows[i].velocity)
            moved = moved + solved
            if wp.static(is_kept):
                keep_impulses(work, substep, -1, solved)
        if wp.static(is_kept):
            keep_substep(work, robot.solver.substeps, count + of_contacts)
        return solved, substep_dt * moved

    return solve_constraints
