# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The shapes of a body are solved in the order in which they touched, in PyTorch, by the kernel and in its adjoint."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from core.mechanics.test_contact_turns import GROUND, RADIUS, biped, mechanics_of, standing
from nerd_core.contact.contacts import ContactModel
from nerd_core.mechanics.kernel import verification
from nerd_core.mechanics.touch_order import TouchOrder

OF_SHAPE = 12
"""Where a memory has the place of a slot's shape."""


def order() -> TouchOrder:
    """A body with a ball; one with a capsule and two balls; one with two capsules."""
    return TouchOrder(bodies=[0, 1, 1, 1, 1, 2, 2, 2, 2], shapes=[0, 1, 1, 2, 3, 4, 4, 5, 5])


def listed(before: list[int] | None, touching: list[int], begins: list[float]) -> list[int]:
    """Places of the nine slots of :func:`order`."""
    old = None if before is None else torch.tensor(before, dtype=torch.float32).unsqueeze(1)
    reached = torch.tensor([[slot in touching for slot in range(9)]])
    return order().listed(old, reached, torch.tensor([begins])).squeeze(1).int().tolist()


def test_a_shape_that_comes_is_the_last_and_one_that_goes_is_forgotten():
    """Each body has a list of its own, the ball that has its body for itself none; a capsule is there with one end.
    When a shape goes, those behind it move up, and it is the last one when it comes again.
    """
    begins = [0.0] * 9
    assert listed(None, [0, 4], begins) == [0, 0, 0, 0, 1, 0, 0, 0, 0]
    one = listed([0, 0, 0, 0, 1, 0, 0, 0, 0], [0, 2, 4, 7], begins)
    assert one == [0, 2, 2, 0, 1, 0, 0, 1, 1]
    other = listed(one, [0, 2, 5, 8], begins)
    assert other == [0, 1, 1, 0, 0, 2, 2, 1, 1]
    assert listed(other, [1, 2, 4, 3, 5, 6], begins) == [0, 1, 1, 2, 3, 1, 1, 0, 0]


def test_shapes_that_come_together_stand_in_the_order_in_which_they_begin():
    """A capsule begins with the end that is farther back, whether or not that end touches; those that begin at the same
    place keep the order of the specification; what was there before comes first.
    """
    begins = [0.0, 0.5, -0.3, -0.1, -0.2, 0.1, 0.2, 0.1, 0.3]
    assert listed(None, list(range(9)), begins) == [0, 1, 1, 3, 2, 1, 1, 2, 2]
    assert listed(None, [1, 3, 4], begins) == [0, 1, 1, 3, 2, 0, 0, 0, 0]
    assert listed([0, 0, 0, 1, 0, 0, 0, 0, 0], list(range(9)), begins) == [0, 2, 2, 1, 3, 1, 1, 2, 2]


def test_slots_are_sorted_within_their_bodies_and_ends_of_a_capsule_stay_together():
    """Bodies keep their turns, of two environments each has its own order."""
    places = torch.tensor([[0, 2, 2, 1, 3, 2, 2, 1, 1], [0, 1, 1, 2, 3, 1, 1, 2, 2]], dtype=torch.float32).t()
    chosen = torch.tensor([[0, 1, 2, 3, 5, 6, 7, 8]] * 2).t()
    assert order().sorted(chosen, places).t().tolist() == [[0, 3, 1, 2, 7, 8, 5, 6], [0, 1, 2, 3, 5, 6, 7, 8]]


def test_robots_whose_bodies_have_one_shape_need_no_order():
    """Nor do models from before, that say nothing of it."""
    spec = biped()
    single = replace(spec, slots=tuple(slot for slot in spec.slots if slot.point[1] <= 0.0))
    assert mechanics_of(spec).solver.contacts.order is not None
    assert mechanics_of(single).solver.contacts.order is None
    assert mechanics_of(spec, touch_order=False).solver.contacts.order is None
    assert mechanics_of(spec, links_in_turn=False).solver.contacts.order is None


def tilted(edge: float) -> Tensor:
    """The robot on the right edge of its right foot, shape (1, S); for minus one on the left edge of the left one."""
    spec = biped()
    state, _ = standing(spec, 2)
    state = state[:1].clone()
    state[:, spec.state.joint_pos], state[:, spec.state.root_lin_vel.start :] = 0.0, 0.0
    angle = 0.2 * edge
    state[:, spec.state.root_quat] = torch.tensor([math.sin(angle), 0.0, 0.0, math.cos(angle)])
    gap = ContactModel(spec)(state, GROUND).distance.min() - RADIUS
    state[:, 2] -= gap
    return state


def test_the_foot_remembers_which_edge_came_first(monkeypatch: pytest.MonkeyPatch):
    """A robot that comes down on the left edge of its left foot has that capsule first when the other one follows, and
    moves another way than one that came down on the right; the memory says so, and the kernel agrees.
    """
    pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")
    spec = biped()
    state, control = standing(spec, 2)
    state, control = state[:1], control[:1]
    ways = []
    for fused in ("1", "0"):
        monkeypatch.setenv(verification.SWITCH, fused)
        mechanics = mechanics_of(spec, slots=9)
        contacts = ContactModel(spec)
        for edge in (1.0, -1.0):
            memory = mechanics.new_memory(1, state)
            for pose in (tilted(edge), state):
                told = memory.clone()
                told[..., :OF_SHAPE] = 0.0  # anchors of the step before are another story
                change = mechanics.remembering(pose, control, contacts(pose, GROUND), told)
                memory = told
            firsts = [1, 1, 2, 2] if edge > 0.0 else [2, 2, 1, 1]  # the left foot's; the right one is in the air
            assert memory[0, :, OF_SHAPE].tolist() == [0, *firsts, 1, 1, 2, 2]
            ways.append(change)
        assert fused == "0" or (mechanics._kernels and None not in mechanics._kernels.values()), (
            "PyTorch took its place"
        )
    assert (ways[0] - ways[1]).abs().max() > 1e-3
    torch.testing.assert_close(torch.cat(ways[:2]), torch.cat(ways[2:]), atol=2e-5, rtol=1e-3)


def test_the_adjoint_takes_the_same_order(monkeypatch: pytest.MonkeyPatch):
    """Derivatives by the state of a robot whose second capsules touched first are those of PyTorch, and none flow to
    the places in the list.
    """
    pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")
    spec = biped()
    state, control = standing(spec, 4)
    state, control = state[:2], control[:2]
    found = []
    for fused in ("1", "0"):
        monkeypatch.setenv(verification.SWITCH, fused)
        mechanics = mechanics_of(spec, slots=9)
        memory = mechanics.new_memory(2, state)
        memory[:, 1:, OF_SHAPE] = torch.tensor([2.0, 2.0, 1.0, 1.0] * 2)
        at, kept = state.clone().requires_grad_(), memory.clone().requires_grad_()
        change, after = mechanics.with_memory(at, control, ContactModel(spec)(state, GROUND), kept)
        assert after[0, 1:, OF_SHAPE].tolist() == [2.0, 2.0, 1.0, 1.0] * 2
        weights = torch.randn(change.shape, generator=torch.Generator().manual_seed(1))
        ((change * weights).sum() + after.sum()).backward()
        assert at.grad is not None and kept.grad is not None
        assert (kept.grad[..., OF_SHAPE:] == 0.0).all()
        found.append(at.grad)
    torch.testing.assert_close(*found, atol=1e-3 * float(found[1].abs().max()), rtol=1e-2)
