# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Reading a built asset back through USD, independently of what wrote it, and saying what is wrong with it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from pxr import Usd, UsdGeom, UsdPhysics

from ..usd.asset import Asset, assets_dir
from .build import expected_hashes, file_hash, is_current, versions
from .catalogue import own_assets


@dataclass(frozen=True)
class FoundBody:
    """A link as the file has it."""

    mass: float
    """Mass [kg]."""
    com: np.ndarray
    """Centre of mass [m] in the link's frame, shape (3,)."""
    inertia: np.ndarray
    """Inertia [kg m^2] about the centre of mass, axes of the link's frame, shape (3, 3)."""
    moments: np.ndarray
    """Principal moments [kg m^2], shape (3,)."""
    pose: np.ndarray
    """Pose in the asset's frame, all joints at zero, homogeneous matrix for column vectors, shape (4, 4)."""
    colliders: tuple[str, ...]
    """Types of its collision shapes, in order."""


@dataclass(frozen=True)
class FoundJoint:
    """A joint as the file has it."""

    kind: str
    """``revolute``, ``prismatic`` or ``fixed``."""
    parent: str
    """Name of the first body; empty: the world."""
    child: str
    """Name of the second body."""
    axis: np.ndarray
    """Unit axis in the second body's frame, shape (3,); of a fixed joint its x axis, which means nothing."""
    limits: tuple[float, float]
    """Limits [rad or m]; infinite where there are none."""
    gap: float
    """Largest entry of the difference of the joint's frames as seen from either body, zero in a sound file."""


@dataclass
class Found:
    """What a file holds."""

    bodies: dict[str, FoundBody] = field(default_factory=dict)
    """Links by name."""
    joints: dict[str, FoundJoint] = field(default_factory=dict)
    """Movable joints by name."""
    fixed: dict[str, FoundJoint] = field(default_factory=dict)
    """Fixed joints by name."""
    articulation_roots: list[str] = field(default_factory=list)
    """Paths of prims with an articulation root."""
    foreign: list[str] = field(default_factory=list)
    """Prims that belong to a task: physics scenes, and planes."""
    facts: dict[str, str] = field(default_factory=dict)
    """Custom layer data: source, licence, ..."""

    @property
    def mass(self) -> float:
        """Total mass [kg]."""
        return sum(body.mass for body in self.bodies.values())


def measure(path: Path) -> Found:
    """Read an asset.

    Args:
        path: A USD file.
    """
    stage = Usd.Stage.Open(str(path))
    cache = UsdGeom.XformCache()
    found = Found(facts=dict(stage.GetRootLayer().customLayerData))
    for prim in stage.Traverse():
        if prim.HasAPI(UsdPhysics.ArticulationRootAPI):
            found.articulation_roots.append(str(prim.GetPath()))
        if prim.IsA(UsdPhysics.Scene) or prim.IsA(UsdGeom.Plane):
            found.foreign.append(str(prim.GetPath()))
        if prim.HasAPI(UsdPhysics.RigidBodyAPI):
            found.bodies[prim.GetName()] = _body(prim, cache)
    poses = {name: body.pose for name, body in found.bodies.items()}
    for prim in stage.Traverse():
        if prim.IsA(UsdPhysics.Joint):
            joint = _joint(prim, poses)
            (found.fixed if joint.kind == "fixed" else found.joints)[prim.GetName()] = joint
    return found


def problems(asset: Asset, folder: Path | None = None) -> list[str]:
    """Return what is wrong with a built asset, in sentences; empty when nothing is.

    Args:
        asset: Which one.
        folder: Where it was built; ``None``: the asset folder.
    """
    path = (folder or assets_dir()) / asset.path
    if not path.is_file():
        return [f"is not built: {path} does not exist; run `nerd assets build {asset.name}`"]
    wrong = []
    if not is_current(asset, folder):
        wrong.append(f"was built from other sources than those installed; run `nerd assets build {asset.name}`")
    else:
        expected = expected_hashes().get(asset.name)
        if expected is None and asset in own_assets():
            wrong.append("has no entry in hashes.json")
        elif expected is not None and expected["versions"] == versions(asset) and expected["sha256"] != file_hash(path):
            wrong.append(f"hashes to {file_hash(path)}, hashes.json says {expected['sha256']}")
    found = measure(path)
    ground = asset.path.endswith("default_ground_plane.usda")
    wrong += [f"brings {path}, which belongs to the task" for path in found.foreign if not ground]
    wrong += [f"does not say its {key}" for key in ("source", "licence") if not found.facts.get(key)]
    for name, body in found.bodies.items():
        a, b, c = sorted(body.moments)
        if not (body.mass > 0 and a > 0 and c <= (a + b) * (1 + 1e-5)):
            wrong.append(f"body {name}: no rigid body has mass {body.mass} kg and moments {body.moments} kg m^2")
    for name, joint in {**found.joints, **found.fixed}.items():
        if joint.gap > 1e-5:
            wrong.append(f"joint {name}: its two frames are apart by {joint.gap:.2g}")
        if joint.limits[0] >= joint.limits[1]:
            wrong.append(f"joint {name}: limits {joint.limits} are empty")
    if found.joints and len(found.articulation_roots) != 1:
        wrong.append(f"has {len(found.articulation_roots)} articulation roots, expected one")
    return wrong


def _matrix(value: object) -> np.ndarray:
    """Return a Gf matrix as numpy, for column vectors (USD's are for rows)."""
    return np.array(value, dtype=np.float64).T


def _rotation(quat: object) -> np.ndarray:
    """Return the rotation matrix, shape (3, 3), of a Gf quaternion."""
    w = quat.GetReal()  # type: ignore[attr-defined]
    x, y, z = quat.GetImaginary()  # type: ignore[attr-defined]
    q = np.array([x, y, z])
    hat = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) * (w * w - q @ q) + 2 * np.outer(q, q) + 2 * w * hat


def _body(prim: Usd.Prim, cache: UsdGeom.XformCache) -> FoundBody:
    """Read a link."""
    api = UsdPhysics.MassAPI(prim)
    axes = _rotation(api.GetPrincipalAxesAttr().Get())
    moments = np.array(api.GetDiagonalInertiaAttr().Get(), dtype=np.float64)
    return FoundBody(
        mass=float(api.GetMassAttr().Get()),
        com=np.array(api.GetCenterOfMassAttr().Get(), dtype=np.float64),
        inertia=axes @ np.diag(moments) @ axes.T,
        moments=moments,
        pose=_matrix(cache.GetLocalToWorldTransform(prim)),
        colliders=tuple(
            str(child.GetTypeName()) for child in Usd.PrimRange(prim) if child.HasAPI(UsdPhysics.CollisionAPI)
        ),
    )


def _joint(prim: Usd.Prim, poses: dict[str, np.ndarray]) -> FoundJoint:
    """Read a joint."""
    joint = UsdPhysics.Joint(prim)
    names, frames, turns = [], [], []
    for body, pos, rot in (
        (joint.GetBody0Rel(), joint.GetLocalPos0Attr(), joint.GetLocalRot0Attr()),
        (joint.GetBody1Rel(), joint.GetLocalPos1Attr(), joint.GetLocalRot1Attr()),
    ):
        targets = body.GetTargets()
        name = targets[0].name if targets else ""
        local = np.eye(4)
        local[:3, :3], local[:3, 3] = _rotation(rot.Get()), pos.Get()
        names.append(name)
        turns.append(local[:3, :3])
        frames.append((poses[name] if name else np.eye(4)) @ local)
    kind, low, high, axis = "fixed", -math.inf, math.inf, "X"
    if prim.IsA(UsdPhysics.RevoluteJoint):
        typed = UsdPhysics.RevoluteJoint(prim)
        kind, axis = "revolute", typed.GetAxisAttr().Get()
        low, high = (math.radians(limit.Get()) for limit in (typed.GetLowerLimitAttr(), typed.GetUpperLimitAttr()))
    elif prim.IsA(UsdPhysics.PrismaticJoint):
        typed = UsdPhysics.PrismaticJoint(prim)
        kind, axis = "prismatic", typed.GetAxisAttr().Get()
        low, high = typed.GetLowerLimitAttr().Get(), typed.GetUpperLimitAttr().Get()
    return FoundJoint(
        kind=kind,
        parent=names[0],
        child=names[1],
        axis=turns[1] @ np.eye(3)["XYZ".index(axis)],
        limits=(low, high),
        gap=float(np.abs(frames[0] - frames[1]).max()),
    )
