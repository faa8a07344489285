# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A floating robot whose root has its centre of mass far from its origin: three bars on two hinges, in the air.

The Ant's root has it at its origin, where the velocity of the frame and that of the centre of mass are the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nerd_isaaclab.usd.model import Matrix, UsdBody, UsdJoint, UsdRobot

COM = (0.25, -0.1, 0.15)
"""Centre of mass of the root in its frame [m]."""
HEIGHT = 8.0
"""Where its root starts [m]: nothing is touched in a second."""


def build() -> UsdRobot:
    """Returns the robot: no shapes, so that it has no contacts either."""
    from nerd_isaaclab.usd.model import MassProperties

    def bar(x: float, y: float, z: float) -> Matrix:
        return ((x, 0.0, 0.0), (0.0, y, 0.0), (0.0, 0.0, z))

    return UsdRobot(
        name="lopsided",
        bodies=(
            UsdBody("trunk", MassProperties(2.0, COM, bar(0.04, 0.05, 0.03))),
            UsdBody("arm", MassProperties(0.6, (0.1, 0.0, 0.0), bar(0.002, 0.006, 0.006))),
            UsdBody("tail", MassProperties(0.4, (-0.1, 0.02, 0.0), bar(0.002, 0.005, 0.005))),
        ),
        joints=(
            UsdJoint("joint_0", "revolute", "trunk", "arm", (0.0, 1.0, 0.0), (0.3, 0.0, 0.0), armature=0.01),
            UsdJoint("joint_1", "revolute", "trunk", "tail", (0.0, 0.0, 1.0), (-0.2, 0.0, 0.1), armature=0.01),
        ),
    )


def make_lopsided_env(folder: Path, num_envs: int) -> Any:
    """A task with this robot in place of the double pendulum, whose joints have the same names.

    Args:
        folder: Where the robot's file is written.
        num_envs: Number of environments.
    """
    from isaaclab.actuators import ImplicitActuatorCfg
    from isaaclab.assets import ArticulationCfg

    from nerd_isaaclab.robots.spawn import spawn
    from nerd_isaaclab.usd.asset import Asset
    from support.seam import make_env

    asset = Asset("lopsided", str(folder / "lopsided.usda"), build, "made up for a test", "BSD-3-Clause")
    asset.file.write_text(asset.text(), encoding="utf-8")

    def use(cfg: Any) -> None:
        cfg.scene.robot = ArticulationCfg(
            prim_path="{ENV_REGEX_NS}/Robot",
            spawn=spawn(asset),
            init_state=ArticulationCfg.InitialStateCfg(pos=(0.0, 0.0, HEIGHT)),
            actuators={
                "hinges": ImplicitActuatorCfg(
                    joint_names_expr=["joint_.*"], stiffness=0.0, damping=0.0, armature=0.01, joint_effort_limit=100.0
                )
            },
        )
        cfg.actions.torque.scale = 1.0

    return make_env("NeRD-Double-Pendulum", num_envs, change=use)
