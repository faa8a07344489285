# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Environments whose physics step can be taken over by a learned model.

Names are resolved when they are asked for, so that a registry may import this package without starting anything.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .nerd_env import NerdEnv as NerdEnv
    from .nerd_env import NerdModeError as NerdModeError
    from .nerd_env_cfg import NerdCfg as NerdCfg

_HOMES = {"NerdEnv": "nerd_env", "NerdModeError": "nerd_env", "NerdCfg": "nerd_env_cfg"}

__all__ = ["NerdCfg", "NerdEnv", "NerdModeError"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
