# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What an experiment is: a function from settings to figures and plots, and two sets of settings.

Example::

    result = EXPERIMENT.run(EXPERIMENT.smoke, print)
    result.write_plots(Path("plots"))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Say = Callable[[str], None]
"""Is told of the progress, in words."""

Plot = Callable[[Path], None]
"""Draws a figure into a file; the file's ending chooses the format."""

Figure = bool | int | float | str | None | list[float]
"""A number that an experiment found, or several of one kind."""


@dataclass(frozen=True)
class Result:
    """What an experiment found."""

    figures: Mapping[str, Figure]
    """Figures by name, for programs: what is not finite is written as null."""
    plots: Mapping[str, Plot] = field(default_factory=dict)
    """What draws each plot, by its name."""

    def write_plots(self, folder: Path, ending: str = ".png") -> list[Path]:
        """Draws all plots, and returns their files.

        Args:
            folder: Folder for them.
            ending: Ending of their names.
        """
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f"{name}{ending}" for name in self.plots]
        for path, plot in zip(paths, self.plots.values(), strict=True):
            plot(path)
        return paths


@dataclass(frozen=True)
class Experiment:
    """An experiment, as a module offers it under the name ``EXPERIMENT``."""

    run: Callable[[Any, Say], Result]
    """Runs it with settings, a dataclass with a ``seed``."""
    full: Any
    """Settings of which the documentation gives the numbers."""
    smoke: Any
    """Settings with which it takes seconds, to see that it works."""


__all__ = ["Experiment", "Figure", "Plot", "Result", "Say"]
