# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Grounds: the flat one that stands in for Isaac Lab's, and a bumpy one."""

from __future__ import annotations

import math

from ..usd import usda
from ..usd.asset import Asset, Scenery

FLAT_HALF = 50.0
"""Half the side [m] of the square that is drawn for the flat ground; the ground itself is infinite."""
BUMPY_HALF = 20.0
"""Half the side [m] of the bumpy ground."""
BUMPY_CELL = 0.4
"""Distance [m] of two neighbouring vertices of the bumpy ground."""

# wave vectors [1/m], phase [rad] and height [m] of the bumps: none a multiple of another, so that nothing repeats
_WAVES = (
    (1.31, 0.47, 0.3, 0.035),
    (-0.62, 1.73, 1.9, 0.03),
    (2.09, -1.14, 4.1, 0.02),
    (0.83, 2.57, 2.6, 0.015),
)


def flat() -> Scenery:
    """Return the flat ground, with the prims that Isaac Lab's ground spawner looks for."""
    h = FLAT_HALF
    corners = ", ".join(usda.vector(corner) for corner in ((-h, -h, 0.0), (h, -h, 0.0), (h, h, 0.0), (-h, h, 0.0)))
    return Scenery(
        "World",
        f"""
def Xform "World"
{{
    def Xform "Environment"
    {{
        double3 xformOp:scale = (1, 1, 1)
        uniform token[] xformOpOrder = ["xformOp:scale"]

        def Mesh "Geometry" (
            prepend apiSchemas = ["MaterialBindingAPI"]
        )
        {{
            rel material:binding = </World/Looks/theGrid>
            uniform bool doubleSided = 1
            int[] faceVertexCounts = [4]
            int[] faceVertexIndices = [0, 1, 2, 3]
            normal3f[] normals = [(0, 0, 1), (0, 0, 1), (0, 0, 1), (0, 0, 1)]
            point3f[] points = [{corners}]
            color3f[] primvars:displayColor = [(0.73, 0.72, 0.7)]
            texCoord2f[] primvars:st = [(-25, -25), (25, -25), (25, 25), (-25, 25)] (
                interpolation = "vertex"
            )
            uniform token subdivisionScheme = "none"
        }}
    }}

    def Xform "GroundPlane"
    {{
        def Plane "CollisionPlane" (
            prepend apiSchemas = ["PhysicsCollisionAPI"]
        )
        {{
            uniform token axis = "Z"
            token visibility = "invisible"
        }}
    }}

    def Scope "Looks"
    {{
        def Material "theGrid"
        {{
            token outputs:surface.connect = </World/Looks/theGrid/Shader.outputs:surface>

            def Shader "Shader"
            {{
                uniform token info:id = "UsdPreviewSurface"
                color3f inputs:diffuseColor = (0.73, 0.72, 0.7)
                float inputs:roughness = 0.9
                token outputs:surface
            }}
        }}
    }}
}}
""",
    )


def bumpy_height(x: float, y: float) -> float:
    """Return the height [m] of the bumpy ground at a vertex, from the position [m] on it."""
    return sum(height * math.sin(kx * x + ky * y + phase) for kx, ky, phase, height in _WAVES)


def bumpy() -> Scenery:
    """Return the bumpy ground: gentle hills up to 0.1 m high, a triangle mesh."""
    count = round(2 * BUMPY_HALF / BUMPY_CELL) + 1
    places = [-BUMPY_HALF + BUMPY_CELL * i for i in range(count)]
    points = ",\n            ".join(f"({x:.6g}, {y:.6g}, {bumpy_height(x, y):.6f})" for y in places for x in places)
    faces = [
        corner
        for row in range(count - 1)
        for col in range(count - 1)
        for a in [row * count + col]
        for corner in (a, a + 1, a + count + 1, a, a + count + 1, a + count)
    ]
    indices = ", ".join(str(corner) for corner in faces)
    counts = ", ".join("3" for _ in range(len(faces) // 3))
    return Scenery(
        "World",
        f"""
def Xform "World"
{{
    def Mesh "Ground" (
        prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"]
    )
    {{
        uniform bool doubleSided = 1
        int[] faceVertexCounts = [{counts}]
        int[] faceVertexIndices = [{indices}]
        point3f[] points = [
            {points}
        ]
        color3f[] primvars:displayColor = [(0.6, 0.58, 0.54)]
        uniform token physics:approximation = "none"
        uniform token subdivisionScheme = "none"
    }}
}}
""",
    )


FLAT_GROUND = Asset(
    name="flat_ground",
    path="Isaac/IsaacLab/Environments/Grid/default_ground_plane_checker_v1/default_ground_plane.usda",
    build=flat,
    source="written here; prim names that Isaac Lab's ground spawner looks for",
    licence="BSD-3-Clause",
)
BUMPY_GROUND = Asset(
    name="bumpy_ground",
    path="NeRD/Grounds/bumpy_ground.usda",
    build=bumpy,
    source="written here",
    licence="BSD-3-Clause",
)
