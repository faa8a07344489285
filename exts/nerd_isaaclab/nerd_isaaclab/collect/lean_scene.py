# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Steps the robot of a task without the task's managers.

Random excitation needs no rewards, observations or terminations. What is left of an environment's step is: set the
actuators' targets, let the actuators compute, let the solver step, read the state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from ..physics.robot_state import RobotState

if TYPE_CHECKING:
    from ..envs.nerd_env import NerdDynamics
    from ..recorders.contact_probe import ContactProbe


class LeanScene:
    """The robot of a task, stepped by the solver under given controls."""

    def __init__(self, env: NerdDynamics, rewrite: bool = False, probe: ContactProbe | None = None):
        """Takes over the scene of an environment in ``physx`` mode.

        Args:
            env: Environment; its managers are not used.
            rewrite: Whether the state is written back before each physics step. The solver keeps friction history from
                step to step; writing the state drops it, which makes the next state a function of state and control
                alone, bit for bit, at the price of friction that starts anew each step.
            probe: Reads contacts after each physics step.
        """
        self.spec = env.robot_spec
        self.num_envs = env.num_envs
        self._env = env
        self._robot = env.robot
        self._state = RobotState(env.robot, env.robot_spec, env.scene.env_origins)
        self._rewrite = rewrite
        self._probe = probe

    def write(self, state: torch.Tensor) -> None:
        """Puts every environment into a state relative to its origin, shape (N, S)."""
        self._robot.reset()  # states of actuators, external wrenches
        self._state.write(state)
        self._env.sim.forward()

    def read(self) -> torch.Tensor:
        """The state of every environment, relative to its origin, shape (N, S)."""
        return self._state.read()

    def step(self, control: torch.Tensor) -> torch.Tensor:
        """Advances one control step and returns the states after it, shape (N, S).

        Args:
            control: What the actuators hold over the step, shape (N, C).
        """
        manager, robot, dt = self._env.sim.physics_manager, self._robot, self._env.physics_dt
        self._state.write_control(control)
        for number in range(self.spec.decimation):
            if self._rewrite:
                self._state.write(self._state.read())
            robot.write_data_to_sim()
            manager.step()
            self._state.advance_clock(dt)
            if self._probe is not None:
                self._probe.after_physics_step(number)
        return self._state.read()
