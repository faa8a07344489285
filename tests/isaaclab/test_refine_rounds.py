# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The loop of ``nerd refine`` over commands that only leave their files: what runs, on what, and when. No engine."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nerd_core import checkpoint
from nerd_core.network.architectures.mlp import MlpCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.spec import RobotSpec
from nerd_isaaclab.demo.phases import PhaseError
from nerd_isaaclab.launch.task_ids import check_task, find_tasks
from nerd_isaaclab.programs import refine as program
from nerd_isaaclab.refine import rounds, run
from nerd_isaaclab.refine.config import RefineCfg, RefineError
from nerd_isaaclab.refine.stopping import StopCfg
from support.checkpoints import crawler, pendulum
from support.demo_results import scored

pytestmark = pytest.mark.unit


class Engine:
    """Stands for all commands: notes their words and leaves their files."""

    def __init__(self, gaps: list[float]):
        self.gaps, self.ran, self.stop_at = gaps, [], -1
        self.robot: RobotSpec = pendulum()
        self.out = Path()
        self.return_in_physx = 100.0

    def commands(self, out: Path, lock: int) -> Engine:
        """Takes the place of the class that runs commands."""
        self.out = out
        return self

    def nerd(
        self, words: list[str], threads: int, log: Path | None = None, cwd: Path | None = None, accepted=()
    ) -> str:
        """Does as if a command had run; the one that is interrupted leaves its files, too."""
        self.ran.append(words)
        assert accepted == ((rounds.EXIT_FAILED,) if words[0] == "train" else ())
        if words[0] == "rl" and cwd is not None:
            (cwd / "logs/rsl_rl/task/time/params").mkdir(parents=True)
        elif words[0] == "generate":
            folder = Path(after(words, "--out"))
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "report.json").write_text(json.dumps({"transitions": int(after(words, "--transitions"))}))
        elif words[0] == "train":
            shutil.copytree(after(words, "--start"), Path(after(words, "--out"), "best"), dirs_exist_ok=True)
        elif words[0] == "transfer":
            file = Path(after(words, "--json"))
            share = self.gaps[-1] if file.parent.name == "confirm" else self.gaps[int(file.parent.name[-1])]
            numbers = scored(self.return_in_physx, self.return_in_physx * (1.0 + share))
            file.write_text(json.dumps(numbers))
        if len(self.ran) == self.stop_at:
            raise KeyboardInterrupt
        return " ".join(["nerd", *words])

    def count(self, *first: str) -> int:
        """How many commands began with some words."""
        return sum(words[: len(first)] == list(first) for words in self.ran)


def after(words: list[str], option: str) -> str:
    """The value of an option."""
    return words[words.index(option) + 1]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A network of the pendulum."""
    return checkpoint.save(tmp_path / "first", Predictor(pendulum(), PredictorCfg(network=MlpCfg())))


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """Commands that only leave their files; the gap is .5, then .2, then .01, and .012 over other starts."""
    stub = Engine([0.5, 0.2, 0.01, 0.012])
    policy = SimpleNamespace(save=lambda path: path.write_text("policy"))
    monkeypatch.setattr(run, "Commands", stub.commands)
    monkeypatch.setattr(run, "load_policy", lambda path: policy)
    monkeypatch.setattr(run, "check_task", lambda task: None)  # a second each
    monkeypatch.setattr(run, "find_tasks", list)
    monkeypatch.setattr(rounds, "robot_of_task", lambda cfg: SimpleNamespace(spec=stub.robot.to_json()))
    yield stub


def config(first: Path, **changes: Any) -> RefineCfg:
    """A refinement with small numbers."""
    return replace(RefineCfg("NeRD-Cartpole", first, transitions=1000, takeover_transitions=200), **changes)


def test_rounds_go_on_until_the_gap_is_closed(engine: Engine, model: Path, tmp_path: Path):
    """A policy is trained and scored in each model; with the third the gap is closed, and its model and policy are
    kept, with a gap over further starts.
    """
    found = run.refine(config(model), tmp_path / "out", "nerd refine")
    assert (found.reason, found.best) == ("closed", 2)
    assert [round(gap.share or 0.0, 6) for gap in found.gaps] == [0.5, 0.2, 0.01]
    assert found.confirmed.share == pytest.approx(0.012)
    assert (engine.count("rl"), engine.count("train"), engine.count("generate")) == (3, 2, 4)
    assert checkpoint.load(found.model).spec.name == "pendulum" and (found.policy / "policy.safetensors").is_file()
    numbers = json.loads((tmp_path / "out/report.json").read_text())
    assert [row["transitions"] for row in numbers["rounds"]] == [0, 1200, 1200]
    assert numbers["reason"] == "closed" and numbers["confirmed"]["share"] == pytest.approx(0.012)


def test_each_training_goes_on_from_the_model_before_on_all_data(engine: Engine, model: Path, tmp_path: Path):
    """The second training begins with the model of the first round and learns from the data of both."""
    run.refine(config(model), tmp_path / "out", "nerd refine")
    first, second = (words for words in engine.ran if words[0] == "train")
    assert after(first, "--start") == str(model)
    assert after(second, "--start") == str(tmp_path / "out/train-1/best")
    names = [Path(word).parent.name for word in second if word.endswith("/data")]
    assert names == ["collect-1", "takeover-1", "collect-2", "takeover-2"]
    assert after(first, "--seed") != after(second, "--seed")


def test_data_come_from_the_policy_and_model_of_the_round_before(engine: Engine, model: Path, tmp_path: Path):
    """PhysX moves under the policy that was just scored, and takes over where that policy leads in its own model."""
    run.refine(config(model), tmp_path / "out", "nerd refine")
    generated = [words for words in engine.ran if words[0] == "generate"]
    assert ["policy-0" in after(words, "--policy") for words in generated] == [True, True, False, False]
    visited = [after(words, "--visited") for words in generated if "--visited" in words]
    assert visited == [str(model), str(tmp_path / "out/train-1/best")]
    assert len({after(words, "--seed") for words in generated}) == 4


def test_no_two_gaps_are_measured_over_the_same_starts(engine: Engine, model: Path, tmp_path: Path):
    """A model is not judged by starts that it, or the choice of the best round, has been judged by before."""
    run.refine(config(model), tmp_path / "out", "nerd refine")
    seeds = [after(words, "--seed") for words in engine.ran if words[0] == "transfer"]
    assert len(seeds) == 4 and len(set(seeds)) == 4
    trained_in = [word for words in engine.ran if words[0] == "rl" for word in words if "checkpoint=" in word]
    assert [Path(word).parent.name for word in trained_in] == [model.parent.name, "train-1", "train-2"]


@pytest.mark.parametrize("stop_at", [1, 2, 3, 4, 5, 6, 9, 13])
def test_interrupted_anywhere_it_goes_on(engine: Engine, model: Path, tmp_path: Path, stop_at: int):
    """Whichever of 13 commands is interrupted, the same call runs it again and no finished one."""
    engine.stop_at = stop_at
    with pytest.raises(KeyboardInterrupt):
        run.refine(config(model), tmp_path / "out", "nerd refine")
    found = run.refine(config(model), tmp_path / "out", "nerd refine")
    assert found.reason == "closed" and len(engine.ran) == 14
    run.refine(config(model), tmp_path / "out", "nerd refine")
    assert len(engine.ran) == 14


def test_more_rounds_go_on_with_those_that_are_done(engine: Engine, model: Path, tmp_path: Path):
    """What stopped for want of rounds goes on where it was."""
    less = config(model, stop=StopCfg(rounds=1))
    assert run.refine(less, tmp_path / "out", "nerd refine").reason == "no rounds left"
    assert engine.count("rl") == 2
    found = run.refine(config(model), tmp_path / "out", "nerd refine")
    assert (found.reason, found.best, engine.count("rl")) == ("closed", 2, 3)


def test_another_model_at_the_same_place_begins_anew(engine: Engine, model: Path, tmp_path: Path):
    """The content of the first model counts, not its path."""
    run.refine(config(model), tmp_path / "out", "nerd refine")
    shutil.rmtree(model)
    checkpoint.save(model, Predictor(pendulum(), PredictorCfg(network=MlpCfg())))
    before = engine.count("rl")
    run.refine(config(model), tmp_path / "out", "nerd refine")
    assert engine.count("rl") > before


def test_the_model_of_another_robot_is_refused_with_what_to_do(engine: Engine, model: Path, tmp_path: Path):
    """Before anything is trained, with the differences and the commands that make a right one."""
    engine.robot = crawler()
    with pytest.raises(PhaseError, match=r"(?s)another robot.*expected a model of the robot of NeRD-Cartpole.*init"):
        run.refine(config(model), tmp_path / "out", "nerd refine")
    assert engine.ran == []


def test_what_does_not_go_together_is_refused_before_anything_starts(
    engine: Engine, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Unknown tasks and models, tasks without an agent, data that are none, and words that phases set themselves."""
    monkeypatch.setattr(run, "check_task", check_task)
    monkeypatch.setattr(run, "find_tasks", find_tasks)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"task": "NeRD-Cartpol"}, "did you mean"),
        ({"model": "cartpol"}, "expected a directory or the name"),
        ({"data": (tmp_path / "nothing",)}, "there is no dataset"),
        ({"task": "NeRD-Cube-Toss"}, "no RSL-RL agent"),
    ]
    for changes, message in wrong:
        with pytest.raises(ValueError, match=message):
            run.refine(config(model, **changes), tmp_path / "out", "nerd refine")
    for word in ("env.nerd.mode=physx", "physics=newton", "env.scene.num_envs"):
        with pytest.raises(RefineError, match="expected"):
            config(model, overrides=(word,))
    with pytest.raises(RefineError, match="expected a budget"):
        config(model, minutes=None)
    assert not (tmp_path / "out").exists() and engine.ran == []


def test_the_program_says_what_to_do_where_the_gap_is_not_closed(engine: Engine, model: Path, tmp_path: Path, capsys):
    """The exit code tells the two apart, the table has each round, and overrides reach every command but training."""
    engine.gaps = [0.5, 0.4, 0.4]
    words = ["--task", "NeRD-Cartpole", "--model", str(model), "--out", str(tmp_path / "out"), "--rounds", "1"]
    assert program.main([*words, "env.episode_length_s=4", "agent.seed=1"]) == program.NOT_CLOSED
    said = capsys.readouterr().out
    assert "+40.00 %" in said and "more rounds (--rounds)" in said
    for command in engine.ran:
        assert ("env.episode_length_s=4" in command) == (command[0] != "train")
        assert ("agent.seed=1" in command) == (command[0] == "rl")
    engine.gaps, engine.ran = [0.01, 0.01], []
    assert program.main([*words, "--fresh"]) == 0
