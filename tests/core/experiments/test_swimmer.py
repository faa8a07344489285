# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The experiment of the swimmer: without fluid our mechanics are MuJoCo's, and with it networks in them learn it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from nerd_core.experiments import swimmer
from nerd_core.experiments.step_networks import FeedForwardStep, LstmStep, fit, roll_out
from nerd_core.experiments.swimmer import EXPERIMENT, LARGEST, Motion, errors, mechanics_of, weights_of
from nerd_core.experiments.swimmer_truth import MEDIA, TORQUE, trajectories

pytest.importorskip("mujoco", reason="the truth is MuJoCo: pip install 'nerd_core[experiments]'")


def test_without_fluid_mechanics_are_the_truth():
    """In a vacuum our mechanics of the swimmer move as MuJoCo's, step by step for 300 steps; in water they do not."""
    for medium, is_true in (("vacuum", True), ("water_25C", False)):
        motion = Motion(*trajectories(MEDIA[medium], 3, 300, seed=0))
        apart = errors(lambda each: swimmer._moved_by(mechanics_of(()), each), motion)
        assert (float(apart.max()) < 1e-10) == is_true
        assert float(motion.control.abs().max()) <= TORQUE


def test_controls_are_held_and_seeded():
    """Torques stay for as many steps as they are held, and the same seed gives the same motion."""
    (state, control), (again, _), (other, _) = (trajectories(MEDIA["vacuum"], 2, 60, seed) for seed in (0, 0, 1))
    assert torch.equal(state, again) and not torch.equal(state, other)
    assert len(control[0].unique()) == 3 and bool((control[:, :25] == control[:, :1]).all())
    assert not bool(state[:, 0, 4:].any())  # from rest


def test_the_smoke_tier_learns_a_fluid(tmp_path):
    """A few iterations bring the hybrid nearer to the truth than mechanics alone, on motion that it has not seen, with
    fewer weights than were published; all figures and the plot are there.
    """
    result = EXPERIMENT.run(EXPERIMENT.smoke, lambda _: None)
    figures = result.figures
    assert figures["parameters_hybrid"] == weights_of(mechanics_of(swimmer.BLUEPRINTS)) <= LARGEST
    for name in ("hybrid", "lstm", "network", "plain"):
        assert figures[f"error_900_{name}"] == figures[f"error_900_{name}_water_25C"]
        assert f"held_out_900_{name}_water_25C" in figures
    assert figures["error_900_hybrid"] < 0.5 * figures["error_900_plain"]
    assert figures["held_out_900_hybrid_water_25C"] < 0.5 * figures["held_out_900_plain_water_25C"]
    (path,) = result.write_plots(tmp_path)
    assert path.stat().st_size > 1000


def test_errors_are_mean_squares_of_states():
    """A model that is off by one in a velocity has an eighth of a mean squared error at each step, one that is off by
    a turn in an angle none.
    """
    motion = Motion(torch.zeros(2, 5, 8, dtype=torch.float64), torch.zeros(2, 4, 1))

    def moved(column: int, by: float):
        return lambda each: each.state + by * torch.eye(8, dtype=torch.float64)[column]

    torch.testing.assert_close(errors(moved(5, 1.0), motion), torch.full((4,), 0.125, dtype=torch.float64))
    assert float(errors(moved(3, 2.0 * torch.pi), motion).max()) < 1e-10


@pytest.mark.parametrize("make", [LstmStep, FeedForwardStep])
def test_baselines_learn(make):
    """A baseline has as many weights as the published one, and follows what it has learned better than at first."""
    motion = trajectories(MEDIA["water_25C"], 4, 60, seed=0)
    torch.manual_seed(0)
    network = make()
    assert 1700 <= sum(each.numel() for each in network.parameters()) <= 1900
    state, control = (each.float() for each in motion)
    network.set_units(state, control)

    def error() -> float:
        with torch.no_grad():
            return float((roll_out(network, state[:, 0], control) - state).square().mean())

    before = error()
    fit(network, *motion, replace(EXPERIMENT.smoke.baseline, updates=120))
    assert error() < 0.5 * before


def test_settings_are_checked():
    """An unknown medium, and more steps to learn from than there are, are refused by name."""
    with pytest.raises(ValueError, match="expected some of water_5C"):
        replace(EXPERIMENT.full, media=("oil",))
    with pytest.raises(ValueError, match="learned_steps <= steps"):
        replace(EXPERIMENT.full, learned_steps=1000)
