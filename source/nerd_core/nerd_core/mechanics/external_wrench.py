# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Forces and torques from outside on single bodies: what a person, a string or the wind does to a robot.

They act like gravity, over a whole physics step, and add to the momenta of the robot.

Example::

    wrench = ExternalWrench.of(rows)
    if wrench is not None:
        effort = effort + multibody.wrench_force(frames, *wrench.in_root(rotation))
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from ..robot.physical_parameters import PhysicalParameters
from .multibody import BodyFrames, CentroidalMomentum
from .vectors import cross, rotate_inverse


class ExternalWrench(NamedTuple):
    """Wrenches on all bodies."""

    force: Tensor
    """Forces on the centres of mass [N], shape (B, 3, 1 or M)."""
    torque: Tensor
    """Torques [N m], shape (B, 3, 1 or M)."""

    @classmethod
    def of(cls, rows: PhysicalParameters | None) -> ExternalWrench | None:
        """The wrenches of parameters, environment axes; None where none are given.

        Args:
            rows: What :meth:`PhysicalParameters.rows` gave; None where nothing differs from the specification.
        """
        force, torque = (None, None) if rows is None else (rows.external_force, rows.external_torque)
        given = force if force is not None else torque
        if given is None:
            return None
        none = given.new_zeros(1, *given.shape[1:])
        return cls(*((none if each is None else each).permute(1, 2, 0) for each in (force, torque)))

    def in_root(self, rotation: Tensor | None) -> ExternalWrench:
        """The same in the axes of the root.

        Args:
            rotation: Rotation matrices of the root, shape (3, 3, M); None for a fixed base.
        """
        if rotation is None:
            return self
        return ExternalWrench(rotate_inverse(rotation, self.force), rotate_inverse(rotation, self.torque))

    def added_to(self, momentum: CentroidalMomentum, frames: BodyFrames, dt: float) -> CentroidalMomentum:
        """Momenta after the wrenches have acted for a while.

        Args:
            momentum: Momenta before.
            frames: Where the bodies are.
            dt: How long they act [s].
        """
        arm = frames.centres_of_mass - momentum.centre_of_mass
        turning = self.torque + cross(arm, self.force.expand_as(arm))
        linear, angular = momentum.linear + dt * self.force.sum(0), momentum.angular + dt * turning.sum(0)
        return momentum._replace(linear=linear, angular=angular)


__all__ = ["ExternalWrench"]
