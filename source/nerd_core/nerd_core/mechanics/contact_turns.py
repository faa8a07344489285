# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""When contacts are solved, between which joints, and which of them share what presses them.

PhysX goes over a robot link by link: the joint of a link, then the link's contacts with the ground, then the links
that hang from it. A foot that is held fast feels the drives of its own leg, but not yet those of the next one, which
matters where drives are stiff and iterations few. And the two ends of a capsule are one patch: both normals first,
then friction at one anchor on either end, each of which may have half of the friction that both normals allow.

A batch of environments looks at those contacts that are nearest to the ground, and so at the same place of a batch
there are contacts of several links. Each place has a turn after every joint at which any of its contacts may be due,
and those of other environments sit it out.

Example::

    turns = ContactTurns(slots.turns.tolist(), slots.lower_ends.tolist(), most=8, joints=29)
    turns.take(0, constraints.turns, sweep, masses, corrections, terms)  # before the first joint
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..robot.slots import shapes_of_slots
from ..robot.spec import RobotSpec

if TYPE_CHECKING:
    from .gauss_seidel import GaussSeidel, Terms


def joint_order(spec: RobotSpec, depth_first: Sequence[int]) -> list[int]:
    """Numbers of the joints in the order in which they are solved: body by body, each branch to its end.

    Args:
        spec: The robot.
        depth_first: Numbers of the bodies in the order in which the solver visits them.
    """
    rank = {spec.bodies[number].joint: place for place, number in enumerate(depth_first)}
    return sorted(range(len(spec.joints)), key=lambda joint: rank[spec.joint_names[joint]])


def joints_before(spec: RobotSpec, depth_first: Sequence[int], joints: Sequence[int]) -> list[int]:
    """How many joints are solved before the contacts of each body, by the number of the body.

    Args:
        spec: The robot.
        depth_first: Numbers of the bodies in the order in which the solver visits them.
        joints: Numbers of the joints in the order of the solver.
    """
    rank = {number: place for place, number in enumerate(depth_first)}
    body_of = {body.joint: number for number, body in enumerate(spec.bodies)}
    ranks = [rank[body_of[spec.joint_names[joint]]] for joint in joints]
    return [sum(each <= rank[body] for each in ranks) for body in range(len(spec.bodies))]


def is_lower_end(spec: RobotSpec, slots: Sequence[int]) -> list[bool]:
    """Which slots are the first end of a capsule whose other end is the next one.

    Args:
        spec: The robot.
        slots: Numbers of slots in the order of the solver.
    """
    shapes = shapes_of_slots(spec.slots)
    following = zip(slots, slots[1:], strict=False)
    lower = [shapes[one] == shapes[other] and spec.slots[one].shape == "capsule" for one, other in following]
    return [*lower, False][: len(slots)]


class ContactTurns:
    """The turns of the contacts of one robot, of which ``most`` are looked at."""

    at: list[list[int]]
    """Contacts that may be due after so many joints, for each number of joints."""
    is_fixed: bool
    """Whether all slots are always looked at, so that a contact is due at one turn alone."""
    may_pair: list[bool]
    """Whether each contact may be the first end of a capsule and the next one the other."""

    def __init__(self, turns: Sequence[int], lower: Sequence[float], most: int, joints: int):
        """Looks up which contacts may be due when.

        Args:
            turns: How many joints are solved before each slot, in the order of the solver.
            lower: What :func:`is_lower_end` gave.
            most: How many slots are looked at.
            joints: Number of joints.
        """
        spare = len(turns) - most
        self.is_fixed = spare == 0
        choices = [range(place, place + spare + 1) for place in range(most)]
        due = [{turns[slot] for slot in choice} for choice in choices]
        self.at = [[place for place in range(most) if turn in due[place]] for turn in range(joints + 1)]
        pairs = {turns[slot] for slot in range(len(turns)) if lower[slot]}  # shapes of a body may change places
        self.may_pair = [
            place + 1 < most and any(turns[slot] in pairs for slot in choices[place]) for place in range(most)
        ]

    def take(
        self,
        turn: int,
        turns: Tensor,
        sweep: GaussSeidel,
        masses: Sequence[Tensor],
        corrections: Sequence[Tensor],
        terms: Terms,
    ) -> None:
        """Solves the contacts that are due.

        Args:
            turn: How many joints are solved.
            turns: How many joints are solved before each contact, shape (P, M).
            sweep: Solves them; with ``masses``, ``corrections`` and ``terms`` of all contacts.
        """
        for contact in self.at[turn]:
            due = None if self.is_fixed else (turns[contact] == turn).to(terms.friction.dtype)
            sweep.solve_in_turn(contact, masses, corrections, terms, due, self.may_pair[contact])


def nobody(due: Tensor | None) -> bool:
    """Whether nobody is due, where that may be asked: not of a GPU, and not while a step is traced or transformed."""
    if due is None or due.device.type != "cpu" or torch.compiler.is_compiling():
        return False
    if torch.autograd.forward_ad._current_level >= 0 or torch._C._are_functorch_transforms_active():
        return False
    return not bool(due.any())


__all__ = ["ContactTurns", "is_lower_end", "joint_order", "joints_before", "nobody"]
