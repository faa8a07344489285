# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The adjoint of one control step of one environment, for one thread: of :mod:`nerd_core.mechanics.kernel.step`."""

from typing import Any

import warp as wp

from ...constants import CONTACT_COUNT_UNIT, TRAIT_CENTRE, Constant
from ..contact_constraints import slot_centre
from ..joint_stops import forget_softness
from ..multibody import centroidal_momentum, point_inertia, weighted_sum
from ..physical_parameters import ParameterRows
from ..step import (
    OPTIONS,
    KernelTypes,
    length,
    part_of,
    quat_from_rotation_vector,
    rotation_matrix,
)
from ..tables import Inputs, RobotTables, Sizes
from .body_damping import pull_damping_force, pull_special_gravity_force
from .constraint_rows import pull_inverse_factor, pull_product, pull_rows, pull_unwhitened
from .constraint_solver import RowAdjoint, make_pull_substep
from .joint_drives import DriveAdjoint, pull_constraint_masses, pull_slowing
from .joint_stops import pull_softness
from .multibody import (
    BodyAdjoint,
    clear_bodies,
    pull_bias_force,
    pull_centroidal_momentum,
    pull_gravity_force,
    pull_inertias,
    pull_mass_matrix,
    pull_motion,
    pull_places,
    pull_point,
)

CONSTANTS = len(Constant)


@wp.func
def pull_rotation_vector(vector: wp.vec3, by_turn: wp.vec3):
    """Derivative by a rotation vector, given that by a turn in the axes that it leads to: the transpose of the right
    Jacobian of rotations.
    """
    squared = wp.dot(vector, vector)
    first = 0.5 - squared * (1.0 / 24.0 - squared * (1.0 / 720.0 - squared / 40320.0))
    second = 1.0 / 6.0 - squared * (1.0 / 120.0 - squared * (1.0 / 5040.0 - squared / 362880.0))
    if squared > 0.25:
        angle = wp.sqrt(squared)
        first = (1.0 - wp.cos(angle)) / squared
        second = (angle - wp.sin(angle)) / (squared * angle)
    turned = wp.cross(vector, by_turn)
    return by_turn + first * turned + second * wp.cross(vector, turned)


@wp.func
def turn_of_quat(quat: wp.vec4, by_quat: wp.vec4):
    """Derivative by a turn in its own axes of a quaternion of length one, given that by its numbers."""
    v, b = wp.vec3(quat[0], quat[1], quat[2]), wp.vec3(by_quat[0], by_quat[1], by_quat[2])
    return 0.5 * (quat[3] * b + wp.cross(b, v) - by_quat[3] * v)


@wp.func
def pull_turn(quat: wp.vec4, by_turn: wp.vec3):
    """Derivatives by a quaternion of any length, given that by a turn in the axes that it leads to."""
    scale = 2.0 / wp.dot(quat, quat)
    v = wp.vec3(quat[0], quat[1], quat[2])
    found = scale * (quat[3] * by_turn + wp.cross(v, by_turn))
    return wp.vec4(found[0], found[1], found[2], -scale * wp.dot(v, by_turn))


@wp.func
def add_root(vector: Any, linear: wp.vec3, angular: wp.vec3):
    """A generalised vector and more for its root."""
    found = vector
    for i in range(3):
        found[i] = found[i] + linear[i]
        found[3 + i] = found[3 + i] + angular[i]
    return found


@wp.func
def pull_keep_momentum(
    robot: RobotTables,
    bodies: Any,
    adjoints: wp.array[BodyAdjoint],
    velocity: Any,
    momentum: wp.vec3,
    angular_momentum: wp.vec3,
    rotation_step: wp.mat33,
    gravity: wp.vec3,
    by_kept: Any,
    zeros: Any,
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.step.keep_momentum`; ``bodies`` where they are then.

    Returns:
        Derivatives by the velocities, the momentum, the angular momentum, gravity, and a turn of the new axes.
    """
    linear_before = wp.transpose(rotation_step) * part_of(velocity, 0)
    angular_before = wp.transpose(rotation_step) * part_of(velocity, 3)
    turned = velocity
    for i in range(3):
        turned[i] = linear_before[i]
        turned[3 + i] = angular_before[i]
    after, angular_after = centroidal_momentum(robot.tree, bodies, turned)
    mass = bodies[0].composite_mass
    falling = mass
    if robot.damping.shape[0] > 0:
        falling = robot.gravity_mass
    centre = bodies[0].first_moment / mass
    inverse = wp.inverse(bodies[0].composite_inertia - point_inertia(mass, centre))
    size, size_after = length(angular_momentum), length(angular_after)
    angular = inverse * ((size / size_after - 1.0) * angular_after)
    target = wp.transpose(rotation_step) * (momentum + robot.solver.dt * falling * gravity)
    # And back.
    by_linear, by_angular = part_of(by_kept, 0), part_of(by_kept, 3)
    by_missing = by_linear / mass
    by_correction = by_angular - wp.cross(centre, by_linear)
    by_centre = wp.cross(angular, by_linear)
    by_lacking = inverse * by_correction
    along = wp.dot(angular_after, by_lacking)
    by_angular_after = (size / size_after - 1.0) * by_lacking - (
        along * size / (size_after * size_after * size_after)
    ) * angular_after
    by_angular_momentum = along / (size_after * size) * angular_momentum
    by_inertia = -wp.outer(by_lacking, angular)
    # The locked inertia is that about the origin less that of all mass at the centre.
    trace = wp.trace(by_inertia)
    both = by_inertia * centre + wp.transpose(by_inertia) * centre
    by_centre = by_centre - mass * (2.0 * trace * centre - both)
    by_mass = (
        -wp.dot(by_linear, target - after) / (mass * mass)
        - trace * wp.dot(centre, centre)
        + 0.5 * wp.dot(centre, both)
        - wp.dot(by_centre, centre) / mass
    )
    if robot.damping.shape[0] == 0:
        by_mass = by_mass + robot.solver.dt * wp.dot(by_missing, wp.transpose(rotation_step) * gravity)
    adjoints[0].composite_inertia = adjoints[0].composite_inertia + by_inertia
    adjoints[0].first_moment = adjoints[0].first_moment + by_centre / mass
    adjoints[0].composite_mass = adjoints[0].composite_mass + by_mass
    by_turned = by_kept + pull_centroidal_momentum(
        robot.tree, bodies, adjoints, turned, after, -by_missing, by_angular_after, zeros
    )
    by_momentum = rotation_step * by_missing
    by_turn = (
        wp.cross(by_missing, target)
        + wp.cross(part_of(by_turned, 0), linear_before)
        + wp.cross(part_of(by_turned, 3), angular_before)
    )
    by_velocity = by_turned
    by_linear = rotation_step * part_of(by_turned, 0)
    by_angular = rotation_step * part_of(by_turned, 3)
    for i in range(3):
        by_velocity[i] = by_linear[i]
        by_velocity[3 + i] = by_angular[i]
    return by_velocity, by_momentum, by_angular_momentum, (robot.solver.dt * falling) * by_momentum, by_turn


@wp.func
def pull_ground_planes(
    robot: RobotTables, inputs: Inputs, work: Any, adjoint: Any, env: int, root_rotation: wp.mat33, gradients: Any
):
    """The adjoint of :func:`~nerd_core.mechanics.kernel.step.find_ground_planes`; writes derivatives by contacts.

    Returns:
        Derivative by a turn of the root.
    """
    slots = robot.slots
    by_turn = wp.vec3()
    for i in range(slots.shape[0]):
        source = slots[i].place
        by_offset = adjoint.offsets[i]
        by_normal = adjoint.normals[i]
        normal = wp.transpose(root_rotation) * inputs.normal[env, source]
        if by_offset != 0.0:
            centre = slot_centre(slots, i, work.bodies)
            pull_point(adjoint.bodies, int(slots[i].body), centre, by_offset * normal)
            by_turn = by_turn + by_offset * wp.cross(centre, normal)
            by_normal = by_normal + by_offset * (root_rotation * centre)
            if inputs.active[env, source]:
                gradients.distance[env, source] = -by_offset
        gradients.normal[env, source] = by_normal
    return by_turn


@wp.func
def write_gradients(
    robot: RobotTables,
    gradients: Any,
    adjoint: Any,
    env: int,
    quat: wp.vec4,
    rotation: wp.mat33,
    velocity: Any,
    by_velocity: Any,
    by_effort: Any,
    turn: wp.vec3,
):
    """Writes derivatives by the state and the control of an environment, given those by what was read from them."""
    joints = robot.joints
    layout = robot.layout
    drives = robot.drives
    if robot.floating == 1:
        by_linear, by_angular = part_of(by_velocity, 0), part_of(by_velocity, 3)
        linear, angular = part_of(velocity, 0), part_of(velocity, 3)
        by_quat = pull_turn(quat, turn + wp.cross(by_linear, linear) + wp.cross(by_angular, angular))
        by_linear, by_angular = rotation * by_linear, rotation * by_angular
        for i in range(3):
            gradients.state[env, layout.root_lin_vel + i] = by_linear[i]
            gradients.state[env, layout.root_ang_vel + i] = by_angular[i]
        for i in range(4):
            gradients.state[env, layout.root_quat + i] = by_quat[i]
    for i in range(joints.shape[0]):
        place = joints[i].place
        gradients.state[env, layout.joint_pos + place] = adjoint.joint_pos[place]
        gradients.state[env, layout.joint_vel + place] = by_velocity[joints[i].velocity]
    for i in range(robot.controlled.shape[0]):
        if robot.controlled[i] >= 0:
            gradients.control[env, i] = by_effort[robot.controlled[i]]
    for i in range(drives.shape[0]):
        if drives[i].position_control >= 0:
            gradients.control[env, drives[i].position_control] = adjoint.drives[i].target
        if drives[i].velocity_control >= 0:
            gradients.control[env, drives[i].velocity_control] = adjoint.drives[i].target_velocity


def make_adjoint(sizes: Sizes, types: KernelTypes) -> tuple[wp.Kernel, type]:
    """The adjoint of :func:`~nerd_core.mechanics.kernel.step.make_kernel`, and the structure of the derivatives that it
    writes.
    """
    generalised, features, factors = types.generalised, types.features, types.factors
    Weights, Work, Trace = types.weights, types.work, types.trace
    dim = sizes.velocities
    body_count, joint_count, slot_count = sizes.bodies, max(1, sizes.joints), max(1, sizes.slots)
    drive_count, is_driven, is_damped = max(1, sizes.drives), sizes.drives > 0, sizes.is_damped
    row_count = max(1, sizes.joints + 3 * sizes.max_contacts)
    pull_substep = make_pull_substep(is_driven, sizes.is_coupled)

    @wp.struct
    class Gradients:
        """Derivatives that are written: those by states, controls and contacts for each environment, those by what all
        have in common for each chunk of environments.
        """

        state: wp.array2d[float]
        control: wp.array2d[float]
        distance: wp.array2d[float]
        normal: wp.array2d[wp.vec3]
        constants: wp.array2d[float]
        inner: wp.array3d[features]
        outer: wp.array3d[factors]
        wants_weights: int
        chunk_size: int

    @wp.struct
    class Adjoint:
        """Derivatives of one environment, by what it has at some time of the step."""

        bodies: wp.array[BodyAdjoint]
        joint_pos: wp.array[float]
        drives: wp.array[DriveAdjoint]
        softness: wp.array[float]
        rows: wp.array[RowAdjoint]
        whitened_rows: wp.array[generalised]
        factor: wp.array[generalised]
        mass_matrix: wp.array[generalised]
        constants: wp.array[float]
        offsets: wp.array[float]
        normals: wp.array[wp.vec3]

    @wp.kernel(module="unique", enable_backward=False, module_options=OPTIONS)
    def pull(
        first: int,
        robot: RobotTables,
        weights: Weights,
        inputs: Inputs,
        parameters: ParameterRows,
        trace: Trace,
        by_next: wp.array2d[float],
        gradients: Gradients,
    ):
        """Pulls derivatives by the next states back to what the step began with."""
        env = first + wp.tid()
        chunk = env / gradients.chunk_size
        own_bodies = wp.zeros(shape=(body_count,), dtype=BodyAdjoint)
        own_joint_pos = wp.zeros(shape=(joint_count,), dtype=float)
        own_drives = wp.zeros(shape=(drive_count,), dtype=DriveAdjoint)
        own_softness = wp.zeros(shape=(body_count,), dtype=float)
        known_softness = wp.zeros(shape=(body_count,), dtype=float)
        own_rows = wp.zeros(shape=(row_count,), dtype=RowAdjoint)
        own_whitened = wp.zeros(shape=(row_count,), dtype=generalised)
        own_factor = wp.zeros(shape=(dim,), dtype=generalised)
        own_matrix = wp.zeros(shape=(dim,), dtype=generalised)
        own_constants = wp.zeros(shape=(CONSTANTS,), dtype=float)
        own_offsets = wp.zeros(shape=(slot_count,), dtype=float)
        own_normals = wp.zeros(shape=(slot_count,), dtype=wp.vec3)
        adjoint = Adjoint()
        adjoint.bodies = wp.array(ptr=own_bodies.ptr, shape=(body_count,), dtype=BodyAdjoint)
        adjoint.joint_pos = wp.array(ptr=own_joint_pos.ptr, shape=(joint_count,), dtype=float)
        adjoint.drives = wp.array(ptr=own_drives.ptr, shape=(drive_count,), dtype=DriveAdjoint)
        adjoint.softness = wp.array(ptr=own_softness.ptr, shape=(body_count,), dtype=float)
        adjoint.rows = wp.array(ptr=own_rows.ptr, shape=(row_count,), dtype=RowAdjoint)
        adjoint.whitened_rows = wp.array(ptr=own_whitened.ptr, shape=(row_count,), dtype=generalised)
        adjoint.factor = wp.array(ptr=own_factor.ptr, shape=(dim,), dtype=generalised)
        adjoint.mass_matrix = wp.array(ptr=own_matrix.ptr, shape=(dim,), dtype=generalised)
        adjoint.constants = wp.array(ptr=own_constants.ptr, shape=(CONSTANTS,), dtype=float)
        adjoint.offsets = wp.array(ptr=own_offsets.ptr, shape=(slot_count,), dtype=float)
        adjoint.normals = wp.array(ptr=own_normals.ptr, shape=(slot_count,), dtype=wp.vec3)
        work = Work()
        work.softness = wp.array(ptr=known_softness.ptr, shape=(body_count,), dtype=float)
        work.grounds = trace.grounds[env]
        tree = robot.tree
        joints = robot.joints
        layout = robot.layout
        by_joint_pos = adjoint.joint_pos
        by_bodies = adjoint.bodies
        by_rows = adjoint.rows
        by_whitened = adjoint.whitened_rows
        by_drives = adjoint.drives
        by_softness = adjoint.softness
        factor = adjoint.factor
        zeros = generalised()
        dt = robot.solver.dt
        substeps = int(robot.solver.substeps)

        by_velocity = zeros
        by_effort = zeros
        by_turn, by_displacement = wp.vec3(), wp.vec3()
        if robot.floating == 1:
            rotation = trace.records[env, int(robot.decimation)].rotation
            velocity = trace.records[env, int(robot.decimation)].velocity
            by_linear, by_angular, by_quat = wp.vec3(), wp.vec3(), wp.vec4()
            for i in range(3):
                by_displacement[i] = by_next[env, i]
                by_linear[i] = by_next[env, layout.root_lin_vel + i]
                by_angular[i] = by_next[env, layout.root_ang_vel + i]
            for i in range(4):
                by_quat[i] = by_next[env, layout.root_quat + i]
            by_linear, by_angular = wp.transpose(rotation) * by_linear, wp.transpose(rotation) * by_angular
            by_velocity = add_root(by_velocity, by_linear, by_angular)
            by_turn = (
                wp.cross(part_of(velocity, 0), by_linear)
                + wp.cross(part_of(velocity, 3), by_angular)
                + turn_of_quat(trace.records[env, int(robot.decimation)].quat, by_quat)
            )
        for i in range(joints.shape[0]):
            by_joint_pos[joints[i].place] = by_next[env, layout.joint_pos + joints[i].place]
            by_velocity[joints[i].velocity] = by_next[env, layout.joint_vel + joints[i].place]

        for number in range(robot.decimation):
            physics_step = robot.decimation - 1 - number
            record = trace.records[env, physics_step]
            work.bodies = trace.bodies[env, physics_step]
            work.contacts = trace.contacts[env, physics_step]
            work.whitened_rows = trace.whitened_rows[env, physics_step]
            work.inverse_factor = trace.inverse_factor[env, physics_step]
            work.inverse_factor_columns = trace.inverse_factor_columns[env, physics_step]
            work.kept_rows = trace.rows[env, physics_step]
            work.kept_solved = trace.solved[env, physics_step]
            work.kept_joint_pos = trace.joint_pos[env, physics_step]
            work.kept_drives = trace.drives[env, physics_step]
            work.root_rotation = record.rotation
            rotation = record.rotation
            velocity = record.slowed
            gravity = wp.transpose(rotation) * robot.gravity
            for i in range(by_rows.shape[0]):
                by_rows[i] = RowAdjoint()
                by_whitened[i] = zeros
            for i in range(dim):
                factor[i] = zeros
            kept_solved = work.kept_solved
            impulses = kept_solved[substeps - 1, kept_solved.shape[1] - 1]
            solved = weighted_sum(work.inverse_factor_columns, impulses, zeros)

            by_moved = zeros
            by_damped = zeros
            by_gravity = wp.vec3()
            by_applied, by_bias, by_solved = by_velocity, by_velocity, by_velocity
            if robot.floating == 1:
                rotation_step = rotation_matrix(quat_from_rotation_vector(record.turned))
                with_impulses = velocity + solved
                if wp.static(is_damped):
                    with_impulses = with_impulses + record.damped
                momentum, angular_momentum = centroidal_momentum(tree, work.bodies, with_impulses)
                unkept = velocity + record.applied + record.bias + solved
                next_bodies = trace.bodies[env, physics_step + 1]
                by_unkept, by_momentum, by_angular_momentum, by_falling, by_step = pull_keep_momentum(
                    robot,
                    next_bodies,
                    by_bodies,
                    unkept,
                    momentum,
                    angular_momentum,
                    rotation_step,
                    gravity,
                    by_velocity,
                    zeros,
                )
                pull_inertias(tree, next_bodies, by_bodies)
                pull_places(tree, next_bodies, by_bodies, by_joint_pos)
                clear_bodies(by_bodies)
                by_gravity = by_falling
                by_gone = wp.transpose(rotation) * by_displacement
                by_turned = pull_rotation_vector(record.turned, by_step + by_turn)
                by_turn = rotation_step * by_turn + wp.cross(record.gone, by_gone)
                by_moved = add_root(zeros, by_gone, by_turned)
                by_linear, by_angular = dt * by_gone, dt * by_turned
                by_before = pull_centroidal_momentum(
                    tree, work.bodies, by_bodies, with_impulses, momentum, by_momentum, by_angular_momentum, zeros
                )
                by_velocity = add_root(by_unkept + by_before, by_linear, by_angular)
                by_applied = add_root(by_unkept, robot.ramp_mean * by_linear, robot.ramp_mean * by_angular)
                by_bias = add_root(by_unkept, robot.ramp_mean * by_linear, by_angular)
                by_solved = by_unkept + by_before
                if wp.static(is_damped):
                    by_damped = add_root(by_before, (1.0 - robot.ramp_mean) * by_linear, wp.vec3())
            else:
                if physics_step + 1 < robot.decimation:
                    next_bodies = trace.bodies[env, physics_step + 1]
                    pull_inertias(tree, next_bodies, by_bodies)
                    pull_places(tree, next_bodies, by_bodies, by_joint_pos)
                    clear_bodies(by_bodies)

            # The solver.
            for i in range(robot.drives.shape[0]):
                by_drives[i].impulse = 0.0
                by_drives[i].effective_mass = 0.0
            forget_softness(work)
            for i in range(body_count):
                by_softness[i] = 0.0
            by_impulses = pull_unwhitened(adjoint, work, impulses, by_solved, zeros)
            by_sum = dt / float(substeps) * pull_unwhitened(adjoint, work, record.moved, by_moved, zeros)
            near = CONTACT_COUNT_UNIT * float(record.near) - TRAIT_CENTRE
            for later in range(substeps):
                substep = substeps - 1 - later
                work.rows = trace.rows[env, physics_step, substep]
                by_impulses = pull_substep(
                    robot,
                    weights,
                    gradients,
                    work,
                    adjoint,
                    chunk,
                    substep,
                    record.contacts,
                    near,
                    by_impulses + by_sum,
                    zeros,
                )
            by_turn = by_turn + pull_softness(robot, work, adjoint, zeros)
            if wp.static(is_driven):
                by_turn = by_turn + pull_constraint_masses(robot, work, adjoint, zeros)
            gain = record.applied / float(substeps)
            by_start, by_gain, turn, displacement = pull_rows(
                robot, weights, work, adjoint, record.contacts, velocity + record.bias, gain, record.displacement, zeros
            )
            by_turn = by_turn + turn
            by_displacement = by_displacement + displacement
            by_velocity = by_velocity + by_start
            by_bias = by_bias + by_start
            by_applied = by_applied + by_gain / float(substeps)

            # Forces, and the mass matrix.
            by_force = dt * pull_product(adjoint, work, record.applied_impulse, by_applied, zeros)
            by_against = -dt * pull_product(adjoint, work, record.bias_impulse, by_bias, zeros)
            by_effort = by_effort + by_force
            if wp.static(is_damped):
                by_gravity = by_gravity + pull_special_gravity_force(
                    tree, robot.damping, robot.floating, work.bodies, by_bodies, gravity, by_force
                )
                by_slowed = dt * pull_product(adjoint, work, record.damped_impulse, by_damped, zeros) - by_against
                pull_damping_force(tree, robot.damping, robot.floating, work.bodies, by_bodies, dt, by_slowed)
            else:
                by_gravity = by_gravity + pull_gravity_force(
                    tree, robot.floating, work.bodies, by_bodies, gravity, by_force
                )
            by_turn = by_turn + wp.cross(by_gravity, gravity)
            pull_bias_force(tree, robot.floating, work.bodies, by_bodies, by_against)
            pull_inverse_factor(work, adjoint, zeros)
            pull_mass_matrix(tree, robot.floating, work.bodies, by_bodies, adjoint.mass_matrix)
            by_velocity = by_velocity + pull_motion(tree, robot.floating, velocity, work.bodies, by_bodies, zeros)
            if wp.static(is_driven):
                by_velocity = pull_slowing(robot, adjoint, record.velocity, by_velocity)

        rotation = trace.records[env, 0].rotation
        by_turn = by_turn + pull_ground_planes(robot, inputs, work, adjoint, env, rotation, gradients)
        pull_inertias(tree, work.bodies, by_bodies)
        pull_places(tree, work.bodies, by_bodies, by_joint_pos)
        quat = trace.records[env, 0].quat
        velocity = trace.records[env, 0].velocity
        write_gradients(robot, gradients, adjoint, env, quat, rotation, velocity, by_velocity, by_effort, by_turn)
        if gradients.wants_weights == 1:
            for i in range(CONSTANTS):
                wp.atomic_add(gradients.constants, chunk, i, adjoint.constants[i])

    return pull, Gradients
