# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The hash over a robot's description."""

from __future__ import annotations

import pytest

pytest.importorskip("pxr")

from pxr import Gf, Usd, UsdGeom, UsdPhysics

from nerd_isaaclab.physics.robot_description import _asset_hash


def _stage(path: str = "/World/envs/env_0/Robot", mass: float = 1.0) -> Usd.Stage:
    stage = Usd.Stage.CreateInMemory()
    link = UsdGeom.Xform.Define(stage, f"{path}/link").GetPrim()
    UsdPhysics.RigidBodyAPI.Apply(link)
    UsdPhysics.MassAPI.Apply(link).CreateMassAttr(mass)
    UsdGeom.XformCommonAPI(stage.GetPrimAtPath(path)).SetTranslate(Gf.Vec3d(0.0, 0.0, 3.0))
    return stage


def test_what_moves_otherwise_is_another_robot():
    """Another mass gives another hash; another place in the scene does not."""
    path = "/World/envs/env_0/Robot"
    assert _asset_hash(_stage(mass=2.0), path) != _asset_hash(_stage(), path)
    assert _asset_hash(_stage("/World/other"), "/World/other") == _asset_hash(_stage(), path)
