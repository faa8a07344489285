# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The adjoint of the solver of contacts, stops and drives of one environment, for one thread: of
:mod:`nerd_core.mechanics.kernel.constraint_solver`.

A substep is pulled back constraint by constraint, the last one first. Which constraints acted is read from what the
step kept: a projected impulse that is zero, or friction at its cone, passes on what a projection does. The sum of all
impulses as it was before each constraint was kept, too, so that velocities are those that the step saw.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from ..contact_constraints import OTHER_END, end_of_capsule
from ..joint_stops import softness
from ..rules import Factors, contact_factors
from .capsule_contacts import pull_capsule
from .contact_normal import pull_normal
from .friction import along_ground, held_friction, pull_friction, whitened_along_ground
from .friction_anchors import kept_anchors_of
from .joint_drives import (
    pull_drive_impulse,
    pull_friction_impulse,
    pull_gains_of_nothing,
    pull_speed_limit_impulse,
)
from .joint_stops import pull_softness, pull_stop_impulse
from .mimic_joints import pull_mimics
from .rules import pull_contact_factors


@wp.struct
class RowAdjoint:
    """Derivatives by what a constraint is and has at some time of the step."""

    gap: float
    """By its gap at the beginning of the physics step, and so on as in
    :class:`~nerd_core.mechanics.kernel.constraint_rows.ConstraintRow`."""
    free_velocity: float
    gain: float
    velocity: float
    delassus: float
    impulse: float
    displacement: float
    own_motion: float
    approach: float
    bounce: float


@wp.func
def pull_joint(
    robot: Any,
    weights: Any,
    gradients: Any,
    work: Any,
    adjoint: Any,
    chunk: int,
    substep: int,
    i: int,
    solved: Any,
    by_solved: Any,
    zeros: Any,
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.constraint_solver.solve_joint`.

    Args:
        robot: Tables of the robot.
        weights: Constants and rules.
        gradients: Derivatives of the chunk's environments.
        work: What the physics step has kept.
        adjoint: Memory of the adjoint.
        chunk: Number of the chunk.
        substep: Number of the substep.
        i: Row of the joint.
        solved: All impulses before the joint was solved, in whitened units.
        by_solved: Derivatives by those after it.
        zeros: A generalised vector of zeros.

    Returns:
        Derivatives by those before it.
    """
    rows = work.kept_rows[substep]
    by_rows = adjoint.rows
    by_whitened = adjoint.whitened_rows
    damping = robot.joints[i].damping * robot.solver.dt / float(robot.solver.substeps)
    impulse = work.kept_rows[substep + 1, i].impulse
    found = by_solved
    if damping > 0.0 or impulse > 0.0 or rows[i].impulse > 0.0:
        whitened = work.whitened_rows[i]
        delassus = rows[i].delassus
        velocity = rows[i].free_velocity + wp.dot(whitened, solved)
        braking = damping / (1.0 + damping * delassus)
        brake = -braking * velocity
        by_change = wp.dot(by_solved, whitened)
        braked = velocity + delassus * brake
        by_braked = pull_stop_impulse(
            robot, weights, gradients, work, adjoint, chunk, substep, i, braked, by_change, zeros
        )
        by_brake = by_change + delassus * by_braked
        by_velocity = by_braked - braking * by_brake
        by_rows[i].delassus = by_rows[i].delassus + brake * by_braked + braking * braking * velocity * by_brake
        by_rows[i].free_velocity = by_rows[i].free_velocity + by_velocity
        by_whitened[i] = by_whitened[i] + (brake + impulse - rows[i].impulse) * by_solved + by_velocity * solved
        found = by_solved + by_velocity * whitened
    return found


@wp.func
def pull_driven_joint(
    robot: Any,
    weights: Any,
    gradients: Any,
    work: Any,
    adjoint: Any,
    chunk: int,
    substep: int,
    i: int,
    solved: Any,
    by_solved: Any,
    zeros: Any,
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.constraint_solver.solve_driven_joint`; arguments as of
    :func:`pull_joint`.
    """
    rows = work.kept_rows[substep]
    by_rows = adjoint.rows
    by_whitened = adjoint.whitened_rows
    whitened = work.whitened_rows[i]
    drive = robot.drives[i]
    delassus = rows[i].delassus
    sign = rows[i].sign
    mass = work.kept_drives[int(robot.solver.substeps), i].effective_mass
    is_led = drive.damping + drive.stiffness > 0.0
    velocity = rows[i].free_velocity + wp.dot(whitened, solved)
    # What the step did.
    of_drive, of_friction = float(0.0), float(0.0)
    if is_led:
        of_drive = sign * (work.kept_drives[substep + 1, i].impulse - work.kept_drives[substep, i].impulse)
    led = velocity + delassus * of_drive
    if drive.has_friction == 1:
        of_friction = -mass * led
        if wp.abs(of_friction) > drive.static_friction:
            largest = drive.dynamic_friction + drive.viscous_friction * wp.abs(led)
            of_friction = wp.clamp(of_friction, -largest, largest)
    braked = led + delassus * of_friction
    change = of_drive + of_friction + work.kept_rows[substep + 1, i].impulse - rows[i].impulse
    fast = velocity + delassus * change
    of_limit = float(0.0)
    if wp.abs(fast) > drive.max_speed:
        of_limit = mass * (wp.clamp(fast, -drive.max_speed, drive.max_speed) - fast)
    # And back.
    by_total = wp.dot(by_solved, whitened)
    by_fast = pull_speed_limit_impulse(drive, adjoint, i, fast, mass, by_total)
    by_change = by_total + delassus * by_fast
    by_delassus = change * by_fast
    by_braked = pull_stop_impulse(robot, weights, gradients, work, adjoint, chunk, substep, i, braked, by_change, zeros)
    by_friction, by_led = by_change + delassus * by_braked, by_braked
    by_delassus = by_delassus + of_friction * by_braked
    if drive.has_friction == 1:
        by_led = by_led + pull_friction_impulse(drive, adjoint, i, led, mass, by_friction)
    by_drive = by_change + delassus * by_led
    by_delassus = by_delassus + of_drive * by_led
    by_velocity = by_fast + by_led
    if is_led:
        by_velocity = by_velocity + pull_drive_impulse(robot, work, adjoint, i, substep, velocity, by_drive)
    else:
        pull_gains_of_nothing(robot, adjoint, i, velocity, by_drive)
    by_rows[i].delassus = by_rows[i].delassus + by_delassus
    by_rows[i].free_velocity = by_rows[i].free_velocity + by_velocity
    by_whitened[i] = by_whitened[i] + (change + of_limit) * by_solved + by_velocity * solved
    return by_solved + by_velocity * whitened


@wp.func
def pull_contact(
    robot: Any,
    weights: Any,
    gradients: Any,
    work: Any,
    adjoint: Any,
    chunk: int,
    substep: int,
    contact: int,
    near: float,
    before: Any,
    by_after: Any,
    zeros: Any,
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.constraint_solver.solve_contact`; arguments as of
    :func:`pull_joint`, and the number of the contact and the trait of those that are near.
    """
    rows = work.kept_rows[substep]
    after = work.kept_rows[substep + 1]
    by_rows = adjoint.rows
    by_whitened = adjoint.whitened_rows
    by_anchors = adjoint.anchors
    i = robot.joints.shape[0] + 3 * contact
    slot = int(work.contacts[contact])
    impulse, old = after[i].impulse, rows[i].impulse
    by_solved = by_after
    has_floor = robot.solver.friction_floor > 0.0 and rows[i].approach > 0.0
    touches = impulse > 0.0 or has_floor
    if not touches and old == 0.0 and rows[i + 1].impulse == 0.0 and rows[i + 2].impulse == 0.0:
        by_rows[i].impulse = 0.0
        by_rows[i + 1].impulse = 0.0
        by_rows[i + 2].impulse = 0.0
        by_anchors[contact].second_impulse = wp.vec2()
        return by_solved
    along = along_ground(work, i, by_after)
    by_new = by_rows[i].impulse
    by_friction = wp.vec2(by_rows[i + 1].impulse, by_rows[i + 2].impulse) + along
    by_old_friction = -along
    by_second = wp.vec2() + by_anchors[contact].second_impulse  # a copy: it is written below
    by_anchors[contact].second_impulse = wp.vec2()
    by_whitened[i + 1] = by_whitened[i + 1] + (after[i + 1].impulse - rows[i + 1].impulse) * by_after
    by_whitened[i + 2] = by_whitened[i + 2] + (after[i + 2].impulse - rows[i + 2].impulse) * by_after
    gap = rows[i].gap + rows[i].displacement
    factors, by_factors = Factors(1.0), Factors()
    # What a contact gives way, and how much it is pressed at least.
    body, soft, least_pressed, by_soft = int(0), float(0.0), float(0.0), float(0.0)
    softened = robot.solver.softening * rows[i].delassus
    if touches:
        body = int(robot.slots[slot].body)
        soft = softness(robot, work, body, zeros)
        softened = softened + soft
    if has_floor:
        least_pressed = robot.solver.friction_floor * rows[i].approach / softened
    pressed = wp.max(impulse, least_pressed)
    if pressed > 0.0:
        solved = before + (impulse - old) * work.whitened_rows[i]
        if robot.solver.hidden > 0:
            factors = contact_factors(robot, weights, work, substep, i, gap, near)
        anchors = kept_anchors_of(work, substep, contact)
        friction = wp.vec2(rows[i + 1].impulse, rows[i + 2].impulse)
        of_first, of_second, bears = friction - anchors.second_impulse, anchors.second_impulse, pressed
        by_bears = float(0.0)
        if anchors.has_second == 1:
            bears = 0.5 * pressed
            held = held_friction(
                robot, weights, work, substep, contact, factors, soft, bears, anchors.drift, of_first, solved
            )
            braked = held + of_second - friction
            after_first = solved + whitened_along_ground(work, i, braked)
            pulled = pull_friction(
                robot,
                weights,
                work,
                adjoint,
                substep,
                contact,
                factors,
                soft,
                bears,
                anchors.second_drift,
                of_second,
                after_first,
                by_friction + by_second,
            )
            by_anchors[contact].second_drift = by_anchors[contact].second_drift + pulled.drift
            by_bears = by_bears + pulled.bears
            by_soft = by_soft + pulled.softness
            by_factors = by_factors + pulled.factors
            by_braking = whitened_along_ground(work, i, pulled.velocity)
            by_solved = by_solved + by_braking
            by_whitened[i + 1] = by_whitened[i + 1] + braked[0] * by_braking
            by_whitened[i + 2] = by_whitened[i + 2] + braked[1] * by_braking
            by_braked = along_ground(work, i, by_braking)
            by_friction = by_friction + by_braked
            by_old_friction = by_old_friction - by_braked
            by_anchors[contact].second_impulse = pulled.impulse + by_braked
        pulled = pull_friction(
            robot,
            weights,
            work,
            adjoint,
            substep,
            contact,
            factors,
            soft,
            bears,
            anchors.drift,
            of_first,
            solved,
            by_friction,
        )
        by_anchors[contact].drift = by_anchors[contact].drift + pulled.drift
        by_anchors[contact].second_impulse = by_anchors[contact].second_impulse - pulled.impulse
        by_old_friction = by_old_friction + pulled.impulse
        by_solved = by_solved + whitened_along_ground(work, i, pulled.velocity)
        by_factors = by_factors + pulled.factors
        by_soft = by_soft + pulled.softness
        by_pressed = by_bears + pulled.bears
        if anchors.has_second == 1:
            by_pressed = 0.5 * by_pressed
        if impulse >= least_pressed:
            by_new = by_new + by_pressed
        else:
            by_rows[i].approach = by_rows[i].approach + robot.solver.friction_floor / softened * by_pressed
            by_softened = -pressed / softened * by_pressed
            by_soft = by_soft + by_softened
            by_rows[i].delassus = by_rows[i].delassus + robot.solver.softening * by_softened
    by_solved, by_old, by_gap, by_softened, of_normal = pull_normal(
        robot, weights, work, adjoint, substep, i, factors, soft, before, by_solved, by_new
    )
    by_soft = by_soft + by_softened
    by_factors = by_factors + of_normal
    by_rows[i].impulse = by_old
    by_rows[i + 1].impulse = by_old_friction[0]
    by_rows[i + 2].impulse = by_old_friction[1]
    if robot.solver.body_compliance > 0.0:
        pull_softness(robot, adjoint, body, by_soft)
    if pressed > 0.0 and robot.solver.hidden > 0:
        by_gap = by_gap + pull_contact_factors(
            robot, weights, gradients, work, adjoint, chunk, substep, i, gap, near, by_factors
        )
    by_rows[i].gap = by_rows[i].gap + by_gap
    by_rows[i].displacement = by_rows[i].displacement + by_gap
    return by_solved


@wp.func
def turn_before(robot: Any, work: Any, contact: int):
    """How many joints are solved before a contact; less than none where there is no such contact."""
    turn = int(-1)
    if contact >= 0:
        turn = robot.slots[int(work.contacts[contact])].turn
    return turn


def make_pull_substep(is_driven: bool, is_coupled: bool, has_capsules: bool) -> Any:
    """The adjoint of a substep, compiled without what a robot has not; arguments as of
    :func:`~nerd_core.mechanics.kernel.constraint_solver.make_solver`.
    """

    @wp.func
    def pull_due(
        robot: Any,
        weights: Any,
        gradients: Any,
        work: Any,
        adjoint: Any,
        chunk: int,
        substep: int,
        contact: int,
        near: float,
        by_solved: Any,
        zeros: Any,
    ):
        """The adjoint of a contact, or of both ends of the capsule of which it is the other one; returns derivatives
        by all impulses before, and the contact before.
        """
        first = contact
        if wp.static(has_capsules):  # noqa: SIM102 (Warp would ask the rest all the same)
            if end_of_capsule(robot, work, contact) == OTHER_END:
                first = contact - 1
        before = work.kept_solved[substep, 1 + robot.joints.shape[0] + first]
        if first == contact:
            by_solved = pull_contact(
                robot, weights, gradients, work, adjoint, chunk, substep, first, near, before, by_solved, zeros
            )
        elif wp.static(has_capsules):
            by_solved = pull_capsule(
                robot, weights, gradients, work, adjoint, chunk, substep, first, near, before, by_solved, zeros
            )
        return by_solved, first - 1

    @wp.func
    def pull_substep(
        robot: Any,
        weights: Any,
        gradients: Any,
        work: Any,
        adjoint: Any,
        chunk: int,
        substep: int,
        contacts: int,
        near: float,
        by_after: Any,
        zeros: Any,
    ):
        """The adjoint of a substep of the solver.

        Args:
            robot: Tables of the robot.
            weights: Constants and rules.
            gradients: Derivatives of the chunk's environments.
            work: What the physics step has kept.
            adjoint: Memory of the adjoint.
            chunk: Number of the chunk.
            substep: Number of the substep.
            contacts: How many contacts there are.
            near: Trait of how many slots are near.
            by_after: Derivatives by all impulses at the end of the substep, in whitened units.
            zeros: A generalised vector of zeros.

        Returns:
            Derivatives by those at its beginning.
        """
        joints = robot.joints
        by_rows = adjoint.rows
        by_whitened = adjoint.whitened_rows
        by_joint_pos = adjoint.joint_pos
        whitened_rows = work.whitened_rows
        solved = work.kept_solved[substep]
        count = joints.shape[0]
        total = count + 3 * contacts
        substep_dt = robot.solver.dt / float(robot.solver.substeps)
        by_solved = by_after
        end = solved[solved.shape[0] - 1]
        for i in range(total):
            by_velocity = by_rows[i].velocity + substep_dt * by_rows[i].displacement
            if i < count:
                by_velocity = by_velocity + substep_dt * work.kept_rows[substep, i].sign * by_joint_pos[joints[i].place]
            ahead = 1.0 - (float(substep) + 0.5) / float(robot.solver.substeps)
            by_rows[i].own_motion = by_rows[i].own_motion - substep_dt * ahead * by_rows[i].displacement
            by_rows[i].velocity = 0.0
            by_rows[i].free_velocity = by_rows[i].free_velocity + by_velocity
            by_whitened[i] = by_whitened[i] + by_velocity * end
            by_solved = by_solved + by_velocity * whitened_rows[i]
        contact = contacts - 1
        for number in range(count + 1):
            while turn_before(robot, work, contact) >= count - number:
                by_solved, contact = pull_due(
                    robot, weights, gradients, work, adjoint, chunk, substep, contact, near, by_solved, zeros
                )
            if number == count:
                break
            i = count - 1 - number
            before = solved[1 + i]
            if wp.static(is_driven):
                by_solved = pull_driven_joint(
                    robot, weights, gradients, work, adjoint, chunk, substep, i, before, by_solved, zeros
                )
            else:
                by_solved = pull_joint(
                    robot, weights, gradients, work, adjoint, chunk, substep, i, before, by_solved, zeros
                )
        if wp.static(is_coupled):
            by_solved = pull_mimics(robot, work, adjoint, substep, by_solved)
        for i in range(total):
            # Applied forces add to both velocities at the beginning of each substep.
            by_rows[i].gain = by_rows[i].gain + by_rows[i].free_velocity + by_rows[i].velocity
        return by_solved

    return pull_substep
