# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The table of everything that is built: where it goes, what makes it, where its numbers come from, its licence."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from . import usda
from .model import Robot

_BUILDERS = "nerd_isaaclab.assets.builders"
_OURS = "BSD-3-Clause"


@dataclass(frozen=True)
class Asset:
    """One file to build."""

    name: str
    """Short name, as on the command line."""
    path: str
    """Path below the asset folder; for robots of Isaac Lab the path NVIDIA's server has them at."""
    builder: str
    """Module below ``builders``, a colon, and the function that returns a :class:`Robot` or the finished text."""
    source: str
    """Where the numbers come from."""
    licence: str
    """SPDX identifier of what was taken from the source."""
    packages: tuple[str, ...] = ()
    """Distributions that are read while building; their versions are part of the cache key."""

    def text(self) -> str:
        """Return the file's content."""
        module, function = self.builder.split(":")
        build = getattr(importlib.import_module(f"{_BUILDERS}.{module}"), function)
        facts = {"asset": self.name, "licence": self.licence, "madeBy": "nerd assets build", "source": self.source}
        if module in ("grounds", "table"):
            return build(facts)
        robot: Robot = build()
        return usda.robot_text(robot, facts)


ASSETS: tuple[Asset, ...] = (
    Asset(
        "cartpole",
        "Isaac/IsaacLab/Robots/Classic/Cartpole/cartpole.usd",
        "cartpole:build",
        "written here; numbers of Isaac Lab's cartpole.usd, flattened in newton 1.6.1 (cartpole_single_pendulum.usda)",
        _OURS,
    ),
    Asset(
        "ant",
        "Isaac/Robots/IsaacSim/Ant/ant_instanceable.usd",
        "ant:build",
        "written here; numbers of newton 1.6.1 nv_ant.xml (Apache-2.0)",
        _OURS,
    ),
    Asset(
        "double_pendulum",
        "NeRD/Robots/double_pendulum.usda",
        "double_pendulum:build",
        "written here; numbers of the NeRD paper (arXiv 2508.15755)",
        _OURS,
    ),
    Asset(
        "franka",
        "Isaac/IsaacLab/Robots/FrankaEmika/franka_panda.usda",
        "franka:build",
        "panda.urdf of example-robot-data (Franka Emika, franka_ros), through urdf-usd-converter; capsules for meshes",
        "Apache-2.0",
        ("example-robot-data", "urdf-usd-converter"),
    ),
    Asset(
        "anymal_c",
        "Isaac/IsaacLab/Robots/ANYbotics/ANYmal-C/anymal_c.usd",
        "anymal_c:build",
        "anymal.urdf of example-robot-data (ANYbotics, anymal_c_simple_description), through urdf-usd-converter; "
        "collision shapes of the NeRD paper",
        "BSD-3-Clause",
        ("example-robot-data", "urdf-usd-converter"),
    ),
    Asset(
        "cube",
        "NeRD/Objects/cube.usda",
        "cube:build",
        "written here; side and mass of the cube of ContactNets (arXiv 2009.11193)",
        _OURS,
    ),
    Asset(
        "flat_ground",
        "Isaac/IsaacLab/Environments/Grid/default_ground_plane_checker_v1/default_ground_plane.usda",
        "grounds:flat",
        "written here; prim names that Isaac Lab's ground spawner looks for",
        _OURS,
    ),
    Asset(
        "table",
        "Isaac/Props/Mounts/SeattleLabTable/table_instanceable.usd",
        "table:build",
        "written here; a plain table where Isaac Lab's manipulation tasks want theirs",
        _OURS,
    ),
    Asset("bumpy_ground", "NeRD/Grounds/bumpy_ground.usda", "grounds:bumpy", "written here", _OURS),
)
"""Every asset, in the order in which it is listed."""


def find(name: str) -> Asset:
    """Return the asset called ``name``.

    Raises:
        ValueError: There is none; the message lists the names.
    """
    for asset in ASSETS:
        if asset.name == name:
            return asset
    raise ValueError(f"no asset is called '{name}'; there are: {', '.join(asset.name for asset in ASSETS)}")
