# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A sweep of projected Gauss-Seidel over the constraints of one robot, in impulses.

Rows are contact normals, then joints, then the two friction directions of all contacts. With ``A`` for the Delassus
matrix, ``v`` for the velocities of the rows, ``b`` for the velocity at which a gap may be closed or a penetration is
taken back, and ``m`` for an effective mass, one row after the other takes::

    impulse <- max(impulse - m (v + b), 0)          v <- v + A[:, row] * change of the impulse

and friction the same along two directions, scaled back into Coulomb's cone. Impulses are kept (accumulated) from sweep
to sweep, as in PhysX's solver and in Macklin et al., *Small Steps in Physics Simulation*, 2019.

Example::

    sweep = GaussSeidel(velocity, delassus, contacts, unilateral)
    sweep.solve_normal(0, effective_mass, correction)
    impulses = sweep.impulses()
"""

from __future__ import annotations

import torch
from torch import Tensor

from .constants import EPSILON


class GaussSeidel:
    """Accumulated impulses of all rows in a physics step, and the velocities of the rows that they make."""

    velocity: Tensor
    """Velocities of all rows [m/s or rad/s], shape (R, M)."""
    normal_impulse: list[Tensor]
    """Impulses of contact normals and of stops [N s or N m s], each of shape (M,)."""
    friction_impulse: list[Tensor]
    """Impulses of friction [N s]: along the first direction for all contacts, then along the second."""

    def __init__(self, velocity: Tensor, delassus: Tensor, contacts: int, unilateral: int):
        """Begins without impulses.

        Args:
            velocity: Velocities of all rows, shape (R, M).
            delassus: Delassus matrix: change of velocities per impulse, shape (R, R, M).
            contacts: Number of contacts, whose normals come first.
            unilateral: Number of contacts and joints.
        """
        self.velocity, self._delassus = velocity, delassus.unbind()
        self._contacts, self._unilateral = contacts, unilateral
        self.normal_impulse = list(torch.zeros_like(velocity[:unilateral]).unbind())
        self.friction_impulse = list(torch.zeros_like(velocity[unilateral:]).unbind())
        self._drive_impulse = list(torch.zeros_like(velocity[contacts:unilateral]).unbind())

    def solve_joint(
        self, joint: int, effective_mass: Tensor, correction: Tensor, drive: tuple[Tensor, Tensor] | None
    ) -> None:
        """Lets a drive brake a joint, and its stop hold it.

        Args:
            joint: Number of the joint's row among those of joints.
            effective_mass: Impulse per velocity that is missing.
            correction: Velocity towards the stop that is allowed; negative beyond the stop.
            drive: Impulse of the drive per velocity, and the Delassus diagonal; None without a drive.
        """
        row = self._contacts + joint
        velocity, drive_impulse = self.velocity[row], None
        if drive is not None:
            drive_impulse = -drive[0] * velocity
            self._drive_impulse[joint] = self._drive_impulse[joint] + drive_impulse
            velocity = torch.addcmul(velocity, drive[1], drive_impulse)
        impulse = (self.normal_impulse[row] - effective_mass * (velocity + correction)).clamp(min=0.0)
        change = impulse - self.normal_impulse[row]
        self.normal_impulse[row] = impulse
        self._apply(row, change if drive_impulse is None else drive_impulse + change)

    def solve_normal(self, contact: int, effective_mass: Tensor, correction: Tensor) -> None:
        """Solves the normal of a contact; arguments as of :meth:`solve_joint`."""
        impulse = self.normal_impulse[contact] - effective_mass * (self.velocity[contact] + correction)
        impulse = impulse.clamp(min=0.0)
        self._apply(contact, impulse - self.normal_impulse[contact])
        self.normal_impulse[contact] = impulse

    def solve_friction(
        self,
        contact: int,
        coefficient: Tensor,
        effective_mass: tuple[Tensor, Tensor],
        correction: tuple[Tensor, Tensor],
    ) -> None:
        """Solves the friction of a contact within its cone.

        Args:
            contact: Number of the contact.
            coefficient: Largest friction per normal impulse.
            effective_mass: Impulse per velocity, along both directions.
            correction: Velocities at which a drift is taken back.
        """
        first, second = contact, self._contacts + contact
        row, other = self._unilateral + first, self._unilateral + second
        x = self.friction_impulse[first] - effective_mass[0] * (self.velocity[row] + correction[0])
        y = self.friction_impulse[second] - effective_mass[1] * (self.velocity[other] + correction[1])
        largest = coefficient * self.normal_impulse[contact]
        share = (largest * torch.addcmul(x * x + EPSILON, y, y).rsqrt()).clamp(max=1.0)
        x, y = x * share, y * share
        self._apply(row, x - self.friction_impulse[first])
        self._apply(other, y - self.friction_impulse[second])
        self.friction_impulse[first], self.friction_impulse[second] = x, y

    def impulses(self) -> Tensor:
        """Impulses of all rows until now, those of drives with those of their stops, shape (R, M)."""
        stops = self.normal_impulse[self._contacts :]
        joints = [stop + drive for stop, drive in zip(stops, self._drive_impulse, strict=True)]
        return torch.stack((*self.normal_impulse[: self._contacts], *joints, *self.friction_impulse))

    def _apply(self, row: int, impulse: Tensor) -> None:
        """Changes all velocities by a further impulse on a row."""
        self.velocity = torch.addcmul(self.velocity, self._delassus[row], impulse)


__all__ = ["GaussSeidel"]
