# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Faults in the order in which mechanics solves contacts, links, ends of capsules and bodies that meet."""

from __future__ import annotations

from mutations.fault import Fault
from mutations.places import (
    ADJOINT_ANCHORS,
    CAPSULES,
    KERNEL_MEETINGS,
    KERNEL_TOUCHES,
    MEETINGS,
    SOLVER,
    SWEEP,
    TEST_ADJOINT_ANCHORS,
    TEST_BATCH,
    TEST_FOOT,
    TEST_KERNELS_TURNS,
    TEST_LAST_WORD,
    TEST_LISTED,
    TEST_NEAREST,
    TEST_ORDER,
    TEST_PRESSED,
    TEST_PUT_DOWN,
    TOUCHES,
    TURNS,
)

MECHANICS_FAULTS = (
    # links in turn
    Fault(TURNS, "each <= rank[body] for each", "each < rank[body] for each", TEST_ORDER),
    Fault(TURNS, "rank[spec.joint_names[joint]])", "-rank[spec.joint_names[joint]])", TEST_ORDER),
    Fault(TURNS, "range(place, place + spare + 1)", "range(place, place + spare)", TEST_ORDER),
    Fault(TURNS, "shapes[one] == shapes[other] and ", "", TEST_ORDER),
    Fault(TURNS, "any(turns[slot] in pairs for slot in choices[place])", "bool(lower[place])", TEST_ORDER),
    Fault(TURNS, "(turns[contact] == turn)", "(turns[contact] <= turn)", TEST_BATCH),
    Fault(TURNS, "not bool(due.any())", "not bool(due.all())", TEST_BATCH),
    Fault(SOLVER, "self._turns.take(joint, turns,", "self._turns.take(joint + 1, turns,", TEST_KERNELS_TURNS),
    # the shape that touched first
    Fault(TOUCHES, "place > 0.0, place, LAST)", "place > 0.0, LAST, place)", TEST_LISTED),
    Fault(TOUCHES, "touches.unsqueeze(0) & self._is_rival", "touches.unsqueeze(0)", TEST_LISTED),
    Fault(TOUCHES, "(self._belongs & in_reach).any(1)", "(self._belongs & in_reach).all(1)", TEST_LISTED),
    Fault(KERNEL_TOUCHES, ".gap < slots[slot].reach", ".gap > slots[slot].reach", TEST_FOOT),
    Fault(KERNEL_TOUCHES, "is_before = int(first < second)", "is_before = int(first > second)", TEST_FOOT),
    Fault(KERNEL_TOUCHES, "work.grounds[other].place > work", "work.grounds[other].place < work", TEST_FOOT),
    # both ends of a capsule
    Fault(
        SWEEP,
        "alone = 1.0 - self.lower_ends[contact - 1]",
        "alone = 1.0 - self.lower_ends[contact]",
        TEST_KERNELS_TURNS,
    ),
    Fault(SWEEP, "0.5 * (pressed + self.normal_impulse[other])", "pressed", TEST_PRESSED),
    Fault(
        SWEEP,
        "((contact, contact + 1), (contact - 1, contact - 1))",
        "((contact, contact + 1), (contact - 1, contact))",
        TEST_PRESSED,
    ),
    Fault(CAPSULES, "0.5 * wp.max(rows[i].impulse + rows[j]", "wp.max(rows[i].impulse + rows[j]", TEST_KERNELS_TURNS),
    Fault(
        CAPSULES,
        "work, j, soft, of_other, solved)\n        least",
        "work, i, soft, of_other, solved)\n        least",
        TEST_KERNELS_TURNS,
    ),
    Fault(CAPSULES, "holds = one_holds * other_holds", "holds = one_holds", TEST_KERNELS_TURNS),
    Fault(CAPSULES, "slot in range(lower, lower + 2)", "slot in range(lower, lower + 1)", TEST_PUT_DOWN),
    Fault(CAPSULES, "normal) <= SAME_NORMAL", "normal) > SAME_NORMAL", TEST_KERNELS_TURNS),
    # bodies that meet come before joints, in the order of their pairs
    Fault(
        SOLVER,
        "sweep.solve_contacts(terms, range(self.contacts.ground_contacts, count))\n            if",
        "if",
        TEST_LAST_WORD,
    ),
    Fault(
        SOLVER,
        "            displacement = torch.add(displacement, sweep",
        "            sweep.solve_contacts(terms, range(self.contacts.ground_contacts, count))\n"
        "            displacement = torch.add(displacement, sweep",
        TEST_LAST_WORD,
    ),
    Fault(MEETINGS, "largest=False).indices.sort(0).values", "largest=False).indices", TEST_NEAREST),
    Fault(MEETINGS, "(gap - reach).topk(self.most, dim=0, largest=False)", "gap.topk(self.most, dim=0)", TEST_NEAREST),
    Fault(KERNEL_MEETINGS, "order > own", "order < own", TEST_NEAREST),
    # derivatives by where feet were put down
    Fault(
        ADJOINT_ANCHORS,
        "by_memory[slot, place] = by_memory[slot, place] - by_place",
        "by_memory[slot, place] = by_memory[slot, place] + by_place",
        TEST_ADJOINT_ANCHORS,
    ),
    Fault(ADJOINT_ANCHORS, "pull_point(adjoint.bodies, body, point, by_apart)", "pass", TEST_ADJOINT_ANCHORS),
    Fault(ADJOINT_ANCHORS, "        if not lasts:\n", "        if lasts:\n", TEST_ADJOINT_ANCHORS),
)
"""All of them."""

__all__ = ["MECHANICS_FAULTS"]
