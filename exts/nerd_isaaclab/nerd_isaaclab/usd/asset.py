# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""One file to build: what makes it, where it goes, where its numbers come from, its licence."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import usda
from .model import UsdRobot


@dataclass(frozen=True)
class Scenery:
    """Something that is not a robot: a ground, a table."""

    root: str
    """Name of the prim that a reference to the file brings in."""
    text: str
    """Its prims as USDA text, without the head of the file."""


@dataclass(frozen=True)
class Asset:
    """One file to build."""

    name: str
    """Short name, as on the command line."""
    path: str
    """Path below the asset folder; for robots of Isaac Lab the path NVIDIA's server has them at."""
    build: Callable[[], UsdRobot | Scenery]
    """What makes it: returns bodies, joints and shapes, or finished text."""
    source: str
    """Where the numbers come from."""
    licence: str
    """SPDX identifier of what was taken from the source."""
    packages: tuple[str, ...] = ()
    """Distributions that are read while building; the asset is built again when their versions change."""

    @property
    def file(self) -> Path:
        """Absolute path of the built file, which need not exist."""
        return assets_dir() / self.path

    def text(self) -> str:
        """Return the file's content."""
        facts = {"asset": self.name, "licence": self.licence, "madeBy": "nerd assets build", "source": self.source}
        built = self.build()
        if isinstance(built, Scenery):
            return usda.header(built.root, facts) + built.text
        return usda.robot_text(built, facts)


def assets_dir() -> Path:
    """Return the folder the built assets are in, or would be."""
    chosen = os.environ.get("NERD_ASSETS_DIR")
    if chosen:
        return Path(chosen).expanduser().absolute()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    try:
        return cache.expanduser().absolute() / "nerd_isaaclab" / "assets"
    except RuntimeError:
        raise FileNotFoundError("this user has no home: set HOME, or XDG_CACHE_HOME to a folder for caches") from None
