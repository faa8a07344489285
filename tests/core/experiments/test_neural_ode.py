# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd experiment neural-ode``: steps of any length, irregular times, and who judges the models."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from nerd_core.experiments.neural_ode.fitting import FitCfg, error_of, microseconds_of, rolled, train, units_of
from nerd_core.experiments.neural_ode.models import NeuralOde, StepNetwork, TimedStepNetwork, Units
from nerd_core.experiments.neural_ode.motion import (
    STOP,
    Run,
    Windows,
    irregular,
    measured,
    regular,
    simulated,
    windows,
)
from nerd_core.experiments.neural_ode.run import EXPERIMENT, FILES, NeuralOdeCfg, run
from nerd_core.files.serialization import from_plain, to_plain
from support.recorded_files import real_file

UNITS = Units(torch.tensor([2.0]), torch.tensor([1.0]), torch.tensor([20.0]), dt=0.02)


def states(count: int, joints: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    """Random states and torques."""
    generator = torch.Generator().manual_seed(0)
    return torch.randn(count, 2 * joints, generator=generator), torch.randn(count, joints, generator=generator)


def swinging() -> Run:
    """A motion of one joint, q = t + sin 3 t, under a torque of 2 t, at 1,000 Hz."""
    time = np.arange(2001) / 1000.0
    state = np.stack((time + np.sin(3.0 * time), 1.0 + 3.0 * np.cos(3.0 * time)), axis=-1)
    return Run(time, state, (time**2)[:, None])


def test_a_step_network_takes_several_steps_for_a_longer_time():
    """Three steps and a half are three steps one after the other, and half of the change of a fourth; each state of a
    batch has a time of its own.
    """
    torch.manual_seed(0)
    model, (state, effort) = StepNetwork(1, 8, UNITS), states(2)
    step = torch.full((2,), UNITS.dt)
    wanted = state
    for _ in range(3):
        wanted = model(wanted, effort, step)
    half = model(wanted, effort, 0.5 * step)
    after = model(state, effort, torch.tensor([3.0 * UNITS.dt, 3.5 * UNITS.dt]))
    assert torch.allclose(after, torch.stack((wanted[0], half[1])), atol=1.0e-6)
    change, whole = half - wanted, model(wanted, effort, step) - wanted
    assert torch.allclose(change[:, 1], 0.5 * whole[:, 1], atol=1.0e-6)


def test_nothing_moves_in_no_time():
    """In a time that goes to zero no model moves a state."""
    torch.manual_seed(0)
    (state, effort), soon = states(5), torch.full((5,), 1.0e-9)
    for kind in (StepNetwork, TimedStepNetwork, NeuralOde):
        assert torch.allclose(kind(1, 8, UNITS)(state, effort, soon), state, atol=1.0e-6)


def test_a_neural_ode_is_integrated_over_each_time_of_its_own(monkeypatch: pytest.MonkeyPatch):
    """With the acceleration of a driven pendulum in the network's place, states after 1 to 60 ms are those of an
    adaptive solver of high order.
    """
    model, (state, effort) = NeuralOde(1, 8, UNITS), states(6)
    gain = float(UNITS.acceleration)
    law = {"_seen": lambda at, torque: (torque - 30.0 * at[..., :1].sin() - 0.5 * at[..., 1:]) / gain}
    monkeypatch.setattr(model, "_seen", law["_seen"])
    times = torch.tensor([0.001, 0.01, 0.02, 0.03, 0.045, 0.06])
    found = model(state, effort, times)
    for row in range(6):
        torque = float(effort[row])

        def right(_, x, torque=torque):
            return [x[1], torque - 30.0 * math.sin(x[0]) - 0.5 * x[1]]

        truth = solve_ivp(right, (0.0, float(times[row])), state[row].double().numpy(), rtol=1e-10, atol=1e-12).y[:, -1]
        assert found[row].numpy() == pytest.approx(truth, abs=2.0e-5)


def test_irregular_samples_are_samples_and_regular_ones_are_interpolated():
    """Irregular times are among those recorded and as far apart as asked; regular ones are equally far, with states
    between those recorded.
    """
    motion = swinging()
    drawn = irregular(motion, 0.01, 0.03, np.random.default_rng(0))
    waits = np.diff(drawn.time)
    assert np.isin(drawn.time, motion.time).all() and np.isin(drawn.state[:, 0], motion.state[:, 0]).all()
    assert waits[:-1].min() > 0.0089 and waits.max() < 0.0311 and waits.std() > 0.003
    even = regular(motion, 0.0125)
    assert np.diff(even.time) == pytest.approx(np.full(160, 0.0125))
    assert even.state[:, 0] == pytest.approx(even.time + np.sin(3.0 * even.time), abs=1.0e-5)


def test_windows_have_the_mean_torque_of_each_step():
    """A window starts every stride samples, and its torques are means over its steps: 2 t has the mean t0 + t1."""
    drawn = irregular(swinging(), 0.01, 0.03, np.random.default_rng(1))
    cut = windows([drawn, drawn], 3, 2)
    assert len(cut) == 2 * len(range(0, len(drawn.time) - 3, 2))
    assert cut.dt[1].numpy() == pytest.approx(np.diff(drawn.time)[2:5], abs=1.0e-6)
    means = drawn.time[2:5] + drawn.time[3:6]
    assert cut.effort[1, :, 0].numpy() == pytest.approx(means, abs=1.0e-5)
    assert len(windows([drawn], 3, 1, longest=0.02)) < len(windows([drawn], 3, 1))


def test_the_simulated_pendulum_is_stopped_where_it_has_stops():
    """Two seeds give two motions and the same seed the same; an elbow with stops stays between them, while one without
    goes further.
    """
    free, again, other = (simulated(6, 0.4, False, seed) for seed in (0, 0, 1))
    assert np.array_equal(free[0].state, again[0].state) and not np.array_equal(free[0].state, other[0].state)
    stopped = simulated(6, 0.4, True, 0)
    assert max(np.abs(each.state[:, 1]).max() for each in stopped) < STOP + 0.02
    assert max(np.abs(each.state[:, 1]).max() for each in free) > STOP + 0.2


def test_the_error_of_a_model_is_that_of_its_angles():
    """Angles that get off by .1 and .2 rad a step in two windows of four steps have errors of .1 and .2 times the root
    of 30 / 4; what flies on without forces is right about a motion without forces; a model that gets lost has
    an infinite error.
    """
    time = torch.arange(1, 5) * 0.1
    state = torch.zeros(2, 5, 2)
    state[:, 1:, 0], state[..., 1] = time, 1.0
    cut = Windows(state, torch.zeros(2, 4, 1), torch.full((2, 4), 0.1))
    assert error_of(None, cut) == pytest.approx(0.0, abs=1.0e-6)

    class Off(NeuralOde):
        far = torch.tensor([0.1, 0.2])

        def forward(self, at, effort, dt):
            return torch.stack((at[:, 0] + dt * at[:, 1] + self.far, at[:, 1]), dim=-1)

    assert error_of(Off(1, 4, UNITS), cut) == pytest.approx(0.15 * math.sqrt(30.0 / 4.0), abs=1.0e-6)
    lost = Off(1, 4, UNITS)
    lost.far = torch.tensor([0.0, math.nan])
    assert error_of(lost, cut) == math.inf


def test_models_learn_a_motion():
    """After a short training each model has less than a third of the error that it began with."""
    cut = windows([regular(swinging(), 0.02)], 4, 1)
    for kind in (StepNetwork, TimedStepNetwork, NeuralOde):
        torch.manual_seed(0)
        model = kind(1, 16, units_of(cut))
        before = error_of(model, cut)
        train(model, cut, FitCfg(updates=60, batch=32, lr=1.0e-2), seed=0)
        assert error_of(model, cut) < before / 3.0
        assert rolled(model, cut).shape == (len(cut), 4, 2)
        assert microseconds_of(model, cut, calls=2) > 0.0


def test_the_experiment_names_models_rates_and_what_is_missing(tmp_path: Path):
    """A small run has an error for each model and rate, says why there is no real pendulum, and draws a plot."""
    cfg = replace(EXPERIMENT.smoke, runs=3, seconds=0.5, horizon=0.2, updates=3, hidden=8, recordings=str(tmp_path))
    said: list[str] = []
    assert from_plain(NeuralOdeCfg, to_plain(cfg)) == cfg, "settings can be stored"
    result = run(cfg, said.append)
    for name in ("step", "timed", "ode", "regular_ode", "ballistic", "stops_step", "stops_regular_ode"):
        for rate in ("10ms", "20ms", "40ms", "irregular"):
            assert math.isfinite(result.figures[f"error_{name}_{rate}"])
    assert not any("real_step" in key for key in result.figures)
    assert FILES[0] in str(result.figures["real_pendulum"]) and any("left out" in words for words in said)
    assert result.write_plots(tmp_path)[0].stat().st_size > 5_000


def test_a_real_pendulum_is_read_with_its_stamps():
    """The stamps of the recordings are irregular, and the mean torque of a window is that of its samples."""
    motion = measured(real_file(FILES[1]))[0]
    waits = np.diff(motion.time)
    assert waits.std() > 1.0e-5 and motion.state.shape == (len(motion.time), 4)
    cut = windows([motion], 2, 10)
    torque = np.diff(motion.impulse, axis=0) / waits[:, None]
    assert cut.effort[1].numpy() == pytest.approx(torque[10:12], abs=1.0e-4)
