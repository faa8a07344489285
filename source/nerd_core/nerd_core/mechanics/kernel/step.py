# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""One control step of one environment, for one thread: what :meth:`nerd_core.mechanics.step.Mechanics.forward` says,
from a state to the next one.
"""

from typing import Any

import warp as wp

from ..constants import MOMENTUM_EPSILON, UNREACHABLE
from .actuators import actuated_effort
from .body_damping import damping_force, special_gravity_force
from .constraint_rows import ConstraintRow, begin_rows
from .constraint_solver import make_solver
from .contact_constraints import SlotGround, SlotParameters, slot_centre
from .forces import ForceArrays, write_forces, write_gained
from .friction_anchors import ContactAnchors, keep_anchors
from .joint_drives import DriveParameters, DriveState, begin_drives, forget_responses, read_targets
from .joint_stops import JointParameters
from .multibody import (
    BodyParameters,
    BodyState,
    bias_force,
    centroidal_momentum,
    compute_inertias,
    compute_motion,
    factorise_mass_matrix,
    gravity_force,
    place_bodies,
    point_inertia,
    weighted_sum,
)
from .physical_parameters import ParameterRows, external_force, robot_of
from .rules import Factors
from .self_contacts import begin_meetings, write_meeting_forces
from .shape_pairs import MeetingState
from .structures import KernelTypes
from .tables import Inputs, RobotTables, Sizes
from .trace import keep_memory

OPTIONS = {"max_unroll": 4, "cpu_compiler_flags": "-march=native -vectorize-loops -vectorize-slp"}
"""How kernels are compiled. Unasked, Warp's compiler makes no use of vectors of numbers: a fifth of the time."""


@wp.func
def rotation_matrix(quat: wp.vec4):
    """Rotation matrix of a quaternion of any length but zero."""
    q = quat * wp.sqrt(2.0 / wp.dot(quat, quat))
    x, y, z, w = q[0], q[1], q[2], q[3]
    return wp.mat33(
        1.0 - y * y - z * z,
        x * y - z * w,
        x * z + y * w,
        x * y + z * w,
        1.0 - x * x - z * z,
        y * z - x * w,
        x * z - y * w,
        y * z + x * w,
        1.0 - x * x - y * y,
    )


@wp.func
def quat_from_rotation_vector(vector: wp.vec3):
    """Quaternion of a rotation vector."""
    squared = wp.dot(vector, vector)
    scale, w = 0.5 - squared / 48.0, 1.0 - squared / 8.0 + squared * squared / 384.0
    if squared > 1.0e-6:
        angle = wp.sqrt(squared)
        scale = wp.sin(0.5 * angle) / angle
        w = wp.cos(0.5 * angle)
    return wp.vec4(scale * vector[0], scale * vector[1], scale * vector[2], w)


@wp.func
def product(a: wp.vec4, b: wp.vec4):
    """The rotation ``b`` followed by ``a``, as a quaternion of length one."""
    found = wp.vec4(
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
        a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
        a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
        a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    )
    return found / wp.sqrt(wp.dot(found, found))


@wp.func
def part_of(vector: Any, begin: int):
    """Three numbers of a longer vector."""
    return wp.vec3(vector[begin], vector[begin + 1], vector[begin + 2])


@wp.func
def length(vector: wp.vec3):
    """Length of a vector, never quite zero."""
    return wp.sqrt(wp.dot(vector, vector) + MOMENTUM_EPSILON)


@wp.func
def read_inputs(robot: RobotTables, inputs: Inputs, work: Any, env: int, zeros: Any):
    """Reads state and control of an environment; positions of joints go to ``work.joint_pos``.

    Returns:
        Orientation of the root, the same as a matrix, generalised velocities, and generalised efforts.
    """
    joints = robot.joints
    joint_pos = work.joint_pos
    layout = robot.layout
    velocity = zeros  # one by one: a tuple would not copy
    effort = zeros
    quat = wp.vec4(0.0, 0.0, 0.0, 1.0)
    rotation = wp.identity(n=3, dtype=float)
    if robot.floating == 1:
        for i in range(4):
            quat[i] = inputs.state[env, layout.root_quat + i]
        rotation = rotation_matrix(quat)
        for i in range(3):
            for j in range(3):
                velocity[i] = velocity[i] + rotation[j, i] * inputs.state[env, layout.root_lin_vel + j]
                velocity[3 + i] = velocity[3 + i] + rotation[j, i] * inputs.state[env, layout.root_ang_vel + j]
    for i in range(joints.shape[0]):
        place = joints[i].place
        joint_pos[place] = inputs.state[env, layout.joint_pos + place]
        velocity[joints[i].velocity] = inputs.state[env, layout.joint_vel + place]
    for i in range(robot.controlled.shape[0]):
        if robot.controlled[i] >= 0:
            effort[robot.controlled[i]] = effort[robot.controlled[i]] + inputs.control[env, i]
    return quat, rotation, velocity, effort


@wp.func
def find_ground_planes(robot: RobotTables, inputs: Inputs, work: Any, env: int, root_rotation: wp.mat33):
    """Sets the ground below all slots, ``work.grounds``, at the beginning of a control step."""
    slots = robot.slots
    grounds = work.grounds
    for i in range(slots.shape[0]):
        source = slots[i].place
        gap = float(UNREACHABLE)
        if inputs.active[env, source]:
            gap = inputs.distance[env, source] - slots[i].radius
        normal = inputs.normal[env, source]
        grounds[i].normal = normal
        grounds[i].offset = wp.dot(root_rotation * slot_centre(slots, i, work.bodies), normal) - gap


@wp.func
def keep_momentum(
    robot: RobotTables,
    work: Any,
    velocity: Any,
    momentum: wp.vec3,
    angular_momentum: wp.vec3,
    rotation_step: wp.mat33,
    gravity: wp.vec3,
):
    """Generalised velocities in the new axes of the root, its linear and angular velocity corrected so that momentum
    and the size of the angular momentum are kept.

    Args:
        robot: Tables of the robot.
        work: Memory of the environment, with bodies where they are now.
        velocity: Generalised velocities in the old axes.
        momentum: Momentum with the impulses of constraints, before bodies moved, in the old axes.
        angular_momentum: The same about the centre of mass.
        rotation_step: The new axes in the old ones.
        gravity: Gravity in the old axes.
    """
    bodies = work.bodies
    linear = wp.transpose(rotation_step) * part_of(velocity, 0)
    angular = wp.transpose(rotation_step) * part_of(velocity, 3)
    kept = velocity
    for i in range(3):
        kept[i] = linear[i]
        kept[3 + i] = angular[i]
    after, angular_after = centroidal_momentum(robot.tree, bodies, kept)
    mass = bodies[0].composite_mass
    falling = mass
    if robot.damping.shape[0] > 0:
        falling = robot.gravity_mass
    centre = bodies[0].first_moment / bodies[0].composite_mass
    locked_inertia = bodies[0].composite_inertia - point_inertia(mass, centre)
    lacking = angular_after * (length(angular_momentum) / length(angular_after) - 1.0)
    angular = wp.inverse(locked_inertia) * lacking
    missing = wp.transpose(rotation_step) * (momentum + robot.solver.dt * falling * gravity) - after
    linear = missing / mass - wp.cross(angular, centre)
    for i in range(3):
        kept[i] = kept[i] + linear[i]
        kept[3 + i] = kept[3 + i] + angular[i]
    return kept


@wp.func
def write_state(
    robot: RobotTables,
    work: Any,
    env: int,
    quat: wp.vec4,
    displacement: wp.vec3,
    rotation: wp.mat33,
    velocity: Any,
    next_state: wp.array2d[float],
):
    """Writes the state of an environment at the end of a control step, the root's position from where it began."""
    joints = robot.joints
    layout = robot.layout
    if robot.floating == 1:
        linear, angular = rotation * part_of(velocity, 0), rotation * part_of(velocity, 3)
        for i in range(3):
            next_state[env, i] = displacement[i]
            next_state[env, layout.root_lin_vel + i] = linear[i]
            next_state[env, layout.root_ang_vel + i] = angular[i]
        for i in range(4):
            next_state[env, layout.root_quat + i] = quat[i]
    for i in range(joints.shape[0]):
        place = joints[i].place
        next_state[env, layout.joint_pos + place] = work.joint_pos[place]
        next_state[env, layout.joint_vel + place] = velocity[joints[i].velocity]


def make_kernel(sizes: Sizes, types: KernelTypes, is_kept: bool = False, tells_forces: bool = False) -> wp.Kernel:
    """The kernel for robots of some size.

    Args:
        sizes: The size.
        types: Structures for it.
        is_kept: Whether the step is kept for its adjoint; otherwise nothing is written to the trace.
        tells_forces: Whether forces are written; otherwise there need be no place for them.
    """
    generalised, Weights, Work, Trace = types.generalised, types.weights, types.work, types.trace
    dim = sizes.velocities
    body_count, joint_count, slot_count = sizes.bodies, max(1, sizes.joints), max(1, sizes.slots)
    drive_count, is_driven, is_damped = max(1, sizes.drives), sizes.drives > 0, sizes.is_damped
    is_actuated = sizes.is_actuated
    has_meetings, meeting_count = sizes.max_meetings > 0, max(1, sizes.max_meetings)
    solve_constraints = make_solver(
        is_driven, sizes.is_coupled, is_kept, sizes.has_patches, sizes.has_capsules, has_meetings
    )
    has_parameters = sizes.has_parameters
    row_count = max(1, sizes.joints + 3 * (sizes.max_contacts + sizes.max_meetings))
    contact_count = max(1, sizes.max_contacts)
    patch_contacts = contact_count if sizes.has_patches else 1

    @wp.kernel(module="unique", enable_backward=False, module_options=OPTIONS)
    def advance(
        first: int,
        nominal: RobotTables,
        weights: Weights,
        inputs: Inputs,
        parameters: ParameterRows,
        trace: Trace,
        next_state: wp.array2d[float],
        forces: ForceArrays,
    ):
        """Steps environment ``first`` and the following ones."""
        env = first + wp.tid()
        if wp.static(has_parameters):  # the robot is that of the environment
            own_tree = wp.zeros(shape=(body_count,), dtype=BodyParameters)
            own_joint_table = wp.zeros(shape=(joint_count,), dtype=JointParameters)
            own_drive_table = wp.zeros(shape=(drive_count,), dtype=DriveParameters)
            own_slot_table = wp.zeros(shape=(slot_count,), dtype=SlotParameters)
            robot = robot_of(
                nominal,
                parameters,
                env,
                wp.array(ptr=own_tree.ptr, shape=(nominal.tree.shape[0],), dtype=BodyParameters),
                wp.array(ptr=own_joint_table.ptr, shape=(nominal.joints.shape[0],), dtype=JointParameters),
                wp.array(ptr=own_drive_table.ptr, shape=(nominal.drives.shape[0],), dtype=DriveParameters),
                wp.array(ptr=own_slot_table.ptr, shape=(nominal.slots.shape[0],), dtype=SlotParameters),
            )
        else:
            robot = nominal
        own_bodies = wp.zeros(shape=(body_count,), dtype=BodyState)
        own_joint_pos = wp.zeros(shape=(joint_count,), dtype=float)
        own_drives = wp.zeros(shape=(drive_count,), dtype=DriveState)
        own_responses = wp.zeros(shape=(body_count,), dtype=float)
        own_grounds = wp.zeros(shape=(slot_count,), dtype=SlotGround)
        own_contacts = wp.zeros(shape=(contact_count,), dtype=int)
        own_factors = wp.zeros(shape=(patch_contacts,), dtype=Factors)
        own_anchors = wp.zeros(shape=(contact_count,), dtype=ContactAnchors)
        own_meetings = wp.zeros(shape=(meeting_count,), dtype=MeetingState)
        own_rows = wp.zeros(shape=(row_count,), dtype=ConstraintRow)
        own_whitened = wp.zeros(shape=(row_count,), dtype=generalised)
        own_factor = wp.zeros(shape=(dim,), dtype=generalised)
        own_columns = wp.zeros(shape=(dim,), dtype=generalised)
        # Views, for functions would be given copies of the arrays themselves.
        work = Work()
        work.bodies = wp.array(ptr=own_bodies.ptr, shape=(body_count,), dtype=BodyState)
        work.joint_pos = wp.array(ptr=own_joint_pos.ptr, shape=(joint_count,), dtype=float)
        work.drives = wp.array(ptr=own_drives.ptr, shape=(drive_count,), dtype=DriveState)
        work.responses = wp.array(ptr=own_responses.ptr, shape=(body_count,), dtype=float)
        work.grounds = wp.array(ptr=own_grounds.ptr, shape=(slot_count,), dtype=SlotGround)
        work.contacts = wp.array(ptr=own_contacts.ptr, shape=(contact_count,), dtype=int)
        work.factors = wp.array(ptr=own_factors.ptr, shape=(patch_contacts,), dtype=Factors)
        work.anchors = wp.array(ptr=own_anchors.ptr, shape=(contact_count,), dtype=ContactAnchors)
        work.meetings = wp.array(ptr=own_meetings.ptr, shape=(meeting_count,), dtype=MeetingState)
        work.rows = wp.array(ptr=own_rows.ptr, shape=(row_count,), dtype=ConstraintRow)
        work.whitened_rows = wp.array(ptr=own_whitened.ptr, shape=(row_count,), dtype=generalised)
        work.inverse_factor = wp.array(ptr=own_factor.ptr, shape=(dim,), dtype=generalised)
        work.inverse_factor_columns = wp.array(ptr=own_columns.ptr, shape=(dim,), dtype=generalised)
        if wp.static(is_kept):
            work.bodies = trace.bodies[env, 0]
            work.grounds = trace.grounds[env]
        if inputs.memory.shape[0] > 0:
            work.memory = inputs.memory[env]
            if robot.floating == 1:
                work.root_begin = wp.vec3(inputs.state[env, 0], inputs.state[env, 1], inputs.state[env, 2])
        joint_pos = work.joint_pos
        tree = robot.tree
        zeros = generalised()
        dt = robot.solver.dt

        quat, rotation, velocity, effort = read_inputs(robot, inputs, work, env, zeros)
        displacement = wp.vec3()
        place_bodies(tree, joint_pos, work.bodies)
        compute_inertias(tree, work.bodies)
        find_ground_planes(robot, inputs, work, env, rotation)
        if wp.static(is_driven):
            read_targets(robot, inputs, work, env)
        for physics_step in range(robot.decimation):
            if wp.static(is_kept):
                work.contacts = trace.contacts[env, physics_step]
                work.responses = trace.responses[env, physics_step]
                work.whitened_rows = trace.whitened_rows[env, physics_step]
                work.inverse_factor = trace.inverse_factor[env, physics_step]
                work.inverse_factor_columns = trace.inverse_factor_columns[env, physics_step]
                work.kept_rows = trace.rows[env, physics_step]
                work.kept_solved = trace.solved[env, physics_step]
                work.kept_joint_pos = trace.joint_pos[env, physics_step]
                work.kept_drives = trace.drives[env, physics_step]
                if trace.memory.shape[0] > 0:
                    work.kept_anchors = trace.anchors[env, physics_step]
                    keep_memory(work, trace.memory[env, physics_step])
                trace.records[env, physics_step].velocity = velocity
            columns = work.inverse_factor_columns
            work.root_rotation = rotation
            forget_responses(work)
            pushed = effort
            if wp.static(is_actuated):
                pushed = actuated_effort(robot, inputs, joint_pos, velocity, effort, env)
            if wp.static(is_driven):
                velocity = begin_drives(robot, work, velocity)
            if wp.static(tells_forces):
                write_state(robot, work, env, quat, displacement, rotation, velocity, forces.before)
            gravity = wp.transpose(rotation) * robot.gravity
            compute_motion(tree, robot.floating, velocity, work.bodies)
            factorise_mass_matrix(tree, robot.floating, work.bodies, zeros, work.inverse_factor, columns)
            if wp.static(has_parameters):
                outer, outer_force, outer_torque = external_force(robot, parameters, work, env, rotation, zeros)
                pushed = pushed + outer
            against = bias_force(tree, robot.floating, work.bodies, zeros)
            if wp.static(is_damped):
                force = pushed + special_gravity_force(tree, robot.damping, robot.floating, work.bodies, gravity, zeros)
                slowed = damping_force(tree, robot.damping, robot.floating, work.bodies, dt, zeros)
                against = against - slowed
                damped_impulse = weighted_sum(work.inverse_factor, dt * slowed, zeros)
                damped = weighted_sum(columns, damped_impulse, zeros)
            else:
                force = pushed + gravity_force(tree, robot.floating, work.bodies, gravity, zeros)
            applied_impulse = weighted_sum(work.inverse_factor, dt * force, zeros)
            bias_impulse = weighted_sum(work.inverse_factor, -dt * against, zeros)
            applied, bias = weighted_sum(columns, applied_impulse, zeros), weighted_sum(columns, bias_impulse, zeros)
            gain, start = applied / float(robot.solver.substeps), velocity + bias

            contacts, near = begin_rows(robot, weights, work, start, gain, rotation, displacement, zeros)
            if wp.static(has_meetings):
                work.meeting_count = begin_meetings(robot, weights, work, contacts, start, gain, zeros)
            impulses, moved_by_impulses = solve_constraints(robot, weights, work, contacts, near, zeros)
            keep_anchors(work, contacts)
            solved, moved = weighted_sum(columns, impulses, zeros), weighted_sum(columns, moved_by_impulses, zeros)
            with_impulses = velocity + solved
            if wp.static(tells_forces):
                write_forces(robot, work, contacts, env, physics_step, rotation, forces)
                if wp.static(has_meetings):
                    write_meeting_forces(robot, work, contacts, env, physics_step, rotation, forces)
                write_gained(robot, env, applied + bias + solved, forces)
            if wp.static(is_kept):
                trace.records[env, physics_step].quat = quat
                trace.records[env, physics_step].rotation = rotation
                trace.records[env, physics_step].displacement = displacement
                trace.records[env, physics_step].slowed = velocity
                trace.records[env, physics_step].applied = applied
                trace.records[env, physics_step].applied_impulse = applied_impulse
                trace.records[env, physics_step].bias = bias
                trace.records[env, physics_step].bias_impulse = bias_impulse
                if wp.static(is_damped):
                    trace.records[env, physics_step].damped = damped
                    trace.records[env, physics_step].damped_impulse = damped_impulse
                trace.records[env, physics_step].moved = moved_by_impulses
                trace.records[env, physics_step].contacts = contacts
                trace.records[env, physics_step].near = near
            if robot.floating == 1:
                # Bias forces turn the root at once, and carry it as applied forces do, in equal stairs.
                linear = part_of(velocity, 0) + robot.ramp_mean * (part_of(applied, 0) + part_of(bias, 0))
                angular = part_of(velocity, 3) + part_of(bias, 3) + robot.ramp_mean * part_of(applied, 3)
                if wp.static(is_damped):  # damping carries it at once
                    linear = linear + (1.0 - robot.ramp_mean) * part_of(damped, 0)
                    with_impulses = with_impulses + damped
                gone, turned = dt * linear + part_of(moved, 0), dt * angular + part_of(moved, 3)
                momentum, angular_momentum = centroidal_momentum(tree, work.bodies, with_impulses)
                if wp.static(has_parameters):
                    at_start = work.bodies
                    centre = at_start[0].first_moment / at_start[0].composite_mass
                    momentum = momentum + dt * outer_force
                    angular_momentum = angular_momentum + dt * (outer_torque - wp.cross(centre, outer_force))
                if wp.static(is_kept):
                    trace.records[env, physics_step].gone = gone
                    trace.records[env, physics_step].turned = turned
                    work.bodies = trace.bodies[env, physics_step + 1]
                velocity = velocity + applied + bias + solved
                quat_step = quat_from_rotation_vector(turned)
                rotation_step = rotation_matrix(quat_step)
                displacement = displacement + rotation * gone
                quat = product(quat, quat_step)
                rotation = rotation * rotation_step
                place_bodies(tree, joint_pos, work.bodies)
                compute_inertias(tree, work.bodies)
                velocity = keep_momentum(robot, work, velocity, momentum, angular_momentum, rotation_step, gravity)
            else:
                velocity = velocity + applied + bias + solved
                if physics_step + 1 < robot.decimation:
                    if wp.static(is_kept):
                        work.bodies = trace.bodies[env, physics_step + 1]
                    place_bodies(tree, joint_pos, work.bodies)
                    compute_inertias(tree, work.bodies)

        if wp.static(is_kept):
            trace.records[env, int(robot.decimation)].quat = quat
            trace.records[env, int(robot.decimation)].rotation = rotation
            trace.records[env, int(robot.decimation)].velocity = velocity
            if trace.memory.shape[0] > 0:
                keep_memory(work, trace.memory[env, int(robot.decimation)])
        write_state(robot, work, env, quat, displacement, rotation, velocity, next_state)

    return advance
