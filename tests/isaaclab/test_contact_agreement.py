# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Contacts of the solver against those by geometry: what agrees, what does not, and what a task would count."""

from __future__ import annotations

import pytest
import torch

from nerd_core.contact.contacts import ContactModel, Contacts
from nerd_core.contact.grounds import PlaneGround
from nerd_core.predictor.residual_network import FORCE_REACH
from nerd_isaaclab.collect.contact_agreement import compare, contacts_of_slots
from nerd_isaaclab.collect.initial_states import InitialStateCfg, draw_initial_states
from nerd_isaaclab.recorders.contact_probe import ContactPairs
from support.robots import ant

pytestmark = pytest.mark.unit


def made_up_pairs(gap_error: float = 0.0, shift: float = 0.0, sunk: float = 0.01) -> tuple[ContactPairs, Contacts]:
    """Contacts as the engine would report them for Ants near level ground, optionally wrong."""
    spec, model = ant(), ContactModel(ant())
    state = draw_initial_states(
        spec, InitialStateCfg(root_height=(0.3, 0.4)), 8, torch.Generator().manual_seed(0), PlaneGround.flat()
    )
    state = state[:, None].clone()
    state[..., 2] -= sunk
    geometry = model(state, PlaneGround.flat())
    radius = torch.tensor([slot.radius for slot in spec.slots])
    gap = torch.where(geometry.active, geometry.distance - radius, torch.inf)
    env, step, slot = (gap < 0.02).nonzero(as_tuple=True)
    body = torch.tensor([spec.body_names.index(spec.slots[int(k)].body) for k in slot])
    at = (env, step, slot)
    surface = geometry.point[at] + gap[at][:, None] * geometry.normal[at]
    point = torch.where((slot % 2 == 0)[:, None], surface, geometry.point[at]) + torch.tensor([shift, 0.0, 0.0])
    pairs = ContactPairs(env, step, body, point, geometry.normal[at], gap[at] + gap_error, torch.ones(len(env)))
    return pairs, geometry


def test_contacts_that_are_the_same_agree_wherever_the_engine_puts_the_point():
    """Points on the robot or on the ground are both recognised: everything is explained and confirmed."""
    pairs, geometry = made_up_pairs(gap_error=1e-3)
    found = compare(pairs, geometry, ant())
    sensor = sum(body.sensor for body in found.bodies.values())
    assert sensor == len(pairs.env) > 0
    assert all(body.explained == body.sensor and body.confirmed == body.touching for body in found.bodies.values())
    assert sum(body.touching for body in found.bodies.values()) >= 8
    error = sum(body.gap_error for body in found.bodies.values()) / sensor
    assert error == pytest.approx(1e-3, rel=0.05)


def test_what_hovers_does_not_touch():
    """Contacts that the engine reports before anything touches are explained by slots, which count as not touching."""
    pairs, geometry = made_up_pairs(sunk=-0.005)
    found = compare(pairs, geometry, ant())
    assert sum(body.explained for body in found.bodies.values()) == len(pairs.env) > 0
    assert not any(body.touching or body.confirmed for body in found.bodies.values())


def test_contacts_elsewhere_are_not_explained():
    """Six millimetres aside nothing agrees in either direction, unless another slot is there."""
    pairs, geometry = made_up_pairs(shift=6e-3)
    found = compare(pairs, geometry, ant())
    assert sum(body.explained for body in found.bodies.values()) == 0
    assert sum(body.confirmed for body in found.bodies.values()) == 0


def test_events_of_a_newton_are_counted():
    """Steps with more than a newton on a body are counted, those where geometry says the opposite, and those where no
    slot is near, in which a force head says zero.
    """
    pairs, geometry = made_up_pairs()
    spec = ant()
    body_of_slot = torch.tensor([spec.body_names.index(slot.body) for slot in spec.slots])
    gap = torch.where(geometry.active, geometry.distance - torch.tensor([slot.radius for slot in spec.slots]), 9.0)
    gaps = torch.stack([gap[..., body_of_slot == i].amin(-1) for i in range(len(spec.bodies))], -1)
    force = torch.zeros(*gaps.shape, 3)
    force[..., 2] = torch.where(gaps <= 0.0, 2.0, 0.0)
    found = compare(pairs, geometry, spec, force).bodies
    assert sum(body.forced for body in found.values()) == int((gaps <= 0.0).sum()) > 0
    assert sum(body.flipped for body in found.values()) == sum(body.unseen for body in found.values()) == 0
    force[..., 2] = 2.0 - force[..., 2]
    found = compare(pairs, geometry, spec, force).bodies
    assert sum(body.flipped for body in found.values()) == gaps.numel()
    assert sum(body.unseen for body in found.values()) == int((gaps >= FORCE_REACH).sum()) > 0


def test_contacts_of_the_solver_take_the_place_of_geometry():
    """Put at their slots they are what geometry says of the same slots, and no other slot is active."""
    pairs, geometry = made_up_pairs()
    spec = ant()
    found = contacts_of_slots(pairs, geometry, spec)
    assert found.active.any() and not (found.active & ~geometry.active).any()
    torch.testing.assert_close(found.distance[found.active], geometry.distance[found.active], atol=1e-5, rtol=0)
    torch.testing.assert_close(found.point[found.active], geometry.point[found.active], atol=1e-5, rtol=0)
    assert not found.distance[~found.active].any()
