# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The ground of scenes with planes, tables and round shapes, read from USD stages in memory; no engine."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from nerd_isaaclab.physics.ground import GroundError, find_ground

pytestmark = pytest.mark.unit

ORIGINS = torch.tensor([[2.0, 0.0, 0.0], [-2.0, 1.0, 0.0]])


@pytest.fixture
def stage() -> Any:
    """A plane, 1 m below the origins, under two environments of which the stage holds the first, as clones are made."""
    from pxr import Usd, UsdGeom

    stage = Usd.Stage.CreateInMemory()
    _add(stage, UsdGeom.Plane, "/World/ground/plane", (0.0, 0.0, -1.0), axis="Z")
    UsdGeom.Xform.Define(stage, "/World/envs/env_0").AddTranslateOp().Set(tuple(ORIGINS[0].tolist()))
    return stage


def _add(stage: Any, kind: Any, path: str, pos: tuple, turn: float = 0.0, scale: tuple = (1, 1, 1), **sizes: Any):
    """Defines a shape with a collider, turned about x [degrees]."""
    from pxr import UsdPhysics

    shape = kind.Define(stage, path)
    shape.AddTranslateOp().Set(pos)
    shape.AddRotateXOp().Set(turn)
    shape.AddScaleOp().Set(scale)
    for name, value in sizes.items():
        getattr(shape, f"Create{name.capitalize()}Attr")(value)
    UsdPhysics.CollisionAPI.Apply(shape.GetPrim())
    return shape


def _distances(stage: Any, points: list, ignored: str | None = None) -> torch.Tensor:
    """Distances of points from the ground in both environments."""
    env: Any = SimpleNamespace(
        sim=SimpleNamespace(stage=stage),
        scene=SimpleNamespace(env_origins=ORIGINS, env_ns="/World/envs"),
        cfg=SimpleNamespace(nerd=SimpleNamespace(ignored_shapes=ignored)),
        device="cpu",
    )
    return find_ground(env).query(torch.tensor(points).expand(2, -1, 3)).distance


def test_a_table_on_a_plane(stage):
    """Plane and table count at once, the table with its transform, at the same place in every environment; a shape that
    is shared by all stands where it stands in the world.
    """
    from pxr import UsdGeom

    _add(stage, UsdGeom.Cube, "/World/envs/env_0/Table/top", (0.0, 0.0, -0.1), scale=(0.5, 0.4, 0.1), size=2.0)
    points = [[0.1, 0.0, 0.5], [0.1, 0.0, -0.05], [0.8, 0.0, -0.1], [0.0, 0.0, -0.95], [3.0, 3.0, 0.0]]
    expected = torch.tensor([0.5, -0.05, 0.3, 0.05, 1.0]).expand(2, -1)
    assert torch.allclose(_distances(stage, points), expected, atol=1e-6)
    _add(stage, UsdGeom.Cube, "/World/wall", (3.0, 0.0, 0.0), scale=(0.1, 9.0, 9.0), size=2.0)
    beside = _distances(stage, [[0.7, 0.0, 0.5]])
    assert beside[:, 0] == pytest.approx([0.2, (0.2**2 + 0.5**2) ** 0.5], abs=1e-5)


@pytest.mark.parametrize("axis", ["X", "Y", "Z"])
def test_round_shapes_become_solids(axis: str, stage):
    """Spheres, capsules, cylinders and cones are met where they are, along each axis, within a hundredth of the radius,
    and their sides face outwards.
    """
    from pxr import UsdGeom

    folder, along = "/World/envs/env_0/", "XYZ".index(axis)
    _add(stage, UsdGeom.Sphere, folder + "ball", (10.0, 0.0, 5.0), radius=0.5)
    _add(stage, UsdGeom.Capsule, folder + "capsule", (20.0, 0.0, 5.0), radius=0.5, height=2.0, axis=axis)
    _add(stage, UsdGeom.Cylinder, folder + "can", (30.0, 0.0, 5.0), radius=0.5, height=2.0, axis=axis)
    _add(stage, UsdGeom.Cone, folder + "cone", (40.0, 0.0, 5.0), radius=0.5, height=2.0, axis=axis)
    points, expected = [], []
    for place, end in ((10.0, 0.5), (20.0, 1.5), (30.0, 1.0), (40.0, 1.0)):
        for distance in (0.2, -0.05):
            point = [place, 0.0, 5.0]
            point[along] += end + distance
            points.append(point)
            expected.append(distance)
    found = _distances(stage, points)
    assert found[0, :-1] == pytest.approx(expected[:-1], abs=6e-3)
    assert -0.05 < float(found[0, -1]) < 0.0, "within the tip of the cone its side is nearer"
    side = [0.0, 0.0, 0.0]
    side[(along + 1) % 3] = 0.7
    beside = [[place + side[0], side[1], 5.0 + side[2]] for place in (10.0, 20.0, 30.0)]
    assert _distances(stage, beside)[1] == pytest.approx([0.2] * 3, abs=6e-3)


def test_transforms_and_polygons_of_meshes(stage):
    """A mesh that is turned, mirrored or left-handed keeps its outside outside."""
    from pxr import UsdGeom

    points = [(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)]
    faces = [0, 1, 3, 2, 4, 6, 7, 5, 0, 4, 5, 1, 2, 3, 7, 6, 0, 2, 6, 4, 1, 5, 7, 3]
    kinds = {"plain": (1, 1, 1), "mirrored": (-1, 1, 1), "left": (1, 1, 1)}
    for number, (name, scale) in enumerate(kinds.items()):
        mesh = _add(stage, UsdGeom.Mesh, f"/World/envs/env_0/{name}", (10.0 * number, 0.0, 9.0), 45.0, scale)
        mesh.CreatePointsAttr(points)
        mesh.CreateFaceVertexCountsAttr([4] * 6)
        order = [i for face in range(6) for i in faces[4 * face : 4 * face + 4][:: -1 if name == "left" else 1]]
        mesh.CreateFaceVertexIndicesAttr(order)
        if name == "left":
            mesh.CreateOrientationAttr("leftHanded")
    found = _distances(stage, [[10.0 * number, 0.0, 9.0 + 2**0.5 + d] for number in range(3) for d in (0.3, -0.1)])
    assert found[0] == pytest.approx([0.3, -0.1 / 2**0.5] * 3, abs=1e-5)


def test_what_cannot_be_expressed_is_named_with_the_way_on(stage):
    """A shape without triangles is refused by its path and kind, with the option that leaves it out, which works."""
    from pxr import UsdGeom

    _add(stage, UsdGeom.Points, "/World/envs/env_0/Cloud", (0.0, 0.0, 0.0))
    with pytest.raises(GroundError, match="'/World/envs/env_0/Cloud' is a Points") as raised:
        _distances(stage, [[0.0, 0.0, 0.0]])
    option = "env.nerd.ignored_shapes='"
    assert option in str(raised.value)
    ignored = str(raised.value).partition(option)[2].rstrip("'")
    assert _distances(stage, [[0.0, 0.0, 0.0]], ignored).flatten().tolist() == [1.0, 1.0]


def test_a_scene_without_static_shapes_is_out_of_reach():
    """Where nothing stands, nothing is near."""
    from pxr import Usd

    assert float(_distances(Usd.Stage.CreateInMemory(), [[0.0, 0.0, 0.0]]).min()) > 1e5
