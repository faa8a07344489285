# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""RSL-RL configurations of derived tasks, named by the id of their origin: as the origin's, logged apart."""

from __future__ import annotations

import copy
from dataclasses import MISSING
from typing import Any

from .derived import origin_of, resolve


def __getattr__(name: str) -> Any:
    """A function that returns the agent configuration of the task derived from ``name``."""
    if name.startswith("__"):
        raise AttributeError(name)
    origin = resolve(origin_of(name).kwargs["rsl_rl_cfg_entry_point"])

    def make() -> Any:
        cfg = origin() if callable(origin) else origin
        if hasattr(cfg, "experiment_name"):
            cfg.experiment_name = _with_prefix(cfg.experiment_name, name)
        return cfg

    return make


def _with_prefix(name: Any, task: str) -> Any:
    """The name of a log folder with ``nerd_`` before it; of a preset each of its choices.

    Args:
        name: The name that the agent of the origin has, or its presets.
        task: Id of the origin; names the folder of an agent that names none.
    """
    if isinstance(name, type(MISSING)):  # configclass copies it
        name = task.lower().replace("-", "_")
    if isinstance(name, str):
        return f"nerd_{name}"
    name = copy.deepcopy(name)
    for choice, value in vars(name).items():
        if isinstance(value, str):
            setattr(name, choice, f"nerd_{value}")
    return name
