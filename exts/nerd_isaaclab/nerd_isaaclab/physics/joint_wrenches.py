# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What joints carry, for the sensors on a robot that mechanics drives.

A joint wrench sensor reads the engine's incoming joint forces through a view. While a model with mechanics steps the
robot, an object in the place of that view gives what follows from the model's motion and contact forces instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import warp as wp

if TYPE_CHECKING:
    from isaaclab.assets import Articulation
    from isaaclab.scene import InteractiveScene

    from .neural_physics import NeuralPhysics

_KINDS = {"BaseJointWrenchSensor", "JointWrenchSensor"}


class ModelWrenches:
    """Takes the place of a joint wrench sensor's view and gives the wrenches of neural environments."""

    def __init__(self, view: Any, neural: NeuralPhysics, bodies: torch.Tensor, wrench_type: Any):
        """Keeps what is read every step.

        Args:
            view: The sensor's own view.
            neural: Has the wrenches, and the mask of the neural environments.
            bodies: Indices of the sensor's bodies in the specification, shape (bodies of the sensor,).
            wrench_type: What the sensor asks the view for.
        """
        self.view = view
        self._neural, self._bodies, self._type = neural, bodies, wrench_type

    def __getattr__(self, name: str) -> Any:
        return getattr(self.view, name)

    def read_into(self, name: Any, dst: wp.array) -> None:
        """Reads as the view does, then writes the model's wrenches over those of neural environments."""
        some, forces = self._neural.neural, self._neural.body_forces
        if name != self._type or some is not None or forces is None:
            self.view.read_into(name, dst)
        if name != self._type or forces is None or forces.joint_force is None or forces.joint_torque is None:
            return
        values = torch.cat((forces.joint_force[:, self._bodies], forces.joint_torque[:, self._bodies]), dim=-1)
        rows = wp.to_torch(dst).view_as(values)
        rows.copy_(values if some is None else torch.where(some[:, None, None], values, rows))


def feed_joint_wrench_sensors(scene: InteractiveScene, robot: Articulation, neural: NeuralPhysics) -> bool:
    """Replaces the view of every joint wrench sensor that mechanics can feed. May be called again.

    Returns:
        Whether there is such a sensor.
    """
    fed = False
    for sensor in scene.sensors.values():
        if not is_joint_wrench_sensor(sensor) or why_no_wrenches(sensor, robot) is not None:
            continue
        from isaaclab_ov import tensor_types

        fed, view = True, sensor._root_view
        if isinstance(view, ModelWrenches):
            view = view.view
        names, device = neural.body_names, neural.held.device
        bodies = torch.tensor([names.index(name) for name in sensor.body_names], device=device)
        sensor._root_view = ModelWrenches(view, neural, bodies, tensor_types.LINK_INCOMING_JOINT_FORCE)
    return fed


def release_joint_wrench_sensors(scene: InteractiveScene) -> None:
    """Gives the sensors their own views back."""
    for sensor in scene.sensors.values():
        if isinstance(getattr(sensor, "_root_view", None), ModelWrenches):
            sensor._root_view = sensor._root_view.view


def is_joint_wrench_sensor(sensor: Any) -> bool:
    """Whether a sensor measures what joints carry, on any physics backend."""
    return any(cls.__name__ in _KINDS for cls in type(sensor).__mro__)


def why_no_wrenches(sensor: Any, robot: Articulation) -> str | None:
    """Why mechanics cannot feed a joint wrench sensor; None if it can."""
    backend = getattr(sensor, "__backend_name__", "unknown")
    if backend != "ovphysx":
        return f"on the physics backend '{backend}' mechanics cannot feed it: use physics=ovphysx"
    foreign = [name for name in sensor.body_names if name not in robot.body_names]
    return f"the model does not drive its bodies {', '.join(foreign)}" if foreign else None
