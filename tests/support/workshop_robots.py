# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Installs ``tests/packages/workshop_robots``, a package of tasks with two robots that nobody has tuned for.

Its USD files are written at installation: a planar robot on rails with two telescopic legs, and an arm whose two
fingers do not follow each other.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Literal

from nerd_isaaclab.usd import inertia, usda
from nerd_isaaclab.usd.model import Shape, UsdBody, UsdJoint, UsdRobot, Vec

TASKS = {"stilts": "NeRD-Workshop-Stilts", "gripper": "NeRD-Workshop-Gripper"}
"""Derived tasks of the package, by robot."""

PACKAGE = Path(__file__).parents[1] / "packages" / "workshop_robots"

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def stilts() -> UsdRobot:
    """Rails along x and z, a hinge, a trunk, and two legs of a thigh that swings and a piston that slides out."""
    bodies, joints = [_body("mount", 1.0, Shape("box", (0.1, 0.1, 0.1), collides=False))], []
    rails: tuple[tuple[str, Literal["prismatic", "revolute"], Vec, tuple[float, float] | None], ...] = (
        ("rail_x", "prismatic", X, None),
        ("rail_z", "prismatic", Z, (0.0, 3.0)),
        ("pitch", "revolute", Y, None),
    )
    parent = "mount"
    for name, kind, axis, limits in rails:
        child = "trunk" if name == "pitch" else f"{name}_carriage"
        joints.append(UsdJoint(name, kind, parent, child, axis, (0.0, 0.0, 0.0), limits=limits))
        if child != "trunk":
            bodies.append(_body(child, 0.2, Shape("box", (0.05, 0.05, 0.05), collides=False)))
        parent = child
    bodies.append(_body("trunk", 5.0, Shape("box", (0.5, 0.2, 0.12))))
    for side, x in (("front", 0.2), ("back", -0.2)):
        thigh, foot = f"{side}_thigh", f"{side}_foot"
        joints.append(_driven(f"{side}_hip", "revolute", "trunk", thigh, Y, (x, 0.0, -0.06), (-0.9, 0.9), 40.0, 15.0))
        bodies.append(_body(thigh, 0.6, Shape("capsule", (0.025, 0.14, 0.0), pos=(0.0, 0.0, -0.09))))
        joints.append(
            _driven(f"{side}_piston", "prismatic", thigh, foot, Z, (0.0, 0.0, -0.32), (-0.06, 0.06), 200.0, 1.5)
        )
        bodies.append(_body(foot, 0.3, Shape("sphere", (0.035, 0.0, 0.0))))
    return UsdRobot("stilts", tuple(bodies), tuple(joints), fixed_base=True)


def gripper() -> UsdRobot:
    """A post, three links that fold in a plane, a hand, and a finger on either side that slides by itself."""
    bodies = [_body("post", 3.0, Shape("capsule", (0.05, 0.1, 0.0), pos=(0.0, 0.0, 0.1)))]
    joints = []
    links = (
        ("turn", Z, "base", (0.0, 0.0, 0.2), 1.5, (-2.5, 2.5), Shape("sphere", (0.06, 0.0, 0.0))),
        ("shoulder", Y, "upper", (0.0, 0.0, 0.08), 1.2, (-1.6, 1.6), _along(0.24)),
        ("elbow", Y, "lower", (0.0, 0.0, 0.3), 0.8, (-0.2, 2.6), _along(0.18)),
        ("wrist", Y, "hand", (0.0, 0.0, 0.24), 0.4, (-1.8, 1.8), Shape("box", (0.05, 0.1, 0.06), pos=(0.0, 0.0, 0.04))),
    )
    parent = "post"
    for name, axis, child, pos, mass, limits, shape in links:
        joints.append(_driven(name, "revolute", parent, child, axis, pos, limits, 40.0, 6.0))
        bodies.append(_body(child, mass, shape))
        parent = child
    for side, y in (("left", 0.01), ("right", -0.01)):
        away = (0.0, 1.0 if y > 0 else -1.0, 0.0)
        joints.append(
            _driven(
                f"finger_{side}", "prismatic", "hand", f"{side}_finger", away, (0.0, y, 0.09), (0.0, 0.04), 30.0, 0.3
            )
        )
        bodies.append(_body(f"{side}_finger", 0.05, Shape("box", (0.02, 0.01, 0.05), pos=(0.0, 0.0, 0.02))))
    return UsdRobot("gripper", tuple(bodies), tuple(joints), fixed_base=True)


def _driven(
    name: str,
    kind: Literal["revolute", "prismatic"],
    parent: str,
    child: str,
    axis: Vec,
    pos: Vec,
    limits: tuple[float, float],
    max_effort: float,
    max_velocity: float,
) -> UsdJoint:
    return UsdJoint(
        name, kind, parent, child, axis, pos, limits=limits, max_effort=max_effort, max_velocity=max_velocity
    )


def _along(length: float) -> Shape:
    return Shape("capsule", (0.035, length, 0.0), pos=(0.0, 0.0, 0.5 * length + 0.03))


def _body(name: str, mass: float, shape: Shape) -> UsdBody:
    return UsdBody(name, inertia.with_mass(shape, mass), (shape,))


def write_package(folder: Path) -> Path:
    """Writes the package as ``pip`` leaves one behind: a module folder and its metadata. Gives the folder back.

    Args:
        folder: Where to. Put it on ``sys.path`` and Isaac Lab finds the tasks by their entry point.
    """
    package, metadata = folder / PACKAGE.name, folder / f"{PACKAGE.name}-0.1.dist-info"
    shutil.copytree(PACKAGE, package, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    for robot in (stilts(), gripper()):
        (package / f"{robot.name}.usda").write_text(usda.robot_text(robot, {}))
    metadata.mkdir(exist_ok=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: workshop-robots\nVersion: 0.1\n")
    (metadata / "entry_points.txt").write_text("[isaaclab.tasks]\nworkshop_robots = workshop_robots\n")
    return folder


__all__ = ["TASKS", "gripper", "stilts", "write_package"]
