# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Configurations of ``-Play`` tasks, named by the id of their origin: the same with few environments, to be watched."""

from __future__ import annotations

from typing import Any

from .derived import origin_of, resolve


def __getattr__(name: str) -> Any:
    """Configuration class of the task ``<name>-Play``."""
    if name.startswith("__"):
        raise AttributeError(name)
    from isaaclab.utils import configclass

    origin = resolve(origin_of(name).kwargs["env_cfg_entry_point"])

    def settings_of_playback(self: Any) -> None:
        origin.__post_init__(self)
        self.play_mode()

    body = {"__post_init__": settings_of_playback, "__module__": __name__, "__doc__": origin.__doc__}
    return configclass(type(f"{origin.__name__}Play", (origin,), body))
