# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Which bodies of a robot may touch each other: what the USD stage says of self-collision, filtered as PhysX filters.

Bodies that a joint connects do not touch each other, unless the joint asks for it, and a link never touches its
parent; nor do pairs that the stage filters by name. Collision groups are not looked at.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING

from nerd_core.robot.spec import Body, ContactSlot

if TYPE_CHECKING:
    from pxr import Usd

SWITCH = "physxArticulation:enabledSelfCollisions"
"""Attribute of the articulation's root. Self-collision is on where nobody has authored it."""


def touching_bodies(
    stage: Usd.Stage, root_path: str, bodies: tuple[Body, ...], slots: list[ContactSlot], prims: Mapping[str, Usd.Prim]
) -> tuple[tuple[str, str], ...]:
    """Pairs of bodies that may touch each other.

    Args:
        stage: The stage.
        root_path: Path of the prim under which the robot stands.
        bodies: Bodies of the robot with their parents.
        slots: Contact slots: bodies without any have no shape.
        prims: Prims of the bodies by name.
    """
    if not _is_on(stage, root_path):
        return ()
    bodied = {slot.body for slot in slots}
    joined = {frozenset((body.name, body.parent)) for body in bodies if body.parent is not None}
    filtered = _filtered_pairs(prims)
    return tuple(
        (one.name, other.name)
        for one, other in itertools.combinations(bodies, 2)
        if {one.name, other.name} <= bodied and frozenset((one.name, other.name)) not in joined | filtered
    )


def _is_on(stage: Usd.Stage, root_path: str) -> bool:
    """Whether self-collision is on; never for what is no articulation."""
    from pxr import Usd, UsdPhysics

    for prim in Usd.PrimRange(stage.GetPrimAtPath(root_path)):
        if prim.HasAPI(UsdPhysics.ArticulationRootAPI):
            attribute = prim.GetAttribute(SWITCH)
            value = attribute.Get() if attribute and attribute.HasAuthoredValue() else None
            return True if value is None else bool(value)
    return False


def _filtered_pairs(prims: Mapping[str, Usd.Prim]) -> set[frozenset[str]]:
    """Pairs of bodies that the stage filters by name."""
    from pxr import UsdPhysics

    body_of, found = {prim.GetPath(): name for name, prim in prims.items()}, set[frozenset[str]]()
    for name, prim in prims.items():
        if prim.HasAPI(UsdPhysics.FilteredPairsAPI):
            for target in UsdPhysics.FilteredPairsAPI(prim).GetFilteredPairsRel().GetTargets():
                others = [body for path, body in body_of.items() if target.HasPrefix(path)]
                found |= {frozenset((name, other)) for other in others if other != name}
    return found


__all__ = ["touching_bodies"]
