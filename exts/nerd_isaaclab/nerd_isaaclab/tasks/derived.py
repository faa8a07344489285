# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``NeRD-<id>`` for every registered manager-based task, made by rule.

A derived task has the configuration of its origin with one more field, ``nerd`` (see
:class:`~nerd_isaaclab.envs.nerd_env_cfg.NerdCfg`), and its environment class with the choice of dynamics in front.
Tasks of other packages are derived alike. Registering imports no configuration and starts nothing: names are resolved
when a task is asked for, by the ``__getattr__`` of this module and of :mod:`nerd_isaaclab.tasks.derived_agents`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import logging
from typing import Any

import gymnasium

from .register import ENV_CLASS

PREFIX = "NeRD-"
"""What stands before the id of the origin."""

GROUP = "isaaclab.tasks"
"""Entry-point group through which packages add tasks to Isaac Lab."""

MANAGER_BASED = "isaaclab.envs:ManagerBasedRLEnv"
"""Environment class of the stock manager-based tasks."""

logger = logging.getLogger(__name__)


def register_derived_tasks() -> list[str]:
    """Registers ``NeRD-<id>`` for every manager-based task that has none, and returns the new ids.

    Tasks of other packages are registered first, because Isaac Lab may load those packages after this one. Call it
    again after registering a task by hand.
    """
    import isaaclab_tasks  # noqa: F401  (registers the stock tasks)

    for point in importlib.metadata.entry_points(group=GROUP):
        if not point.value.startswith(__package__ or ""):
            try:
                point.load()
            except Exception as error:  # somebody else's package: Isaac Lab reports it when it loads it itself
                logger.warning(
                    "The task package '%s' cannot be imported, its tasks are not derived: %s", point.value, error
                )
    new = []
    for spec in list(gymnasium.registry.values()):
        if not _is_derivable(spec) or (name := PREFIX + spec.id) in gymnasium.registry:
            continue
        kwargs = {**spec.kwargs, "env_cfg_entry_point": f"{__name__}:{spec.id}"}
        if "rsl_rl_cfg_entry_point" in kwargs:
            kwargs["rsl_rl_cfg_entry_point"] = f"{__package__}.derived_agents:{spec.id}"
        gymnasium.register(
            id=name, entry_point=f"{__package__}.derived_envs:{spec.id}", disable_env_checker=True, kwargs=kwargs
        )
        new.append(name)
    return new


def origin_of(task_id: str) -> Any:
    """Registration of the task that another was derived from.

    Raises:
        AttributeError: There is no such task (the error that a failed look-up of a module's attribute must raise).
    """
    spec = gymnasium.registry.get(task_id)
    if spec is None or "env_cfg_entry_point" not in spec.kwargs:
        raise AttributeError(f"no task '{task_id}' with a configuration is registered")
    return spec


def resolve(entry_point: Any) -> Any:
    """The object that an entry point of a registration names: ``module:attribute``, or the object itself."""
    if not isinstance(entry_point, str):
        return entry_point
    module, _, name = entry_point.partition(":")
    return getattr(importlib.import_module(module), name)


def _is_derivable(spec: Any) -> bool:
    """Whether a registration is a manager-based task that can be told from its entry point alone."""
    if "env_cfg_entry_point" not in spec.kwargs or spec.kwargs.get("deprecated") or spec.id.startswith(PREFIX):
        return False
    if spec.entry_point == ENV_CLASS:
        return False  # it has the choice of dynamics already, under whatever name
    if isinstance(spec.entry_point, str):
        # Isaac Lab's own environment classes with other names are of the direct workflow. What another package's class
        # is shows only when it is imported, which is left to the moment when the task is asked for.
        return spec.entry_point == MANAGER_BASED or not spec.entry_point.startswith("isaaclab")
    from isaaclab.envs import ManagerBasedRLEnv

    return isinstance(spec.entry_point, type) and issubclass(spec.entry_point, ManagerBasedRLEnv)


def __getattr__(name: str) -> Any:
    """Configuration class of the task derived from ``name``."""
    if name.startswith("__"):
        raise AttributeError(name)
    origin = resolve(origin_of(name).kwargs["env_cfg_entry_point"])
    return derive_cfg(origin)


def derive_cfg(origin: Any) -> Any:
    """A configuration class like another, with the field ``nerd`` and the means to leave physics.

    Args:
        origin: Configuration class, or a function that returns a configuration.
    """
    from isaaclab.utils import configclass

    from ..envs.nerd_env_cfg import NerdCfg

    if not isinstance(origin, type):
        made = origin()
        origin = type(made)
    annotations = {"nerd": NerdCfg}
    body = {"__annotations__": annotations, "nerd": NerdCfg(), "__module__": __name__, "__doc__": origin.__doc__}
    return configclass(type(f"Nerd{origin.__name__}", (origin,), body))
