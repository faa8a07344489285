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

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from .constants import EPSILON
from .contact_patches import Patches
from .contact_turns import nobody
from .joint_drives import JointFriction, JointTerms


class Terms(NamedTuple):
    """How constraints answer in one substep."""

    correction: Tensor
    """Velocity at which unilateral constraints may be closed, negative where one is taken back, shape (U, M)."""
    effective_mass: Tensor
    """Impulse per missing velocity of unilateral constraints [kg or kg m^2], shape (U, M)."""
    friction_correction: Tensor
    """Velocity at which a drift along the ground is taken back [m/s], shape (2 P, M)."""
    friction_mass: Tensor
    """Impulse of friction per velocity along the ground [kg], shape (2 P, M)."""
    friction: Tensor
    """Coefficient of friction, shape (P, M)."""
    dynamic_friction: Tensor | None
    """The same of a contact that slides; None where it is no other."""
    second_correction: Tensor | None = None
    """Velocity at which the drift from a second anchor is taken back [m/s], shape (2 P, M); None where contacts have
    none."""
    has_second: Tensor | None = None
    """One for contacts with a second anchor, which then bears half of the friction, else zero, shape (P, M)."""


class GaussSeidel:
    """Accumulated impulses of all rows in a physics step, and the velocities of the rows that they make."""

    velocity: Tensor
    """Velocities of all rows [m/s or rad/s], shape (R, M)."""
    normal_impulse: list[Tensor]
    """Impulses of contact normals and of stops [N s or N m s], each of shape (M,)."""
    friction_impulse: list[Tensor]
    """Impulses of friction [N s], of contacts with two anchors at the first of them: along the first direction for all
    contacts, then along the second."""
    least_pressed: Tensor | None
    """Normal impulses for which friction holds at least [N s], shape (P, M); None for none."""
    patches: Patches | None
    """Which contacts share what presses them; None where each has its own."""
    lower_ends: Tensor | None
    """One for contacts that are one patch with the next one, else zero, shape (P, M); None where none is."""
    holds: list[Tensor]
    """One for contacts that did not slip when their friction was solved last, else zero, each of shape (M,)."""

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
        self._other_impulse: dict[int, Tensor] = {}
        self.least_pressed, self.patches, self.lower_ends = None, None, None
        self._second_impulse: list[Tensor] | None = None
        self.holds: list[Tensor] = list(torch.zeros_like(velocity[:contacts]).unbind())

    def joint_velocity(self, joint: int) -> Tensor:
        """Velocity of a joint, away from the stop that it looks at, shape (M,)."""
        return self.velocity[self._contacts + joint]

    def push_joint(self, joint: int, impulse: Tensor) -> None:
        """Gives a joint an impulse that is no drive's and no stop's, shape (M,)."""
        self._add(joint, None, impulse)
        self._apply(self._contacts + joint, impulse)

    def solve_joint(
        self,
        joint: int,
        effective_mass: Tensor,
        correction: Tensor,
        terms: JointTerms | None,
        target: Tensor | None = None,
        stops_release: bool = False,
    ) -> None:
        """Lets the drive of a joint lead it, friction brake it, its stop hold it, and limits its speed.

        Args:
            joint: Number of the joint's row among those of joints.
            effective_mass: Impulse of the stop per velocity that is missing.
            correction: Velocity towards the stop that is allowed; negative beyond the stop.
            terms: Drive, friction and limit of the speed; None for a joint that has none of them.
            target: Velocity to which the drive leads, away from the stop; None for zero.
            stops_release: Whether a stop that is not met takes back what brings the joint to rest, not to the stop.
        """
        row = self._contacts + joint
        velocity, before = self.velocity[row], None
        if terms is not None and terms.drive_mass is not None:
            before = self._drive(joint, terms, velocity, target)
            velocity = torch.addcmul(velocity, terms.delassus, before)
        if terms is not None and terms.friction is not None and terms.constraint_mass is not None:
            friction = _friction(terms.friction, terms.constraint_mass, velocity)
            velocity = torch.addcmul(velocity, terms.delassus, friction)
            before = self._add(joint, before, friction)
        excess = velocity + correction
        if stops_release:
            excess = torch.where((correction < 0.0) | (excess < 0.0), excess, velocity.clamp(min=0.0))
        impulse = (self.normal_impulse[row] - effective_mass * excess).clamp(min=0.0)
        change = impulse - self.normal_impulse[row]
        self.normal_impulse[row] = impulse
        if terms is not None and terms.max_speed is not None and terms.constraint_mass is not None:
            velocity = torch.addcmul(velocity, terms.delassus, change)
            slowing = _within(velocity, terms.max_speed) - velocity
            before = self._add(joint, before, terms.constraint_mass * slowing)
        self._apply(row, change if before is None else before + change)

    def _drive(self, joint: int, terms: JointTerms, velocity: Tensor, target: Tensor | None) -> Tensor:
        """The further impulse of a joint's drive."""
        assert terms.drive_mass is not None  # the caller has looked
        total = self._drive_impulse[joint]
        impulse = terms.drive_mass * (-velocity if target is None else target - velocity)
        if terms.max_drive_impulse is not None:
            impulse = _within(total + impulse, terms.max_drive_impulse) - total
        self._drive_impulse[joint] = total + impulse
        return impulse

    def _add(self, joint: int, before: Tensor | None, impulse: Tensor) -> Tensor:
        """Adds an impulse of friction, of the limit of the speed, or of what couples joints, to those before it in this
        substep.
        """
        braking = self._other_impulse.get(joint)
        self._other_impulse[joint] = impulse if braking is None else braking + impulse
        return impulse if before is None else before + impulse

    def solve_contacts(self, terms: Terms, contacts: range) -> None:
        """Solves the normal and then the friction of one contact after the other; or where contacts are patches, all
        normals and then all friction, from the last contact to the first.

        Args:
            terms: How contacts answer.
            contacts: Which contacts; all where they are patches.
        """
        if not contacts:
            return
        masses, corrections = terms.effective_mass.unbind(), terms.correction.unbind()
        if self.patches is None:
            for contact in contacts:
                self.solve_normal(contact, masses[contact], corrections[contact])
                self._solve_anchors(contact, terms, None)
            return
        order = contacts[::-1]
        for contact in order:
            self.solve_normal(contact, masses[contact], corrections[contact])
        for contact in order:
            self._solve_anchors(contact, terms, None)

    def solve_in_turn(
        self,
        contact: int,
        masses: Sequence[Tensor],
        corrections: Sequence[Tensor],
        terms: Terms,
        due: Tensor | None,
        may_pair: bool,
    ) -> None:
        """Solves a contact where it is due, and together with it the next one where both are the ends of a capsule:
        normals, then friction; arguments as of :meth:`solve_contacts`.

        Args:
            contact: Number of the contact.
            masses: Impulses of normals per missing velocity.
            corrections: Velocities at which they may be closed, or are taken back.
            terms: How contacts rub.
            due: One where it is due, else zero, shape (M,); None for everywhere.
            may_pair: Whether it may be the first end of a capsule and the next one the other.
        """
        upper = None
        if self.lower_ends is not None:
            if may_pair:
                upper = self.lower_ends[contact] if due is None else due * self.lower_ends[contact]
                upper = None if nobody(upper) else upper
            if contact:  # the other end of a capsule had its turn
                alone = 1.0 - self.lower_ends[contact - 1]
                due = alone if due is None else due * alone
        if nobody(due):
            return
        self.solve_normal(contact, masses[contact] if due is None else due * masses[contact], corrections[contact])
        if upper is not None:
            self.solve_normal(contact + 1, upper * masses[contact + 1], corrections[contact + 1])
        self._solve_anchors(contact, terms, due)
        if upper is not None:
            self._solve_anchors(contact + 1, terms, upper)
            both = self.holds[contact] * self.holds[contact + 1]
            for end in (contact, contact + 1):
                self.holds[end] = torch.where(upper > 0.0, both, self.holds[end])

    def _solve_anchors(self, contact: int, terms: Terms, due: Tensor | None) -> None:
        """Solves the friction of a contact at its anchors, where it is due."""
        rows = contact, self._contacts + contact
        mass, correction = ((each[rows[0]], each[rows[1]]) for each in (terms.friction_mass, terms.friction_correction))
        of_sliding = None if terms.dynamic_friction is None else terms.dynamic_friction[contact]
        coefficient, second = terms.friction[contact], terms.second_correction
        if second is None or terms.has_second is None:
            self.solve_friction(contact, coefficient, mass, correction, of_sliding, due)
            return
        shares = 1.0 - 0.5 * terms.has_second[contact], 0.5 * terms.has_second[contact]
        slid = [None if of_sliding is None else of_sliding * share for share in shares]
        self.solve_friction(contact, coefficient * shares[0], mass, correction, slid[0], due)
        self._solve_second(contact, coefficient * shares[1], mass, (second[rows[0]], second[rows[1]]), slid[1], due)

    def _pressed(self, contact: int) -> Tensor:
        """What presses a contact [N s], of a patch its share, and what friction holds for at least."""
        pressed = self.normal_impulse[contact]
        if self.patches is not None:
            normals = torch.stack(self.normal_impulse[: self._contacts])
            pressed = self.patches.share[contact] * (self.patches.same[contact] * normals).sum(0)
        least = None if self.least_pressed is None else self.least_pressed[contact]
        if self.lower_ends is not None:
            for lower, other in ((contact, contact + 1), (contact - 1, contact - 1)):
                if lower < 0 or other >= len(self.lower_ends):
                    continue
                is_pair = self.lower_ends[lower] > 0.0
                pressed = torch.where(is_pair, 0.5 * (pressed + self.normal_impulse[other]), pressed)
                if least is not None and self.least_pressed is not None:
                    mean = 0.5 * (self.least_pressed[contact] + self.least_pressed[other])
                    least = torch.where(is_pair, 0.5 * mean, least)
        return pressed if least is None else pressed.maximum(least)

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
        dynamic: Tensor | None = None,
        due: Tensor | None = None,
    ) -> None:
        """Solves the friction of a contact within its cone.

        Args:
            contact: Number of the contact.
            coefficient: Largest friction per normal impulse.
            effective_mass: Impulse per velocity, along both directions.
            correction: Velocities at which a drift is taken back.
            dynamic: Friction per normal impulse where it would be larger; None for the largest.
            due: One where the contact is due, elsewhere nothing changes; None for everywhere.
        """
        first, second = contact, self._contacts + contact
        row, other = self._unilateral + first, self._unilateral + second
        x = self.friction_impulse[first] - effective_mass[0] * (self.velocity[row] + correction[0])
        y = self.friction_impulse[second] - effective_mass[1] * (self.velocity[other] + correction[1])
        pressed = self._pressed(contact)
        largest = coefficient * pressed
        inverse = torch.addcmul(x * x + EPSILON, y, y).rsqrt()
        share = (largest * inverse).clamp(max=1.0)
        holds = (share == 1.0).to(share.dtype)
        if dynamic is not None:
            sliding = (dynamic * pressed * inverse).clamp(max=1.0)
            share = torch.where(share < 1.0, sliding, share)
        x, y = x * share, y * share
        if due is not None:
            x = torch.where(due > 0.0, x, self.friction_impulse[first])
            y = torch.where(due > 0.0, y, self.friction_impulse[second])
            holds = torch.where(due > 0.0, holds, self.holds[contact])
        self.holds[contact] = holds
        self._apply(row, x - self.friction_impulse[first])
        self._apply(other, y - self.friction_impulse[second])
        self.friction_impulse[first], self.friction_impulse[second] = x, y

    def _solve_second(
        self,
        contact: int,
        coefficient: Tensor,
        effective_mass: tuple[Tensor, Tensor],
        correction: tuple[Tensor, Tensor],
        dynamic: Tensor | None,
        due: Tensor | None,
    ) -> None:
        """Solves the friction at a contact's second anchor, if it has one; arguments as of :meth:`solve_friction`."""
        if self._second_impulse is None:
            self._second_impulse = [torch.zeros_like(each) for each in self.friction_impulse]
        held = self.holds[contact]
        self.friction_impulse, self._second_impulse = self._second_impulse, self.friction_impulse
        self.solve_friction(contact, coefficient, effective_mass, correction, dynamic, due)
        self.friction_impulse, self._second_impulse = self._second_impulse, self.friction_impulse
        self.holds[contact] = torch.where(coefficient > 0.0, held * self.holds[contact], held)

    def impulses(self) -> Tensor:
        """Impulses of all rows until now, those of drives, friction and speed limits with those of their stops, shape
        (R, M).
        """
        stops = self.normal_impulse[self._contacts :]
        joints = [stop + drive for stop, drive in zip(stops, self._drive_impulse, strict=True)]
        for joint, braking in self._other_impulse.items():
            joints[joint] = joints[joint] + braking
        return torch.stack((*self.normal_impulse[: self._contacts], *joints, *self.all_friction()))

    def all_friction(self) -> list[Tensor]:
        """Impulses of friction at all anchors together, as :attr:`friction_impulse`."""
        if self._second_impulse is None:
            return self.friction_impulse
        return [first + second for first, second in zip(self.friction_impulse, self._second_impulse, strict=True)]

    def _apply(self, row: int, impulse: Tensor) -> None:
        """Changes all velocities by a further impulse on a row."""
        self.velocity = torch.addcmul(self.velocity, self._delassus[row], impulse)


def _within(value: Tensor, limit: float | Tensor) -> Tensor:
    """Values no larger than a limit, one or one for each, to either side."""
    return value.maximum(-limit).minimum(limit) if isinstance(limit, Tensor) else value.clamp(-limit, limit)


def _friction(friction: JointFriction, effective_mass: Tensor, velocity: Tensor) -> Tensor:
    """Impulse of friction in a substep: to rest if static friction can, else by what brakes a joint that moves."""
    impulse = -effective_mass * velocity
    largest = friction.dynamic + friction.viscous * velocity.abs()
    # One bound at a time: within both of a joint that has no friction, the derivative by friction would be lost.
    braking = torch.where(impulse < 0.0, impulse.maximum(-largest), impulse.minimum(largest))
    return torch.where(impulse.abs() > friction.static, braking, impulse)


__all__ = ["GaussSeidel", "Terms"]
