# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Which bodies of a robot may touch each other is read from the stage as PhysX filters; no engine."""

from __future__ import annotations

from typing import Any

import pytest

from nerd_core.robot.slots import sphere_slots
from nerd_core.robot.spec import Body

NAMES = ("base", "upper", "lower", "tool", "bare")
BODIES = (Body("base"), *(Body(name, parent) for parent, name in zip(NAMES, NAMES[1:], strict=False)))
SLOTS = [slot for name in NAMES[:-1] for slot in sphere_slots(name, 0.1)]
"""A chain; the last body has no shape."""


def stage_of(is_on: bool | None, filtered: tuple[tuple[str, str], ...] = (), articulated: bool = True) -> Any:
    """A stage with the chain.

    Args:
        is_on: What is authored of self-collision; None for nothing.
        filtered: Pairs that the stage filters: a body, and what it does not touch.
        articulated: Whether the chain is an articulation.
    """
    pytest.importorskip("pxr", reason="needs USD")
    from pxr import Sdf, Usd, UsdGeom, UsdPhysics

    stage = Usd.Stage.CreateInMemory()
    root = UsdGeom.Xform.Define(stage, "/Robot").GetPrim()
    if articulated:
        UsdPhysics.ArticulationRootAPI.Apply(root)
    if is_on is not None:
        root.CreateAttribute("physxArticulation:enabledSelfCollisions", Sdf.ValueTypeNames.Bool).Set(is_on)
    prims = {}
    for name in NAMES:
        prims[name] = UsdGeom.Xform.Define(stage, f"/Robot/{name}").GetPrim()
        UsdPhysics.RigidBodyAPI.Apply(prims[name])
        UsdGeom.Sphere.Define(stage, f"/Robot/{name}/shape")
    for name, other in filtered:
        UsdPhysics.FilteredPairsAPI.Apply(prims[name]).CreateFilteredPairsRel().AddTarget(f"/Robot/{other}")
    return stage, prims


def pairs_of(*args: Any, **kwargs: Any) -> set[tuple[str, str]]:
    """Pairs that may touch."""
    from nerd_isaaclab.physics.self_collisions import touching_bodies

    stage, prims = stage_of(*args, **kwargs)
    return set(touching_bodies(stage, "/Robot", BODIES, SLOTS, prims))


@pytest.mark.parametrize("is_on", [True, None])
def test_bodies_that_no_joint_connects_may_touch(is_on: bool | None):
    """Neighbours in the chain do not touch, nor does what has no shape. Where nobody has said it, it is on."""
    assert pairs_of(is_on) == {("base", "lower"), ("base", "tool"), ("upper", "tool")}


def test_nothing_touches_where_it_is_off_or_there_is_no_articulation():
    """The switch of the articulation counts, and a free body has no bodies to touch."""
    assert pairs_of(False) == set()
    assert pairs_of(True, articulated=False) == set()


@pytest.mark.parametrize("pair", [("base", "tool"), ("tool", "base"), ("base", "tool/shape")])
def test_filtered_pairs_do_not_touch(pair: tuple[str, str]):
    """A pair that the stage filters is left out, from either side, and also where it names a shape."""
    assert pairs_of(True, filtered=(pair,)) == {("base", "lower"), ("upper", "tool")}
