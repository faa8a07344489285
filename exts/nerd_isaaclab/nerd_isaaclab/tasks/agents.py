# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""RSL-RL configurations of registered tasks, named by the id of the task, whose logs go to a folder of that name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .derived import resolve
from .register import AGENT_CLASSES


def __getattr__(name: str) -> Callable[[], Any]:
    """A function that returns the agent configuration of the task ``name``."""
    if name not in AGENT_CLASSES:
        raise AttributeError(f"no task '{name}' is registered with an agent")

    def make() -> Any:
        cfg = resolve(AGENT_CLASSES[name])()
        cfg.experiment_name = name.lower().replace("-", "_")
        return cfg

    return make
