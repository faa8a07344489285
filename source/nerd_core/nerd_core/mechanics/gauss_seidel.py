# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Impulses of contacts, stops and drives, mended one after the other as Gauss and Seidel do."""

from __future__ import annotations

import torch
from torch import Tensor

TINY = 1.0e-12
"""Keeps roots of what may be zero smooth."""


class Impulses:
    """Impulses of all rows in a physics step, and the speeds of the rows that they make."""

    speeds: Tensor
    """Speeds of all rows, shape (R, M)."""
    load: list[Tensor]
    """Impulses of normals and stops, each of shape (M,)."""
    grip: list[Tensor]
    """Impulses of friction: along the first direction for all slots, then along the second."""

    def __init__(self, speeds: Tensor, couplings: Tensor, touching: int, count: int):
        """Begins without impulses.

        Args:
            speeds: Speeds of all rows, shape (R, M).
            couplings: Change of speeds per impulse, shape (R, R, M).
            touching: Number of slots, whose normals come first.
            count: Number of slots and joints.
        """
        self.speeds, self._couplings, self._touching, self._count = speeds, couplings.unbind(), touching, count
        self.load = list(torch.zeros_like(speeds[:count]).unbind())
        self.grip = list(torch.zeros_like(speeds[count:]).unbind())
        self._braked = list(torch.zeros_like(speeds[touching:count]).unbind())

    def mend_joint(self, joint: int, pull: Tensor, target: Tensor, brake: tuple[Tensor, Tensor] | None) -> None:
        """Lets a drive brake a joint, and its stop hold it.

        Args:
            joint: Number of the joint's row among those of joints.
            pull: Impulse per speed that is missing.
            target: Speed towards the stop that is allowed.
            brake: Impulse of the drive per speed, and change of the speed per impulse; None without a drive.
        """
        row = self._touching + joint
        speed, braking = self.speeds[row], None
        if brake is not None:
            braking = -brake[0] * speed
            self._braked[joint] = self._braked[joint] + braking
            speed = torch.addcmul(speed, brake[1], braking)
        new = (self.load[row] - pull * (speed + target)).clamp(min=0.0)
        change = new - self.load[row]
        self.load[row] = new
        self._carry(row, change if braking is None else braking + change)

    def press(self, slot: int, pull: Tensor, target: Tensor) -> None:
        """Mends the normal impulse of a slot; arguments as of :meth:`mend_joint`."""
        new = (self.load[slot] - pull * (self.speeds[slot] + target)).clamp(min=0.0)
        self._carry(slot, new - self.load[slot])
        self.load[slot] = new

    def hold(self, slot: int, cone: Tensor, hold: tuple[Tensor, Tensor], back: tuple[Tensor, Tensor]) -> None:
        """Mends the friction of a slot within its cone.

        Args:
            slot: Number of the slot's row.
            cone: Largest friction per normal impulse.
            hold: Impulse per speed, along both directions.
            back: Speeds at which a drift is taken back.
        """
        x, y = slot, self._touching + slot
        a = self.grip[x] - hold[0] * (self.speeds[self._count + x] + back[0])
        b = self.grip[y] - hold[1] * (self.speeds[self._count + y] + back[1])
        share = (cone * self.load[slot] * torch.addcmul(a * a + TINY, b, b).rsqrt()).clamp(max=1.0)
        a, b = a * share, b * share
        self._carry(self._count + x, a - self.grip[x])
        self._carry(self._count + y, b - self.grip[y])
        self.grip[x], self.grip[y] = a, b

    def total(self) -> Tensor:
        """Impulses of all rows until now, those of drives with those of their stops, shape (R, M)."""
        joints = [held + braked for held, braked in zip(self.load[self._touching :], self._braked, strict=True)]
        return torch.stack((*self.load[: self._touching], *joints, *self.grip))

    def _carry(self, row: int, impulse: Tensor) -> None:
        """What a further impulse on a row does to all speeds."""
        self.speeds = torch.addcmul(self.speeds, self._couplings[row], impulse)


__all__ = ["TINY", "Impulses"]
