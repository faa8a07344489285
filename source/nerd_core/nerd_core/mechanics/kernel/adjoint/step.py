# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The adjoint of one control step of one environment, for one thread: of :mod:`nerd_core.mechanics.kernel.step`."""

import warp as wp

from ...constants import CONTACT_COUNT_UNIT, TRAIT_CENTRE, Constant
from ..contact_constraints import SlotParameters
from ..friction_anchors import VECTORS
from ..joint_drives import DriveParameters
from ..joint_stops import JointParameters
from ..multibody import BodyParameters, centroidal_momentum, weighted_sum
from ..physical_parameters import ParameterRows, external_force, robot_of
from ..step import OPTIONS, part_of, quat_from_rotation_vector, rotation_matrix
from ..structures import KernelTypes
from ..tables import Inputs, RobotTables, Sizes
from .actuators import pull_actuated_effort
from .body_damping import pull_damping_force, pull_special_gravity_force
from .constraint_rows import pull_inverse_factor, pull_product, pull_rows, pull_unwhitened
from .constraint_solver import RowAdjoint, make_pull_substep
from .friction_anchors import AnchorAdjoint, pull_kept_anchors
from .joint_drives import DriveAdjoint, pull_constraint_masses, pull_responses, pull_slowing
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
)
from .physical_parameters import (
    BodyParameterAdjoint,
    JointParameterAdjoint,
    SlotParameterAdjoint,
    pull_armatures,
    pull_body_parameters,
    pull_external_force,
    pull_outer_momentum,
    write_parameter_gradients,
)
from .reading import pull_ground_planes, write_gradients
from .root_motion import add_root, pull_keep_momentum, pull_rotation_vector, turn_of_quat

CONSTANTS = len(Constant)


def make_adjoint(sizes: Sizes, types: KernelTypes) -> tuple[wp.Kernel, type]:
    """The adjoint of :func:`~nerd_core.mechanics.kernel.step.make_kernel`, and the structure of the derivatives that it
    writes.
    """
    generalised, features, factors = types.generalised, types.features, types.factors
    Weights, Work, Trace = types.weights, types.work, types.trace
    dim = sizes.velocities
    body_count, joint_count, slot_count = sizes.bodies, max(1, sizes.joints), max(1, sizes.slots)
    drive_count, is_driven, is_damped = max(1, sizes.drives), sizes.drives > 0, sizes.is_damped
    is_actuated = sizes.is_actuated
    row_count = max(1, sizes.joints + 3 * sizes.max_contacts)
    contact_count = max(1, sizes.max_contacts)
    pull_substep, has_parameters = (
        make_pull_substep(is_driven, sizes.is_coupled, sizes.has_capsules),
        sizes.has_parameters,
    )

    @wp.struct
    class Gradients:
        """Derivatives that are written: those by states, controls, contacts and physical parameters for each
        environment, those by what all have in common for each chunk of environments.
        """

        state: wp.array2d[float]
        control: wp.array2d[float]
        distance: wp.array2d[float]
        normal: wp.array2d[wp.vec3]
        parameters: ParameterRows
        constants: wp.array2d[float]
        inner: wp.array3d[features]
        outer: wp.array3d[factors]
        memory: wp.array3d[wp.vec3]
        wants_weights: int
        chunk_size: int

    @wp.struct
    class Adjoint:
        """Derivatives of one environment, by what it has at some time of the step."""

        bodies: wp.array[BodyAdjoint]
        joint_pos: wp.array[float]
        drives: wp.array[DriveAdjoint]
        responses: wp.array[float]
        rows: wp.array[RowAdjoint]
        whitened_rows: wp.array[generalised]
        factor: wp.array[generalised]
        mass_matrix: wp.array[generalised]
        mass_entries: wp.array2d[float]
        constants: wp.array[float]
        anchors: wp.array[AnchorAdjoint]
        memory: wp.array2d[wp.vec3]
        root_pos: wp.array[wp.vec3]
        offsets: wp.array[float]
        normals: wp.array[wp.vec3]
        of_bodies: wp.array[BodyParameterAdjoint]
        of_joints: wp.array[JointParameterAdjoint]
        of_slots: wp.array[SlotParameterAdjoint]

    @wp.kernel(module="unique", enable_backward=False, module_options=OPTIONS)
    def pull(
        first: int,
        nominal: RobotTables,
        weights: Weights,
        inputs: Inputs,
        parameters: ParameterRows,
        trace: Trace,
        by_next: wp.array2d[float],
        by_memory: wp.array3d[wp.vec3],
        gradients: Gradients,
    ):
        """Pulls derivatives by the next states, and by the memory of friction of a step with one, back to what the step
        began with.
        """
        env = first + wp.tid()
        chunk = env / gradients.chunk_size
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
        own_bodies = wp.zeros(shape=(body_count,), dtype=BodyAdjoint)
        own_joint_pos = wp.zeros(shape=(joint_count,), dtype=float)
        own_drives = wp.zeros(shape=(drive_count,), dtype=DriveAdjoint)
        own_responses = wp.zeros(shape=(body_count,), dtype=float)
        own_rows = wp.zeros(shape=(row_count,), dtype=RowAdjoint)
        own_whitened = wp.zeros(shape=(row_count,), dtype=generalised)
        own_factor = wp.zeros(shape=(dim,), dtype=generalised)
        own_matrix = wp.zeros(shape=(dim,), dtype=generalised)
        own_constants = wp.zeros(shape=(CONSTANTS,), dtype=float)
        own_anchors = wp.zeros(shape=(contact_count,), dtype=AnchorAdjoint)
        own_root_pos = wp.zeros(shape=(1,), dtype=wp.vec3)
        own_offsets = wp.zeros(shape=(slot_count,), dtype=float)
        own_normals = wp.zeros(shape=(slot_count,), dtype=wp.vec3)
        own_of_bodies = wp.zeros(shape=(body_count,), dtype=BodyParameterAdjoint)
        own_of_joints = wp.zeros(shape=(joint_count,), dtype=JointParameterAdjoint)
        own_of_slots = wp.zeros(shape=(slot_count,), dtype=SlotParameterAdjoint)
        adjoint = Adjoint()
        adjoint.bodies = wp.array(ptr=own_bodies.ptr, shape=(body_count,), dtype=BodyAdjoint)
        adjoint.joint_pos = wp.array(ptr=own_joint_pos.ptr, shape=(joint_count,), dtype=float)
        adjoint.drives = wp.array(ptr=own_drives.ptr, shape=(drive_count,), dtype=DriveAdjoint)
        adjoint.responses = wp.array(ptr=own_responses.ptr, shape=(body_count,), dtype=float)
        adjoint.rows = wp.array(ptr=own_rows.ptr, shape=(row_count,), dtype=RowAdjoint)
        adjoint.whitened_rows = wp.array(ptr=own_whitened.ptr, shape=(row_count,), dtype=generalised)
        adjoint.factor = wp.array(ptr=own_factor.ptr, shape=(dim,), dtype=generalised)
        adjoint.mass_matrix = wp.array(ptr=own_matrix.ptr, shape=(dim,), dtype=generalised)
        adjoint.mass_entries = wp.array(ptr=own_matrix.ptr, shape=(dim, dim), dtype=float)  # the same numbers
        adjoint.constants = wp.array(ptr=own_constants.ptr, shape=(CONSTANTS,), dtype=float)
        adjoint.anchors = wp.array(ptr=own_anchors.ptr, shape=(contact_count,), dtype=AnchorAdjoint)
        adjoint.root_pos = wp.array(ptr=own_root_pos.ptr, shape=(1,), dtype=wp.vec3)
        adjoint.offsets = wp.array(ptr=own_offsets.ptr, shape=(slot_count,), dtype=float)
        adjoint.normals = wp.array(ptr=own_normals.ptr, shape=(slot_count,), dtype=wp.vec3)
        adjoint.of_bodies = wp.array(ptr=own_of_bodies.ptr, shape=(body_count,), dtype=BodyParameterAdjoint)
        adjoint.of_joints = wp.array(ptr=own_of_joints.ptr, shape=(joint_count,), dtype=JointParameterAdjoint)
        adjoint.of_slots = wp.array(ptr=own_of_slots.ptr, shape=(slot_count,), dtype=SlotParameterAdjoint)
        work = Work()
        work.grounds = trace.grounds[env]
        if trace.memory.shape[0] > 0:
            adjoint.memory = gradients.memory[env]
            for slot in range(by_memory.shape[1]):
                for i in range(VECTORS):
                    gradients.memory[env, slot, i] = by_memory[env, slot, i]
            if robot.floating == 1:
                work.root_begin = wp.vec3(inputs.state[env, 0], inputs.state[env, 1], inputs.state[env, 2])
        tree = robot.tree
        joints = robot.joints
        layout = robot.layout
        by_joint_pos = adjoint.joint_pos
        by_bodies = adjoint.bodies
        by_rows = adjoint.rows
        by_whitened = adjoint.whitened_rows
        by_drives = adjoint.drives
        by_anchors = adjoint.anchors
        by_responses = adjoint.responses
        factor = adjoint.factor
        zeros = generalised()
        dt = robot.solver.dt
        substeps = int(robot.solver.substeps)

        by_velocity = zeros
        by_effort = zeros
        by_turn, by_displacement, by_own_gravity = wp.vec3(), wp.vec3(), wp.vec3()
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
                work.memory = trace.memory[env, physics_step]
                pull_kept_anchors(adjoint, trace.memory[env, physics_step + 1])
                for i in range(contact_count):
                    by_anchors[i] = AnchorAdjoint()
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
            by_gravity, by_outer_force, by_outer_torque = wp.vec3(), wp.vec3(), wp.vec3()
            by_applied, by_bias, by_solved = by_velocity, by_velocity, by_velocity
            if robot.floating == 1:
                rotation_step = rotation_matrix(quat_from_rotation_vector(record.turned))
                with_impulses = velocity + solved
                if wp.static(is_damped):
                    with_impulses = with_impulses + record.damped
                momentum, angular_momentum = centroidal_momentum(tree, work.bodies, with_impulses)
                pushed, pushed_angular = momentum, angular_momentum
                if wp.static(has_parameters):
                    outer, outer_force, outer_torque = external_force(robot, parameters, work, env, rotation, zeros)
                    centre = work.bodies[0].first_moment / work.bodies[0].composite_mass
                    pushed = momentum + dt * outer_force
                    pushed_angular = angular_momentum + dt * (outer_torque - wp.cross(centre, outer_force))
                unkept = velocity + record.applied + record.bias + solved
                next_bodies = trace.bodies[env, physics_step + 1]
                by_unkept, by_momentum, by_angular_momentum, by_falling, by_step = pull_keep_momentum(
                    robot,
                    next_bodies,
                    by_bodies,
                    unkept,
                    pushed,
                    pushed_angular,
                    rotation_step,
                    gravity,
                    by_velocity,
                    zeros,
                )
                pull_inertias(tree, next_bodies, by_bodies)
                pull_places(tree, next_bodies, by_bodies, by_joint_pos)
                if wp.static(has_parameters):
                    pull_body_parameters(tree, next_bodies, by_bodies, adjoint.of_bodies)
                clear_bodies(by_bodies)
                if wp.static(has_parameters):
                    by_outer_force, by_outer_torque = pull_outer_momentum(
                        work.bodies, by_bodies, dt, outer_force, by_momentum, by_angular_momentum
                    )
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
                    if wp.static(has_parameters):
                        pull_body_parameters(tree, next_bodies, by_bodies, adjoint.of_bodies)
                    clear_bodies(by_bodies)

            # The solver.
            for i in range(robot.drives.shape[0]):
                by_drives[i].impulse = 0.0
                by_drives[i].effective_mass = 0.0
            for i in range(body_count):
                by_responses[i] = 0.0
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
            if wp.static(is_driven):
                pull_constraint_masses(robot, work, adjoint, zeros)
            by_turn = by_turn + pull_responses(robot, work, adjoint, zeros)
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
            by_own_gravity = by_own_gravity + rotation * by_gravity
            if wp.static(has_parameters):
                by_turn = by_turn + pull_external_force(
                    robot, parameters, work, adjoint, env, rotation, by_force, by_outer_force, by_outer_torque
                )
            pull_bias_force(tree, robot.floating, work.bodies, by_bodies, by_against)
            pull_inverse_factor(work, adjoint, zeros)
            pull_mass_matrix(tree, robot.floating, work.bodies, by_bodies, adjoint.mass_matrix)
            if wp.static(has_parameters):
                pull_armatures(tree, adjoint.mass_matrix, adjoint.of_bodies)
            by_velocity = by_velocity + pull_motion(tree, robot.floating, velocity, work.bodies, by_bodies, zeros)
            if wp.static(is_driven):
                by_velocity = pull_slowing(robot, adjoint, record.velocity, by_velocity)
            if wp.static(is_actuated):
                by_velocity = by_velocity + pull_actuated_effort(
                    robot, inputs, work, adjoint, gradients, env, record.velocity, by_force, zeros
                )

        rotation = trace.records[env, 0].rotation
        by_turn = by_turn + pull_ground_planes(robot, inputs, work, adjoint, env, rotation, gradients)
        pull_inertias(tree, work.bodies, by_bodies)
        pull_places(tree, work.bodies, by_bodies, by_joint_pos)
        if wp.static(has_parameters):
            pull_body_parameters(tree, work.bodies, by_bodies, adjoint.of_bodies)
            write_parameter_gradients(robot, gradients.parameters, adjoint, env, by_own_gravity)
        quat = trace.records[env, 0].quat
        velocity = trace.records[env, 0].velocity
        write_gradients(robot, gradients, adjoint, env, quat, rotation, velocity, by_velocity, by_effort, by_turn)
        if gradients.wants_weights == 1:
            for i in range(CONSTANTS):
                wp.atomic_add(gradients.constants, chunk, i, adjoint.constants[i])

    return pull, Gradients
