# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The kinematic tree of a robot in tables: which joints support which bodies, and what bodies weigh.

Example::

    supports = supporting_joints(spec)  # numbers of joints, a list for each body
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..robot.frames import rotation_matrix
from ..robot.spec import RobotSpec

SMALLEST_MOMENT_SHARE = 1.0e-6
"""Moments of inertia below this share of their sum are no more than rounding."""

SMALLEST_MOMENT = 1.0e-20
"""Moment of inertia of a point, so that it has an inverse [kg m^2]."""


def supporting_joints(spec: RobotSpec) -> list[list[int]]:
    """Numbers of the joints between each body and the root, root first: the support of a body
    (Featherstone, section 4.1).
    """
    index = {name: number for number, name in enumerate(spec.body_names)}
    supports: list[list[int]] = []
    for body in spec.bodies:
        above = [] if body.parent is None else supports[index[body.parent]]
        supports.append([*above, spec.joint_names.index(body.joint)] if body.joint is not None else above)
    return supports


def depth_first(spec: RobotSpec) -> tuple[int, ...]:
    """Numbers of the bodies from the root on, each followed by those that hang from it."""
    index = {name: number for number, name in enumerate(spec.body_names)}
    children: dict[str | None, list[str]] = {}
    for body in reversed(spec.bodies):
        children.setdefault(body.parent, []).append(body.name)
    order: list[int] = []
    to_visit = list(children.get(None, ()))
    while to_visit:  # not by recursion, whose depth Python limits
        order.append(index[name := to_visit.pop()])
        to_visit += children.get(name, ())
    return tuple(order)


def tree_tables(spec: RobotSpec, supports: list[list[int]], depth: int) -> dict[str, Tensor]:
    """Which joints support which bodies, and where joints are in the frames of their child bodies."""
    joints = len(spec.joints)
    padded = torch.tensor([[*row, *[joints] * (depth - len(row))] for row in supports], dtype=torch.long)
    child = [next(i for i, body in enumerate(spec.bodies) if body.joint == name) for name in spec.joint_names]
    axes, anchors = torch.zeros(joints, 3, dtype=torch.double), torch.zeros(joints, 3, dtype=torch.double)
    for number, (joint, body) in enumerate(zip(spec.joints, (spec.bodies[each] for each in child), strict=True)):
        rotation = rotation_matrix(torch.tensor(body.child_quat, dtype=torch.double))
        axes[number] = rotation @ torch.tensor(joint.axis, dtype=torch.double)
        anchors[number] = torch.tensor(body.child_pos, dtype=torch.double)
    revolute = torch.tensor([*(joint.kind == "revolute" for joint in spec.joints), False])
    pairs = [(joint, body) for body, row in enumerate(supports) for joint in row]
    return {
        "_supports": padded,
        "_is_revolute": revolute,
        "_support_is_revolute": revolute[padded].t().view(depth, -1, 1, 1),
        "_supported_pairs": torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).t(),
        "_child_body": torch.tensor(child, dtype=torch.long),
        "_child_axis": axes.float().unsqueeze(-1),
        "_child_anchor": anchors.float().unsqueeze(-1),
    }


def inertia_tables(spec: RobotSpec) -> dict[str, Tensor]:
    """Masses, centres of mass and roots of inertias, in the frames of the bodies."""
    inertias = [body.inertia for body in spec.bodies if body.inertia is not None]
    roots, moments = [], []
    for inertia in inertias:
        (xx, yy, zz), (xy, xz, yz) = inertia.moments, inertia.products
        matrix = torch.tensor([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=torch.double)
        values, vectors = torch.linalg.eigh(matrix)
        moments.append(values.clamp(min=0.0))
        roots.append(vectors * moments[-1].sqrt())
    inverse = [torch.where(each > 0, 1.0 / each, 0.0) for each in moments]
    return {
        "_mass": torch.tensor([inertia.mass for inertia in inertias]).view(-1, 1, 1),
        "_centre_of_mass": torch.tensor([inertia.centre for inertia in inertias]).unsqueeze(-1),
        "_inertia_root": torch.stack(roots).float().unsqueeze(-1),
        "_inverse_moments": torch.stack(inverse).float().unsqueeze(-1),
    }


def inertia_root(inertia: Tensor) -> tuple[Tensor, Tensor]:
    """A square root ``L`` of each inertia ``I = L transpose(L)``, its columns in the last but one dimension, and the
    inverse of ``L``, by Cholesky: smooth where principal axes are not, for a body with equal moments.

    Args:
        inertia: Inertias [kg m^2], shape (..., 3, 3, M).
    """
    (xx, _, _), (xy, yy, _), (xz, yz, zz) = (row.unbind(-2) for row in inertia.unbind(-3))
    least = SMALLEST_MOMENT_SHARE * (xx + yy + zz).abs() + SMALLEST_MOMENT
    a = xx.maximum(least).sqrt()
    b, c = xy / a, xz / a
    d = (yy - b * b).maximum(least).sqrt()
    e = (yz - b * c) / d
    f = (zz - c * c - e * e).maximum(least).sqrt()
    none, ia, id_, if_ = torch.zeros_like(a), 1.0 / a, 1.0 / d, 1.0 / f
    root = torch.stack((a, none, none, b, d, none, c, e, f), -2)
    lower_left = (b * e - c * d) * ia * id_ * if_
    inverse = torch.stack((ia, none, none, -b * ia * id_, id_, none, lower_left, -e * id_ * if_, if_), -2)
    return root.unflatten(-2, (3, 3)), inverse.unflatten(-2, (3, 3))


__all__ = ["depth_first", "inertia_root", "inertia_tables", "supporting_joints", "tree_tables"]
