# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What the collision shapes of a robot and the ground below it are made of: friction, restitution, and how both are
combined. Numbers of the robot are those that the engine holds, which events may have set; where it does not say them,
and for the ground, those of the USD stage.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from nerd_core.robot.materials import Material

from .engine_numbers import six_digits
from .free_body import FreeBody
from .static_shapes import static_colliders

if TYPE_CHECKING:
    from isaaclab.assets import Articulation
    from isaaclab.envs import ManagerBasedEnv
    from pxr import Usd


ATTRIBUTES = {
    "static_friction": "physics:staticFriction",
    "dynamic_friction": "physics:dynamicFriction",
    "restitution": "physics:restitution",
    "friction_combine": "physxMaterial:frictionCombineMode",
    "restitution_combine": "physxMaterial:restitutionCombineMode",
}
"""Fields of a material, and where USD has them."""


def shape_materials(robot: Articulation, shapes: Sequence[Usd.Prim]) -> list[Material]:
    """Materials of a robot's shapes.

    Args:
        robot: The articulation.
        shapes: Its collision shapes in the order of the engine: body by body.
    """
    authored, held = [material_of(shape) for shape in shapes], held_by_engine(robot)
    if held is None or not shapes or held.shape[1:] != (len(shapes), 3):
        return authored
    # in the middle of the environments, where an event has made them differ
    rows = held.quantile(0.5, dim=0).tolist()
    return [
        dataclasses.replace(
            material,
            static_friction=six_digits(static),
            dynamic_friction=six_digits(dynamic),
            restitution=six_digits(max(restitution, 0.0)),
        )
        for material, (static, dynamic, restitution) in zip(authored, rows, strict=True)
    ]


def ground_material(env: ManagerBasedEnv) -> Material:
    """What the ground is made of: its first plane, or the first static shape where there is none. What
    ``cfg.nerd.ignored_shapes`` matches is left out.
    """
    ignored = getattr(getattr(env.cfg, "nerd", None), "ignored_shapes", None)
    shapes = [prim for prim, _ in static_colliders(env.sim.stage)]
    shapes = [prim for prim in shapes if ignored is None or not re.fullmatch(ignored, str(prim.GetPath()))]
    shapes.sort(key=lambda prim: prim.GetTypeName() != "Plane")
    return material_of(shapes[0]) if shapes else Material()


def material_of(shape: Usd.Prim) -> Material:
    """The material that the stage binds to a shape, or to its scene; PhysX's own without any.

    Args:
        shape: The collision shape.
    """
    from pxr import UsdPhysics, UsdShade

    found: Any = UsdShade.MaterialBindingAPI(shape).ComputeBoundMaterial("physics")
    bound = found[0]
    if not bound or not bound.GetPrim().HasAPI(UsdPhysics.MaterialAPI):
        return Material()
    prim, values = bound.GetPrim(), dict[str, Any]()
    for name, attribute in ATTRIBUTES.items():
        value = prim.GetAttribute(attribute).Get() if prim.HasAttribute(attribute) else None
        if value is not None:
            values[name] = str(value) if name.endswith("combine") else six_digits(max(value, 0.0))
        elif name.endswith("friction"):
            values[name] = 0.0  # a material that does not say its friction has none
    return Material(**values)


def held_by_engine(robot: Articulation) -> torch.Tensor | None:
    """Static and dynamic friction and restitution of all shapes, shape (N, shapes, 3); None where an engine does not
    tell.
    """
    view: Any = robot.root_view
    try:
        if hasattr(view, "get_material_properties"):
            values = view.get_material_properties()
        elif "ovphysx" not in robot.__backend_name__:  # other engines have other views
            return None
        else:
            import warp as wp
            from isaaclab_ov import tensor_types

            is_free = isinstance(robot, FreeBody)
            kind = tensor_types.SHAPE_FRICTION_AND_RESTITUTION
            kind = tensor_types.RIGID_BODY_SHAPE_FRICTION_AND_RESTITUTION if is_free else kind
            values = wp.to_torch(view.get_attribute(kind))
    except (ImportError, AttributeError, KeyError, RuntimeError):
        return None
    values = values if isinstance(values, torch.Tensor) else torch.as_tensor(values)
    return values.float().cpu() if values.ndim == 3 else None


__all__ = ["ground_material", "held_by_engine", "material_of", "shape_materials"]
