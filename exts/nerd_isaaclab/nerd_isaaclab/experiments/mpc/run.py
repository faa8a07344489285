# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Convex MPC walks a quadruped in PhysX, and a network takes the place of its quadratic programme."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nerd_core.experiments.experiment import Experiment, Result, Say
from nerd_core.files.bounds import SEED, bounded, check_bounds

from ...launch.engine_process import EngineProcess


class MpcWalkError(ValueError):
    """The experiment failed in the process of the engine."""


@dataclass(frozen=True)
class MpcWalkCfg:
    """How much is walked and learned."""

    seed: int = bounded(0, **SEED)
    """Seed of courses, first weights and the order of examples."""
    robots: int = bounded(8, at_least=1, at_most=1024)
    """Robots that walk at once."""
    physics_rate: float = bounded(400.0, at_least=100.0, at_most=2000.0)
    """Physics steps a second, in each of which torques are computed anew [Hz]."""
    ground_friction: float = bounded(0.8, at_least=0.1, at_most=2.0)
    """Coefficient of friction of feet and ground."""
    transitions: int = bounded(10_000, at_least=100)
    """Examples for the network: 60 % while the programme drives, twice 20 % while a network does."""
    epochs: int = bounded(150, at_least=1)
    """Passes of a training through the examples."""
    walk_seconds: float = bounded(20.0, at_least=2.0)
    """Time that each robot walks with each planner [s]."""
    timed: int = bounded(600, at_least=10)
    """Problems on which times are taken."""

    def __post_init__(self):
        check_bounds(self)


def run(settings: MpcWalkCfg, say: Say) -> Result:
    """Runs the experiment in a process with an engine.

    Args:
        settings: Settings.
        say: Is told of the progress.
    """
    if importlib.util.find_spec("osqp") is None:
        raise MpcWalkError("this needs 'osqp', which is not installed: pip install 'nerd-core[experiments]'")
    process = EngineProcess(
        "nerd_isaaclab.experiments.mpc.worker", settings, {"NERD_PHYSX_THREADS": "0"}, on_progress=say
    )
    found = process.wait(MpcWalkError)
    return Result(found["figures"], {"mpc": lambda path: plot(found, path)})


def plot(found: dict[str, Any], path: Path) -> None:
    """Draws wanted and walked velocities of one robot.

    Args:
        found: What the process found.
        path: File to write.
    """
    from nerd_core.files.figures import BLUE, INK, ORANGE, new_figure, save_figure

    series = {name: np.array(values) for name, values in found["series"].items()}
    with new_figure(7.0, 5.0, rows=3) as (figure, axes):
        for row, label in enumerate(("forward [m/s]", "to the left [m/s]", "turning [rad/s]")):
            for name, color in (("target", INK), ("qp", BLUE), ("network", ORANGE)):
                values = series[name][:, row]
                axes[row].plot(np.arange(len(values)) * found["sample_dt"], values, color=color, label=name, lw=1.2)
            axes[row].set_ylabel(label)
        axes[0].legend(ncol=3)
        axes[-1].set_xlabel("time [s]")
        save_figure(figure, path)


EXPERIMENT = Experiment(
    run,
    full=MpcWalkCfg(),
    smoke=MpcWalkCfg(robots=4, transitions=1200, epochs=40, walk_seconds=3.0, timed=100),
)
