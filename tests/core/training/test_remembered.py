# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Training knows where feet were put down: transitions come with what a prior remembers along their trajectories."""

from __future__ import annotations

import logging
from functools import cache

import numpy as np
import pytest
import torch

from nerd_core.contact.grounds import PlaneGround
from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.dynamics import rollout_states
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import MEMORY, Predictor
from nerd_core.training.config import TrainCfg
from nerd_core.training.losses import StateScale, one_step_loss, rollout_loss
from nerd_core.training.metrics import open_loop
from nerd_core.training.optimiser import OptimiserCfg
from nerd_core.training.remembered import RememberedTrajectories, remembered
from nerd_core.training.run import Run, train, update_weights
from nerd_core.training.saving import save_run
from support.robots import ant, random_state, with_inertias

pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")

SPEC, COUNT = with_inertias(ant()), 8
LENGTHS = np.array([60, 60, 43, 60, 12, 60, 60, 60])


def fresh(**prior: object) -> Predictor:
    """A model of which nothing is learned."""
    torch.manual_seed(0)
    cfg = MechanicsPriorCfg(hidden=0, slots=6, **prior)  # pyright: ignore[reportArgumentType]
    return Predictor(SPEC, PredictorCfg(network=None, prior=cfg))


@cache
def fall() -> tuple[torch.Tensor, list[torch.Tensor]]:
    """States of Ants that are dropped, and where the model of which nothing is learned has put their feet before each
    step.
    """
    predictor, state = fresh(), random_state(SPEC, COUNT, seed=3, spread=0.2)
    at = SPEC.state
    state[:, at.root_pos] = torch.tensor([0.0, 0.0, 0.45])
    for part in (at.root_lin_vel, at.root_ang_vel, at.joint_vel):
        state[:, part] = 0.0
    kept, cache, memories = [state], predictor.init_cache(COUNT), []

    def control(step: int, _: torch.Tensor) -> torch.Tensor:
        memories.append(cache[MEMORY][0].clone())
        return torch.zeros(COUNT, SPEC.control_dim)

    kept += list(rollout_states(predictor, state, control, 60, PlaneGround.flat(), cache=cache))
    return torch.stack(kept, 1), memories


def recorded() -> TrajectoryDataset:
    """That motion as data, trajectories of several lengths."""
    states = fall()[0]
    ground = torch.tensor([[0.0, 0.0, 1.0, 0.0]]).repeat(COUNT, 1)
    return TrajectoryDataset.from_tensors(
        SPEC, states, torch.zeros(COUNT, 60, SPEC.control_dim), length=LENGTHS, ground=ground
    )


def test_each_transition_has_what_was_remembered_before_it():
    """Along recorded states the prior remembers what it remembered when it made them, to the last bit, for each
    trajectory to its end and windows of any length.
    """
    data, memories = remembered(fresh(), recorded(), 10_000, 0), fall()[1]
    assert isinstance(data, RememberedTrajectories) and data.transitions == LENGTHS.sum()
    found = 0
    for trajectory, start, length in (
        (0, 0, 60),
        (2, 30, 13),
        (4, 0, 12),
        (7, 59, 1),
        (5, 20, 40),
        (6, 20, 40),
        (3, 40, 20),
    ):
        batch = data.gather(np.array([trajectory, 1]), np.array([start, start]), length)
        assert batch.memory is not None
        for row, which in enumerate((trajectory, 1)):
            expected = torch.stack([memories[step][which] for step in range(start, start + length)])
            assert torch.equal(batch.memory[row], expected)
            found += int(expected.any())
    assert found > 1, "nobody touched the ground"


def test_the_loss_is_that_of_a_model_that_remembers():
    """Motion that the model made itself is predicted a thousand times better by steps that know where feet were put
    down, and ten times better by roll-outs that go on from there; gradients of both are finite.
    """
    predictor, data = fresh(), remembered(fresh(), recorded(), 10_000, 0)
    scale = StateScale(SPEC)
    batch = data.gather(np.array([0, 1, 3, 5, 6, 7]), np.full(6, 30), 20)
    predictor.update_statistics(batch.state[:, :-1], batch.control, batch.state[:, 1:])
    predictor.finalise_statistics()
    scale.update(batch.state[:, :-1], batch.state[:, 1:])
    scale.finalise()
    losses = {}
    for kind in ("memory", "none"):
        if kind == "none":
            batch.memory = None
        losses[kind] = one_step_loss(predictor, batch), rollout_loss(predictor, batch, 5, scale)
    ahead = [float((ours - theirs).detach()) for ours, theirs in zip(losses["memory"], losses["none"], strict=True)]
    assert ahead[0] < -6.0 and ahead[1] < -2.0
    for loss in losses["memory"]:
        assert all(each.grad is None or each.grad.isfinite().all() for each in predictor.parameters())
        loss.backward()
        assert all(each.grad is not None and each.grad.isfinite().all() for each in predictor.parameters())


def test_whole_trajectories_up_to_a_number_are_used():
    """So many transitions at most, of whole trajectories chosen by the seed, at least one; all of them, with nothing
    remembered, for zero or for a prior that remembers nothing. The order of random numbers is not touched.
    """
    data, predictor = recorded(), fresh()
    before = torch.random.get_rng_state()
    some = remembered(predictor, data, 150, 3)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert 90 <= some.transitions <= 150 and set(some.length) <= set(LENGTHS)
    assert len(remembered(predictor, data, 1, 3)) == 1
    chosen = [tuple(remembered(predictor, data, 150, seed).number) for seed in (3, 3, 4, 5, 6)]
    assert chosen[0] == chosen[1] and len(set(chosen)) > 1
    assert remembered(predictor, data, 0, 3) is data
    assert remembered(fresh(friction_memory=False), data, 150, 3) is data


def test_what_is_left_out_is_said(caplog: pytest.LogCaptureFixture):
    """One line says how many transitions a training learns from where it is not all of them; else there is none."""
    with caplog.at_level(logging.WARNING):
        assert remembered(fresh(), recorded(), 10_000, 3).transitions == LENGTHS.sum()
    assert not caplog.records
    with caplog.at_level(logging.WARNING):
        some = remembered(fresh(), recorded(), 150, 3)
    assert f"{some.transitions:,} of {LENGTHS.sum():,} transitions" in caplog.text and "--remembered" in caplog.text


def test_what_is_replayed_comes_with_a_memory():
    """Windows of earlier data that a training goes on with are remembered along, too, as those that it learns from."""
    cfg = TrainCfg(updates=1, batch_size=64, replay=0.5, regimes=False)
    with Run(fresh(), recorded(), None, cfg, None, resume=False, quiet=True, replay=recorded()) as run:
        assert run.replays is not None
        batch = run.replays.batch_at(0)
    assert batch.memory is not None and batch.memory.any()


def test_validation_windows_begin_with_a_memory():
    """Roll-outs of a validation that begin in the middle of a trajectory go on from where feet were put down: motion
    that the model made itself is met a thousand times better than without.
    """
    cfg = {"validation_windows": 60, "validation_horizons": (5,), "validation_trajectories": 4, "validation_steps": 0}
    scores, windows = {}, {}
    for count in (10_000, 0):
        settings = TrainCfg(updates=1, batch_size=16, regimes=False, remembered=count, **cfg)
        with Run(fresh(), recorded(), recorded(), settings, None, resume=False, quiet=True) as run:
            run.validate()
            scores[count] = run.history[-1]["score"]
        data = remembered(fresh(), recorded(), count, 0)
        windows[count] = open_loop(fresh(), data, 5, 60, anywhere=True).held_score()
    assert windows[10_000] < 1e-3 * windows[0] and scores[10_000] < 0.1 * scores[0]


@pytest.mark.long  # three trainings of an Ant; the loss with a memory is tested above
def test_a_run_learns_with_a_memory_and_goes_on_the_same(tmp_path):
    """The loss of a training on what a model with memory has made is smaller with a memory than without. A run that
    goes on has the same data as one that was not interrupted, and ends with the same weights, to the last bit.
    """
    cfg = {
        "batch_size": 128,
        "regimes": False,
        "validations": 1,
        "validation_horizons": (5,),
        "validation_trajectories": 2,
    }
    losses = {}
    for count in (10_000, 0):
        settings = TrainCfg(updates=4, remembered=count, **cfg)
        with Run(fresh(), recorded(), None, settings, None, resume=False, quiet=True) as run:
            losses[count] = float(run.loss(0.0).detach())
    assert losses[10_000] < losses[0] - 1.0
    whole, again, folder = fresh(), fresh(), tmp_path / "run"
    train(whole, recorded(), None, TrainCfg(updates=4, **cfg), quiet=True)
    with Run(again, recorded(), None, TrainCfg(updates=4, **cfg), folder, resume=False, quiet=True) as run:
        for step in range(2):
            update_weights(run, step / 4)
        save_run(run)
    again = fresh()
    train(again, recorded(), None, TrainCfg(updates=4, **cfg), out=folder, resume=True, quiet=True)
    assert all(map(torch.equal, whole.parameters(), again.parameters()))


def test_the_best_is_never_worse_than_mechanics_that_nobody_trained(caplog: pytest.LogCaptureFixture):
    """Mechanics are judged before the first update: where learning makes them worse on held-out motion, they are left
    as they were, and one line says so.
    """
    predictor, data = fresh(), recorded()
    start = [each.detach().clone() for each in predictor.parameters()]
    optimiser = OptimiserCfg(lr=0.3)
    cfg = TrainCfg(
        updates=3, batch_size=64, remembered=0, optimiser=optimiser, validations=1, validation_horizons=(40,)
    )
    with caplog.at_level(logging.WARNING):
        result = train(predictor, data, data, cfg, quiet=True)
    assert [row["update"] for row in result.history] == [0, 3]
    assert result.best == result.history[0]["score"] < result.history[1]["score"]
    assert all(map(torch.equal, predictor.parameters(), start))
    assert any("'best' is untrained" in record.getMessage() for record in caplog.records)
