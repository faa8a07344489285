# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What was found about one thing that a learned model needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["fine", "warning", "obstacle"]


@dataclass(frozen=True)
class Diagnosis:
    """One line of the report."""

    level: Level
    """fine: nothing to do. warning: it works, but worse than it could. obstacle: it does not work like this."""
    topic: str
    """What was looked at, a word or two."""
    text: str
    """What was found, in a sentence."""
    remedy: str = ""
    """Command, option or override that mends it; empty where nothing has to be done."""


def fine(topic: str, text: str) -> Diagnosis:
    """A diagnosis that asks for nothing."""
    return Diagnosis("fine", topic, text)


def warning(topic: str, text: str, remedy: str) -> Diagnosis:
    """A diagnosis of something that could be better."""
    return Diagnosis("warning", topic, text, remedy)


def obstacle(topic: str, text: str, remedy: str) -> Diagnosis:
    """A diagnosis of something that does not work."""
    return Diagnosis("obstacle", topic, text, remedy)


def worst(diagnoses: list[Diagnosis]) -> Level:
    """The worst level among some diagnoses."""
    order: tuple[Level, ...] = ("fine", "warning", "obstacle")
    return order[max((order.index(each.level) for each in diagnoses), default=0)]
