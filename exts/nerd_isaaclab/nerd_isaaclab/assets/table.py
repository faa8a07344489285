# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A table to stand in for the one that Isaac Lab's manipulation tasks put their arm on. It does not move."""

from __future__ import annotations

from ..usd import usda
from ..usd.asset import Asset, Scenery
from ..usd.model import Shape

TOP = (0.8, 1.2, 0.05)
"""Sides [m] of the board; its upper face is at z = 0."""
HEIGHT = 1.05
"""Height [m]; Isaac Lab's tasks put the ground this far below the table's origin."""


def build() -> Scenery:
    """Return the table."""
    x, y, thick = TOP
    leg = HEIGHT - thick
    shapes = [Shape("box", TOP, pos=(0.0, 0.0, -thick / 2), color=(0.55, 0.5, 0.45), name="top")]
    shapes += [
        Shape("box", (0.06, 0.06, leg), pos=(dx, dy, -thick - leg / 2), color=(0.3, 0.3, 0.3), name=f"leg_{place}")
        for place, (dx, dy) in enumerate((sx * (x / 2 - 0.05), sy * (y / 2 - 0.05)) for sx in (-1, 1) for sy in (-1, 1))
    ]
    lines = ['def Xform "table"', "{"]
    for shape in shapes:
        lines += ["    " + line for line in usda.shape_lines(shape, shape.name)]
    return Scenery("table", "\n".join(["", *lines, "}", ""]))


TABLE = Asset(
    name="table",
    path="Isaac/Props/Mounts/SeattleLabTable/table_instanceable.usd",
    build=build,
    source="written here; a plain table where Isaac Lab's manipulation tasks want theirs",
    licence="BSD-3-Clause",
)
