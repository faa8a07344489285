# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Planes and triangle meshes; coal is the independent judge of distances."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nerd_core.contact.contacts import ContactModel
from nerd_core.contact.grounds import PlaneGround, UnionGround
from nerd_core.contact.triangle_mesh import TriangleMeshGround
from support.robots import ant, random_state

SPACING = 0.1
ROWS, COLUMNS = 31, 21
POSES = 10_000


def heights(seed: int = 0, count: int = 1) -> torch.Tensor:
    """Rough ground of up to 15 cm."""
    return 0.15 * torch.rand(count, ROWS, COLUMNS, generator=torch.Generator().manual_seed(seed))


def as_mesh(height: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Two triangles for each cell of heights [m], shape (X, Y): vertices and faces."""
    vertices, faces = [], []
    for i in range(ROWS):
        for j in range(COLUMNS):
            vertices.append((i * SPACING, j * SPACING, float(height[i, j])))
    for i in range(ROWS - 1):
        for j in range(COLUMNS - 1):
            a, b, c, d = (x * COLUMNS + y for x, y in ((i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)))
            faces += [(a, b, c), (a, c, d)]
    return torch.tensor(vertices), torch.tensor(faces)


def points_over_ground(count: int, seed: int = 0) -> torch.Tensor:
    """Points within the footprint, up to 0.5 m above and 0.25 m below, shape (1, count, 3)."""
    u = torch.rand(1, count, 3, generator=torch.Generator().manual_seed(seed))
    size = torch.tensor([(ROWS - 1) * SPACING, (COLUMNS - 1) * SPACING, 0.75])
    return u * size - torch.tensor([0.0, 0.0, 0.25])


def coal_mesh(vertices: torch.Tensor, faces: torch.Tensor):
    """The same triangles for coal."""
    coal = pytest.importorskip("coal")
    points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for vertex in vertices.double().numpy():
        points.append(vertex)
    for face in faces.tolist():
        triangles.append(coal.Triangle(*face))
    mesh = coal.BVHModelOBBRSS()
    mesh.beginModel(len(triangles), len(points))
    mesh.addSubModel(points, triangles)
    mesh.endModel()
    return mesh


def coal_distances(mesh, points: torch.Tensor, radius: float = 1e-3) -> np.ndarray:
    """Unsigned distance of each point, shape (M, 3), as coal finds it for a small sphere, plus its radius."""
    coal = pytest.importorskip("coal")
    sphere, still = coal.Sphere(radius), coal.Transform3s()
    request, result, out = coal.DistanceRequest(), coal.DistanceResult(), []
    for point in points.double().numpy():
        result.clear()
        out.append(coal.distance(mesh, still, sphere, coal.Transform3s(np.eye(3), point), request, result) + radius)
    return np.array(out)


def test_rough_ground_agrees_with_coal():
    """A mesh finds the distance to the nearest of all triangles that coal finds, to 1e-4 m, at 10,000 points."""
    height = heights()
    vertices, faces = as_mesh(height[0])
    points = points_over_ground(POSES)
    expected = coal_distances(coal_mesh(vertices, faces), points[0])
    # coal reports overlap with the small sphere as some negative number.
    clear = expected > 2e-3
    assert clear.mean() > 0.95
    distance = TriangleMeshGround(vertices, faces).query(points).distance[0].numpy()
    np.testing.assert_allclose(np.abs(distance)[clear], expected[clear], atol=1e-4)
    assert (np.abs(distance)[~clear] < 2.1e-3).all()
    np.testing.assert_array_equal(distance[clear] > 0, above_by_plumb_line(height[0], points[0])[clear])


def above_by_plumb_line(height: torch.Tensor, points: torch.Tensor) -> np.ndarray:
    """Whether points are above the surface, by interpolation in the triangle right below or above each."""
    x, y, z = points.double().numpy().T
    i, j = np.minimum(x // SPACING, ROWS - 2).astype(int), np.minimum(y // SPACING, COLUMNS - 2).astype(int)
    s, t, h = x / SPACING - i, y / SPACING - j, height.double().numpy()
    corner = np.where(s >= t, h[i + 1, j], h[i, j + 1])
    big, small = np.maximum(s, t), np.minimum(s, t)
    return z > h[i, j] * (1 - big) + corner * (big - small) + h[i + 1, j + 1] * small


def test_closed_mesh_knows_inside_from_outside():
    """A closed, dented mesh gives the distance of coal and the sign of a ray count, edges and corners included."""
    rng = np.random.default_rng(3)
    phi, theta = np.meshgrid(np.linspace(0, np.pi, 9), np.arange(12) * np.pi / 6, indexing="ij")
    radius = 1.0 + 0.35 * np.cos(3 * theta) * np.sin(phi)
    ring = np.stack((radius * np.sin(phi) * np.cos(theta), radius * np.sin(phi) * np.sin(theta), np.cos(phi)), -1)
    vertices = np.concatenate((ring[1:-1].reshape(-1, 3), [[0, 0, 1.0], [0, 0, -1.0]]))
    faces = []
    for j in range(12):
        k = (j + 1) % 12
        faces += [(84, j, k), (85, 72 + k, 72 + j)]
        for i in range(6):
            a, b, c, d = i * 12 + j, (i + 1) * 12 + j, (i + 1) * 12 + k, i * 12 + k
            faces += [(a, b, c), (a, c, d)]
    mesh = torch.tensor(vertices, dtype=torch.float32), torch.tensor(faces)
    # Half of the points are straight out of or into corners, where a face's own normal would mislead.
    free = rng.uniform(-1.3, 1.3, (600, 3))
    corners = vertices[rng.integers(len(vertices), size=600)] * rng.uniform(0.7, 1.3, (600, 1))
    points = torch.tensor(np.concatenate((free, corners)), dtype=torch.float32)
    distance = TriangleMeshGround(*mesh).query(points[None]).distance[0].numpy()
    expected = coal_distances(coal_mesh(*mesh), points)
    clear = expected > 2e-3
    np.testing.assert_allclose(np.abs(distance)[clear], expected[clear], atol=1e-4)
    inside = crossings(mesh[0].double().numpy()[mesh[1].numpy()], points.double().numpy()) % 2 == 1
    assert 0.1 < inside.mean() < 0.9
    np.testing.assert_array_equal(distance[clear] < 0, inside[clear])


def crossings(triangles: np.ndarray, points: np.ndarray) -> np.ndarray:
    """How often a ray from each point, in one odd direction, crosses the triangles (Moeller and Trumbore)."""
    direction = np.array([0.4836, 0.6293, 0.6083])
    e1, e2 = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    p = np.cross(direction, e2)
    scale = 1.0 / (e1 * p).sum(-1)
    s = points[:, None] - triangles[None, :, 0]
    u = (s * p).sum(-1) * scale
    q = np.cross(s, e1)
    v, t = (q @ direction) * scale, (q * e2).sum(-1) * scale
    return ((u >= 0) & (v >= 0) & (u + v <= 1) & (t > 0)).sum(1)


def test_reach_only_shortens_the_search():
    """Within the reach the answer is that of an unlimited search; beyond it is at least the reach."""
    height = heights(3)
    ground = TriangleMeshGround(*as_mesh(height[0]))
    points = points_over_ground(3000, 3)
    everything, near = ground.query(points), ground.query(points, reach=0.2)
    within = everything.distance.abs() < 0.2
    assert 0.2 < float(within.float().mean()) < 0.9
    assert torch.equal(near.distance[within], everything.distance[within])
    assert bool((near.distance[~within].abs() >= 0.2 - 1e-6).all())


def test_nothing_out_of_reach_counts_as_deep_inside():
    """Over ground beside a high wall, as generated terrains have at their borders, points high above the ground are not
    said to be inside of the wall, behind whose faces they may be; what is said to be deep inside is, and as deep.
    """
    vertices, faces = as_mesh(heights(8)[0])
    wall = torch.tensor([[x, y, z] for x in (3.0, 9.0) for y in (-4.0, 6.0) for z in (-5.0, 0.0)])
    sides = torch.tensor([(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6)])
    floor = torch.tensor([(1, 5, 7), (1, 7, 3), (0, 2, 6), (0, 6, 4)])
    box = torch.cat((sides, floor)) + len(vertices)
    ground = TriangleMeshGround(torch.cat((vertices, wall)), torch.cat((faces, box)))
    points = points_over_ground(4000, 8) * torch.tensor([1.0, 1.0, 3.0])
    everything, near = ground.query(points), ground.query(points, reach=0.05)
    far = everything.distance.abs() > 0.06
    assert float(far.float().mean()) > 0.5
    assert not (far & (near.distance < 0.0) & (everything.distance > 0.0)).any()
    deep = far & (near.distance < 0.0)
    assert bool(deep.any()) and torch.equal(near.distance[deep], everything.distance[deep])


def test_hits_are_consistent_and_differentiable():
    """Normals are unit vectors along the shortest way, the gradient of the distance, and pass gradcheck."""
    height = heights(4)
    vertices, faces = as_mesh(height[0])
    ground = TriangleMeshGround(vertices, faces)
    points = points_over_ground(500, 4).requires_grad_()
    hit = ground.query(points)
    torch.testing.assert_close(torch.linalg.vector_norm(hit.normal, dim=-1), torch.ones(1, 500), rtol=0, atol=1e-5)
    torch.testing.assert_close(points - hit.closest, hit.distance.unsqueeze(-1) * hit.normal, rtol=0, atol=1e-5)
    (gradient,) = torch.autograd.grad(hit.distance.sum(), points)
    torch.testing.assert_close(gradient, hit.normal.detach(), rtol=0, atol=1e-4)
    exact = ground.double()
    away = points.detach().double()[:, hit.distance[0].abs() > 0.02][:, :12].requires_grad_()
    assert torch.autograd.gradcheck(lambda p: tuple(exact.query(p)), (away,), eps=1e-7, atol=1e-4)


def test_a_point_on_the_surface_has_a_normal_and_a_gradient():
    """At no distance at all the answer is finite, faces outwards, and so are its derivatives."""
    height = torch.zeros(1, ROWS, COLUMNS)
    ground = TriangleMeshGround(*as_mesh(height[0]))
    points = torch.tensor([[[0.53, 0.41, 0.0], [0.5, 0.4, 0.0], [0.55, 0.4, 1e-6]]], requires_grad=True)
    hit = ground.query(points)
    torch.testing.assert_close(hit.normal, torch.tensor([0.0, 0.0, 1.0]).expand(1, 3, 3), rtol=0, atol=1e-6)
    (gradient,) = torch.autograd.grad(hit.distance.sum() + hit.normal.sum() + hit.closest.sum(), points)
    assert bool(gradient.isfinite().all())


def test_environments_stand_at_their_own_places():
    """One terrain under many environments is seen from each environment's own origin, by env_ids as well."""
    height = heights(5)
    placement = torch.tensor([[0.6, 0.7, 0.1], [1.5, 1.0, 0.0], [2.2, 0.4, -0.1]])
    vertices, faces = as_mesh(height[0])
    one = torch.zeros(1, dtype=torch.long)
    whole, placed = TriangleMeshGround(vertices, faces), TriangleMeshGround(vertices, faces, placement, one)
    points = 0.3 * torch.randn(3, 40, 3, generator=torch.Generator().manual_seed(0))
    hit, expected = placed.query(points), whole.query(points + placement[:, None])
    assert torch.equal(hit.distance, expected.distance)
    torch.testing.assert_close(hit.closest, expected.closest - placement[:, None])
    ids = torch.tensor([2, 0])
    assert torch.equal(placed.query(points[ids], ids).distance, hit.distance[ids])
    with pytest.raises(ValueError, match="got points of 2 environments, expected 3"):
        placed.query(points[ids])


def test_points_that_are_not_finite_do_no_harm():
    """NaN and infinite points neither crash nor touch the answers of others, and pass no gate."""
    height = heights(6)
    ground = TriangleMeshGround(*as_mesh(height[0]))
    points = points_over_ground(6, 6)
    expected = ground.query(points).distance[:, 3:]
    points[0, 0], points[0, 1], points[0, 2] = torch.nan, torch.inf, 1e30
    distance = ground.query(points).distance
    assert torch.equal(distance[:, 3:], expected)
    assert not (distance[:, :3] < 1.0).any()
    spec = ant()
    state = random_state(spec, 2, 0)
    state[0] = torch.nan
    assert not ContactModel(spec)(state, ground).active[0].any()


def test_a_flat_mesh_is_a_plane():
    """Over level triangles a robot has the contacts that it has over a plane."""
    spec = ant()
    state = 0.2 * random_state(spec, 8, 7)
    shift = torch.tensor([3.0, 3.0, 0.0])
    corners = torch.tensor([[0.0, 0.0, 0.0], [6.0, 0.0, 0.0], [6.0, 6.0, 0.0], [0.0, 6.0, 0.0]])
    mesh = TriangleMeshGround(corners, torch.tensor([[0, 1, 2], [0, 2, 3]]), placement=shift[None])
    model = ContactModel(spec)
    one, two = model(state, mesh), model(state, PlaneGround.flat())
    near = two.distance > -model.gate  # what is deeper than the reach of a query need not be exact
    assert near.float().mean() > 0.7 and two.active[near].any()
    for a, b in zip(one.tensors(), two.tensors(), strict=True):
        torch.testing.assert_close(a[near].float(), b[near].float(), rtol=0, atol=2e-6)


def test_several_planes_are_a_union():
    """With several planes an environment, the nearest counts, each environment with its own."""
    normal = torch.tensor([[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]])
    ground = PlaneGround(normal, torch.tensor([[0.0, -1.0]]))
    points = torch.tensor([[[0.0, 0.0, 0.4], [-0.8, 0.0, 0.4], [-1.5, 3.0, 2.0]]])
    hit = ground.query(points)
    torch.testing.assert_close(hit.distance, torch.tensor([[0.4, 0.2, -0.5]]))
    torch.testing.assert_close(hit.closest[0, 1], torch.tensor([-1.0, 0.0, 0.4]))
    torch.testing.assert_close(hit.normal[0, 2], torch.tensor([1.0, 0.0, 0.0]))


def test_wrong_grounds_are_refused():
    """Shapes and numbers that cannot be a ground are named with what was expected."""
    with pytest.raises(ValueError, match=r"got normals of shape \(2, 3\) and offsets of shape \(3,\)"):
        PlaneGround(torch.zeros(2, 3), torch.zeros(3))
    with pytest.raises(ValueError, match="got corners 0 to 3, expected 0 to 2"):
        TriangleMeshGround(torch.zeros(3, 3), torch.tensor([[0, 1, 3]]))
    with pytest.raises(ValueError, match="without area"):
        TriangleMeshGround(torch.zeros(3, 3), torch.tensor([[0, 1, 2]]))


def test_a_plane_and_a_mesh_are_one_ground():
    """Points near a bump that stands on a plane see whichever is nearer, with its normal and nearest point; also when
    only some environments are asked.
    """
    vertices, faces = as_mesh(heights()[0])
    mesh, plane = TriangleMeshGround(vertices, faces), PlaneGround.flat(0.1)
    both = UnionGround([plane, mesh])
    points = points_over_ground(500).expand(2, -1, -1)
    hits = [ground.query(points) for ground in (plane, mesh, both)]
    assert torch.equal(hits[2].distance, torch.minimum(hits[0].distance, hits[1].distance))
    is_plane = hits[0].distance <= hits[1].distance
    assert is_plane.any() and not is_plane.all()
    for name in ("normal", "closest"):
        first, second, found = (getattr(hit, name) for hit in hits)
        assert torch.equal(found[is_plane], first[is_plane]) and torch.equal(found[~is_plane], second[~is_plane])
    some = both.query(points[:1], torch.tensor([1]))
    assert torch.equal(some.distance, hits[2].distance[:1])
    with pytest.raises(ValueError, match="at least one"):
        UnionGround([])
