# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Accelerations for the inertial sensors on a robot that a model drives.

Poses and velocities reach every sensor through the engine, where the model's states are written. Accelerations do not:
the engine keeps those of its own last step. On OvPhysX, IMU and PVA sensors read them through a view. While a model
steps the robot, an object in the place of that view gives the accelerations of the model's motion instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import warp as wp

if TYPE_CHECKING:
    from isaaclab.assets import Articulation
    from isaaclab.scene import InteractiveScene

_KINDS = ("Imu", "Pva")
"""Sensors that read accelerations."""


class ModelAccelerations:
    """Takes the place of a sensor's view and gives the accelerations of its body."""

    def __init__(self, view: Any, robot: Articulation, body: int, acceleration_type: Any):
        self.view = view
        self._robot, self._body, self._type = robot, body, acceleration_type

    def __getattr__(self, name: str) -> Any:
        return getattr(self.view, name)

    def read_into(self, name: Any, dst: wp.array) -> None:
        """Reads as the view does, but for accelerations."""
        if name != self._type:
            self.view.read_into(name, dst)
            return
        acceleration = self._robot.data.body_com_acc_w.torch[:, self._body]
        wp.to_torch(dst).view_as(acceleration).copy_(acceleration)


def feed_inertial_sensors(scene: InteractiveScene, robot: Articulation) -> None:
    """Replaces the view of every inertial sensor on a robot. May be called again."""
    for sensor in _sensors_on(scene, robot):
        if not isinstance(sensor._root_view, ModelAccelerations):
            from isaaclab_ov import tensor_types

            body = robot.body_names.index(_body_name(sensor))
            kind = tensor_types.RIGID_BODY_ACCELERATION
            sensor._root_view = ModelAccelerations(sensor._root_view, robot, body, kind)


def release_inertial_sensors(scene: InteractiveScene, robot: Articulation) -> None:
    """Gives the sensors their own views back."""
    for sensor in _sensors_on(scene, robot):
        if isinstance(sensor._root_view, ModelAccelerations):
            sensor._root_view = sensor._root_view.view


def find_unfed_sensors(scene: InteractiveScene) -> list[str]:
    """Names of inertial sensors whose accelerations a model cannot give: those of other backends."""
    return [name for name, sensor in scene.sensors.items() if _is_inertial(sensor) and not _is_ovphysx(sensor)]


def _sensors_on(scene: InteractiveScene, robot: Articulation) -> list[Any]:
    """Inertial sensors on OvPhysX whose body belongs to the robot."""
    found = [sensor for sensor in scene.sensors.values() if _is_inertial(sensor) and _is_ovphysx(sensor)]
    return [sensor for sensor in found if _body_name(sensor) in robot.body_names]


def _is_inertial(sensor: Any) -> bool:
    return type(sensor).__name__ in _KINDS


def _is_ovphysx(sensor: Any) -> bool:
    return getattr(sensor, "__backend_name__", "") == "ovphysx"


def _body_name(sensor: Any) -> str:
    """Name of the rigid body that carries a sensor."""
    return str(sensor._rigid_parent_expr).rsplit("/", 1)[-1]
