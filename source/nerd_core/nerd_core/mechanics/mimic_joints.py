# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Mimic joints: joints that follow another one.

A joint ``a`` that follows ``b`` by ``C = q_a - ratio q_b - offset = 0`` is a constraint on both, solved before all
joints in each substep ``h``. With ``A`` for the Delassus matrix the impulse on ``a``, and ``-1 / ratio`` times that on
``b``, is::

    -s (e C / h + dC/dt) / (A_aa - 2 ratio A_ab + ratio^2 A_bb)

where ``e``, two over the root of the number of substeps but no more than :data:`MAX_SHARE`, is the share of ``C`` that
is taken back in a substep, and ``s`` is one. One that follows by a spring with the natural frequency ``f`` and the
damping ratio ``z`` has instead ``e = h f / (h f + 2 z)`` and ``s = h f (h f + 2 z) / (1 + h f (h f + 2 z))``. That is
PhysX's way; the firm one was measured on it (``docs/lab-notebook.md``).

Example::

    mimics = MimicJoints(spec, order, MechanicsCfg(substeps=4))
    mimics.solve(sweep, mimics.errors(joint_pos), sign, delassus)
"""

from __future__ import annotations

import math
from typing import NamedTuple

from torch import Tensor

from ..robot.spec import Mimic, RobotSpec
from .config import MechanicsCfg
from .engine_settings import substeps_of
from .gauss_seidel import GaussSeidel

MAX_SHARE = 0.9
"""Largest share of the error of a joint that follows firmly that is taken back in a substep."""


class MimicConstraint(NamedTuple):
    """A joint that follows another one."""

    follower: int
    """Number of the joint that follows, in the order of the solver."""
    leader: int
    """Number of the joint that is followed."""
    ratio: float
    """Position per position of the leader."""
    offset: float
    """More of it [rad or m]."""
    rate: float
    """Velocity at which an error is taken back, per error [1/s]."""
    share: float
    """Share of the impulse of a firm constraint."""


class MimicJoints:
    """All joints of one robot that follow another one."""

    constraints: list[MimicConstraint]
    """In the order of the specification's joints."""

    def __init__(self, spec: RobotSpec, order: list[int], cfg: MechanicsCfg):
        """Looks them up.

        Args:
            spec: The robot.
            order: Numbers of its joints in the order in which they are solved.
            cfg: Settings of mechanics.
        """
        place = {spec.joint_names[number]: row for row, number in enumerate(order)}
        self.constraints, substeps = [], substeps_of(cfg, spec)
        for joint in spec.joints:
            if joint.mimic is not None:
                rate, share = _stiffness(joint.mimic, spec.physics_dt / substeps, substeps)
                ends = place[joint.name], place[joint.mimic.joint]
                self.constraints.append(MimicConstraint(*ends, joint.mimic.ratio, joint.mimic.offset, rate, share))

    def errors(self, pos: Tensor) -> list[Tensor]:
        """How far followers are from where they should be [rad or m], each of shape (M,).

        Args:
            pos: Positions of the joints in the order of the solver, shape (J, M).
        """
        return [pos[each.follower] - each.ratio * pos[each.leader] - each.offset for each in self.constraints]

    def solve(self, sweep: GaussSeidel, errors: list[Tensor], sign: Tensor, delassus: Tensor) -> None:
        """Leads followers, and their leaders, together.

        Args:
            sweep: Sweep over all constraints.
            errors: What :meth:`errors` gave.
            sign: Minus one for joints whose rows count to the other side, else one, shape (J, M).
            delassus: Delassus matrix of the rows of joints, shape (J, J, M).
        """
        for each, error in zip(self.constraints, errors, strict=True):
            a, b = each.follower, each.leader
            towards, away = sign[a], -each.ratio * sign[b]  # along the rows of both joints
            response = towards * towards * delassus[a, a] + 2.0 * towards * away * delassus[a, b]
            response = response + away * away * delassus[b, b]
            velocity = towards * sweep.joint_velocity(a) + away * sweep.joint_velocity(b)
            impulse = -each.share * (each.rate * error + velocity) / response
            sweep.push_joint(a, towards * impulse)
            sweep.push_joint(b, away * impulse)


def _stiffness(mimic: Mimic, substep_dt: float, substeps: int) -> tuple[float, float]:
    """Rate at which an error is taken back [1/s], and share of the impulse of a firm constraint."""
    if mimic.frequency <= 0.0 or mimic.damping_ratio <= 0.0:
        return min(MAX_SHARE, 2.0 / math.sqrt(substeps)) / substep_dt, 1.0
    turn = substep_dt * mimic.frequency
    firm = turn * (turn + 2.0 * mimic.damping_ratio)
    return turn / (turn + 2.0 * mimic.damping_ratio) / substep_dt, firm / (1.0 + firm)


__all__ = ["MimicConstraint", "MimicJoints"]
