# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A manager-based environment whose physics step can be taken over by a learned model."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import Any, override

import torch
from isaaclab.assets import Articulation, RigidObjectCfg
from isaaclab.envs import ManagerBasedRLEnv
from isaaclab.envs.common import VecEnvStepReturn
from isaaclab.managers import TerminationTermCfg
from isaaclab.utils.string import ResolvableString

from nerd_core import checkpoint
from nerd_core.adaptation.config import AdaptCfg
from nerd_core.adaptation.follower import Follower
from nerd_core.dynamics import NeuralDynamics
from nerd_core.files.bounds import check_bounds
from nerd_core.identification.engine_calibration import read_calibration
from nerd_core.mechanics.actuators import is_explicit
from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.spec import RobotSpec

from ..checkpoints.shipped import find_checkpoint
from ..compat.refusals import plain_refusals
from ..mdp.terminations import refused_by_guard
from ..physics.contact_forces import enter_steps, feed_contact_sensors, release_contact_sensors
from ..physics.engine_calibration import apply_calibration
from ..physics.engine_commands import hold_commands, send_commands
from ..physics.engine_parameters import EngineParameters
from ..physics.free_body import FreeBody
from ..physics.ground import find_ground
from ..physics.guard_recorder import GuardRecorder
from ..physics.inertial_sensors import feed_inertial_sensors, release_inertial_sensors
from ..physics.joint_wrenches import feed_joint_wrench_sensors, release_joint_wrench_sensors
from ..physics.modes import MODES
from ..physics.neural_physics import NeuralPhysics
from ..physics.reported_efforts import ReportedEfforts
from ..physics.resting_engine import let_engine_rest, wake_engine
from ..physics.robot_description import describe_robot, find_controls
from ..physics.robot_state import RobotState
from ..physics.task_actuators import feed_actuators
from ..ui.panel import NerdPanel
from ..ui.viser_page import add_viser_pages
from .driven_asset import NerdModeError, find_driven_asset, find_resting_assets
from .nerd_env_cfg import WINDOW_CLASS, NerdCfg
from .randomised_properties import find_randomised_properties, writes_properties
from .unsupported_terms import GivenForces, find_unsupported_terms

logger = logging.getLogger(__name__)

GUARD_TERM = "nerd_guard"
"""Name of the termination that is added to every task."""


class NerdDynamics(ManagerBasedRLEnv):
    """Adds a choice of dynamics, ``cfg.nerd``, to a manager-based environment: :class:`NerdEnv` is the plain one, and
    your own class gets it as ``class Mine(NerdDynamics, MyEnv)``.

    Rewards, observations, terminations, events, curricula and recorders stay Isaac Lab's own. One termination is added,
    ``nerd_guard``: it ends the episodes of environments whose predicted state the guard refused. In ``physx`` mode
    nothing else of this package takes part in a step.
    """

    def __init__(self, cfg: Any, render_mode: str | None = None, **kwargs: Any):
        self._neural: NeuralPhysics | None = None
        self._requested: tuple[str, torch.Tensor | None] | None = None
        self._mode = "physx"
        self._spec: RobotSpec | None = None
        self._panel: NerdPanel | None = None
        check_bounds(cfg.nerd, NerdModeError)  # overrides are put into a configuration that is made already
        self._robot_name = find_driven_asset(cfg)
        self._free_body: FreeBody | None = None
        _add_guard(cfg)
        _add_window(cfg)
        with plain_refusals():
            super().__init__(cfg=cfg, render_mode=render_mode, **kwargs)
        add_viser_pages(self)

    # -- what a user reads and sets --------------------------------------------------------------------------------

    @property
    def nerd(self) -> NeuralPhysics | None:
        """What takes over the step of the physics manager; None while no checkpoint was loaded."""
        return self._neural

    @property
    def nerd_mode(self) -> str:
        """The mode that the last step ran in."""
        return self._mode

    @property
    def robot_spec(self) -> RobotSpec:
        """Specification of the robot that the model drives, as it stands in the running simulation."""
        if self._spec is None:
            controls = find_controls(self, self.robot)
            self._spec = describe_robot(self, self.robot, _name_of_asset(self.robot), controls)
        return self._spec

    @property
    def nerd_panel(self) -> NerdPanel:
        """Readings and requests of a user interface. Every step begins with the requests."""
        if self._panel is None:
            self._panel = NerdPanel(self)
        return self._panel

    @property
    def robot(self) -> Articulation:
        """The articulation that the model drives. A free rigid body is wrapped as one that has no joints."""
        asset: Any = self.scene[self._robot_name]
        if not isinstance(asset.cfg, RigidObjectCfg):
            return asset
        if self._free_body is None or self._free_body.body is not asset:
            self._free_body = FreeBody(asset)
        body: Any = self._free_body
        return body

    @property
    def nerd_cfg(self) -> NerdCfg:
        """Choice of the dynamics in the task's configuration."""
        return self.cfg.nerd

    def set_nerd_mode(self, mode: str, neural: torch.Tensor | None = None) -> None:
        """Requests a mode. The next :meth:`step` applies it, so this may be called from anywhere, a GUI included.

        Args:
            mode: ``physx``, ``neural`` or ``mixed``.
            neural: Environments that are neural in ``mixed`` mode, boolean mask of shape (N,); by default the first
                ``cfg.nerd.neural_share`` of them.

        Raises:
            NerdModeError: The mode is unknown, or has no checkpoint to run with.
        """
        _check_mode(mode)
        if mode == "neural" and self.nerd_cfg.adapt is not None:
            raise NerdModeError(
                f"got env.nerd.adapt={self.nerd_cfg.adapt} in neural mode, where nothing is measured: expected "
                "env.nerd.mode=mixed, with env.nerd.neural_share=0 for a model that is the shadow of the solver"
            )
        if mode == "neural":
            self._refuse_resting_assets()
        if mode != "physx":
            self._require_checkpoint(mode)
        self._requested = (mode, neural)

    def load_nerd_checkpoint(self, path: str) -> None:
        """Loads a model for the robot of this task, by path or by the name of a shipped one.

        The next step with it starts with empty histories.

        Raises:
            UnknownCheckpoint: There is no such directory or shipped model.
            CheckpointError: The checkpoint cannot be read.
            SpecMismatch: It was made for another robot, with the differences.
            NerdModeError: The task has terms that cannot work without the solver.
        """
        predictor = checkpoint.load(find_checkpoint(path), expected_spec=self.robot_spec, device=self.device).eval()
        self._refuse_unsupported_terms(predictor)
        self._say_what_is_not_followed(predictor)
        ground = find_ground(self) if predictor.needs_contacts else None
        cfg = self.nerd_cfg
        dynamics = NeuralDynamics(
            predictor, self.num_envs, self.device, ground=ground, compile=cfg.compile, noise=cfg.noise
        )
        cfg.checkpoint = path
        self.use_dynamics(dynamics)

    def use_dynamics(self, dynamics: NeuralDynamics) -> None:
        """Steps the neural environments with an object of your own instead of a checkpoint's model.

        Args:
            dynamics: Anything with the interface of :class:`~nerd_core.dynamics.NeuralDynamics`: ``step``, ``reset``
                and ``held``.
        """
        if self.nerd_cfg.dump_dir is not None and isinstance(dynamics, NeuralDynamics):
            folder = Path(self.nerd_cfg.dump_dir)
            dynamics = GuardRecorder(dynamics, folder, self._neural_mask, self._facts)  # pyright: ignore
        feed_actuators(dynamics, self.robot, lambda: self._neural_mask() is not None)
        mode, stock = self._mode, self.sim.physics_manager if self._neural is None else self._neural.stock
        self._apply_mode("physx", None)
        robot = RobotState(self.robot, self.robot_spec, self.scene.env_origins)
        predictor = getattr(dynamics, "predictor", None)
        parameters = None
        if isinstance(predictor, Predictor) and predictor.takes_parameters:
            parameters = EngineParameters(self, self.robot, predictor)
        efforts = ReportedEfforts(self.robot, self.robot_spec)
        adaptation = self._follower(predictor, getattr(dynamics, "ground", None))
        options = self.physics_dt, self.cfg.decimation, parameters, efforts, adaptation
        self._neural = NeuralPhysics(stock, robot, dynamics, *options)
        self._neural.on_contact_forces = partial(
            enter_steps, self.scene, self._neural, self.cfg.decimation - 1, self.physics_dt
        )
        if mode != "physx":
            self._requested = (mode, None)

    def forget_parameters(self) -> None:
        """Lets the next neural step ask the engine again for masses, friction, gains and the like. To be called after
        your own code, which is no event of the task, has written such properties.
        """
        if self._neural is not None and self._neural.parameters is not None:
            self._neural.parameters.forget()

    # -- what Isaac Lab calls --------------------------------------------------------------------------------------

    @override
    def load_managers(self) -> None:
        _check_mode(self.nerd_cfg.mode)
        if self.nerd_cfg.calibration is not None:
            apply_calibration(self.robot, read_calibration(Path(self.nerd_cfg.calibration)))
        super().load_managers()
        if self.nerd_cfg.mode != "physx":
            self.set_nerd_mode(self.nerd_cfg.mode)

    @override
    def step(self, action: torch.Tensor) -> VecEnvStepReturn:
        if self._panel is not None:
            self._panel.apply()
        if self._requested is not None:
            self._apply_mode(*self._requested)
        if self._mode == "physx":
            return super().step(action)
        result = super().step(action)
        if writes_properties(self.cfg.events, "interval"):
            self.forget_parameters()
        self._log()
        return result

    @override
    def _reset_idx(self, env_ids: torch.Tensor | slice) -> None:
        super()._reset_idx(env_ids)
        if self._neural is not None:
            self._neural.forget(env_ids)
            if writes_properties(self.cfg.events, "reset"):
                self.forget_parameters()
                if self._neural.adaptation is not None:
                    self._neural.adaptation.forget(env_ids)  # they are other robots now

    @override
    def close(self) -> None:
        if not self._is_closed:
            self._apply_mode("physx", None)
        super().close()

    # -- how it is done --------------------------------------------------------------------------------------------

    def _apply_mode(self, mode: str, neural: torch.Tensor | None) -> None:
        """Lets the stock manager or the neural one step. Call only between two steps."""
        self._requested = None
        (hold_commands if mode == "neural" and self._neural is not None else send_commands)(self.robot)
        wake_engine(self.robot)
        if mode == "physx" or self._neural is None:
            if self._neural is not None:
                self.sim.physics_manager = self._neural.stock
                release_inertial_sensors(self.scene, self.robot)
                release_contact_sensors(self.scene)
                release_joint_wrench_sensors(self.scene)
                self._neural.ask_for_forces("none")
        else:
            if mode == "mixed" and neural is None:
                share = round(self.nerd_cfg.neural_share * self.num_envs)
                neural = torch.arange(self.num_envs, device=self.device) < share
            if self._mode == "physx":
                self._neural.forget(slice(None))
            self._neural.use(neural if mode == "mixed" else None)
            self.forget_parameters()
            self.sim.physics_manager = self._neural
            if mode == "neural":
                self._neural.settle = let_engine_rest(self.robot, self.robot_spec, self.scene)
            feed_inertial_sensors(self.scene, self.robot)
            fed = self._neural.has_contact_forces and feed_contact_sensors(self.scene, self.robot, self._neural)
            joints = self._neural.computes_forces and feed_joint_wrench_sensors(self.scene, self.robot, self._neural)
            self._neural.ask_for_forces("joints" if joints else "contacts" if fed else "none")
        self._mode = mode
        self._physics_handles_decimation = self.sim.physics_manager.handles_decimation()

    def _require_checkpoint(self, mode: str) -> None:
        if self._neural is not None:
            return
        path = self.nerd_cfg.checkpoint
        if path is None:
            raise NerdModeError(
                f"got nerd mode '{mode}' without a checkpoint: add env.nerd.checkpoint=<directory>, "
                "made by 'nerd train', or use env.nerd.mode=physx"
            )
        self.load_nerd_checkpoint(path)

    def _follower(self, predictor: Any, ground: Any) -> Follower | None:
        """What estimates changes of the robots, if the task asks for it."""
        words = self.nerd_cfg.adapt
        if words is None:
            return None
        if not isinstance(predictor, Predictor):
            raise NerdModeError(
                f"got env.nerd.adapt={words} with dynamics of your own, expected a checkpoint's model with mechanics"
            )
        cfg = AdaptCfg(tuple(words.split("+")), every=self.nerd_cfg.adapt_every, budget=self.nerd_cfg.adapt_budget)
        return Follower(predictor, cfg, self.num_envs, ground)

    def _say_what_is_not_followed(self, predictor: Predictor) -> None:
        """Warns of events that make robots differ in what the model has not learned and cannot compute."""
        randomised = find_randomised_properties(self.cfg.events)
        if predictor.takes_parameters:
            has_laws = any(is_explicit(joint) for joint in self.robot_spec.joints)
            followed = [each for each in randomised if each.is_followed(has_laws)]
            if followed and predictor.network is not None:
                logger.warning(
                    "mechanics follows these events, and the network behind it has learned from one robot alone: %s",
                    ", ".join(map(str, followed)),
                )
            randomised = [each for each in randomised if each not in followed]
        if randomised:
            logger.warning(
                "the model knows one robot, these events make robots differ, and it does not follow them: %s",
                ", ".join(map(str, randomised)),
            )

    def _refuse_resting_assets(self) -> None:
        """Raises where the scene has something else that moves: a model steps the robot alone, and does not feel it."""
        others = find_resting_assets(self.cfg, self._robot_name)
        if others and not self.nerd_cfg.others_rest:
            removals = " ".join(f"env.scene.{name}=null" for name in others)
            raise NerdModeError(
                f"the scene has other bodies that move ({', '.join(others)}): while a model steps "
                f"'{self._robot_name}', they rest where they are, and it does not feel them. Use env.nerd.mode=mixed "
                f"or physx, remove them ({removals}), or accept it with env.nerd.others_rest=true"
            )

    def _refuse_unsupported_terms(self, predictor: Predictor) -> None:
        terms = find_unsupported_terms(self, self.robot, GivenForces.of(predictor))
        if terms:
            lines = "\n".join(f"  {term.path} reads {term.reason}" for term in terms)
            overrides = " ".join(term.override for term in terms)
            raise NerdModeError(
                f"these terms of the task cannot work while a model steps the robot:\n{lines}\n"
                f"Remove them with: {overrides}"
            )

    def _neural_mask(self) -> torch.Tensor | None:
        """Environments that the model steps, shape (N,); None for all of them."""
        return None if self._neural is None else self._neural.neural

    def _facts(self) -> dict[str, Any]:
        """What a dump says of this run."""
        path = self.nerd_cfg.checkpoint
        return {
            "task": getattr(self.spec, "id", type(self.cfg).__name__),
            "checkpoint": None if path is None else Path(path).name,
            "seed": self.cfg.seed,
            "mode": self._mode,
            "num_envs": self.num_envs,
        }

    def _log(self) -> None:
        """Adds what the model did in this step to the log of the environment."""
        assert self._neural is not None
        log = self.extras.setdefault("log", {})
        log["Metrics/nerd_held"] = self._neural.held.float().mean()
        if self._neural.adaptation is not None:
            log["Metrics/nerd_adapted"] = self._neural.adaptation.used.float().mean()
        error = self._neural.one_step_error
        if error is not None:
            log.update({f"Metrics/nerd_{name}": value for name, value in self._neural.error_summary().items()})


class NerdEnv(NerdDynamics):
    """A :class:`~isaaclab.envs.ManagerBasedRLEnv` with a choice of dynamics."""


def _check_mode(mode: str) -> None:
    if mode not in MODES:
        raise NerdModeError(f"got nerd mode '{mode}', expected one of {', '.join(MODES)}")


def _add_guard(cfg: Any) -> None:
    """Adds the termination of environments that the guard holds."""
    term = TerminationTermCfg(func=refused_by_guard)
    if isinstance(cfg.terminations, dict):
        cfg.terminations.setdefault(GUARD_TERM, term)
    elif not hasattr(cfg.terminations, GUARD_TERM):
        setattr(cfg.terminations, GUARD_TERM, term)


def _add_window(cfg: Any) -> None:
    """Replaces Isaac Lab's window by the one with our frame; a window of the task's own stays. Used only in Kit."""
    if str(cfg.ui_window_class_type).endswith(":ManagerBasedRLEnvWindow"):
        cfg.ui_window_class_type = ResolvableString(WINDOW_CLASS)


def _name_of_asset(robot: Articulation) -> str:
    """Name of the robot: that of its asset file, or of its prim where it is made by code."""
    path = getattr(robot.cfg.spawn, "usd_path", None) or robot.cfg.prim_path
    return str(path).replace("\\", "/").rsplit("/", 1)[-1].rsplit(".", 1)[0]
