# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Which asset of a scene a model drives, and which others would rest while it does."""

from __future__ import annotations

from typing import Any

from isaaclab.assets import ArticulationCfg, AssetBaseCfg, RigidObjectCfg

MOVING_KINDS = ("ArticulationCfg", "RigidObjectCfg", "RigidObjectCollectionCfg", "DeformableObjectCfg")
"""Configurations of what the engine moves."""


class NerdModeError(ValueError):
    """A mode that is unknown, or that this task cannot run in."""


def find_driven_asset(cfg: Any) -> str:
    """Name of the asset to drive in the configuration of the scene: the chosen one, else the only articulation, else
    the only free rigid body.

    Args:
        cfg: Configuration of the task.

    Raises:
        NerdModeError: There is none, or there are several and none is chosen.
    """
    assets = {name: value for name, value in vars(cfg.scene).items() if isinstance(value, AssetBaseCfg)}
    robots = [name for name, value in assets.items() if isinstance(value, ArticulationCfg)]
    bodies = [name for name, value in assets.items() if isinstance(value, RigidObjectCfg) and not _is_led(value)]
    chosen = cfg.nerd.robot
    if chosen is not None:
        if chosen not in robots + bodies:
            raise NerdModeError(
                f"got env.nerd.robot={chosen}, expected one of the scene's articulations: {robots}"
                + (f", or of its free rigid bodies: {bodies}" if bodies else "")
            )
        return chosen
    candidates, kind = (robots, "articulations") if robots else (bodies, "free rigid bodies")
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        raise NerdModeError(
            "the scene has 0 articulations (none), and no free rigid body: a model drives one robot, "
            "this task has nothing to drive"
        )
    raise NerdModeError(
        f"the scene has {len(candidates)} {kind} ({', '.join(candidates)}), and a model drives one robot: "
        "choose it with env.nerd.robot=<name>"
    )


def find_resting_assets(cfg: Any, driven: str) -> list[str]:
    """Names of what the engine moves and would leave where it is while a model steps the driven asset.

    Args:
        cfg: Configuration of the task.
        driven: Name of the driven asset.
    """
    return [
        name
        for name, value in vars(cfg.scene).items()
        if name != driven and any(each.__name__ in MOVING_KINDS for each in type(value).__mro__) and not _is_led(value)
    ]


def _is_led(cfg: Any) -> bool:
    """Whether a body goes where it is put: the engine does not move it."""
    properties = getattr(getattr(cfg, "spawn", None), "rigid_props", None)
    parts = properties if isinstance(properties, (list, tuple)) else [properties]
    return any(bool(getattr(part, "kinematic_enabled", False)) for part in parts)


__all__ = ["NerdModeError", "find_driven_asset", "find_resting_assets"]
