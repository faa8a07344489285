# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Efforts of a task's own actuators while mechanics step the robot: delays, networks, laws of other packages.

Isaac Lab asks its actuators once before each step of the engine, and a model takes all physics steps of a control step
at once. So the efforts of the first physics step are those that Isaac Lab has just asked for, and for each further one
the actuators are asked here, with the state that mechanics has reached. What they remember (targets of before, hidden
states of networks) stays in them, for each environment, and is reset by Isaac Lab with the environment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
import warp as wp
from isaaclab.actuators import ActuatorBase

from nerd_core.mechanics.step import Mechanics

from .reported_efforts import ask_at

if TYPE_CHECKING:
    from isaaclab.assets import Articulation

    from nerd_core.dynamics import NeuralDynamics


class TaskActuators:
    """Gives mechanics the efforts of the actuators of an articulation, see
    :data:`~nerd_core.mechanics.actuators.EffortSource`.
    """

    def __init__(self, robot: Articulation, physics_dt: float, decimation: int, solver_steps: Callable[[], bool]):
        """Keeps the articulation.

        Args:
            robot: The articulation.
            physics_dt: Length of a physics step [s].
            decimation: Physics steps in a control step.
            solver_steps: Whether the solver takes the control step, too: it asks the actuators itself then, so that
                what they remember is put back to where it was.
        """
        self._robot, self._physics_dt, self._decimation = robot, physics_dt, decimation
        self._solver_steps = solver_steps
        self._put_back: list[Callable[[], Any]] = []

    def __call__(self, physics_step: int, joint_pos: torch.Tensor, joint_vel: torch.Tensor) -> torch.Tensor:
        """Efforts of all joints in a physics step [N m or N], shape (N, J).

        Args:
            physics_step: Its number in the control step.
            joint_pos: Positions of the joints when it begins [rad or m], shape (N, J).
            joint_vel: Their velocities [rad/s or m/s], shape (N, J).
        """
        if physics_step == 0:
            efforts = self._robot.data.applied_torque.torch.clone()
        else:
            efforts = self._asked(joint_pos, joint_vel)
        if self._solver_steps():
            if physics_step == 0:
                self._put_back = [memory_of(holder) for holder in self._holders()]
            if physics_step == self._decimation - 1:
                for put_back in self._put_back:
                    put_back()
        return efforts

    def _asked(self, joint_pos: torch.Tensor, joint_vel: torch.Tensor) -> torch.Tensor:
        """What the actuators say of a state."""
        ask_at(self._robot, joint_pos, joint_vel, self._physics_dt)
        return self._robot.data.applied_torque.torch.clone()

    def _holders(self) -> list[Any]:
        """What holds the memory of the actuators: those of Isaac Lab themselves, and the one for all of Newton's."""
        actuators, adapter = self._robot.actuators, getattr(self._robot, "newton_actuator_adapter", None)
        of_lab = [actuators[name] for name in actuators if isinstance(actuators[name], ActuatorBase)]
        return of_lab + ([] if adapter is None else [adapter])


def feed_actuators(dynamics: NeuralDynamics, robot: Articulation, solver_steps: Callable[[], bool]) -> None:
    """Lets mechanics in a model ask a task's actuators where their law has a memory, or is not known.

    Args:
        dynamics: The stepper; one without mechanics is left as it is.
        robot: The articulation.
        solver_steps: See :class:`TaskActuators`.
    """
    predictor = getattr(dynamics, "predictor", None)
    if not isinstance(predictor, torch.nn.Module):
        return
    for module in predictor.modules():
        if isinstance(module, Mechanics) and module.actuators.remembering:
            module.actuators.source = TaskActuators(robot, module.spec.physics_dt, module.spec.decimation, solver_steps)


def memory_of(holder: Any) -> Callable[[], Any]:
    """Copies what an object remembers: tensors, numbers, and buffers and states of these in it. Networks and the like
    are left out: what they remember is given to them.

    Args:
        holder: An actuator, or a buffer in one.

    Returns:
        What puts it back, and returns the object.
    """
    found = {name: copy for name, value in vars(holder).items() if (copy := _copy_of(value)) is not None}

    def put_back() -> Any:
        for name, copy in found.items():
            setattr(holder, name, copy())
        return holder

    return put_back


def _copy_of(value: Any) -> Callable[[], Any] | None:
    """What gives back a value as it is now, in place, since others may be views of it; None for no memory."""
    if isinstance(value, wp.array):
        value = wp.to_torch(value), value
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], torch.Tensor):
        tensor, given = value
        kept = tensor.clone()
        return lambda: (tensor.copy_(kept), given)[1]
    if isinstance(value, torch.Tensor):
        return _copy_of((value, value))
    if value is None or isinstance(value, (bool, int, float)):
        return lambda: value
    if isinstance(value, list):
        copies = [_copy_of(each) for each in value]
        return None if None in copies else lambda: [copy() for copy in copies if copy is not None]
    if type(value).__module__.startswith("isaaclab.utils.buffers") or type(value).__name__.endswith("State"):
        return memory_of(value)
    return None


__all__ = ["TaskActuators", "feed_actuators", "memory_of"]
