# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The solver of contacts, stops and drives of one environment, for one thread:
:mod:`nerd_core.mechanics.constraint_solver` and its rules, without what comes to nothing. A slot or stop that is
neither near nor loaded costs a comparison.

Rows of constraints are joints in the order of the solver, then three for each contact: its normal and the two
directions of friction. Each row of the Jacobian is kept in whitened units: with ``W`` for the inverse factor of the
mass matrix (:func:`~nerd_core.mechanics.kernel.multibody.factorise_mass_matrix`) it is ``J W``, so that the Delassus
matrix is the product of two such rows, and an impulse on a row changes all velocities by that row. The sum of all
impulses is one whitened vector.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from ..constants import CONTACT_COUNT_UNIT, EPSILON, MIN_FACTOR, TRAIT_CENTRE, Constant, Factor
from .contact_constraints import contact_depth, find_contacts, friction_axes, held_share, slot_centre
from .contact_patches import find_anchors, solve_patches
from .friction_anchors import begin_anchors
from .joint_drives import drive_impulse, friction_impulse, speed_limit_impulse
from .joint_stops import rate_factor, softness, stop_gap, stop_impulse
from .mimic_joints import solve_mimics
from .multibody import generalised_force, weighted_sum
from .rules import Factors, contact_factors
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


@wp.struct
class ConstraintRow:
    """A constraint."""

    gap: float
    """Gap of a slot or stop at the beginning [m or rad]."""
    sign: float
    """One, or minus one for a joint that looks at its upper stop."""
    free_velocity: float
    """Velocity without the impulses of this physics step."""
    gain: float
    """What applied forces add to it in a substep."""
    velocity: float
    """Velocity at the end of the last substep, or the beginning of this one."""
    delassus: float
    """Change of the velocity per impulse: the diagonal of the Delassus matrix."""
    impulse: float
    """Accumulated impulse: of a stop, of a normal or of friction; not of a drive."""
    displacement: float
    """How far it has come [m or rad]."""
    own_motion: float
    """What linear bias accelerations add to the velocity in the physics step, of a contact."""
    approach: float
    """Velocity that would have to be taken from a contact's normal for it not to be closed at the end of the step."""
    bounce: float
    """Velocity with which a slot leaves the ground after an impact [m/s], zero for one that stays."""
    friction_share: float
    """Share of the friction of its patch that a contact may have."""


@wp.func
def begin_row(
    i: int, whitened: Any, velocity: float, gain: float, rows: wp.array[ConstraintRow], whitened_rows: wp.array[Any]
):
    """Begins a row with its Jacobian in whitened units, its velocity, and what applied forces add in a substep."""
    whitened_rows[i] = whitened
    rows[i].free_velocity = velocity
    rows[i].velocity = velocity
    rows[i].gain = gain
    rows[i].delassus = wp.max(wp.dot(whitened, whitened), EPSILON)
    rows[i].impulse = 0.0
    rows[i].displacement = 0.0
    rows[i].own_motion = 0.0
    rows[i].bounce = 0.0


@wp.func
def begin_contact(
    robot: Any,
    weights: Any,
    work: Any,
    number: int,
    velocity: Any,
    gain: Any,
    root_rotation: wp.mat33,
    root_displacement: wp.vec3,
    zeros: Any,
):
    """Begins the three rows of a contact; arguments as of :func:`begin_rows`."""
    slots = robot.slots
    constants = weights.constants
    bodies = work.bodies
    rows = work.rows
    whitened_rows = work.whitened_rows
    inverse_factor = work.inverse_factor
    slot = int(work.contacts[number])
    body = int(slots[slot].body)
    i = robot.joints.shape[0] + 3 * number
    normal = wp.transpose(root_rotation) * work.grounds[slot].normal
    point = slot_centre(slots, slot, bodies) - contact_depth(robot, work, slot) * normal
    linear_bias = robot.solver.dt * bodies[body].linear_bias
    angular_bias = robot.solver.dt * wp.cross(bodies[body].angular_bias, point - bodies[body].centre_of_mass)
    bias = constants[Constant.LINEAR_BIAS_SHARE] * linear_bias + constants[Constant.ANGULAR_BIAS_SHARE] * angular_bias
    first, second = friction_axes(
        normal, bodies[body].linear_velocity + linear_bias, root_rotation, robot.solver.sliding_speed_squared
    )
    begin_anchors(robot, work, number, normal, first, second, root_rotation, root_displacement)
    rows[i].gap = work.grounds[slot].gap
    for axis in range(3):
        direction = normal
        if axis == 1:
            direction = first
        elif axis == 2:
            direction = second
        # The generalised force of a unit force along the row is the row of the Jacobian.
        jacobian = generalised_force(
            robot.tree, robot.floating, bodies, body, direction, wp.cross(point, direction), zeros
        )
        speed = wp.dot(jacobian, velocity) + wp.dot(bias, direction)
        whitened = weighted_sum(inverse_factor, jacobian, zeros)
        begin_row(i + axis, whitened, speed, wp.dot(jacobian, gain), rows, whitened_rows)
        if robot.solver.way_is_bent == 1:
            rows[i + axis].own_motion = constants[Constant.LINEAR_BIAS_SHARE] * wp.dot(linear_bias, direction)
    rows[i].approach = -rows[i].velocity - rows[i].gap / robot.solver.dt
    approach = -rows[i].velocity
    least = wp.max(slots[slot].bounce_threshold, rows[i].gap / robot.solver.dt)
    if slots[slot].restitution > 0.0 and approach > least:
        rows[i].bounce = slots[slot].restitution * approach


@wp.func
def begin_rows(
    robot: Any,
    weights: Any,
    work: Any,
    velocity: Any,
    gain: Any,
    root_rotation: wp.mat33,
    root_displacement: wp.vec3,
    zeros: Any,
):
    """Begins the rows of all joints and contacts.

    Args:
        robot: Tables of the robot.
        weights: Constants and rules.
        work: Memory of the environment.
        velocity: Generalised velocities at the beginning.
        gain: What applied forces add to them in a substep.
        root_rotation: Where the root is, with ``root_displacement``, from where it began.
        zeros: A generalised vector of zeros.

    Returns:
        How many contacts there are, and how many of all slots are near the ground.
    """
    joints = robot.joints
    rows = work.rows
    whitened_rows = work.whitened_rows
    inverse_factor = work.inverse_factor
    count = joints.shape[0]
    for i in range(count):
        own = joints[i].velocity
        pos = work.joint_pos[joints[i].place]
        sign = float(1.0)
        if joints[i].upper - pos < pos - joints[i].lower:
            sign = -1.0
        rows[i].sign = sign
        rows[i].gap = stop_gap(joints[i], pos, sign)
        begin_row(i, sign * inverse_factor[own], sign * velocity[own], sign * gain[own], rows, whitened_rows)
    found, near = find_contacts(robot, work, root_rotation, root_displacement)
    for number in range(found):
        begin_contact(robot, weights, work, number, velocity, gain, root_rotation, root_displacement, zeros)
    if robot.solver.has_patches == 1:
        find_anchors(robot, work, found)
    return found, near


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


def make_solver(
    is_driven: bool, is_coupled: bool, is_kept: bool = False, has_patches: bool = False, solve_meeting: Any = None
) -> Any:
    """The solver, compiled without what a robot has not.

    Args:
        is_driven: Whether there is more in any joint than a drive that brakes it, and a stop.
        is_coupled: Whether any joint follows another.
        is_kept: Whether rows and impulses of all substeps are kept for the adjoint.
        has_patches: Whether the contacts of a shape are one patch.
        solve_meeting: What solves a contact between bodies of the robot; None for a robot without.
    """
    has_meetings = solve_meeting is not None

    @wp.func
    def solve_constraints(robot: Any, weights: Any, work: Any, contacts: int, near: int, zeros: Any):
        """Solves one constraint after the other in each substep, and moves the joints.

        Args:
            robot: Tables of the robot.
            weights: Constants and rules.
            work: Memory of the environment, with the rows that :func:`begin_rows` has begun.
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
            for i in range(count):
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
                for contact in range(contacts):
                    if wp.static(is_kept):
                        keep_impulses(work, substep, 1 + count + contact, solved)
                    solved = solve_contact(robot, weights, work, substep, contact, near_trait, solved, zeros)
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
