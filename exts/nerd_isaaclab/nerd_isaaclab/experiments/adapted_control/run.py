# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Arms change in PhysX, and a controller whose model adapts regains what they lose."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nerd_core.experiments.experiment import Experiment, Result, Say
from nerd_core.files.bounds import SEED, bounded, check_bounds

from ...evaluation.adaptation import Change
from ...launch.engine_process import EngineProcess
from .tracking_mpc import TrackingCfg


class AdaptedControlError(ValueError):
    """The experiment failed in the process of the engine, or cannot begin."""


FOLLOWED_BY: dict[Change, str] = {"payload": "payload", "motor": "motors"}
"""Word of adaptation that follows each change."""


@dataclass(frozen=True)
class AdaptedControlCfg:
    """What changes when, and how the arms are controlled."""

    seed: int = bounded(0, **SEED)
    """Seed of the targets."""
    starts: int = bounded(3, at_least=1, at_most=1024)
    """Sequences of targets, the same in each group of robots."""
    changes: tuple[Change, ...] = ("payload", "motor")
    """What happens to robots: a fifth of the arm's mass at its end, half of a motor."""
    joint: str = "panda_joint4"
    """Joint whose motor weakens."""
    at: float = bounded(2.0, above=0.0, at_most=1000.0)
    """When they change [s]."""
    seconds: float = bounded(6.0, above=0.0, at_most=1000.0)
    """Length of the trial [s]."""
    target_seconds: float = bounded(1.0, above=0.0, at_most=1000.0)
    """Time from one target to the next [s]."""
    every: int = bounded(4, at_least=1, at_most=10_000)
    """Control steps from one look of adaptation at a robot to the next."""
    budget: float = bounded(0.75, above=0.0, at_most=1.0e4)
    """Steps of the model that looks may take for each robot and control step."""
    words: tuple[str, ...] = ("payload", "motors")
    """What adaptation follows."""
    tracking: TrackingCfg = field(default_factory=TrackingCfg)
    """The controller."""

    def __post_init__(self):
        check_bounds(self)
        if self.at >= self.seconds:
            raise AdaptedControlError(f"got a change at {self.at} s of {self.seconds} s, expected one before the end")
        if not self.changes or "nothing" in self.changes or "friction" in self.changes:
            raise AdaptedControlError(
                f"got the changes {self.changes}, expected some of payload, motor: an arm has no feet"
            )
        for change, word in FOLLOWED_BY.items():
            if change in self.changes and word not in self.words:
                raise AdaptedControlError(
                    f"got the change {change}, and {self.words} to be followed, expected {word} among them: add it to "
                    "words, or leave the change out"
                )


def run(settings: AdaptedControlCfg, say: Say) -> Result:
    """Runs the experiment in a process with an engine.

    Args:
        settings: Settings.
        say: Is told of the progress.
    """
    environment = {"NERD_PHYSX_THREADS": "0"}
    module = "nerd_isaaclab.experiments.adapted_control.worker"
    found = EngineProcess(module, settings, environment, on_progress=say).wait(AdaptedControlError)
    return Result(found["figures"], {"adapted-control": lambda path: plot(found, path)})


def plot(found: dict[str, Any], path: Path) -> None:
    """Draws the mean distance of the tools from their targets over time, a panel for each change.

    Args:
        found: What the process found.
        path: File to write.
    """
    from nerd_core.files.figures import log_scale, new_figure, save_figure

    distance, changes = found["distance"], found["changes"]
    with new_figure(4.0 * len(changes), 2.8, columns=len(changes), sharey=True) as (figure, axes):
        for axis, change in zip(axes, changes, strict=True):
            for knows in ("specification", "adapted", "told"):
                values = 1.0e3 * np.array(distance[f"{change}_{knows}"])
                axis.plot(found["dt"] * np.arange(len(values)), values, label=knows, lw=1.0)
            axis.axvline(found["changed_at_s"], color="gray", lw=0.8)
            axis.set_title(change)
            axis.set_xlabel("time [s]")
            log_scale(axis, "y")
        axes[0].set_ylabel("distance from the target [mm]")
        axes[0].legend()
        save_figure(figure, path)


EXPERIMENT = Experiment(
    run, full=AdaptedControlCfg(), smoke=AdaptedControlCfg(starts=1, at=2.0, seconds=4.0, changes=("payload",))
)
