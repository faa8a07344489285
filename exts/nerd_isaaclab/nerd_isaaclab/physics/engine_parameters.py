# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What the robots of a running simulation weigh, how rough they are and how they are driven, where that is not what a
model's specification says: the physical parameters of a neural step.

The engine is asked when a checkpoint is loaded and after events may have written to it. External wrenches, which change
more often, are asked in each step in which there are any.

Example::

    parameters = EngineParameters(env, robot, predictor)
    next_state = dynamics.step(state, control, parameters=parameters.current())
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import torch
import warp as wp

from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.frames import quat_rotate
from nerd_core.robot.materials import Material, combined
from nerd_core.robot.physical_parameters import JOINT_FIELDS, PhysicalParameters, own_shape, specified
from nerd_core.robot.spec import RobotSpec

from .engine_numbers import NO_LIMIT
from .robot_description import JOINT_DATA, shape_of_slots
from .surface_materials import ground_material, held_by_engine

if TYPE_CHECKING:
    from isaaclab.assets import Articulation
    from isaaclab.envs import ManagerBasedEnv

SAME = 1.0e-5
"""Share of a number within which another is the same: a specification has six digits."""

NOT_IN_OLD_SPECIFICATIONS = ("velocity_limit", "joint_dynamic_friction", "joint_viscous_friction")
"""Parameters that a specification may leave out and still be that of the robot: what all environments have when a model
is loaded is taken as what it was made for."""

LIMITS = ("effort_limit", "velocity_limit", "lower_limit", "upper_limit")
"""Parameters that may be infinite."""

SMALLEST_LENGTH = 0.1
"""Length of which a centre of mass may be off by the share :data:`SAME` [m]: most of them are near zero."""

LEAST_FRICTION = 1.0e-6
"""Smallest coefficient of friction by which others are divided."""


class EngineParameters:
    """The physical parameters of one robot in a running simulation."""

    def __init__(self, env: ManagerBasedEnv, robot: Articulation, predictor: Predictor):
        """Asks the engine for the first time.

        Args:
            env: Environment whose simulation is playing.
            robot: Articulation in its scene.
            predictor: What steps it, with parameters of its own.
        """
        self._env, self._robot, self._predictor, self._spec = env, robot, predictor, predictor.spec
        self._nominal = _rounded_limits(specified(self._spec).map(lambda each: each.to(env.device)))
        self._shapes = torch.tensor(shape_of_slots(env, robot), device=env.device)
        self._ground = ground_material(env)
        self._materials = _materials(self._spec, env, robot)
        self._acts_at_links = getattr(robot, "__backend_name__", "") == "ovphysx"
        """Whether the engine lets forces act at the origins of bodies, not at their centres of mass: Isaac Lab 3.0.0
        hands the poses of links to this one."""
        first = self._read()
        for name in NOT_IN_OLD_SPECIFICATIONS:
            value = getattr(first, name)
            if value is not None and bool((value == value[0]).all()):
                self._nominal = dataclasses.replace(self._nominal, **{name: value[0].clone()})
        self._fixed: PhysicalParameters | None = self._different(first)

    @property
    def given(self) -> tuple[str, ...]:
        """Names of the parameters that are not the specification's, external wrenches aside."""
        return () if self._fixed is None else self._fixed.given

    def forget(self) -> None:
        """Lets the engine be asked in the next step, because something may have been written to it."""
        self._fixed = None

    def current(self) -> PhysicalParameters | None:
        """The parameters of the coming step; None where all of them are the specification's."""
        if self._fixed is None:
            self._fixed = self._different(self._read())
        wrench = self._wrench()
        parameters = self._fixed if wrench is None else dataclasses.replace(self._fixed, **wrench)
        return parameters if parameters.given else None

    def _read(self) -> PhysicalParameters:
        """All parameters as the engine holds them, each with a leading dimension of environments."""
        data, count, bodies = self._robot.data, self._env.num_envs, len(self._spec.bodies)
        found: dict[str, torch.Tensor] = {
            "mass": data.body_mass.torch.reshape(count, bodies),
            "centre_of_mass": data.body_com_pose_b.torch[..., :3],
            "inertia": data.body_inertia.torch.reshape(count, bodies, 3, 3),
        }
        for name, of_spec in JOINT_FIELDS.items():
            if hasattr(data, JOINT_DATA.get(of_spec, "")):
                found[name] = getattr(data, JOINT_DATA[of_spec]).torch
        limits = data.joint_pos_limits.torch
        found |= {"lower_limit": limits[..., 0], "upper_limit": limits[..., 1], "gravity": self._gravity()}
        read = PhysicalParameters(**{name: value.detach().to(self._env.device) for name, value in found.items()})
        return dataclasses.replace(_rounded_limits(read.map(torch.Tensor.clone)), **self._friction())

    def _gravity(self) -> torch.Tensor:
        """Gravity of the scene [m/s^2], shape (1, 3)."""
        manager: Any = self._env.sim.physics_manager
        gravity: Any = manager.get_gravity() if hasattr(manager, "get_gravity") else self._env.cfg.sim.gravity
        return torch.tensor([tuple(gravity)])

    def _friction(self) -> dict[str, torch.Tensor]:
        """Friction and restitution of all slots, as shares of what the model's specification has of the learned one."""
        held = held_by_engine(self._robot)
        if held is None or not len(self._shapes):
            return {}
        of_slots = held.to(self._env.device)[:, self._shapes]
        now = [_with_ground(of_slots[:, i], slot, self._ground) for i, slot in enumerate(self._materials)]
        static, dynamic, restitution = torch.stack(now, dim=1).unbind(-1)
        return {"static_friction": static, "dynamic_friction": dynamic, "restitution": restitution}

    def _different(self, read: PhysicalParameters) -> PhysicalParameters:
        """What of the parameters is not the specification's, in any environment."""
        friction = {name: getattr(read, name) for name in ("static_friction", "dynamic_friction", "restitution")}
        others = [name for name in read.given if name not in friction]
        found = {
            name: getattr(read, name)
            for name in others
            if not _same(
                getattr(read, name),
                getattr(self._nominal, name),
                _scale_dims(self._spec, name),
                SMALLEST_LENGTH if name == "centre_of_mass" else 0.0,
            )
        }
        return PhysicalParameters(**found, **self._different_friction(friction))

    def _different_friction(self, read: dict[str, torch.Tensor | None]) -> dict[str, torch.Tensor]:
        """Friction in units of what the model has learned, where any of it is not what it was made for."""
        static, dynamic, restitution = read["static_friction"], read["dynamic_friction"], read["restitution"]
        if static is None or dynamic is None or restitution is None:
            return {}
        nominal = [combined(material, self._spec.ground or self._ground) for material in self._materials]
        made_for = torch.tensor([[each.static_friction, each.dynamic_friction] for each in nominal]).to(static)
        found: dict[str, torch.Tensor] = {}
        if not (_same(static, made_for[:, 0], 1) and _same(dynamic, made_for[:, 1], 1)):
            mechanics = getattr(self._predictor.prior, "mechanics", None)
            learned = made_for[:, 0].mean() if mechanics is None else mechanics.solver.friction.detach()
            unit = learned / made_for[:, 0].mean().clamp(min=LEAST_FRICTION)
            found |= {"static_friction": unit * static, "dynamic_friction": unit * dynamic}
        if bool((restitution > 0.0).any()):
            threshold = getattr(self._env.cfg.sim.physics, "bounce_threshold_velocity", 0.0)
            found |= {"restitution": restitution, "bounce_threshold": restitution.new_tensor([float(threshold)])}
        return found

    def _wrench(self) -> dict[str, torch.Tensor] | None:
        """External forces and torques on the bodies, environment axes; None where there are none. They keep their
        directions over a control step, also those that are given in the axes of a body.
        """
        composer: Any = getattr(self._robot, "permanent_wrench_composer", None)
        if composer is None or not composer.active:
            return None
        force, torque, is_global = composer.get_forces_and_torques()
        pair = [wp.to_torch(each).clone() for each in (force, torque)]
        if not is_global:
            turn = self._robot.data.body_link_pose_w.torch[..., 3:]
            pair = [quat_rotate(turn, each) for each in pair]
        force, torque = pair
        if self._acts_at_links:
            data = self._robot.data
            arm = data.body_link_pose_w.torch[..., :3] - data.body_com_pose_w.torch[..., :3]
            torque = torque + torch.linalg.cross(arm, force)
        return {"external_force": force, "external_torque": torque}


def _materials(spec: RobotSpec, env: ManagerBasedEnv, robot: Articulation) -> list[Material]:
    """The material of each slot, of the model's specification, or of the running robot where that does not say it."""
    if spec.ground is not None and all(slot.material is not None for slot in spec.slots):
        return [slot.material for slot in spec.slots if slot.material is not None]
    running: Any = env
    return [slot.material or Material() for slot in running.robot_spec.slots]


def _with_ground(held: torch.Tensor, slot: Material, ground: Material) -> torch.Tensor:
    """Static and dynamic friction and restitution of a slot with the ground, by environment, each pair combined as the
    materials ask; shape (N, 3) to the same.
    """
    pairs = torch.unique(held, dim=0, return_inverse=True)
    made = [
        combined(
            dataclasses.replace(slot, static_friction=row[0], dynamic_friction=row[1], restitution=max(row[2], 0.0)),
            ground,
        )
        for row in pairs[0].tolist()
    ]
    table = torch.tensor([[each.static_friction, each.dynamic_friction, each.restitution] for each in made])
    return table.to(held)[pairs[1]]


def _rounded_limits(parameters: PhysicalParameters) -> PhysicalParameters:
    """Limits that mean none as infinity."""
    limits = {name: getattr(parameters, name) for name in LIMITS if name in parameters.given}
    return dataclasses.replace(
        parameters,
        **{name: torch.where(each.abs() > NO_LIMIT, each.sign() * torch.inf, each) for name, each in limits.items()},
    )


def _scale_dims(spec: RobotSpec, name: str) -> int:
    """How many of the last dimensions of a parameter share a size: those of a vector or a matrix."""
    return max(1, len(own_shape(spec, name)) - 1)


def _same(value: torch.Tensor, nominal: torch.Tensor, dims: int, least: float = 0.0) -> bool:
    """Whether a parameter is that of the specification in all environments: to a share of its size, which is that of
    its largest number in the last dimensions, and not smaller than the least.
    """
    if not value.numel():
        return True
    nominal = nominal.to(value).expand_as(value)
    finite = torch.where(nominal.isfinite(), nominal.abs(), torch.zeros_like(nominal))
    size = finite.amax(tuple(range(-dims, 0)), keepdim=True).clamp(min=least)
    return bool(((value == nominal) | ((value - nominal).abs() <= SAME * size)).all())


__all__ = ["EngineParameters"]
