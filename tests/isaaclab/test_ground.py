# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The ground that is found on a stage is the one that stands there, seen from each environment; no engine."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from nerd_core.contact.grounds import Ground
from nerd_isaaclab.physics.ground import find_ground

pytestmark = pytest.mark.unit

ORIGINS = torch.tensor([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [4.0, -6.0, 0.5]])
"""Environments stand apart, one on a step."""

POINTS = torch.tensor([[0.3, -0.2, 1.1], [-0.6, 0.9, -0.4], [1.5, 0.1, 0.2], [-0.1, -1.3, 0.7]])
"""Points relative to each environment [m]."""


@pytest.fixture
def stage() -> Usd.Stage:
    """An empty stage, z up."""
    stage: Any = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    return stage


def seen(stage: Usd.Stage) -> Ground:
    """The ground that is found."""
    env: Any = SimpleNamespace(
        sim=SimpleNamespace(stage=stage),
        scene=SimpleNamespace(env_origins=ORIGINS, env_ns="/World/envs"),
        cfg=None,
        device="cpu",
    )
    return find_ground(env)


def distances(stage: Usd.Stage) -> torch.Tensor:
    """Distances of the points from the ground that is found [m], shape (environments, points)."""
    return seen(stage).query(POINTS.expand(len(ORIGINS), -1, -1).contiguous()).distance


def from_plane(normal: torch.Tensor, through: torch.Tensor) -> torch.Tensor:
    """Distances of the same points from a plane in the world [m]."""
    return (POINTS + ORIGINS[:, None] - through) @ normal


def collides(prim: Any) -> Any:
    """Makes a collision shape of a prim."""
    UsdPhysics.CollisionAPI.Apply(prim.GetPrim())
    return prim


def add_plane(stage: Usd.Stage, path: str, axis: str = "Z") -> UsdGeom.Plane:
    """Adds a plane that collides."""
    plane = UsdGeom.Plane.Define(stage, path)
    plane.CreateAxisAttr(axis)
    return collides(plane)


def add_mesh(
    stage: Usd.Stage, path: str, points: list[tuple[float, float, float]], faces: list[list[int]]
) -> UsdGeom.Mesh:
    """Adds a mesh that collides."""
    mesh = UsdGeom.Mesh.Define(stage, path)
    mesh.CreatePointsAttr([Gf.Vec3f(*point) for point in points])
    mesh.CreateFaceVertexCountsAttr([len(face) for face in faces])
    mesh.CreateFaceVertexIndicesAttr([corner for face in faces for corner in face])
    return collides(mesh)


def test_a_level_plane_is_seen_at_its_height(stage: Usd.Stage):
    """A plane 30 cm up is as far from a point of each environment as its own height in the world says."""
    add_plane(stage, "/World/ground").AddTranslateOp().Set(Gf.Vec3d(7.0, 5.0, 0.3))
    expected = from_plane(torch.tensor([0.0, 0.0, 1.0]), torch.tensor([0.0, 0.0, 0.3]))
    torch.testing.assert_close(distances(stage), expected)


@pytest.mark.parametrize("axis", ["X", "Y", "Z"])
def test_a_tilted_plane_is_another_height_for_each_environment(stage: Usd.Stage, axis: str):
    """A plane that was turned about x by 30 degrees and moved, below a parent that was turned about z and scaled, has
    the normal and height of its axis in the world, whichever axis of its own that is.
    """
    parent = UsdGeom.Xform.Define(stage, "/World/slope")
    parent.AddTranslateOp().Set(Gf.Vec3d(1.0, 2.0, -0.5))
    parent.AddRotateZOp().Set(40.0)
    parent.AddScaleOp().Set(Gf.Vec3f(2.0, 2.0, 2.0))
    plane = add_plane(stage, "/World/slope/plane", axis)
    plane.AddTranslateOp().Set(Gf.Vec3d(0.0, 0.0, 0.25))
    plane.AddRotateXOp().Set(30.0)
    c, s, cz, sz = (f(math.radians(angle)) for angle in (30.0, 40.0) for f in (math.cos, math.sin))
    own = {"X": (1.0, 0.0, 0.0), "Y": (0.0, c, s), "Z": (0.0, -s, c)}[axis]
    normal = torch.tensor([cz * own[0] - sz * own[1], sz * own[0] + cz * own[1], own[2]])
    expected = from_plane(normal, torch.tensor([1.0, 2.0, 0.0]))
    torch.testing.assert_close(distances(stage), expected, rtol=0, atol=1e-5)
    hit = seen(stage).query(POINTS.expand(len(ORIGINS), -1, -1).contiguous())
    torch.testing.assert_close(hit.normal, normal.expand_as(hit.normal), rtol=0, atol=1e-6)


def test_of_two_planes_the_nearest_counts(stage: Usd.Stage):
    """A floor and a wall: each point of each environment has the distance of the nearer one, below it of the deeper."""
    add_plane(stage, "/World/floor").AddTranslateOp().Set(Gf.Vec3d(0.0, 0.0, -0.1))
    add_plane(stage, "/World/wall", "X").AddTranslateOp().Set(Gf.Vec3d(-0.8, 0.0, 0.0))
    floor = from_plane(torch.tensor([0.0, 0.0, 1.0]), torch.tensor([0.0, 0.0, -0.1]))
    wall = from_plane(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([-0.8, 0.0, 0.0]))
    found = distances(stage)
    torch.testing.assert_close(found, torch.minimum(floor, wall))
    assert (found == floor).any() and (found == wall).any()


RAMP = [(-20.0, -20.0, -2.0), (20.0, -20.0, -2.0), (20.0, 20.0, 2.0), (-20.0, 20.0, 2.0)]
"""Corners of a wide ramp, a tenth up along y, its upper side that of the right hand."""


@pytest.mark.parametrize("faces", [[[0, 1, 2, 3]], [[0, 1, 2], [0, 2, 3]]], ids=["polygon", "triangles"])
def test_a_mesh_is_its_surface_in_the_world(stage: Usd.Stage, faces: list[list[int]]):
    """A ramp below a parent that was turned and moved is a tilted plane near the environments, as one polygon or two
    triangles.
    """
    parent = UsdGeom.Xform.Define(stage, "/World/terrain")
    parent.AddTranslateOp().Set(Gf.Vec3d(0.5, 0.0, 0.2))
    parent.AddRotateZOp().Set(90.0)
    add_mesh(stage, "/World/terrain/mesh", RAMP, faces)
    slope = torch.tensor([0.1, 0.0, 1.0])  # up along y became up along -x
    expected = from_plane(slope / slope.norm(), torch.tensor([0.5, 0.0, 0.2]))
    torch.testing.assert_close(distances(stage), expected, rtol=0, atol=2e-5)


def test_several_meshes_are_one_ground(stage: Usd.Stage):
    """A floor in two halves that lie at different heights: each point finds the half that is nearest to it."""
    half = [(0.0, -50.0, 0.0), (50.0, -50.0, 0.0), (50.0, 50.0, 0.0), (0.0, 50.0, 0.0)]
    add_mesh(stage, "/World/right", half, [[0, 1, 2, 3]]).AddTranslateOp().Set(Gf.Vec3d(2.0, 0.0, 0.0))
    left = add_mesh(stage, "/World/left", half, [[0, 1, 2, 3]])
    left.AddTranslateOp().Set(Gf.Vec3d(-48.5, 0.0, -3.0))
    world = POINTS + ORIGINS[:, None]
    low, high = world[..., 2] + 3.0, world[..., 2]
    over_edge = torch.hypot(2.0 - world[..., 0], high)
    expected = torch.where(world[..., 0] >= 2.0, high, torch.where(low < over_edge, low, over_edge))
    found = distances(stage)
    torch.testing.assert_close(found.abs(), expected.abs(), rtol=0, atol=2e-5)
    assert (world[..., 0] >= 2.0).any() and (world[..., 0] < 1.5).any()


def test_what_moves_or_does_not_collide_is_no_ground(stage: Usd.Stage):
    """Shapes of rigid bodies and articulations, disabled ones and those that are only drawn leave no ground: it is far
    below. A plane in an instance is found.
    """
    for path, api in (("/World/box", UsdPhysics.RigidBodyAPI), ("/World/robot", UsdPhysics.ArticulationRootAPI)):
        api.Apply(UsdGeom.Xform.Define(stage, path).GetPrim())
        collides(UsdGeom.Cube.Define(stage, f"{path}/shape"))
    UsdGeom.Cube.Define(stage, "/World/drawn")
    off = add_plane(stage, "/World/off")
    UsdPhysics.CollisionAPI(off.GetPrim()).CreateCollisionEnabledAttr(False)
    assert (distances(stage) > 1.0e5).all()
    stage.CreateClassPrim("/Kept")
    add_plane(stage, "/Kept/plane")
    instance = UsdGeom.Xform.Define(stage, "/World/instance")
    instance.AddTranslateOp().Set(Gf.Vec3d(0.0, 0.0, -1.0))
    instance.GetPrim().GetReferences().AddInternalReference("/Kept")
    instance.GetPrim().SetInstanceable(True)
    expected = from_plane(torch.tensor([0.0, 0.0, 1.0]), torch.tensor([0.0, 0.0, -1.0]))
    torch.testing.assert_close(distances(stage), expected)
