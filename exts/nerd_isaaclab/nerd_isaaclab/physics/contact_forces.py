# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Contact forces for the sensors on a robot that a model drives.

While the solver rests, the engine keeps the forces of its own last step. A model with a force head predicts them, one
with mechanics computes them: while it steps the robot, an object in the place of a contact sensor's binding to the
engine gives the model's forces. What the sensor computes from them (history, air and contact times, first contacts)
stays Isaac Lab's own code.

The head gives one force a body and control step: of all partners together, normal force and friction in one. On a plane
it is split along the plane's normal. On other grounds, and for bodies that touch something else, it cannot be: then all
of it is reported as normal force. A model with mechanics needs no head: the impulses of its solver are forces, normal
forces and friction apart, in each physics step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import warp as wp

from nerd_core.contact.grounds import PlaneGround

if TYPE_CHECKING:
    from isaaclab.assets import Articulation
    from isaaclab.scene import InteractiveScene

    from .neural_physics import NeuralPhysics


class ModelForces:
    """Takes the place of a contact sensor's binding and gives the forces of neural environments."""

    def __init__(self, binding: Any, neural: NeuralPhysics, bodies: torch.Tensor):
        """Keeps what is read every step.

        Args:
            binding: The sensor's own binding.
            neural: Has the forces, and the mask of the neural environments.
            bodies: Indices of the sensor's bodies in the specification, shape (bodies of the sensor,).
        """
        self.binding = binding
        self._neural, self._bodies = neural, bodies
        ground = neural.dynamics.ground
        self._up = None
        if isinstance(ground, PlaneGround) and ground.normal.ndim == 2:
            self._up = ground.normal[:, None]
        """Normal of the ground, shape (N or 1, 1, 3); None where it is not one plane."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.binding, name)

    def read_net_normal_forces(self, dst: wp.array) -> None:
        """Reads as the binding does, then writes the model's forces over those of neural environments."""
        self._read(self.binding.read_net_normal_forces, dst, self.forces()[0])

    def read_net_friction_forces(self, dst: wp.array) -> None:
        """Reads as the binding does, then writes the model's friction over that of neural environments."""
        self._read(self.binding.read_net_friction_forces, dst, self.forces()[1])

    def forces(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The model's normal forces and friction on the sensor's bodies, world axes [N], shapes (N, bodies, 3)."""
        computed, step = self._neural.body_forces, self._neural.shown_step
        if computed is not None:
            return computed.normal[:, step, self._bodies], computed.friction[:, step, self._bodies]
        force = self._neural.contact_forces[:, self._bodies]
        if self._up is None:
            return force, torch.zeros_like(force)
        normal = (force * self._up).sum(dim=-1, keepdim=True) * self._up
        return normal, force - normal

    def _read(self, read: Any, dst: wp.array, forces: torch.Tensor) -> None:
        some = self._neural.neural
        if some is not None:
            read(dst)
        # The engine orders rows by body first, by environment second.
        rows = wp.to_torch(dst).view(len(self._bodies), -1, 3)
        values = forces.transpose(0, 1)
        rows.copy_(values if some is None else torch.where(some[:, None], values, rows))


def feed_contact_sensors(scene: InteractiveScene, robot: Articulation, neural: NeuralPhysics) -> bool:
    """Replaces the binding of every contact sensor that the model can feed. May be called again.

    Returns:
        Whether there is such a sensor.
    """
    fed = False
    for sensor in scene.sensors.values():
        if not is_contact_sensor(sensor) or why_not_fed(sensor, robot, neural.computes_forces) is not None:
            continue
        fed = True
        bodies = torch.tensor(
            [neural.body_names.index(name) for name in sensor.body_names], device=neural.contact_forces.device
        )
        binding: Any = sensor._contact_binding
        if isinstance(binding, ModelForces):
            binding = binding.binding
        sensor._contact_binding = ModelForces(binding, neural, bodies)
    return fed


def release_contact_sensors(scene: InteractiveScene) -> None:
    """Gives the sensors their own bindings back."""
    for sensor in scene.sensors.values():
        if isinstance(getattr(sensor, "_contact_binding", None), ModelForces):
            sensor._contact_binding = sensor._contact_binding.binding


def enter_steps(scene: InteractiveScene, neural: NeuralPhysics, steps: int, physics_dt: float) -> None:
    """Enters the forces of all physics steps of a control step but the last into the sensors, as if each of them had
    been simulated. The last is entered by the sensor's own coming update.

    A contact sensor counts physics steps in its history, and tells times in the air and in contact by them, while it is
    updated once in a control step of the model.

    Args:
        scene: The scene.
        neural: Has the forces.
        steps: Physics steps to enter.
        physics_dt: Length of each [s].
    """
    for sensor in scene.sensors.values():
        if steps and isinstance(getattr(sensor, "_contact_binding", None), ModelForces):
            for step in range(steps):
                with neural.showing(step):
                    sensor.update(physics_dt, force_recompute=True)
            # The coming update counts the whole control step.
            wp.to_torch(sensor._timestamp).sub_(steps * physics_dt)


def is_contact_sensor(sensor: Any) -> bool:
    """Whether a sensor measures contact forces, on any physics backend."""
    return any(cls.__name__ in ("BaseContactSensor", "ContactSensor") for cls in type(sensor).__mro__)


def why_not_fed(sensor: Any, robot: Articulation, by_mechanics: bool = False) -> str | None:
    """Why a model cannot feed a contact sensor; None if it can.

    Args:
        sensor: The sensor.
        robot: The robot that the model drives.
        by_mechanics: Whether mechanics computes the forces, and no force head predicts them.
    """
    backend, source = getattr(sensor, "__backend_name__", "unknown"), "mechanics" if by_mechanics else "a force head"
    if backend != "ovphysx":
        return f"on the physics backend '{backend}' {source} cannot feed it: use physics=ovphysx"
    foreign = [name for name in sensor.body_names if name not in robot.body_names]
    if foreign:
        return f"the model does not drive its bodies {', '.join(foreign)}"
    cfg = sensor.cfg
    asked = {
        "filter_prim_paths_expr": bool(cfg.filter_prim_paths_expr),
        "track_contact_points": cfg.track_contact_points,
        "track_friction_forces": cfg.track_friction_forces and not by_mechanics,
    }
    details = [name for name, wanted in asked.items() if wanted]
    if details:
        return f"{source} gives one force a body, not what {', '.join(details)} ask for"
    return None
