# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A neural ODE beside networks that predict steps, at rates that they never saw, on stops, and on a real pendulum."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ...files.bounds import SEED, bounded, check_bounds
from ..experiment import Experiment, Figure, Result, Say
from .fitting import FitCfg, error_of, microseconds_of, train, units_of
from .models import MotionModel, NeuralOde, StepNetwork, TimedStepNetwork, size_of
from .motion import Run, Windows, irregular, measured, regular, simulated, windows

TRAINED_STEPS = 3
"""Steps of a window that models are trained on."""
FILES = ("dfki_double_pendulum_train.h5", "dfki_double_pendulum_val.h5")
"""Recordings of a real pendulum: to train on, and to judge by."""
NAMES = {"step": "step network", "timed": "step network with dt", "ode": "neural ODE", "regular_ode": "ODE, one rate"}
"""Names of the models in plots."""


class NeuralOdeError(ValueError):
    """The experiment cannot be run."""


@dataclass(frozen=True)
class NeuralOdeCfg:
    """How much motion there is, at which rates, and how models are trained."""

    seed: int = bounded(0, **SEED)
    """Seed of motions, times, first weights and the order of training."""
    runs: int = bounded(48, at_least=2)
    """Simulated motions to train on; a third as many judge."""
    seconds: float = bounded(2.0, at_least=0.5, at_most=60.0)
    """Length of each [s]."""
    horizon: float = bounded(0.5, at_least=0.1, at_most=10.0)
    """Length of the roll-outs that judge [s]."""
    own_ms: float = bounded(20.0, at_least=2.0, at_most=100.0)
    """Step of the step network [ms]; a real pendulum has half of it."""
    rates_ms: tuple[float, ...] = bounded((5.0, 10.0, 20.0, 30.0, 50.0), at_least=1.0, at_most=200.0)
    """Steps at which all are judged [ms]; on the real pendulum half of them."""
    irregular_ms: tuple[float, float] = bounded((8.0, 32.0), at_least=1.0, at_most=200.0)
    """Shortest and longest time between irregular samples [ms]; on the real pendulum half of them."""
    hidden: int = bounded(64, at_least=1)
    """Width of the two hidden layers of every network."""
    updates: int = bounded(5000, at_least=1)
    """Updates of every network."""
    recordings: str | None = "../shared/data"
    """Folder with the recordings of a real pendulum; without them that part is left out."""

    def __post_init__(self):
        check_bounds(self)


@dataclass(frozen=True)
class Cuts:
    """Motions cut at regular and at irregular times, to train on and to judge by."""

    regular: Windows
    """At the rate of the step network."""
    irregular: Windows
    """At irregular times."""
    tests: dict[str, Windows]
    """Roll-outs by rate."""


def run(settings: NeuralOdeCfg, say: Say) -> Result:
    """Runs the experiment.

    Args:
        settings: Settings.
        say: Is told of the progress.
    """
    if importlib.util.find_spec("torchdiffeq") is None:
        raise NeuralOdeError("this needs 'torchdiffeq', which is not installed: pip install 'nerd-core[experiments]'")
    seed, figures = settings.seed, {}
    runs = [simulated(each, settings.seconds, False, seed + i) for i, each in enumerate(_counts(settings))]
    figures |= _compare("", _cut(settings, runs, 1.0), settings, say)
    stopped = [simulated(each, settings.seconds, True, seed + 2 + i) for i, each in enumerate(_counts(settings))]
    figures |= _compare("stops_", _cut(settings, stopped, 1.0), settings, say, ("step", "regular_ode"))
    missing = _missing(settings)
    if missing is None:
        real = [measured(Path(settings.recordings or "") / name) for name in FILES]
        figures |= _compare("real_", _cut(settings, real, 0.5), settings, say)
    else:
        say(f"left out: {missing}")
    figures["real_pendulum"] = missing or "measured"
    return Result(figures, {"neural-ode": lambda path: plot(figures, settings, path)})


def _counts(settings: NeuralOdeCfg) -> tuple[int, int]:
    return settings.runs, max(2, settings.runs // 3)


def _missing(settings: NeuralOdeCfg) -> str | None:
    """Why there is no real pendulum; None if there is one."""
    if settings.recordings is None:
        return "no folder of recordings was given"
    folder = Path(settings.recordings)
    absent = [name for name in FILES if not (folder / name).is_file()]
    return f"there is no {' and no '.join(absent)} in '{folder.name}'" if absent else None


def _cut(settings: NeuralOdeCfg, runs: Sequence[Sequence[Run]], share: float) -> Cuts:
    """Cuts motions to train on and to judge by; all times are a share of those of the settings."""
    teach, judge = runs
    rng = np.random.default_rng(settings.seed)
    shortest, longest = (1.0e-3 * share * each for each in settings.irregular_ms)
    own = 1.0e-3 * share * settings.own_ms

    def test(cut: Sequence[Run], dt: float) -> Windows:
        steps = max(1, round(settings.horizon / dt))
        return windows(cut, steps, max(1, steps // 2), 4.0 * max(dt, longest))

    tests = {}
    for rate in settings.rates_ms:
        dt = 1.0e-3 * share * rate
        tests[f"{share * rate:g}ms"] = test([regular(each, dt) for each in judge], dt)
    tests["irregular"] = test([irregular(each, shortest, longest, rng) for each in judge], 0.5 * (shortest + longest))
    gaps = 4.0 * longest
    return Cuts(
        windows([regular(each, own) for each in teach], TRAINED_STEPS, 1, gaps),
        windows([irregular(each, shortest, longest, rng) for each in teach], TRAINED_STEPS, 1, gaps),
        tests,
    )


def _compare(
    prefix: str, cuts: Cuts, settings: NeuralOdeCfg, say: Say, names: Sequence[str] = tuple(NAMES)
) -> dict[str, Figure]:
    """Trains models, and judges them at all rates. Figures are named after model and rate."""
    figures: dict[str, Figure] = {}
    for name in names:
        data = cuts.irregular if name in ("timed", "ode") else cuts.regular
        model = _model(name, data, settings)
        begin = time.process_time()
        train(model, data, FitCfg(updates=settings.updates), settings.seed)
        figures[f"processor_s_{prefix}{name}"] = time.process_time() - begin
        for rate, test in cuts.tests.items():
            figures[f"error_{prefix}{name}_{rate}"] = error_of(model, test)
        if not prefix:
            figures[f"parameters_{name}"] = size_of(model)
            figures[f"us_{name}"] = microseconds_of(model, cuts.regular)
        own = list(cuts.tests)
        said = ", ".join(f"{rate} {figures[f'error_{prefix}{name}_{rate}']:.3g}" for rate in own)
        say(f"{prefix.rstrip('_') or 'simulated'}: {NAMES[name]}, error [rad]: {said}")
    for rate, test in cuts.tests.items():
        figures[f"error_{prefix}ballistic_{rate}"] = error_of(None, test)
    return figures


def _model(name: str, data: Windows, settings: NeuralOdeCfg) -> MotionModel:
    kind = {"step": StepNetwork, "timed": TimedStepNetwork}.get(name, NeuralOde)
    torch.manual_seed(settings.seed)
    return kind(data.effort.shape[-1], settings.hidden, units_of(data))


def plot(figures: dict[str, Any], settings: NeuralOdeCfg, path: Path) -> None:
    """Draws errors over the step at which motion is predicted.

    Args:
        figures: Figures of the experiment.
        settings: Its settings.
        path: File to write.
    """
    from ...files.figures import BLUE, FAINT, GREEN, ORANGE, TEAL, log_scale, new_figure, save_figure

    panels = {"": "simulated", "stops_": "with stops", "real_": "real pendulum"}
    shown = [prefix for prefix in panels if any(key.startswith(f"error_{prefix}step") for key in figures)]
    colors = dict(zip((*NAMES, "ballistic"), (BLUE, GREEN, ORANGE, TEAL, FAINT), strict=True))
    with new_figure(3.3 * len(shown), 3.2, columns=len(shown)) as (figure, axes):
        for prefix, panel in zip(shown, axes, strict=True):
            steps = [(0.5 if prefix == "real_" else 1.0) * each for each in settings.rates_ms]
            for name, color in colors.items():
                keys = [f"error_{prefix}{name}_{step:g}ms" for step in steps]
                if keys[0] in figures:
                    label = NAMES.get(name, "no forces")
                    panel.plot(steps, [figures[key] for key in keys], color=color, marker="o", ms=3, label=label)
            log_scale(panel, "x", "y")
            panel.set_title(panels[prefix])
            panel.set_xlabel("step [ms]")
        axes[0].set_ylabel(f"error over {settings.horizon:g} s [rad]")
        axes[0].legend()
        save_figure(figure, path)


EXPERIMENT = Experiment(
    run,
    full=NeuralOdeCfg(),
    smoke=NeuralOdeCfg(runs=8, seconds=1.0, updates=60, hidden=32, rates_ms=(10.0, 20.0, 40.0), recordings=None),
)
