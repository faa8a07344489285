# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Finds the terms of a task that read what a learned step cannot give them.

While the model steps a robot the solver rests: contact forces and joint wrenches stay what they last were, unless the
model gives them. A term that reads them would go on with stale numbers, so it is named before the first step, with the
override that removes it.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from isaaclab.managers import ManagerTermBaseCfg, SceneEntityCfg

from ..physics.contact_forces import is_contact_sensor, why_not_fed
from ..physics.inertial_sensors import find_unfed_sensors
from ..physics.joint_wrenches import is_joint_wrench_sensor, why_no_wrenches

if TYPE_CHECKING:
    from isaaclab.assets import Articulation
    from isaaclab.envs import ManagerBasedRLEnv

    from nerd_core.predictor.predictor import Predictor

_GROUPS = ("observations", "rewards", "terminations", "events", "curriculum", "commands")


@dataclass(frozen=True)
class UnsupportedTerm:
    """A term, why it cannot work, and how to do without it."""

    path: str
    """Path of the term in the configuration, for instance ``observations.policy.feet_body_forces``."""
    reason: str
    """What it reads."""

    @property
    def override(self) -> str:
        """Command-line override that removes the term."""
        return f"env.{self.path}=null"


class GivenForces(NamedTuple):
    """Which forces a model gives."""

    by_head: bool
    """Contact forces, which a force head predicts."""
    by_mechanics: bool
    """Contact forces and what joints carry, which mechanics computes."""

    @classmethod
    def of(cls, predictor: Predictor) -> GivenForces:
        """Those of a model."""
        return cls(predictor.cfg.force_head, predictor.gives_forces)


NO_FORCES = GivenForces(False, False)
"""Of a model that gives none, or where there is no model."""


def find_unsupported_terms(env: ManagerBasedRLEnv, robot: Articulation, given: GivenForces) -> list[UnsupportedTerm]:
    """Terms that read the data of a sensor which only the solver feeds.

    Args:
        env: Environment whose scene is built.
        robot: Articulation that the model drives.
        given: Which forces the model gives, which then feed the sensors.
    """
    stale = {}
    for name, sensor in env.scene.sensors.items():
        if is_joint_wrench_sensor(sensor):
            reason = (
                why_no_wrenches(sensor, robot) if given.by_mechanics else "which only the solver and mechanics compute"
            )
            if reason is not None:
                stale[name] = f"the joint wrenches of the sensor '{name}', {reason}"
        elif is_contact_sensor(sensor):
            reason = "the checkpoint has neither mechanics nor a force head to feed it"
            if any(given):
                reason = why_not_fed(sensor, robot, given.by_mechanics)
            if reason is not None:
                stale[name] = f"the contact sensor '{name}', and {reason}"
    for name in find_unfed_sensors(env.scene):
        stale[name] = f"the accelerations of the sensor '{name}', which on this physics backend only the solver gives"
    found = []
    for group in _GROUPS:
        for path, term in _terms(getattr(env.cfg, group, None), group):
            found += [UnsupportedTerm(path, stale[name]) for name in sorted(_entities(term)) if name in stale]
    return found


def _entities(term: ManagerTermBaseCfg) -> set[str]:
    """Names of the scene's entities that a term may read: those among its parameters, and those that its function takes
    by default. A parameter that is a string may name a sensor too.
    """
    function: Any = getattr(term, "func", None)
    defaults: dict[str, Any] = {}
    if callable(function):
        called = function.__call__ if inspect.isclass(function) else function
        defaults = {name: parameter.default for name, parameter in inspect.signature(called).parameters.items()}
    values = (defaults | dict(term.params or {})).values()
    return {value.name for value in values if isinstance(value, SceneEntityCfg)} | {
        value for value in values if isinstance(value, str)
    }


def _terms(cfg: object, path: str) -> list[tuple[str, ManagerTermBaseCfg]]:
    """All terms below a part of the configuration, with their paths."""
    if isinstance(cfg, ManagerTermBaseCfg):
        return [(path, cfg)]
    if not isinstance(cfg, dict) and not hasattr(cfg, "__dict__"):
        return []
    parts: dict[str, object] = cfg if isinstance(cfg, dict) else vars(cfg)
    return [found for name, value in parts.items() for found in _terms(value, f"{path}.{name}")]
