# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Properties of bodies and joints that the USD stage says: damping, gravity, kinds of drives, who follows whom.
Isaac Lab does not hold them. What nobody has authored is as PhysX has it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from nerd_core.robot.parts import DriveKind, Mimic

from .engine_numbers import NO_LIMIT, six_digits

if TYPE_CHECKING:
    from pxr import Usd

LINEAR_DAMPING, ANGULAR_DAMPING = 0.0, 0.05
"""PhysX's damping of a body [1/s]."""

MAX_LINEAR_VELOCITY, MAX_ANGULAR_VELOCITY = math.inf, 100.0
"""PhysX's largest speeds of a body [m/s, rad/s]."""

ARTICULATION_ITERATIONS, FREE_BODY_ITERATIONS = (32, 1), (16, 1)
"""Position and velocity iterations of the solver for an articulation, and for a body that belongs to none, in PhysX's
USD schema."""


def body_damping(prim: Usd.Prim) -> dict[str, Any]:
    """How a body is damped and whether gravity acts on it: fields of a specification's body.

    Args:
        prim: The rigid body.
    """
    linear = _authored(prim, "physxRigidBody:maxLinearVelocity", MAX_LINEAR_VELOCITY)
    angular = _authored(prim, "physxRigidBody:maxAngularVelocity", math.degrees(MAX_ANGULAR_VELOCITY))
    return {
        "has_gravity": not _authored(prim, "physxRigidBody:disableGravity", False),
        "linear_damping": six_digits(_authored(prim, "physxRigidBody:linearDamping", LINEAR_DAMPING)),
        "angular_damping": six_digits(_authored(prim, "physxRigidBody:angularDamping", ANGULAR_DAMPING)),
        "max_linear_velocity": six_digits(linear) if linear < NO_LIMIT else math.inf,
        "max_angular_velocity": six_digits(math.radians(angular)) if angular < NO_LIMIT else math.inf,
    }


def drive_kind(prim: Usd.Prim) -> DriveKind:
    """Whether the drive of a joint makes forces or accelerations.

    Args:
        prim: The joint.
    """
    kinds = [_authored(prim, f"drive:{axis}:physics:type", "force") for axis in ("angular", "linear")]
    return "acceleration" if "acceleration" in kinds else "force"


def mimic_of(prim: Usd.Prim) -> Mimic | None:
    """Which joint a joint follows, by either of the schemas for that; None for one that moves by itself.

    Args:
        prim: The joint.
    """
    relation = prim.GetRelationship("newton:mimicJoint")
    if relation and relation.GetTargets() and _authored(prim, "newton:mimicEnabled", True):
        ratio, offset = _authored(prim, "newton:mimicCoef1", 1.0), _authored(prim, "newton:mimicCoef0", 0.0)
        return Mimic(relation.GetTargets()[0].name, six_digits(ratio), six_digits(_in_radians(prim, offset)))
    for schema in prim.GetAppliedSchemas() or ():
        if schema.startswith("PhysxMimicJointAPI:"):
            start = f"physxMimicJoint:{schema.partition(':')[2]}"
            targets = prim.GetRelationship(f"{start}:referenceJoint").GetTargets()
            if targets:
                ratio, offset = (_authored(prim, f"{start}:{name}", 0.0) for name in ("gearing", "offset"))
                spring = (_authored(prim, f"{start}:{name}", 0.0) for name in ("naturalFrequency", "dampingRatio"))
                offset = six_digits(-_in_radians(prim, offset))
                return Mimic(targets[0].name, -six_digits(ratio), offset, *map(six_digits, spring))
    return None


def solver_iterations(stage: Usd.Stage, root_path: str, is_free: bool = False) -> tuple[int, int]:
    """Position and velocity iterations with which the solver goes over a robot in a physics step.

    Args:
        stage: The stage.
        root_path: Path of the prim under which the robot stands.
        is_free: Whether it is a rigid body without joints, no articulation.
    """
    from pxr import Usd, UsdPhysics

    root, schema, defaults = stage.GetPrimAtPath(root_path), "physxArticulation", ARTICULATION_ITERATIONS
    holders = [prim for prim in Usd.PrimRange(root) if prim.HasAPI(UsdPhysics.ArticulationRootAPI)]
    if is_free:
        schema, defaults = "physxRigidBody", FREE_BODY_ITERATIONS
        holders = [prim for prim in Usd.PrimRange(root) if prim.HasAPI(UsdPhysics.RigidBodyAPI)]
    position, velocity = (
        _authored((holders or [root])[0], f"{schema}:solver{kind}IterationCount", otherwise)
        for kind, otherwise in zip(("Position", "Velocity"), defaults, strict=True)
    )
    return int(position), int(velocity)


def other_forces(joints: Iterable[Usd.Prim]) -> tuple[str, ...]:
    """What acts in joints and has no place in a specification, in words.

    Args:
        joints: Joints of the robot.
    """
    found = []
    for prim in joints:
        for schema in prim.GetAppliedSchemas() or ():
            if schema.startswith("PhysxDrivePerformanceEnvelopeAPI:"):
                found.append(f"the performance envelope of the drive of '{prim.GetName()}'")
    return tuple(found)


def _authored(prim: Usd.Prim, name: str, otherwise: Any) -> Any:
    """The value of an attribute, or what holds where nobody has authored it."""
    attribute = prim.GetAttribute(name)
    value = attribute.Get() if attribute and attribute.HasAuthoredValue() else None
    return otherwise if value is None else value


def _in_radians(prim: Usd.Prim, value: float) -> float:
    """A position of a joint in SI: USD has degrees for hinges."""
    return math.radians(value) if prim.GetTypeName() == "PhysicsRevoluteJoint" else value


__all__ = ["body_damping", "drive_kind", "mimic_of", "other_forces", "solver_iterations"]
