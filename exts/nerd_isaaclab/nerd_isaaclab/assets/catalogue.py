# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Everything that is built: the files of all robots, and the grounds and objects they stand on."""

from __future__ import annotations

from ..robots.registry import all_robots, own_robots
from ..usd.asset import Asset
from .grounds import BUMPY_GROUND, FLAT_GROUND
from .table import TABLE


def own_assets() -> tuple[Asset, ...]:
    """The assets of this package, for whose files the committed hashes hold."""
    return (*(record.asset for record in own_robots() if record.asset is not None), FLAT_GROUND, TABLE, BUMPY_GROUND)


def all_assets() -> tuple[Asset, ...]:
    """The assets of this package and those of robots of other packages, in the order in which they are listed."""
    own = own_assets()
    added = (record.asset for record in all_robots() if record.asset is not None and record.asset not in own)
    return (*own, *added)


def find(name: str) -> Asset:
    """Return the asset called ``name``.

    Raises:
        ValueError: There is none; the message lists the names.
    """
    for asset in all_assets():
        if asset.name == name:
            return asset
    raise ValueError(f"no asset is called '{name}'; there are: {', '.join(asset.name for asset in all_assets())}")
