# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""One control step of one environment, for one thread: what :meth:`nerd_core.mechanics.Mechanics.forward` says, from a
state to the next one.
"""

from dataclasses import dataclass
from typing import Any

import warp as wp

from .bodies import (
    Body,
    Link,
    combined,
    factorise,
    load_of_gravity,
    load_of_motion,
    moment_of_point,
    move_bodies,
    place_bodies,
    total_momentum,
    weigh_bodies,
)
from .solver import (
    FAR,
    AnswersOfRules,
    Ground,
    Joint,
    Row,
    Slot,
    Solver,
    begin_rows,
    centre_of,
    mended,
)

TINY = 1.0e-20

OPTIONS = {"max_unroll": 4, "cpu_compiler_flags": "-march=native -vectorize-loops -vectorize-slp"}
"""How kernels are compiled. Unasked, Warp's compiler makes no use of vectors of numbers: a fifth of the time."""


@wp.struct
class Layout:
    """Where the parts of a state begin, and how long a control step is."""

    floating: int
    root_quat: int
    joint_pos: int
    lin_vel: int
    ang_vel: int
    joint_vel: int
    decimation: int
    late: float
    """Share of a change of velocity that acts in the mean over a physics step."""
    gravity: wp.vec3


@dataclass(frozen=True)
class Sizes:
    """Numbers for which a kernel is compiled."""

    velocities: int
    bodies: int
    joints: int
    slots: int
    touching: int
    """Most slots that the solver looks at."""
    hidden: int
    """Features of the rules, at least one."""


@wp.func
def rotation(quat: wp.vec4):
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
def of_rotation_vector(vector: wp.vec3):
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
    return wp.sqrt(wp.dot(vector, vector) + TINY)


def make_kernel(sizes: Sizes) -> wp.Kernel:
    """The kernel for robots of some size."""
    floats = wp.types.vector(length=sizes.velocities, dtype=wp.float32)
    features = wp.types.vector(length=sizes.hidden, dtype=wp.float32)
    dim = sizes.velocities
    body_count, joint_count, slot_count = sizes.bodies, max(1, sizes.joints), max(1, sizes.slots)
    row_count, near_count = max(1, sizes.joints + 3 * sizes.touching), max(1, sizes.touching)

    @wp.kernel(module="unique", enable_backward=False, module_options=OPTIONS)
    def advance(
        first: int,
        layout: Layout,
        links: wp.array[Link],
        joints: wp.array[Joint],
        slots: wp.array[Slot],
        efforts: wp.array[int],
        solver: Solver,
        constants: wp.array[float],
        scales: wp.array[float],
        inner: wp.array2d[features],
        outer: wp.array2d[AnswersOfRules],
        state: wp.array2d[float],
        control: wp.array2d[float],
        distance: wp.array2d[float],
        normal: wp.array2d[wp.vec3],
        active: wp.array2d[bool],
        ended: wp.array2d[float],
    ):
        """Steps environment ``first`` and the following ones. All tables are those of :mod:`nerd_core.fused.robot`."""
        env = first + wp.tid()
        own_bodies = wp.zeros(shape=(body_count,), dtype=Body)
        own_joint_pos = wp.zeros(shape=(joint_count,), dtype=float)
        own_grounds = wp.zeros(shape=(slot_count,), dtype=Ground)
        own_near = wp.zeros(shape=(near_count,), dtype=int)
        own_rows = wp.zeros(shape=(row_count,), dtype=Row)
        own_white = wp.zeros(shape=(row_count,), dtype=floats)
        own_inverse = wp.zeros(shape=(dim,), dtype=floats)
        own_columns = wp.zeros(shape=(dim,), dtype=floats)
        # Views, for functions would be given copies of the arrays themselves.
        bodies = wp.array(ptr=own_bodies.ptr, shape=(body_count,), dtype=Body)
        joint_pos = wp.array(ptr=own_joint_pos.ptr, shape=(joint_count,), dtype=float)
        grounds = wp.array(ptr=own_grounds.ptr, shape=(slot_count,), dtype=Ground)
        near = wp.array(ptr=own_near.ptr, shape=(near_count,), dtype=int)
        rows = wp.array(ptr=own_rows.ptr, shape=(row_count,), dtype=Row)
        white = wp.array(ptr=own_white.ptr, shape=(row_count,), dtype=floats)
        inverse = wp.array(ptr=own_inverse.ptr, shape=(dim,), dtype=floats)
        columns = wp.array(ptr=own_columns.ptr, shape=(dim,), dtype=floats)
        zeros = floats()
        dt = solver.dt
        count = joints.shape[0]

        velocity, effort = floats(), floats()
        quat, turn, shift = wp.vec4(0.0, 0.0, 0.0, 1.0), wp.identity(n=3, dtype=float), wp.vec3()
        if layout.floating == 1:
            for i in range(4):
                quat[i] = state[env, layout.root_quat + i]
            turn = rotation(quat)
            for i in range(3):
                for j in range(3):
                    velocity[i] = velocity[i] + turn[j, i] * state[env, layout.lin_vel + j]
                    velocity[3 + i] = velocity[3 + i] + turn[j, i] * state[env, layout.ang_vel + j]
        for i in range(count):
            place = joints[i].place
            joint_pos[place] = state[env, layout.joint_pos + place]
            velocity[joints[i].velocity] = state[env, layout.joint_vel + place]
        for i in range(efforts.shape[0]):
            effort[efforts[i]] = effort[efforts[i]] + control[env, i]

        place_bodies(links, joint_pos, bodies)
        weigh_bodies(links, bodies)
        for i in range(slots.shape[0]):
            source = slots[i].place
            gap = float(FAR)
            if active[env, source]:
                gap = distance[env, source] - slots[i].radius
            up = normal[env, source]
            grounds[i].normal = up
            grounds[i].height = wp.dot(turn * centre_of(slots, i, bodies), up) - gap

        for part in range(layout.decimation):
            pull = wp.transpose(turn) * layout.gravity
            move_bodies(links, layout.floating, velocity, bodies)
            factorise(links, layout.floating, bodies, zeros, inverse, columns)
            force = effort + load_of_gravity(links, layout.floating, bodies, pull, zeros)
            load = load_of_motion(links, layout.floating, bodies, zeros)
            ramp = combined(columns, combined(inverse, dt * force, zeros), zeros)
            jump = combined(columns, combined(inverse, -dt * load, zeros), zeros)
            step_ramp, start = ramp / float(solver.substeps), velocity + jump

            touching, crowd = begin_rows(
                links, joints, slots, solver, layout.floating, constants, start, step_ramp, turn, shift, joint_pos,
                bodies, grounds, near, inverse, rows, white, zeros,
            )  # fmt: skip
            given, moved = mended(
                joints, touching, crowd, solver, constants, scales, inner, outer, joint_pos, rows, white, zeros
            )
            mend, further = combined(columns, given, zeros), combined(columns, moved, zeros)
            pushed = velocity + mend
            if layout.floating == 1:
                # What the robot's own motion does turns the root at once, and carries it in a ramp, as forces do.
                linear = part_of(velocity, 0) + layout.late * (part_of(ramp, 0) + part_of(jump, 0))
                angular = part_of(velocity, 3) + part_of(jump, 3) + layout.late * part_of(ramp, 3)
                step, turned = dt * linear + part_of(further, 0), dt * angular + part_of(further, 3)
                push, swirl = total_momentum(links, bodies, pushed)
                velocity = velocity + ramp + jump + mend
                turning_quat = of_rotation_vector(turned)
                turning = rotation(turning_quat)
                shift = shift + turn * step
                quat = product(quat, turning_quat)
                turn = turn * turning
                place_bodies(links, joint_pos, bodies)
                weigh_bodies(links, bodies)
                linear = wp.transpose(turning) * part_of(velocity, 0)
                angular = wp.transpose(turning) * part_of(velocity, 3)
                for i in range(3):
                    velocity[i] = linear[i]
                    velocity[3 + i] = angular[i]
                after, swirling = total_momentum(links, bodies, velocity)
                mass = bodies[0].mass
                centre = bodies[0].first / bodies[0].mass
                inertia = bodies[0].second - moment_of_point(mass, centre)
                faster = wp.inverse(inertia) * (swirling * (length(swirl) / length(swirling) - 1.0))
                missing = wp.transpose(turning) * (push + dt * mass * pull) - after
                straight = missing / mass - wp.cross(faster, centre)
                for i in range(3):
                    velocity[i] = velocity[i] + straight[i]
                    velocity[3 + i] = velocity[3 + i] + faster[i]
            else:
                velocity = velocity + ramp + jump + mend
                if part + 1 < layout.decimation:
                    place_bodies(links, joint_pos, bodies)
                    weigh_bodies(links, bodies)

        if layout.floating == 1:
            linear, angular = turn * part_of(velocity, 0), turn * part_of(velocity, 3)
            for i in range(3):
                ended[env, i] = shift[i]
                ended[env, layout.lin_vel + i] = linear[i]
                ended[env, layout.ang_vel + i] = angular[i]
            for i in range(4):
                ended[env, layout.root_quat + i] = quat[i]
        for i in range(count):
            place = joints[i].place
            ended[env, layout.joint_pos + place] = joint_pos[place]
            ended[env, layout.joint_vel + place] = velocity[joints[i].velocity]

    return advance
