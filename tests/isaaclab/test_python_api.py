# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The functions behind the programs, as a notebook calls them: several in one Python session, each with an engine."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from nerd_core.files.serialization import from_plain, to_plain
from nerd_isaaclab.collect.collect_cfg import CollectCfg, CollectError
from nerd_isaaclab.collect.run import collect, report
from nerd_isaaclab.evaluation.open_loop import EvaluateCfg, evaluate
from nerd_isaaclab.evaluation.score import ScoreCfg, ScoreError, ScoreResult, score
from nerd_isaaclab.evaluation.transfer import TransferCfg, TransferError, TransferResult, transfer
from nerd_isaaclab.policies.training import PolicyTrainingError, TrainPolicyCfg, train_policy

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
TASK = "NeRD-Cartpole"


@pytest.fixture
def policy(repo_root: Path) -> Path:
    """The kept policy of the Cartpole."""
    return repo_root / "policies" / "NeRD-Cartpole"


def test_evaluate_twice_in_one_session(tmp_path: Path):
    """The same evaluation twice in one process gives the same numbers, and plain values that JSON can write."""
    cfg = EvaluateCfg("cartpole", trajectories=8, steps=20, horizons=(5, 20), data=tmp_path / "rollouts")
    first = evaluate(cfg, quiet=True)
    second = evaluate(EvaluateCfg("cartpole", trajectories=8, steps=20, horizons=(5, 20)), quiet=True)
    assert first.horizons == second.horizons and first.curves == second.curves
    assert first.task == TASK and set(first.horizons) == {"5", "20"}
    plain = json.loads(json.dumps(first.plain()))
    assert plain["horizons"] == first.horizons and plain["seeds"] == {"roll-outs": cfg.seed}


def test_collect_goes_on_in_the_same_session(tmp_path: Path):
    """A second call with more transitions continues the dataset; a third finds nothing to do."""
    cfg = CollectCfg(TASK, steps=10, num_envs=16, seed=1)
    first = collect(cfg, tmp_path, transitions=160, device="cpu", quiet=True)
    second = collect(cfg, tmp_path, transitions=480, device="cpu", quiet=True)
    assert (first.transitions, first.new_transitions) == (160, 160)
    assert (second.transitions, second.new_transitions) == (480, 320)
    assert json.loads((tmp_path / "report.json").read_text()) == report(second)


def test_a_worker_that_fails_tells_why(tmp_path: Path):
    """The message of a worker reaches the caller as an error, not as a log to look for."""
    with pytest.raises(CollectError, match="no 'spacing'"):
        collect(CollectCfg(TASK, overrides=("env.scene.spacing=3",)), tmp_path, transitions=10, quiet=True)


def test_a_model_of_another_robot_is_told_before_anything_is_recorded(tmp_path: Path):
    """A task with another robot than the model's ends with an error, and no folder of roll-outs is left."""
    with pytest.raises(CollectError, match=r"the model was made for another robot specification \(cartpole"):
        evaluate(EvaluateCfg("cartpole", "NeRD-Ant-Run", trajectories=4, steps=5, data=tmp_path / "data"), quiet=True)
    assert not (tmp_path / "data").exists()


def test_transfer_holds_the_scores_of_both_modes(policy: Path):
    """A transfer is the score in PhysX beside that in the model, with the gap between them, and can be stored."""
    result = transfer(TransferCfg(TASK, policy, "cartpole", episodes=8), quiet=True)
    alone = score(ScoreCfg(TASK, policy, num_envs=8), quiet=True)
    assert set(result.modes) == {"physx", "neural"}
    assert result.modes["physx"] == alone
    physx, neural = (result.modes[mode].scores["return"].mean for mode in ("physx", "neural"))
    assert result.reward_gap == pytest.approx((neural - physx) / abs(physx))
    stored = json.loads(json.dumps(to_plain(result)))
    assert from_plain(TransferResult, stored) == result
    assert from_plain(ScoreResult, stored["modes"]["physx"]) == alone


def test_score_in_a_wrong_way_is_refused_in_words(policy: Path, tmp_path: Path):
    """Wrong tasks, models and policies are refused before an engine is started; what only the engine knows, after."""
    with pytest.raises(ValueError, match="did you mean NeRD-Cartpole"):
        score(ScoreCfg("NeRD-Cartpol", policy))
    with pytest.raises(ValueError, match="did you mean 'cartpole'"):
        score(ScoreCfg(TASK, policy, checkpoint="cartpol"))
    with pytest.raises(FileNotFoundError, match="no policy in the folder"):
        score(ScoreCfg(TASK, tmp_path))
    with pytest.raises(ScoreError, match="expected words like"):
        ScoreCfg(TASK, policy, overrides=("neural",))
    with pytest.raises(TransferError, match="in neural mode: got physics=bullet, expected one of the presets"):
        transfer(TransferCfg(TASK, policy, "cartpole", episodes=2, overrides=("physics=bullet",)), quiet=True)


def test_a_policy_is_trained_in_the_model_and_scored(tmp_path: Path):
    """Training gives a log folder and a curve; the folder is a policy that can be scored."""
    cfg = TrainPolicyCfg(TASK, checkpoint="cartpole", num_envs=32, iterations=12, seed=3)
    trained = train_policy(cfg, tmp_path, quiet=True)
    assert trained.run.is_dir() and tmp_path in trained.run.parents
    assert trained.curve["iteration"] and len(set(map(len, trained.curve.values()))) == 1
    result = score(ScoreCfg(TASK, trained.run, checkpoint="cartpole", num_envs=4), quiet=True)
    assert result.episodes == 4 and result.task == TASK


def test_a_failed_training_shows_the_end_of_its_log(tmp_path: Path):
    """What the trainer said last stands in the error."""
    with pytest.raises(PolicyTrainingError, match="bullet"):
        train_policy(TrainPolicyCfg(TASK, overrides=("physics=bullet",)), tmp_path, quiet=True)


def test_the_documented_script_runs(repo_root: Path, tmp_path: Path):
    """docs/examples/cartpole.py collects, trains and evaluates in tiny sizes, and prints what the page shows."""
    command = [sys.executable, str(repo_root / "docs/examples/cartpole.py"), "--out", str(tmp_path)]
    command += ["--transitions", "2000", "--minutes", "0.05", "--trajectories", "8", "--iterations", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = done.stdout.splitlines()
    assert int(lines[0].split()[0]) >= 2000 and "control steps" in lines[0]
    assert any(line.startswith("100 steps: ") for line in lines)


def test_the_page_shows_the_script(repo_root: Path):
    """The code on the page is the body of the script."""
    script = (repo_root / "docs/examples/cartpole.py").read_text()
    body = textwrap.dedent(script[script.index("    collected = collect(") : script.index("\n\nif __name__")]).strip()
    assert body in (repo_root / "docs/python-api.md").read_text()
