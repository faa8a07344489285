# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What has changed of a robot is found from its motion, and nothing is found where nothing has changed."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from nerd_core.adaptation.config import AdaptCfg
from nerd_core.adaptation.directions import LIMITS, AdaptationError, Directions
from nerd_core.adaptation.follower import BATCH, Follower
from nerd_core.adaptation.trial import Motion, follow
from support.adapting_arm import COUNT, adapting_arm, motion_of

CFG = AdaptCfg(("payload", "motors"), every=1, budget=100.0, settle=10)
CHANGES = {"payload": 0.2, "motors/shoulder": math.log(0.5), "motors/elbow": math.log(0.7)}


@pytest.fixture(scope="module")
def arm():
    """A double pendulum that mechanics moves."""
    return adapting_arm()


def numbers_with(follower_or_directions: Directions, change: str) -> Tensor:
    """The numbers of robots of which one thing has changed."""
    numbers = torch.zeros(COUNT, follower_or_directions.dim)
    numbers[:, follower_or_directions.names.index(change)] = CHANGES[change]
    return numbers


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_changed_is_found_and_nothing_else(arm, change: str):
    """A payload or a weaker motor is found within a second, to .05, and the other numbers stay as near to zero."""
    truth = numbers_with(Directions(arm, CFG.words), change)
    motion = motion_of(arm, truth, steps=140, changed_at=40)
    numbers, used, follower = follow(arm, motion, CFG)
    assert not used[39].any(), "nothing has changed yet"
    assert used[-1].all()
    apart = (numbers[-1] - truth).abs()
    assert apart.max() < 0.05, f"{follower.directions.names}: {numbers[-1].mean(0).tolist()}"


def test_nothing_is_used_where_nothing_changes(arm):
    """Robots as specified, measured with noise, keep the specification: a step gets no parameters at all."""
    motion = motion_of(arm, torch.zeros(COUNT, 3), steps=120, changed_at=0, noise=0.01)
    _, used, follower = follow(arm, motion, CFG)
    control = torch.ones(COUNT, 2)
    parameters, arrives = follower.parameters(control)
    assert not used.any() and parameters is None and torch.equal(arrives, control)
    assert torch.equal(follower.estimate, torch.zeros(COUNT, 3))


def test_a_payload_that_is_taken_off_again_is_forgotten(arm):
    """After the robot is as specified again the estimate returns to it, and is not used."""
    truth = numbers_with(Directions(arm, CFG.words), "payload")
    loaded = motion_of(arm, truth, steps=100, changed_at=20)
    free = motion_of(arm, torch.zeros_like(truth), steps=500, changed_at=0, seed=5)
    follower = Follower(arm, CFG, COUNT)
    for motion in (loaded, free):
        for step in range(motion.controls.shape[1]):
            follower.look(motion.states[:, step], motion.controls[:, step], motion.states[:, step + 1])
        if motion is loaded:
            assert follower.used.all()
    assert follower.numbers.abs().max() < 0.02 and not follower.used.any()


def test_an_estimate_that_predicts_worse_is_thrown_away(arm):
    """A wrong estimate, put there by hand with no doubt about it, is not used, and the filter begins anew."""
    cfg = replace(CFG, wander=0.0, leap=0.0)
    motion = motion_of(arm, torch.zeros(COUNT, 3), steps=120, changed_at=0)
    follower = Follower(arm, cfg, COUNT)
    for step in range(motion.controls.shape[1]):
        if step == 20:
            follower.numbers[0, 0], follower.covariance[0] = 0.5, 1e-12 * torch.eye(3)
        follower.look(motion.states[:, step], motion.controls[:, step], motion.states[:, step + 1])
        assert not follower.used[0]
    assert follower.rejected[0] >= 1 and follower.numbers[0].abs().max() < 0.05


def test_estimates_stay_within_bounds_and_finite(arm):
    """Whatever is measured, also no number at all, estimates are finite and within their bounds, and steps that are no
    numbers teach nothing.
    """
    generator = torch.Generator().manual_seed(0)
    follower = Follower(arm, CFG, COUNT)
    follower.usual = torch.full((2,), 0.01)
    for number in range(60):
        state, after = (5.0 * torch.randn(COUNT, 4, generator=generator) for _ in range(2))
        after[number % COUNT, 2 + number % 3 % 2] = torch.nan if number % 2 else torch.inf
        before = follower.numbers.clone()
        follower.look(state, 100.0 * torch.randn(COUNT, 2, generator=generator), after)
        assert torch.equal(follower.numbers[number % COUNT], before[number % COUNT])
    assert follower.numbers.isfinite().all() and follower.covariance.isfinite().all()
    for name, column in zip(follower.directions.names, follower.numbers.t(), strict=True):
        low, high = LIMITS[name.partition("/")[0]]
        assert low - 1e-6 <= column.min() and column.max() <= high + 1e-6


def test_environments_are_followed_by_themselves(arm):
    """The estimate of a robot does not depend on which others are beside it, once the usual error is known."""
    truth = numbers_with(Directions(arm, CFG.words), "payload")
    truth[::2] = 0.0
    motion = motion_of(arm, truth, steps=60, changed_at=20)
    both, few = Follower(arm, CFG, COUNT), Follower(arm, CFG, 2)
    both.usual = few.usual = torch.full((2,), 0.01)
    for step in range(motion.controls.shape[1]):
        args = motion.states[:, step], motion.controls[:, step], motion.states[:, step + 1]
        both.look(*args)
        few.look(*(each[:2] for each in args))
    assert torch.allclose(both.numbers[:2], few.numbers, atol=1e-4)


def test_environments_take_turns(arm):
    """With a look every four steps each environment is looked at once in four steps, as many together as there are, and
    forgetting some leaves the others as they are.
    """
    follower = Follower(arm, AdaptCfg(("payload",), every=4, budget=100.0), COUNT)
    follower.usual = torch.full((2,), 0.01)
    generator = torch.Generator().manual_seed(1)
    state = torch.randn(COUNT, 4, generator=generator)
    for step in range(8):
        before = follower.covariance.clone()
        follower.look(state, torch.zeros(COUNT, 2), state + 0.1)
        seen = (follower.covariance != before).flatten(1).any(1)
        assert seen.all() if step % 4 == 3 else not seen.any()
    kept = follower.numbers[1:].clone()
    follower.forget(torch.tensor([0]))
    assert follower.numbers[0].abs().max() == 0.0 and torch.equal(follower.numbers[1:], kept)


def test_a_step_that_is_no_number_leaves_the_judgement_alone(arm):
    """A robot whose measurement is no number keeps its gain and surprise, finite, while its neighbours are judged."""
    follower = Follower(arm, CFG, COUNT)
    follower.usual = torch.full((2,), 0.01)
    generator = torch.Generator().manual_seed(2)
    state = torch.randn(COUNT, 4, generator=generator)
    for _ in range(16):
        gain, surprise = follower.gain.clone(), follower.surprise.clone()
        after = state + 0.05 * torch.randn(COUNT, 4, generator=generator)
        after[0, 2] = torch.nan
        follower.look(state, torch.zeros(COUNT, 2), after)
        assert follower.surprise[0] == surprise[0] == 1.0 and follower.gain[0] == gain[0] == 0.0
        assert (follower.surprise[1:] != surprise[1:]).all() and follower.gain.isfinite().all()
    assert not follower.used[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [((), "expected some of"), (("payload", "payload"), "expected some of"), (("wings",), "expected some of"),
     (("friction",), "touches nothing")],
)  # fmt: skip
def test_what_cannot_be_followed_is_refused(arm, words: tuple[str, ...], message: str):
    """Unknown words, the same twice, or friction of a robot that touches nothing end with a message."""
    with pytest.raises(AdaptationError, match=message):
        Follower(arm, AdaptCfg(words), 2)


def test_motion_of_the_support_moves_otherwise_after_the_change(arm):
    """The plant of these tests is the robot as specified up to the change, and another one from there on."""
    truth = numbers_with(Directions(arm, CFG.words), "payload")
    with_it, without = (motion_of(arm, each, steps=30, changed_at=15) for each in (truth, torch.zeros_like(truth)))
    assert torch.equal(with_it.states[:, :16], without.states[:, :16])
    assert (with_it.states[:, 20] - without.states[:, 20]).abs().amax(-1).min() > 1e-4
    assert isinstance(with_it, Motion)


def rows_of_looks(arm, follower: Follower, steps: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Steps of the model in each batch that looks take."""
    rows, extend = [], arm.extend
    state = torch.randn(follower.num_envs, 4, generator=torch.Generator().manual_seed(3))
    control = torch.zeros(follower.num_envs, 2)
    monkeypatch.setattr(arm, "extend", lambda state, *rest: rows.append(len(state)) or extend(state, *rest))
    for _ in range(steps):
        follower.look(state, control, state, state)
    monkeypatch.undo()
    return rows


@pytest.mark.parametrize("count", [6, 70])
@pytest.mark.parametrize("words", [("payload",), ("payload", "motors")])
def test_looks_keep_to_the_budget(arm, count: int, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch):
    """However many numbers there are, looks take no more steps of the model than the budget, what a batch costs beside
    its rows included, and hardly fewer; and all calm environments are looked at about as often.
    """
    follower = Follower(arm, AdaptCfg(words, budget=0.5), count)
    follower.usual = torch.full((2,), 0.01)
    rows = rows_of_looks(arm, follower, 400, monkeypatch)
    spent = sum(rows) + BATCH * len(rows)
    assert 0.9 * 0.5 * 400 * count < spent <= 0.5 * 400 * count
    assert follower.looks.min() >= 0.7 * follower.looks.max() - 1.0


def test_what_surprises_is_looked_at_first(arm, monkeypatch: pytest.MonkeyPatch):
    """Two robots of seventy that surprise are looked at several times as often as the calm ones, which are not
    forgotten.
    """
    follower = Follower(arm, AdaptCfg(("payload", "motors"), budget=0.6), 70)
    follower.usual = torch.full((2,), 0.01)
    monkeypatch.setattr(follower, "_notice", lambda _: None)
    follower.surprise[:2] = 5.0
    rows_of_looks(arm, follower, 200, monkeypatch)
    assert follower.looks[:2].min() >= 3 * follower.looks[2:].float().mean() and follower.looks[2:].min() >= 1


def test_surprise_is_noticed_without_a_look(arm):
    """What the model said of a step tells which robots surprise, at no cost: within a fifth of a second, long before
    their next look, and it calms down again.
    """
    follower = Follower(arm, AdaptCfg(("payload",), every=1000), COUNT)
    follower.usual = torch.full((2,), 0.01)
    follower._level = 0.45
    state, noise = torch.zeros(COUNT, 4), torch.Generator().manual_seed(4)
    for step in range(120):
        measured = state + 0.01 * torch.randn(COUNT, 4, generator=noise)
        measured[0, 2:] += 0.05 * (step < 20)
        follower.look(state, torch.zeros(COUNT, 2), measured, state)
        if step == 19:
            assert follower.surprise[0] > 2.0 and follower.surprise[1:].max() < 2.0
            assert follower.attention[0] > 2.0
    assert not follower.looks.any() and follower.surprise.max() < 2.0
