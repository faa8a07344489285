# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Environment classes of derived tasks, named by the id of their origin."""

from __future__ import annotations

from typing import Any

from .derived import origin_of, resolve


def __getattr__(name: str) -> Any:
    """Environment class of the task derived from ``name``: that of its origin with the choice of dynamics in front."""
    if name.startswith("__"):
        raise AttributeError(name)
    from isaaclab.envs import ManagerBasedRLEnv

    from ..envs.nerd_env import NerdDynamics, NerdEnv

    origin = resolve(origin_of(name).entry_point)
    if origin is ManagerBasedRLEnv:
        return NerdEnv
    if not (isinstance(origin, type) and issubclass(origin, ManagerBasedRLEnv)):
        raise TypeError(f"the task '{name}' is not manager-based, so no model can take over its physics step")
    return type(f"Nerd{origin.__name__}", (NerdDynamics, origin), {"__module__": __name__, "__doc__": origin.__doc__})
