# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Mass, centre of mass and inertia: of primitives, of sums of bodies, and along principal axes."""

from __future__ import annotations

import math

from .model import MassProperties, Matrix, Quat, Shape, Vec, add, quat_from_matrix, rotate, rotation_matrix, scale


def of_shape(shape: Shape, density: float) -> MassProperties:
    """Return the mass properties of a solid primitive of uniform ``density`` [kg/m^3], in its body's frame."""
    if shape.kind == "sphere":
        radius = shape.size[0]
        mass = density * 4 / 3 * math.pi * radius**3
        diagonal = (0.4 * mass * radius**2,) * 3
    elif shape.kind == "capsule":
        radius, length = shape.size[0], shape.size[1]
        cylinder = density * math.pi * radius**2 * length
        caps = density * 4 / 3 * math.pi * radius**3
        mass = cylinder + caps
        # two half balls, moved apart: their own inertia, plus the shift of their centres by l/2 and 3r/8
        across = cylinder * (radius**2 / 4 + length**2 / 12) + caps * (
            0.4 * radius**2 + length**2 / 4 + 3 / 8 * radius * length
        )
        diagonal = (across, across, (0.5 * cylinder + 0.4 * caps) * radius**2)
    else:
        x, y, z = shape.size
        mass = density * x * y * z
        diagonal = (mass / 12 * (y * y + z * z), mass / 12 * (x * x + z * z), mass / 12 * (x * x + y * y))
    inertia = ((diagonal[0], 0.0, 0.0), (0.0, diagonal[1], 0.0), (0.0, 0.0, diagonal[2]))
    return MassProperties(mass, shape.pos, turned(inertia, shape.quat))


def with_mass(shape: Shape, mass: float) -> MassProperties:
    """Return the mass properties of a solid primitive of uniform density that weighs ``mass`` [kg]."""
    return of_shape(shape, mass / of_shape(shape, 1.0).mass)


def turned(inertia: Matrix, quat: Quat) -> Matrix:
    """Return an inertia tensor in the axes in which its own axes are rotated by ``quat`` (xyzw)."""
    r = rotation_matrix(quat)
    rows = [[sum(r[i][k] * inertia[k][j] for k in range(3)) for j in range(3)] for i in range(3)]
    full = [[sum(rows[i][k] * r[j][k] for k in range(3)) for j in range(3)] for i in range(3)]
    return _matrix(full)


def moved(properties: MassProperties, pos: Vec, quat: Quat) -> MassProperties:
    """Return mass properties given in a frame that sits at ``pos`` [m] and ``quat`` (xyzw) of the wanted frame."""
    return MassProperties(properties.mass, add(pos, rotate(quat, properties.com)), turned(properties.inertia, quat))


def total(parts: list[MassProperties]) -> MassProperties:
    """Return the mass properties of several bodies, given in one frame, that are rigidly joined."""
    mass = sum(part.mass for part in parts)
    com: Vec = (0.0, 0.0, 0.0)
    for part in parts:
        com = add(com, scale(part.com, part.mass / mass))
    full = [[0.0] * 3 for _ in range(3)]
    for part in parts:
        d = add(part.com, scale(com, -1.0))
        square = d[0] ** 2 + d[1] ** 2 + d[2] ** 2
        for i in range(3):
            for j in range(3):
                full[i][j] += part.inertia[i][j] + part.mass * ((square if i == j else 0.0) - d[i] * d[j])
    return MassProperties(mass, com, _matrix(full))


def principal(inertia: Matrix) -> tuple[Vec, Quat]:
    """Return the principal moments [kg m^2] of an inertia tensor and the rotation (xyzw) of the principal axes.

    Cyclic Jacobi rotations in Python floats: unlike a library's eigenvectors they do not depend on the machine. An
    inertia that is diagonal already comes back as it is, without a rotation.
    """
    a = [list(row) for row in inertia]
    axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    size = max(abs(a[i][i]) for i in range(3))
    for _ in range(50):
        if max(abs(a[0][1]), abs(a[0][2]), abs(a[1][2])) <= 1e-15 * size:
            break
        for p, q in ((0, 1), (0, 2), (1, 2)):
            if a[p][q] == 0.0:
                continue
            theta = (a[q][q] - a[p][p]) / (2 * a[p][q])
            t = math.copysign(1.0, theta) / (abs(theta) + math.sqrt(theta * theta + 1))
            c = 1 / math.sqrt(t * t + 1)
            s = t * c
            for k in range(3):
                a[k][p], a[k][q] = c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]
            for k in range(3):
                a[p][k], a[q][k] = c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]
            for k in range(3):
                axes[k][p], axes[k][q] = c * axes[k][p] - s * axes[k][q], s * axes[k][p] + c * axes[k][q]
    return (a[0][0], a[1][1], a[2][2]), quat_from_matrix(_matrix(axes))


def _matrix(rows: list[list[float]]) -> Matrix:
    """Return nested lists as the tuples of a :data:`Matrix`."""
    return (
        (rows[0][0], rows[0][1], rows[0][2]),
        (rows[1][0], rows[1][1], rows[1][2]),
        (rows[2][0], rows[2][1], rows[2][2]),
    )
