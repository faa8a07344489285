# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Finds the events of a task that make its robots differ from each other, and holds them still.

A model knows one robot. Where masses, friction or gains differ from environment to environment the same state and
control lead to different motion, which a model can neither learn nor follow. Isaac Lab's events of that kind are named
``randomize_*``; ``apply_external_force_torque`` pushes without being seen. Resets and changes of the velocity (pushes
at intervals) are none of them: they only choose the state.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

UNSEEN = ("randomize_", "apply_external_force")
"""Beginnings of the names of such events."""

HARMLESS = ("randomize_visual",)
"""... and of those among them that change no motion."""


FOLLOWED = (
    "randomize_rigid_body_material",
    "randomize_rigid_body_mass",
    "randomize_rigid_body_inertia",
    "randomize_rigid_body_com",
    "randomize_physics_scene_gravity",
    "randomize_actuator_gains",
    "randomize_joint_parameters",
    "apply_external_force_torque",
)
"""Functions of events whose properties a model with mechanics follows, environment by environment."""

OF_THE_STATE = ("reset_", "push_by_setting_velocity")
"""Beginnings of the names of events that write states alone."""


@dataclass(frozen=True)
class RandomisedProperty:
    """An event that gives robots different properties."""

    path: str
    """Its path in the configuration, for instance ``events.add_base_mass``."""
    function: str
    """Name of its function."""
    mode: str
    """When it acts: ``startup``, ``reset``, ``interval``."""

    def is_followed(self, has_laws: bool) -> bool:
        """Whether a model with mechanics follows it, environment by environment.

        Args:
            has_laws: Whether actuators outside of the engine drive joints; their gains are those of the task's
                configuration in every environment.
        """
        return self.function in FOLLOWED and not (has_laws and self.function == "randomize_actuator_gains")

    def __str__(self) -> str:
        return f"{self.path} ({self.function}, at {self.mode})"


def find_randomised_properties(events: Any) -> list[RandomisedProperty]:
    """The events that give robots different properties, in order.

    Args:
        events: The part ``events`` of a task's configuration, a configclass or a dictionary.
    """
    return [
        RandomisedProperty(f"events.{name}", _function(term), str(getattr(term, "mode", "")))
        for name, term in _terms(events)
        if _held(term.params, term) != term.params
    ]


def writes_properties(events: Any, mode: str) -> bool:
    """Whether any event of a mode may write more than states.

    Args:
        events: The part ``events`` of a task's configuration, a configclass or a dictionary.
        mode: When events act: ``reset``, ``interval``.
    """
    terms = events if isinstance(events, dict) else vars(events or object)
    return any(
        getattr(term, "mode", None) == mode and not _function(term).startswith(OF_THE_STATE) for term in terms.values()
    )


def hold_still(events: Any) -> list[RandomisedProperty]:
    """Lets all robots have the middle of every range, and returns the events that were changed.

    Args:
        events: The part ``events`` of a task's configuration; changed in place.
    """
    found = find_randomised_properties(events)
    for _, term in _terms(events):
        term.params = _held(term.params, term)
    return found


def _terms(events: Any) -> Iterator[tuple[str, Any]]:
    """Events that change what robots are, by name."""
    for name, term in (events if isinstance(events, dict) else vars(events or object)).items():
        function = _function(term)
        if function.startswith(UNSEEN) and not function.startswith(HARMLESS) and isinstance(term.params, dict):
            yield name, term


def _function(term: Any) -> str:
    """Name of an event's function; empty for what is no event."""
    function = getattr(term, "func", None)
    name = function if isinstance(function, str) else getattr(function, "__name__", "")
    return name.rpartition(":")[2].rpartition(".")[2]


def _held(value: Any, term: Any) -> Any:
    """A parameter of an event with each range narrowed to its middle."""
    if isinstance(value, dict):
        return {name: _held(each, term) for name, each in value.items()}
    if not _is_range(value):
        return value
    low, high = value
    distribution = term.params.get("distribution", "uniform")
    if distribution == "gaussian":  # mean and standard deviation
        return value if high == 0.0 else (low, 0.0)
    middle = math.sqrt(low * high) if distribution == "log_uniform" else 0.5 * (low + high)
    return value if low == high else (middle, middle)


def _is_range(value: Any) -> bool:
    """Whether a parameter is a pair of numbers."""
    return (
        isinstance(value, (tuple, list))
        and len(value) == 2
        and all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in value)
    )
