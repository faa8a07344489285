# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Takes over the step of the stock physics manager.

An instance is put in the place of ``sim.physics_manager``. It passes every attribute and call on to the stock manager,
except :meth:`NeuralPhysics.step` and :meth:`NeuralPhysics.handles_decimation`. Assets, sensors and managers of Isaac
Lab need no change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from nerd_core.adaptation.follower import Follower
from nerd_core.dynamics import NeuralDynamics
from nerd_core.mechanics.forces import BodyForces
from nerd_core.predictor.prediction import Forces
from nerd_core.threads import small_operations

from .engine_parameters import EngineParameters
from .reported_efforts import ReportedEfforts
from .robot_state import RobotState

_SAY_NO_STATE = frozenset({"wait_for_playing", "get_backend", "get_device", "get_physics_dt"})
"""What of the stock manager is asked in every step and does not depend on the state."""


class NeuralPhysics:
    """A step of the learned dynamics in the place of a control step of physics.

    With all environments neural, one call of :meth:`step` advances one whole control step and the solver rests. With
    some of them neural, the solver advances all environments through the substeps, and at the end of the control step
    the neural ones are given the model's prediction instead; what the solver had made of the same state is compared
    with it in :attr:`one_step_error`.
    """

    def __init__(
        self,
        stock: Any,
        robot: RobotState,
        dynamics: NeuralDynamics,
        physics_dt: float,
        decimation: int,
        parameters: EngineParameters | None = None,
        efforts: ReportedEfforts | None = None,
        adaptation: Follower | None = None,
    ):
        """Wraps a physics manager.

        Args:
            stock: Physics manager of the active backend (a class, as Isaac Lab has it).
            robot: Reader and writer of the articulation that the model drives.
            dynamics: The stateful model, one history an environment.
            physics_dt: Length of a physics step [s].
            decimation: Physics steps in one control step.
            parameters: Masses, friction, gains and the like that differ from the specification, for a model that
                follows them.
            efforts: Lets actuators report what they did at the end of a control step; None to leave what they said at
                its beginning.
            adaptation: Estimates physical parameters from what the solver makes of the robots, in the place of asking
                the engine for them; looks while the solver steps, so never where all environments are neural.
        """
        self.adaptation = adaptation
        """What follows changes of the robots; None for nothing."""
        self._efforts = efforts if efforts is not None and efforts.is_needed else None
        self.parameters = parameters
        """Physical parameters of the running simulation; None for a model that does not follow them."""
        self.stock = stock
        self._robot = robot
        self._dynamics = dynamics
        self._physics_dt = physics_dt
        self._decimation = decimation
        self._control_dt = physics_dt * decimation
        self._neural: torch.Tensor | None = None
        self._state: torch.Tensor | None = None
        """State after the last control step in the model's own numbers, shape (N, S)."""
        self._left: torch.Tensor | None = None
        """What the engine held of it at the end of that step, see :meth:`RobotState.read_engine`."""
        self._substep = 0
        self.held = torch.zeros_like(dynamics.held)
        """Neural environments that the guard held in the last control step, shape (N,). A reset does not clear it."""
        self.held_count = torch.zeros_like(self.held, dtype=torch.int64)
        """How often each environment was held while it was neural, shape (N,)."""
        self.one_step_error: torch.Tensor | None = None
        """Prediction minus the solver's result of the last mixed step, shape (N, S); None before, or all neural."""
        self.contact_forces = torch.zeros(*self.held.shape, len(robot.spec.bodies), 3, device=self.held.device)
        """Contact force on each body, world axes [N], shape (N, bodies, 3): over the last control step as a model with
        a force head predicts it, in its last physics step where mechanics computes it. Zero without either, where the
        guard held, and after a reset."""
        self.body_forces: BodyForces | None = None
        """What mechanics computes of the last control step, if a sensor asks: the same in each physics step, friction
        apart, and what joints carry. Leading dimensions (N,)."""
        self._shown: int | None = None
        self.on_contact_forces: Callable[[], None] = _nothing
        """Called when :attr:`contact_forces` are those of a whole control step, which no sensor has recorded yet."""
        self.settle: Callable[[], None] = _nothing
        """Gets the state into an engine that rests, see :mod:`nerd_isaaclab.physics.resting_engine`."""

    def __getattr__(self, name: str) -> Any:
        if name not in _SAY_NO_STATE:
            self.__dict__.get("settle", _nothing)()
        return getattr(self.stock, name)

    @property
    def __name__(self) -> str:
        """Name of the stock manager: factories of assets and sensors choose their backend by it."""
        return self.stock.__name__

    @property
    def dynamics(self) -> NeuralDynamics:
        """The model that steps the neural environments."""
        return self._dynamics

    @property
    def body_names(self) -> list[str]:
        """Names of the robot's bodies, in the order of :attr:`contact_forces`."""
        return [body.name for body in self._robot.spec.bodies]

    @property
    def has_contact_forces(self) -> bool:
        """Whether the model predicts contact forces."""
        predictor = getattr(self._dynamics, "predictor", None)
        return predictor is not None and (predictor.cfg.force_head or predictor.gives_forces)

    @property
    def computes_forces(self) -> bool:
        """Whether the model computes contact forces and what joints carry, by mechanics."""
        predictor = getattr(self._dynamics, "predictor", None)
        return predictor is not None and predictor.gives_forces

    def ask_for_forces(self, forces: Forces) -> None:
        """Which of :attr:`body_forces` are computed from now on, which costs time."""
        if self.computes_forces:
            self._dynamics.ask_for_forces(forces)
        self.body_forces = None

    @property
    def shown_step(self) -> int:
        """The physics step whose forces sensors are shown, -1 for the last one of the control step."""
        return self._substep - 1 if self._shown is None else self._shown

    @contextmanager
    def showing(self, physics_step: int) -> Iterator[None]:
        """Inside, sensors are shown the forces of a physics step of the last control step."""
        self._shown = physics_step
        try:
            yield
        finally:
            self._shown = None

    @property
    def neural(self) -> torch.Tensor | None:
        """Mask of the neural environments, shape (N,); None for all of them."""
        return self._neural

    @property
    def began_with(self) -> tuple[torch.Tensor, torch.Tensor]:
        """States and controls with which the last control step began, shapes (N, S) and (N, C)."""
        return self._seen

    def handles_decimation(self) -> bool:
        """Whether one call of :meth:`step` is a whole control step."""
        return self._neural is None or self.stock.handles_decimation()

    def use(self, neural: torch.Tensor | None) -> None:
        """Chooses the environments that the model steps. Call between two control steps.

        The history of every environment that gets another owner is emptied, the others keep theirs.

        Args:
            neural: Mask of the neural environments, shape (N,); None for all of them.
        """
        if self._left is not None:
            everything = torch.ones_like(self.held)
            old = everything if self._neural is None else self._neural
            new = everything if neural is None else neural
            self._dynamics.reset(old ^ new)
        self._neural = neural
        self._neural_ids = None if neural is None else neural.nonzero().squeeze(-1)
        self._substep = 0
        self.one_step_error = None

    def forget(self, env_ids: torch.Tensor | slice) -> None:
        """Empties the history of environments that were reset."""
        self._dynamics.reset(None if isinstance(env_ids, slice) else env_ids.long())
        self.contact_forces[env_ids] = 0.0
        if self.body_forces is not None:
            kept = torch.ones_like(self.held)
            kept[env_ids] = False
            self.body_forces = _where(kept, self.body_forces)
        if self._left is not None:
            # Not in place: it may have been made in inference mode, and a tensor from there must not change outside.
            self._left = self._left.clone()
            self._left[env_ids] = torch.nan  # differs from anything: the state is read from the engine

    def error_summary(self) -> dict[str, torch.Tensor]:
        """Mean absolute one-step error of the neural environments against the solver, by quantity; of all where none
        is neural.
        """
        assert self.one_step_error is not None and self._neural_ids is not None
        shadows = not len(self._neural_ids)  # the model steps nobody: it is compared everywhere
        error = self.one_step_error if shadows else self.one_step_error[self._neural_ids]
        layout = self._robot.spec.state
        parts = {"joint_pos": layout.joint_pos, "joint_vel": layout.joint_vel}
        if self._robot.spec.floating_base:
            parts |= {"root_pos": layout.root_pos, "root_quat": layout.root_quat}
            parts |= {"root_lin_vel": layout.root_lin_vel, "root_ang_vel": layout.root_ang_vel}
        return {f"error_{name}": error[:, part].abs().mean() for name, part in parts.items()}

    def step(self) -> None:
        """Advances the simulation: a control step if :meth:`handles_decimation`, otherwise a physics step."""
        if self._neural is None:
            with small_operations(len(self.held) * self._robot.spec.state.dim):
                self._step_all()
        else:
            self._step_some(self._neural)

    def _step_all(self) -> None:
        joints, bodies = self._robot.velocities()
        before = None if self._efforts is None else self._efforts.joints()
        state = self._predict()
        self._robot.take_back_wrench()
        with self._robot.at_coming_update(self._control_dt):
            self._robot.write(state)
            self.stock.forward()  # forward kinematics, published to renderers; no dynamics
            new_joints, new_bodies = self._robot.velocities()
            self._robot.publish_accelerations(
                (new_joints - joints) / self._control_dt, (new_bodies - bodies) / self._control_dt
            )
            if self._efforts is not None and before is not None:
                self._efforts.publish(before)
            self._left = self._robot.read_engine()
        self._state = state
        self.on_contact_forces()

    def _step_some(self, neural: torch.Tensor) -> None:
        is_whole = self.stock.handles_decimation()
        if self._substep == 0:
            self._before = self._robot.velocities()
            self._prediction = self._predict()
        self.stock.step()
        self._substep += self._decimation if is_whole else 1
        if self._substep < self._decimation:
            return
        self._substep = 0
        with self._robot.at_coming_update(self._control_dt if is_whole else self._physics_dt):
            solved, accelerations = self._robot.read(), self._robot.accelerations()
            self.one_step_error = self._prediction - solved
            if self.adaptation is not None:
                self.adaptation.look(*self._seen, solved, self._prediction)
            state, env_ids = torch.where(neural[:, None], self._prediction, solved), self._neural_ids
            if env_ids is not None and len(env_ids):
                self._robot.write(state[env_ids], env_ids)
                self.stock.forward()
                for acceleration, old, new in zip(accelerations, self._before, self._robot.velocities(), strict=True):
                    acceleration[env_ids] = ((new - old) / self._control_dt)[env_ids]
                self._robot.publish_accelerations(*accelerations)
            self._left = self._robot.read_engine()
        self._state = state

    def _predict(self) -> torch.Tensor:
        """The model's next state for every environment; histories of those that were moved from outside are emptied.

        Where the engine holds what was left there, the state is taken from here: it has not been rounded by the
        position of the environment in the world. The engine gives back what was written to the last bit, and nothing in
        Isaac Lab rewrites a state, so that any difference is somebody's move, however small.
        """
        state = self._robot.read()
        if self._left is not None and self._state is not None:
            kept = (self._robot.read_engine() == self._left).all(dim=-1)
            self._dynamics.reset(~kept)
            state = torch.where(kept[:, None], self._state, state)
        control = self._robot.read_control()
        self._seen = state, control
        if self.adaptation is not None:
            parameters, control = self.adaptation.parameters(control)
        else:
            parameters = None if self.parameters is None else self.parameters.current()
        if parameters is None:
            prediction = self._dynamics.step(state, control)
        else:
            prediction = self._dynamics.step(state, control, parameters=parameters)
        self.held = self._dynamics.held.clone() if self._neural is None else self._dynamics.held & self._neural
        self.held_count += self.held
        self._keep_contact_forces()
        return self._robot.unwrap(prediction, state)

    def _keep_contact_forces(self) -> None:
        """Copies the predicted forces. What is not a number, or belongs to a refused state, is no force."""
        prediction = getattr(self._dynamics, "prediction", None)
        forces = None if prediction is None else prediction.body_forces
        if forces is not None:
            finite = torch.stack([each.flatten(1).isfinite().all(-1) for each in forces if each is not None]).all(0)
            self.body_forces = forces = _where(finite & ~self._dynamics.held, forces)
            self.contact_forces.copy_((forces.normal + forces.friction)[:, -1])
        elif prediction is not None and prediction.force is not None:
            valid = ~self._dynamics.held & prediction.force.isfinite().all(dim=-1).all(dim=-1)
            self.contact_forces.copy_(torch.where(valid[:, None, None], prediction.force, 0.0))


def _where(kept: torch.Tensor, forces: BodyForces) -> BodyForces:
    """Forces of some environments, zero for the others; ``kept`` is a mask of shape (N,)."""
    return forces.map(lambda each: torch.where(kept.view(-1, *[1] * (each.dim() - 1)), each, 0.0))


def _nothing() -> None:
    """Does nothing."""
