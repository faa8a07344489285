# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Contact slots, their gate, and the query of a whole robot; coal is the independent judge of distances."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from nerd_core.contact.contacts import ContactModel, Contacts
from nerd_core.contact.grounds import PlaneGround
from nerd_core.robot.frames import rotation_matrix
from nerd_core.robot.kinematics import ForwardKinematics
from nerd_core.robot.slots import box_slots, capsule_slots, hull_corners, mesh_slots, sphere_slots
from nerd_core.robot.spec import Body, ContactSlot, RobotSpec
from support.robots import ant, random_state, random_tree

POSES = 10_000
TILT = (0.36, -0.48, 0.8)
HULL = np.random.default_rng(7).standard_normal((40, 3)) * (0.2, 0.1, 0.3)


def free_body(slots: tuple[ContactSlot, ...]) -> RobotSpec:
    """One body that flies, with the given slots."""
    return RobotSpec("body", True, (), (Body("body"),), (), 0.005, 4, slots)


def open_gate(spec: RobotSpec) -> ContactModel:
    """A contact model whose slots are active at any distance."""
    model = ContactModel(spec)
    model.gate.fill_(torch.inf)
    return model


def coal_shapes():
    """Shapes of coal and the slots that stand for them."""
    coal = pytest.importorskip("coal")
    points = coal.StdVec_Vec3s()
    for point in HULL:
        points.append(point)
    return {
        "sphere": (coal.Sphere(0.2), sphere_slots("body", 0.2)),
        "capsule": (coal.Capsule(0.1, 0.6), capsule_slots("body", 0.1, 0.3)),
        "box": (coal.Box(0.2, 0.4, 0.6), box_slots("body", (0.1, 0.2, 0.3))),
        "mesh": (coal.Convex.convexHull(points, True, ""), mesh_slots("body", HULL, 100)),
    }


@pytest.mark.parametrize("shape", ["sphere", "capsule", "box", "mesh"])
def test_shapes_over_a_plane_agree_with_coal(shape):
    """The nearest slot of a shape, less its radius, is as far from a tilted plane as coal finds the shape, to 1e-4 m,
    in 10,000 poses, penetration included.
    """
    coal = pytest.importorskip("coal")
    geometry, slots = coal_shapes()[shape]
    spec = free_body(slots)
    state = random_state(spec, POSES, 0)
    ground = PlaneGround(torch.tensor([TILT]), torch.tensor([0.3]))
    radius = torch.tensor([slot.radius for slot in slots])
    distance = (open_gate(spec)(state, ground).distance - radius).amin(-1)
    plane, still = coal.Halfspace(np.array(TILT), 0.3), coal.Transform3s()
    rotations, positions = rotation_matrix(state[:, 3:7].double()).numpy(), state[:, :3].double().numpy()
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    expected = np.empty(POSES)
    for i in range(POSES):
        result.clear()
        pose = coal.Transform3s(rotations[i], positions[i])
        expected[i] = coal.distance(plane, still, geometry, pose, request, result)
    assert (expected < 0).any() and (expected > 0).any()
    np.testing.assert_allclose(distance.numpy(), expected, atol=1e-4)


def test_slots_follow_their_bodies():
    """The query places every slot where forward kinematics puts its body, and agrees with the one from body poses."""
    for spec in (random_tree(5, 10), random_tree(6, 10, floating=False), ant()):
        state = random_state(spec, 20, 1)
        ground = PlaneGround(torch.tensor([TILT]), torch.tensor([0.1]))
        model = open_gate(spec)
        contacts = model(state, ground)
        poses = ForwardKinematics(spec)(state)
        for k, slot in enumerate(spec.slots):
            body = spec.body_names.index(slot.body)
            rotation = rotation_matrix(poses.quat[:, body])
            point = poses.pos[:, body] + (rotation @ torch.tensor(slot.point).unsqueeze(-1)).squeeze(-1)
            distance = (point * torch.tensor(TILT)).sum(-1) - 0.1
            torch.testing.assert_close(contacts.distance[:, k], distance, rtol=0, atol=5e-6)
            torch.testing.assert_close(
                contacts.point[:, k], point - distance.unsqueeze(-1) * torch.tensor(TILT), rtol=0, atol=5e-6
            )


def test_gate_and_exact_zeros():
    """A slot is active below max(4 r, 0.12 m), the published gates; otherwise its numbers are exactly zero."""
    spec = ant()
    assert ContactModel(spec).gate.tolist() == pytest.approx([1.0] + [0.32] * 24)
    assert ContactSlot("b", (0.0, 0.0, 0.0), 0.03, "sphere").gate == 0.12
    body = free_body(sphere_slots("body", 0.1))
    for height, active in ((0.39, True), (0.41, False), (-5.0, True)):
        state = torch.tensor([[1.0, 2.0, height, 0.0, 0.0, 0.0, 1.0] + [0.0] * 6])
        contacts = ContactModel(body)(state, PlaneGround.flat())
        assert contacts.active.item() is active
        expected = torch.tensor([1.0, 2.0, 0.0]) if active else torch.zeros(3)
        assert torch.equal(contacts.point[0, 0], expected)
        assert contacts.distance.item() == pytest.approx(height if active else 0.0)
        assert torch.equal(contacts.normal[0, 0], torch.tensor([0.0, 0.0, 1.0 if active else 0.0]))


def test_a_state_that_is_not_finite_has_no_contacts():
    """NaN does not pass the gate: its slots are inactive and exactly zero, and other environments are not touched."""
    spec = ant()
    state = 0.1 * random_state(spec, 4, 0)
    state[1] = torch.nan
    contacts = ContactModel(spec)(state, PlaneGround.flat())
    assert not contacts.active[1].any() and not contacts.point[1].any() and contacts.active[0].any()


def test_a_different_ground_in_each_environment():
    """Planes differ by environment; a subset by env_ids and windows of time see their own environment's plane."""
    spec = ant()
    state = 0.2 * random_state(spec, 12, 2).view(4, 3, -1)
    normal = torch.nn.functional.normalize(torch.randn(4, 3, generator=torch.Generator().manual_seed(0)), dim=-1)
    ground = PlaneGround(normal, torch.linspace(-0.2, 0.2, 4))
    model = ContactModel(spec)
    contacts = model(state, ground)
    assert contacts.lead == (4, 3)
    for env in range(4):
        alone = model(state[env], PlaneGround(normal[env : env + 1], ground.offset[env : env + 1]))
        for one, two in zip(contacts[env].tensors(), alone.tensors(), strict=True):
            torch.testing.assert_close(one, two)
    ids = torch.tensor([3, 1])
    some = model(state[ids], ground, ids)
    assert torch.equal(some.distance, contacts[ids].distance)
    with pytest.raises(ValueError, match="got points of 2 environments, expected 4"):
        model(state[ids], ground)


def test_gradients_reach_the_state():
    """Distances, normals and points are differentiable with respect to the state, and zero gradients stay finite."""
    spec = dataclasses.replace(random_tree(1, 4), slots=random_tree(1, 4).slots[:2])
    state = random_state(spec, 2, 0, spread=0.3, dtype=torch.double).requires_grad_()
    model = open_gate(spec).double()
    ground = PlaneGround(torch.tensor([TILT], dtype=torch.double), torch.zeros(1, dtype=torch.double))
    assert torch.autograd.gradcheck(lambda s: model(s, ground).tensors()[:3], (state,))
    far = state.detach().float() + torch.tensor([0.0, 0.0, 100.0] + [0.0] * (spec.state.dim - 3))
    far.requires_grad_()
    contacts = ContactModel(spec)(far, PlaneGround.flat())
    (gradient,) = torch.autograd.grad(contacts.distance.sum() + contacts.point.sum(), far)
    assert torch.equal(gradient, torch.zeros_like(gradient))


def test_shapes_give_the_slots_that_the_method_names():
    """A sphere gives its centre, a capsule its two ends, a box its corners, placed and turned with the shape."""
    quarter = (0.0, 0.0, 0.7071067811865476, 0.7071067811865476)
    assert sphere_slots("b", 0.2, (1.0, 2.0, 3.0)) == (ContactSlot("b", (1.0, 2.0, 3.0), 0.2, "sphere"),)
    ends = [slot.point for slot in capsule_slots("b", 0.1, 0.5, (1.0, 0.0, 0.0), (0.0, 0.0, 1.0), quarter)]
    np.testing.assert_allclose(ends, [[0.0, -0.5, 1.0], [0.0, 0.5, 1.0]], atol=1e-12)
    corners = box_slots("b", (1.0, 2.0, 3.0))
    assert len({slot.point for slot in corners}) == 8 and {slot.radius for slot in corners} == {0.0}
    assert {tuple(abs(x) for x in slot.point) for slot in corners} == {(1.0, 2.0, 3.0)}
    assert corners[0].point == (-1.0, -2.0, -3.0)


def test_mesh_slots_are_spread_over_the_hull():
    """Points of a mesh are corners of its hull, the same for any order of vertices, and nested as the count grows."""
    scipy_spatial = pytest.importorskip("scipy.spatial")
    hull = HULL[np.unique(scipy_spatial.ConvexHull(HULL).simplices)]
    assert {tuple(p) for p in hull_corners(HULL)} == {tuple(p) for p in hull}
    slots = mesh_slots("b", HULL, 8)
    assert len(slots) == 8 and {slot.point for slot in slots} <= {tuple(p) for p in hull.tolist()}
    assert mesh_slots("b", HULL[::-1], 8) == slots
    assert mesh_slots("b", HULL, 5) == slots[:5]
    # A box that was cut into a fine grid still has eight corners, and they are chosen.
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 9)] * 3), -1).reshape(-1, 3) * (1.0, 0.01, 5.0)
    assert {slot.point for slot in mesh_slots("b", grid, 20)} == {
        slot.point for slot in box_slots("b", (1.0, 0.01, 5.0))
    }
    with pytest.raises(ValueError, match="count of 0"):
        mesh_slots("b", HULL, 0)


def test_contacts_can_be_cut_and_joined():
    """Indexing, reshaping, joining and moving act on all four tensors alike."""
    spec = ant()
    contacts = ContactModel(spec)(0.3 * random_state(spec, 6, 0), PlaneGround.flat())
    again = Contacts.cat([contacts[:2], contacts[2:]])
    stacked = Contacts.stack([contacts[:3], contacts[3:]])
    for one, two, three in zip(contacts.tensors(), again.tensors(), stacked.reshape(6).tensors(), strict=True):
        assert torch.equal(one, two) and torch.equal(one, three)
    empty = Contacts.none((2, 3), 25)
    assert empty.lead == (2, 3) and not any(t.any() for t in empty.tensors())


def test_compiles_in_one_graph():
    """The whole query over a plane is captured without a break, so it can be compiled and exported with the model."""
    spec = ant()
    model, ground = ContactModel(spec), PlaneGround.flat()
    explained = torch._dynamo.explain(lambda state: model(state, ground).tensors())(random_state(spec, 8, 0))
    assert explained.graph_break_count == 0
