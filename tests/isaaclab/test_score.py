# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The judges of policies get episodes with known numbers and have to give those numbers back; no engine."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from nerd_core.checkpoint_names import find_checkpoint
from nerd_isaaclab.evaluation import score as score_module
from nerd_isaaclab.evaluation import score_worker
from nerd_isaaclab.evaluation.score import ScoreCfg, ScoreError, score
from nerd_isaaclab.evaluation.transfer import Difference, TransferCfg, TransferError, transfer
from nerd_isaaclab.policies import play
from nerd_isaaclab.policies.play import play_episodes
from nerd_isaaclab.policies.policy import Policy
from nerd_isaaclab.programs import score as score_program
from nerd_isaaclab.programs import transfer as transfer_program
from nerd_isaaclab.tasks.scores import Score
from support.stub_env import OBSERVATIONS, Episode, StubEnv

pytestmark = pytest.mark.unit

SCORES = (
    Score("height", "m", lambda env: env.height, "mean"),
    Score("still", "share", lambda env: env.still, "hold", hold_s=0.75),  # three steps of the stub
)

EPISODES = (
    Episode(8, rates=(1.0, -0.5), still=(5, 6, 7)),
    Episode(8, rates=(2.0, 0.0), still=(0, 1, 2, 3, 4, 6, 7)),
    Episode(3, ("fell",), (4.0, -1.0), still=(0, 1, 2)),
    Episode(5, ("guard",), (1.0, 1.0), still=(0, 1, 2, 3, 4)),
    Episode(8, ("fell", "time_out"), (0.5, 0.0), still=(4, 5, 6, 7)),
    Episode(1, ("fell",), (-8.0, 0.0)),
)
"""Returns 4, 16, 9, 10, 4 and -8: sum 35, sum of squares 533."""


@pytest.fixture(scope="module")
def policy() -> Policy:
    """A policy whose action is twice the first observation."""
    weight = torch.zeros(1, OBSERVATIONS)
    weight[0, 0] = 2.0
    zeros = torch.zeros(OBSERVATIONS)
    return Policy([(weight, torch.zeros(1))], zeros, zeros + 1.0, "tanh", facts={"seed": 3})


def std(values: list[float]) -> float:
    """Standard deviation over given episodes: the root of the mean squared distance from the mean."""
    mean = sum(values) / len(values)
    return (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5


def test_the_first_episode_of_each_environment_counts_once(policy: Policy):
    """Returns, lengths and reward terms are those of the first episodes alone, to four decimals, with the standard
    deviation over the episodes; what the others do while one still plays changes nothing.
    """
    env = StubEnv(EPISODES)
    result = play_episodes(env, policy, SCORES)
    assert result.episodes == 6 and env.resets == 1
    assert env.episode.tolist() == [1, 1, 3, 2, 1, 4], "the stub has to begin later episodes meanwhile"
    expected = {
        "return": ([4.0, 16.0, 9.0, 10.0, 4.0, -8.0], "1"),
        "length": ([8.0, 8.0, 3.0, 5.0, 8.0, 1.0], "steps"),
        "height": ([3.5, 3.5, 1.0, 2.0, 3.5, 0.0], "m"),
    }
    for name, (values, unit) in expected.items():
        found = result.scores[name]
        assert (found.mean, found.std, found.unit) == (round(sum(values) / 6, 4), round(std(values), 4), unit), name
    terms = {"alive": [8.0, 16.0, 12.0, 5.0, 4.0, -8.0], "cost": [-4.0, 0.0, -3.0, 5.0, 0.0, 0.0]}
    assert list(result.terms) == list(terms)
    for name, values in terms.items():
        assert (result.terms[name].mean, result.terms[name].std) == (round(sum(values) / 6, 4), round(std(values), 4))


def test_every_end_is_one_share(policy: Policy):
    """The shares of the terminations are those of the first episodes and sum up to one; an episode that two ended in
    the same step counts half for each.
    """
    result = play_episodes(StubEnv(EPISODES), policy, ())
    assert result.ends == pytest.approx({"time_out": 2.5 / 6, "fell": 2.5 / 6, "guard": 1 / 6})
    assert sum(result.ends.values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("episode", "held"),
    [
        (Episode(8, still=(5, 6, 7)), 1.0),
        (Episode(8, still=tuple(range(8))), 1.0),
        (Episode(8, still=(6, 7)), 0.0),
        (Episode(8, still=(0, 1, 2, 3, 4, 5, 7)), 0.0),
        (Episode(8, still=(0, 1, 2, 3, 4, 5, 6)), 0.0),
        (Episode(5, ("fell",), still=tuple(range(8))), 0.0),
        (Episode(8, ("fell", "time_out"), still=tuple(range(8))), 0.0),
    ],
)
def test_a_condition_has_to_hold_to_the_end_of_a_whole_episode(policy: Policy, episode: Episode, held: float):
    """``hold`` asks for the full time and for the last 0.75 s without a break; here beside an episode that keeps it."""
    result = play_episodes(StubEnv((episode, Episode(8, still=(5, 6, 7)))), policy, SCORES)
    assert result.scores["still"].mean == (held + 1.0) / 2
    assert result.scores["still"].unit == "share"


def test_commands_are_read_before_an_episode_ends(policy: Policy):
    """What a command term measures is its value in the last step of the first episode, not that of the next one."""
    result = play_episodes(StubEnv(EPISODES), policy, ())
    values = [7.0, 7.0, 2.0, 4.0, 7.0, 0.0]
    assert result.commands["walk/steps"].mean == round(sum(values) / 6, 4)
    assert result.commands["walk/steps"].std == round(std(values), 4)


def test_playing_stops_with_the_last_episode_and_acts_by_the_mean(policy: Policy):
    """No step is made after the last first episode has ended; the actions are those of the policy, without noise."""
    env = StubEnv((Episode(2, ("fell",)), Episode(5, ("guard",))))
    reports: list[tuple[int, int, int]] = []
    play_episodes(env, policy, (), progress=lambda *report: reports.append(report))
    assert env.steps == 5 and not reports
    assert all(action.flatten().tolist() == [0.0, 2.0] for action in env.actions)
    play_episodes(StubEnv((Episode(12, ("fell",)), Episode(3)), 25), policy, (), None, lambda *r: reports.append(r))
    assert reports == [(10, 25, 1)]


def test_recorded_states_end_with_their_episode(policy: Policy, monkeypatch):
    """States are those before each step of the first episodes of the first environments, and none after their end."""
    env, states = StubEnv((*EPISODES, *(Episode(8),) * play.RECORDED)), []
    reader = SimpleNamespace(read=lambda: torch.stack([env.height, 0.0 * env.height], dim=-1))
    monkeypatch.setattr(play, "_state_reader", lambda env: reader)
    play_episodes(env, policy, (), states)
    recorded = torch.stack(states)
    assert recorded.shape == (8, play.RECORDED, 2)
    for number, length in enumerate((8, 8, 3, 5, 8, 1)[: play.RECORDED]):
        assert recorded[:length, number, 0].tolist() == list(range(length))
        assert not recorded[length:, number].isfinite().any()


def test_a_policy_of_another_task_is_refused(policy: Policy):
    """Observations or actions of another number are named before the first step."""
    env = StubEnv(EPISODES)
    env._observations = lambda: {"policy": torch.zeros(6, 5)}
    with pytest.raises(ValueError, match="got a policy of 3 observations and 1 actions, expected 5 and 1"):
        play_episodes(env, policy, ())
    assert env.steps == 0
    env = StubEnv(EPISODES)
    env.action_manager.total_action_dim = 8
    with pytest.raises(ValueError, match="expected 3 and 8 for this task: it was trained for another task or robot"):
        play_episodes(env, policy, ())
    assert env.steps == 0


# -- score and transfer: what the engine's process is asked for, and what comes back ----------------------------------


@pytest.fixture
def worlds(monkeypatch) -> list[tuple[Any, StubEnv]]:
    """Lets the worker run in this process, with a stub in place of the task. What it made, as configurations and
    environments: in PhysX each of four episodes pays 8, 8, 8 and 4, in a model twice that.
    """
    import gymnasium
    import isaaclab.app

    made: list[tuple[Any, StubEnv]] = []
    configure = score_worker._configure

    def make(name: str, cfg: Any) -> StubEnv:
        assert name == "NeRD-Cartpole"
        rate = {"physx": 1.0, "neural": 2.0}[cfg.nerd.mode]
        kinds = (Episode(8, rates=(rate, 0.0)),) * 3 + (Episode(4, ("guard",), (rate, 0.0)),)
        made.append((cfg, StubEnv(kinds)))
        return made[-1][1]

    class Here:
        """The process of an engine without the process."""

        def __init__(self, module: str, order: Any, on_progress: Any):
            plain = json.loads(json.dumps(dataclasses.asdict(order), default=os.fspath))
            self.result = json.loads(json.dumps(importlib.import_module(module).work(plain, on_progress)))

        def wait(self, error: type[ValueError]) -> Any:
            return self.result

    monkeypatch.setattr(score_module, "EngineProcess", Here)
    monkeypatch.setattr(gymnasium, "make", make)
    monkeypatch.setattr(isaaclab.app, "launch_simulation", lambda cfg, arguments: contextlib.nullcontext())
    monkeypatch.setattr(score_worker, "_configure", lambda order: (configure(order)[0], SCORES))
    return made


@pytest.fixture(scope="module")
def policy_file(policy: Policy, tmp_path_factory) -> Path:
    """The policy as a file."""
    path = tmp_path_factory.mktemp("policy") / "policy.safetensors"
    policy.save(path)
    return path


def test_score_asks_for_what_it_was_given(worlds, policy_file: Path):
    """Episodes, seed, device and overrides reach the configuration of the task; without a model PhysX steps; the
    result says what was measured and of whom.
    """
    cfg = ScoreCfg("NeRD-Cartpole", policy_file, num_envs=4, seed=7, device="cpu", overrides=("env.decimation=3",))
    result = score(cfg, quiet=True)
    ((made, env),) = worlds
    assert (made.nerd.mode, made.nerd.checkpoint) == ("physx", None)
    assert (made.scene.num_envs, made.seed, made.sim.device, made.decimation) == (4, 7, "cpu", 3)
    assert env.closed
    assert (result.task, result.seed, result.episodes, result.policy) == ("NeRD-Cartpole", 7, 4, {"seed": 3})
    assert (result.scores["return"].mean, result.scores["return"].std) == (7.0, round(std([8.0, 8.0, 8.0, 4.0]), 4))
    assert result.ends["time_out"] == 0.75 and result.ends["guard"] == 0.25


def test_score_with_a_model_runs_that_model(worlds, policy_file: Path):
    """A checkpoint means neural mode with that checkpoint, also when overrides follow."""
    score(ScoreCfg("NeRD-Cartpole", policy_file, "cartpole", 4, overrides=("env.decimation=3",)), quiet=True)
    ((made, _),) = worlds
    assert (made.nerd.mode, made.nerd.checkpoint) == ("neural", str(find_checkpoint("cartpole")))
    assert made.decimation == 3


def test_transfer_runs_each_mode_in_its_mode(worlds, policy_file: Path):
    """The model comes first, with its checkpoint, so that a wrong one is told at once, PhysX without; both with the
    same episodes, seed and overrides; the scores stand under their modes, and the gap is theirs: 14 against 7 is +1.
    """
    cfg = TransferCfg("NeRD-Cartpole", policy_file, "cartpole", episodes=4, seed=9, overrides=("env.decimation=3",))
    result = transfer(cfg, quiet=True)
    (neural, _), (physx, _) = worlds
    assert (physx.nerd.mode, physx.nerd.checkpoint) == ("physx", None)
    assert (neural.nerd.mode, neural.nerd.checkpoint) == ("neural", str(find_checkpoint("cartpole")))
    for made in (physx, neural):
        assert (made.scene.num_envs, made.seed, made.decimation) == (4, 9, 3)
    assert list(result.modes) == ["physx", "neural"]
    assert [mode.scores["return"].mean for mode in result.modes.values()] == [7.0, 14.0]
    assert result.reward_gap == pytest.approx(1.0)
    assert (result.task, result.checkpoint, result.episodes) == ("NeRD-Cartpole", "cartpole", 4)


@pytest.mark.parametrize(
    ("physx", "neural", "gap"),
    [(100.0, 101.5, 0.015), (100.0, 90.0, -0.1), (-50.0, -40.0, 0.2), (-50.0, -60.0, -0.2), (0.0, 3.0, None)],
)
def test_the_gap_is_positive_when_the_model_pays_more(physx, neural, gap, worlds, policy_file, monkeypatch):
    """The gap is the model's mean return less that of PhysX, as a share of the latter without its sign."""
    plain = score(ScoreCfg("NeRD-Cartpole", policy_file, num_envs=4), quiet=True)
    asked: list[ScoreCfg] = []

    def known(cfg: ScoreCfg, quiet: bool) -> Any:
        asked.append(cfg)
        value = dataclasses.replace(plain.scores["return"], mean=physx if cfg.checkpoint is None else neural)
        return dataclasses.replace(plain, scores={**plain.scores, "return": value})

    monkeypatch.setattr("nerd_isaaclab.evaluation.transfer.score", known)
    cfg = TransferCfg("NeRD-Cartpole", policy_file, "cartpole", record="motion")
    assert transfer(cfg, quiet=True).reward_gap == (None if gap is None else pytest.approx(gap))
    assert [str(cfg.record) for cfg in asked] == ["motion/neural.json", "motion/physx.json"]


def test_physx_alone_can_be_another_robot(worlds, policy_file: Path):
    """What is said of PhysX alone changes PhysX alone, and cannot change which mode runs."""
    cfg = TransferCfg("NeRD-Cartpole", policy_file, "cartpole", episodes=4, physx=("env.decimation=3",))
    transfer(cfg, quiet=True)
    (neural, _), (physx, _) = worlds
    assert (neural.decimation, physx.decimation) == (2, 3)
    with pytest.raises(TransferError, match="expected none of env.nerd.mode"):
        transfer(dataclasses.replace(cfg, physx=("env.nerd.mode=neural",)), quiet=True)


@pytest.mark.parametrize("word", ["env.nerd.mode=neural", "env.nerd.mode=physx", "env.nerd.checkpoint=ant"])
def test_transfer_does_not_let_an_override_change_a_mode(word: str, worlds, policy_file: Path):
    """An override of the mode or the model would run one mode under the name of the other: refused, nothing starts."""
    cfg = TransferCfg("NeRD-Cartpole", policy_file, "cartpole", episodes=4, overrides=("env.decimation=3", word))
    with pytest.raises(TransferError, match=f"got the override '{word}', expected none of env.nerd.mode"):
        transfer(cfg, quiet=True)
    assert not worlds


def test_a_mode_that_fails_is_named(policy_file: Path, monkeypatch):
    """When the model cannot be run, the message says in which mode."""

    def fail(cfg: ScoreCfg, quiet: bool) -> None:
        raise ScoreError("no memory")

    monkeypatch.setattr("nerd_isaaclab.evaluation.transfer.score", fail)
    with pytest.raises(TransferError, match="in neural mode: no memory"):
        transfer(TransferCfg("NeRD-Cartpole", policy_file, "cartpole"), quiet=True)


def test_the_table_of_transfer_holds_the_numbers_of_its_json(worlds, policy_file, tmp_path: Path, capsys):
    """``nerd transfer`` shows and writes the same numbers, each in the column of its mode."""
    out = tmp_path / "transfer.json"
    words = ["--task", "NeRD-Cartpole", "--policy", str(policy_file), "--checkpoint", "cartpole", "--json", str(out)]
    assert transfer_program.main([*words, "--episodes", "4"]) == 0
    plain, shown = json.loads(out.read_text()), capsys.readouterr().out
    assert plain["reward_gap"] == 1.0 and "neural against physx: +100.000 %" in shown
    lines = [line.replace("│", " ").split() for line in shown.splitlines()]
    assert ["return", "7", "+-", "1.73", "14", "+-", "3.46", "+7", "+-", "1"] in lines
    assert ["ended", "by", "guard", "25.0", "%", "25.0", "%"] in lines
    assert plain["modes"]["physx"]["scores"]["return"]["mean"] == 7.0
    assert plain["modes"]["neural"]["terms"]["alive"]["mean"] == 14.0


def test_modes_are_compared_episode_by_episode(worlds, policy_file: Path):
    """Episodes pay 8, 8, 8, 4 in PhysX and twice that in the model: the differences 8, 8, 8, 4 have the mean 7 and the
    standard error 1, far below what the spreads of both modes would give; lengths agree in every episode.
    """
    result = transfer(TransferCfg("NeRD-Cartpole", policy_file, "cartpole", episodes=4, seed=9), quiet=True)
    assert [env.seed for _, env in worlds] == [9, 9]
    assert result.modes["physx"].per_episode["return"] == (8.0, 8.0, 8.0, 4.0)
    assert result.differences["return"] == Difference(7.0, 1.0, 7.0)
    assert result.differences["reward of alive"] == Difference(7.0, 1.0, 7.0)
    assert result.differences["length"] == Difference(0.0, 0.0, None)
    assert set(result.differences) == set(result.modes["neural"].per_episode) >= {"still", "command walk/steps"}


def test_a_share_is_shown_only_of_a_return_that_has_one(worlds, policy_file: Path, monkeypatch, capsys):
    """Around zero a share of the return says nothing: the gap is then shown as a difference, with its standard error,
    and the JSON keeps its number.
    """
    result = transfer(TransferCfg("NeRD-Cartpole", policy_file, "cartpole", episodes=4), quiet=True)
    for mean, share in ((7.0, "+100.000 %, "), (1.0, ""), (-7.0, "")):
        value = dataclasses.replace(result.modes["physx"].scores["return"], mean=mean)
        physx = dataclasses.replace(result.modes["physx"], scores={**result.modes["physx"].scores, "return": value})
        transfer_program._show(dataclasses.replace(result, modes={**result.modes, "physx": physx}))
        words = f"reward gap, neural against physx: {share}+7 +- 1 of the return, +7.0 standard errors"
        assert words in capsys.readouterr().out


def test_score_writes_each_episode_and_shows_the_rest(worlds, policy_file: Path, tmp_path: Path, capsys):
    """``nerd rl score`` shows JSON without the numbers of each episode, which stand in the file of ``--out``."""
    out = tmp_path / "score.json"
    words = ["--task", "NeRD-Cartpole", "--policy", str(policy_file), "--num-envs", "4", "--out", str(out)]
    assert score_program.main(words) == 0
    shown = capsys.readouterr().out
    plain, written = json.loads(shown[shown.index("{") :]), json.loads(out.read_text())
    assert written.pop("per_episode")["return"] == [8.0, 8.0, 8.0, 4.0]
    assert written == plain


@pytest.mark.parametrize("task", ["NeRD-Double-Pendulum", "NeRD-Isaac-Cartpole"])
def test_a_task_that_names_no_scores_is_judged_by_its_return(task: str, policy_file: Path):
    """A task of ours or of another package needs no scores of its own: return, length and reward terms are measured."""
    import nerd_isaaclab.tasks  # noqa: F401

    cfg, scores = score_worker._configure(ScoreCfg(task, policy_file, num_envs=3))
    assert cfg.scene.num_envs == 3 and scores == ()
