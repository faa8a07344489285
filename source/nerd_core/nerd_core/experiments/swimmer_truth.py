# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A swimmer of two links in a fluid: MuJoCo's motion of it, and the specification of the same robot without fluid.

The links are boxes in a plane, one hinge between them, and the first one may go anywhere: states are place and heading
of the first link, the angle of the hinge, and their velocities.

Example::

    state, control = trajectories(MEDIA["water_25C"], count=10, steps=900, seed=0)   # (10, 901, 8), (10, 900, 1)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..robot.spec import Body, Control, Inertia, Joint, RobotSpec

LINK = 0.1
"""Length of a link [m]."""
MASS = 0.01
"""Mass of a link [kg]."""
HALF_THICKNESS, HALF_HEIGHT = 0.001, 0.01
"""Half of the other sides of a link [m]."""
ARMATURE = 1.0e-6
"""Inertia added to the hinge [kg m^2]."""
TORQUE = 5.0e-4
"""Torque of the hinge at a control of one [N m]."""
DT = 0.002
"""Time step [s]."""


class Medium(NamedTuple):
    """A fluid."""

    viscosity: float
    """Dynamic viscosity [Pa s]."""
    density: float
    """Density [kg/m^3]."""


MEDIA = {
    "water_5C": Medium(0.001518, 1000.0),
    "water_25C": Medium(0.00089, 997.0),
    "air_25C": Medium(1.849e-5, 1.184),
    "vacuum": Medium(0.0, 0.0),
}
"""The fluids by name."""


def mjcf(medium: Medium) -> str:
    """The swimmer in a fluid, as MuJoCo reads it.

    Args:
        medium: The fluid.
    """
    half, size = 0.5 * LINK, f"{HALF_THICKNESS} {0.5 * LINK} {HALF_HEIGHT}"
    box = f'<geom type="box" size="{size}" mass="{MASS}"/>'
    return f"""
<mujoco model="swimmer">
  <option timestep="{DT}" viscosity="{medium.viscosity}" density="{medium.density}" gravity="0 0 0">
    <flag contact="disable"/>
  </option>
  <worldbody>
    <body name="link_1">
      <joint name="x" type="slide" axis="1 0 0"/>
      <joint name="y" type="slide" axis="0 1 0"/>
      <joint name="heading" type="hinge" axis="0 0 1"/>
      {box}
      <body name="link_2" pos="0 {-LINK} 0">
        <joint name="hinge" type="hinge" axis="0 0 1" pos="0 {half} 0" armature="{ARMATURE}"/>
        {box}
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="hinge" gear="{TORQUE}" ctrllimited="true" ctrlrange="-1 1"/>
  </actuator>
</mujoco>"""


def swimmer() -> RobotSpec:
    """The same robot without fluid. Its controls are torques [N m]; two bodies without mass carry the first link."""
    sides = 2.0 * HALF_THICKNESS, LINK, 2.0 * HALF_HEIGHT
    x, y, z = (side * side * MASS / 12.0 for side in sides)
    link, none = Inertia(MASS, moments=(y + z, x + z, x + y)), Inertia(0.0)
    half = (0.0, 0.5 * LINK, 0.0)
    return RobotSpec(
        name="swimmer",
        floating_base=False,
        joints=(
            Joint("x", "prismatic", (1.0, 0.0, 0.0)),
            Joint("y", "prismatic", (0.0, 1.0, 0.0)),
            Joint("heading", "revolute", (0.0, 0.0, 1.0)),
            Joint("hinge", "revolute", (0.0, 0.0, 1.0), armature=ARMATURE),
        ),
        bodies=(
            Body("world", inertia=Inertia(1.0, moments=(1.0, 1.0, 1.0))),
            Body("along_x", "world", "x", inertia=none),
            Body("along_y", "along_x", "y", inertia=none),
            Body("link_1", "along_y", "heading", inertia=link),
            Body("link_2", "link_1", "hinge", (0.0, -0.5 * LINK, 0.0), child_pos=half, inertia=link),
        ),
        controls=(Control("hinge", "effort"),),
        physics_dt=DT,
        decimation=1,
        gravity=(0.0, 0.0, 0.0),
    )


def trajectories(medium: Medium, count: int, steps: int, seed: int, hold: int = 25) -> tuple[Tensor, Tensor]:
    """Motion under random controls from random bends at rest: states, shape (count, steps + 1, 8), with angles counted
    on, and torques [N m], shape (count, steps, 1), in double precision.

    Args:
        medium: The fluid.
        count: Number of trajectories.
        steps: Steps of each.
        seed: Seed of first states and controls.
        hold: Steps for which a control is held.
    """
    mujoco = _mujoco()
    model = mujoco.MjModel.from_xml_string(mjcf(medium))
    data, random = mujoco.MjData(model), np.random.default_rng(seed)
    states, controls = np.zeros((count, steps + 1, 8)), np.zeros((count, steps, 1))
    for run in range(count):
        mujoco.mj_resetData(model, data)
        data.qpos[3] = random.uniform(-1.0, 1.0)
        levels = random.uniform(-1.0, 1.0, steps // hold + 1)
        states[run, 0] = np.concatenate((data.qpos, data.qvel))
        for step in range(steps):
            data.ctrl[0] = levels[step // hold]
            controls[run, step] = TORQUE * data.ctrl[0]
            mujoco.mj_step(model, data)
            states[run, step + 1] = np.concatenate((data.qpos, data.qvel))
    return torch.from_numpy(states), torch.from_numpy(controls)


def _mujoco():
    try:
        import mujoco
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "the swimmer's truth is MuJoCo, which is not installed: pip install 'nerd_core[experiments]'"
        ) from None
    return mujoco


__all__ = ["DT", "MEDIA", "TORQUE", "Medium", "mjcf", "swimmer", "trajectories"]
