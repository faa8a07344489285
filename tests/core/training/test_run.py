# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Training runs: they learn, they can be killed, and they can be shared by processes."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from nerd_core import checkpoint
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.network.architectures.transformer import TransformerCfg
from nerd_core.network.config import NetworkCfg
from nerd_core.network.token_config import TokenCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.training.config import RolloutCfg, TrainCfg, TrainingError
from nerd_core.training.metrics import compare, open_loop
from nerd_core.training.optimiser import OptimiserCfg
from nerd_core.training.run import train
from support.testbed_cartpole import SPEC, make_data

TESTS = Path(__file__).parents[2]
SMALL = ResidualMlpCfg(width=16, hidden=16, layers=1)
MEMORY = TransformerCfg(width=16, layers=1, heads=2, window=3)

# Every part that carries something from one update to the next is on.
FULL = TrainCfg(
    updates=60,
    batch_size=32,
    window_length=4,
    rollout=RolloutCfg(weight=0.5, start=0.3, steps=5, batch_size=8),
    ema_decay=0.9,
    state_noise=0.01,
    validations=6,
    validation_horizons=(5,),
    validation_trajectories=4,
)


def fresh(model: NetworkCfg = SMALL, ensemble: int = 1) -> Predictor:
    """A predictor with the same weights at every call."""
    torch.manual_seed(0)
    return Predictor(SPEC, PredictorCfg(network=model, ensemble=ensemble))


def weights(predictor: Predictor) -> torch.Tensor:
    """All numbers of a predictor in one row."""
    return torch.cat([value.detach().double().flatten() for value in predictor.state_dict().values()])


def in_process(code: str, *words: str | Path, launcher: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Runs code that may use the names of this file in a new interpreter, or in several with a launcher."""
    script = Path(words[0]) / "run.py"
    script.write_text(f"from core.training.test_run import *\nimport sys\nout = sys.argv[1]\n{code}\n")
    environment = {**os.environ, "PYTHONPATH": str(TESTS), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *launcher, str(script), *map(str, words)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        pytest.param(SMALL, "soap", id="soap"),
        pytest.param(MEMORY, "adamw", id="adamw", marks=pytest.mark.long),  # a second process that imports everything
    ],
)
def test_killed_run_ends_with_the_same_weights(model, kind, tmp_path):
    """A run that gets SIGKILL between two saves and is resumed ends as one that was not, to the last bit."""
    cfg = replace(FULL, optimiser=OptimiserCfg(kind=kind, precondition_frequency=4))
    data, valid = make_data(20, 12, seed=0), make_data(6, 12, seed=1, passive=True)
    whole = fresh(model)
    undisturbed = train(whole, data, valid, cfg, quiet=True)
    killed = in_process(
        f"""
import nerd_core.training.run as training
def save_when_due(self, before, usual=training.Run.save_when_due):
    usual(self, before)
    if self.update == 37:
        os.kill(os.getpid(), signal.SIGKILL)
training.Run.save_when_due = save_when_due
cfg = replace(FULL, optimiser=OptimiserCfg(kind={kind!r}, precondition_frequency=4))
train(fresh({model!r}), make_data(20, 12, seed=0), make_data(6, 12, seed=1, passive=True), cfg, out, quiet=True)
""",
        tmp_path,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert 0 < checkpoint.load_training_state(tmp_path / "last")["update"] < 37
    resumed = fresh(model)
    result = train(resumed, data, valid, cfg, tmp_path, resume=True, quiet=True)
    assert torch.equal(weights(whole), weights(resumed))
    assert result.updates == 60
    assert [row["errors"] for row in result.history] == [row["errors"] for row in undisturbed.history]
    assert torch.equal(weights(checkpoint.load(tmp_path / "best")), weights(resumed))


@pytest.mark.long  # two more processes that import everything
def test_two_processes_train_as_one(tmp_path):
    """Two processes under torchrun with half a batch each follow one process with the whole batch."""
    data, alone = make_data(20, 12, seed=0), fresh()
    cfg = replace(FULL, state_noise=0.0, optimiser=OptimiserCfg(kind="adamw", lr=1e-3, eps=1e-6))
    train(alone, data, None, cfg, quiet=True)
    ran = in_process(
        """
cfg = replace(FULL, state_noise=0.0, optimiser=OptimiserCfg(kind="adamw", lr=1e-3, eps=1e-6))
predictor = fresh()
if os.environ["RANK"] == "1":
    torch.nn.init.ones_(predictor.network.head.weight)  # the first process has the say
train(predictor, make_data(20, 12, seed=0), None, cfg, out, quiet=True)
torch.save(weights(predictor), f"{out}/{os.environ['RANK']}.pt")
""",
        tmp_path,
        launcher=("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"),
    )
    assert ran.returncode == 0, ran.stderr
    first, second = (torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in (0, 1))
    assert torch.equal(first, second)
    torch.testing.assert_close(first, weights(alone), rtol=1e-3, atol=1e-4)
    assert (tmp_path / "last").is_dir()


def test_a_short_run_learns_the_test_bed():
    """250 updates predict 30 steps of passive motion better than constant velocity does, by more than three times."""
    torch.manual_seed(0)
    predictor = Predictor(SPEC, PredictorCfg(network=ResidualMlpCfg(width=32, hidden=32, layers=2)))
    valid = make_data(32, 30, seed=1, passive=True)
    train(
        predictor, make_data(200, 20, seed=0), valid, TrainCfg(updates=250, batch_size=256, validations=1), quiet=True
    )
    truth = valid.beginnings(30).state
    time = SPEC.control_dt * torch.arange(31.0).unsqueeze(-1)
    straight = truth[:, :1].expand_as(truth).clone()
    straight[..., :2] += time * straight[..., 2:]
    assert open_loop(predictor, valid, 30).score() < compare(SPEC, straight, truth).score() / 3


def test_the_seed_decides_the_run():
    """Two runs with one seed end with equal weights, another seed with others; nothing else is drawn at random."""
    data = make_data(20, 12, seed=0)
    results = []
    for seed in (0, 0, 1):
        predictor = fresh()
        torch.manual_seed(len(results))
        train(predictor, data, None, replace(FULL, updates=10, seed=seed), quiet=True)
        results.append(weights(predictor))
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])


def test_time_ends_a_run():
    """A budget of minutes stops a run that has no limit of updates, and the learning rate has then come down."""
    cfg = replace(FULL, updates=None, minutes=0.02, validations=1)
    result = train(fresh(), make_data(20, 12, seed=0), None, cfg, quiet=True)
    assert result.updates > 1
    assert 0.02 <= result.minutes < 0.2


def test_the_best_weights_are_kept_and_patience_ends_a_run():
    """When the validation gets worse the run stops early, and the predictor has the weights of the best validation:
    that which lost the fewest roll-outs, and of these the one with the smallest error.
    """
    data, valid = make_data(20, 12, seed=0), make_data(6, 12, seed=1, passive=True)
    cfg = TrainCfg(
        updates=400,
        batch_size=32,
        optimiser=OptimiserCfg(lr=3.0, warmup=0.5),
        max_grad_norm=0.0,
        validations=40,
        patience=3,
    )
    predictor = fresh()
    result = train(predictor, data, valid, cfg, quiet=True)
    assert result.updates < 400
    rows = [(row["lost"], row["score"]) for row in result.history]
    assert (result.lost, result.best) == min(rows) < rows[-1]
    assert open_loop(predictor, valid, 10).held_score() == pytest.approx(result.best, rel=1e-4)


def test_ensembles_and_bfloat16_train():
    """An ensemble trains in reduced precision and its members end apart."""
    predictor = fresh(MEMORY, ensemble=3)
    train(predictor, make_data(20, 12, seed=0), None, replace(FULL, updates=8, precision="bfloat16"), quiet=True)
    embed = predictor.network.get_parameter("embed.weight")
    assert not torch.equal(embed[0], embed[1])
    assert embed.dtype == torch.float32


def test_other_settings_do_not_go_on(tmp_path):
    """Resuming with changed settings is refused and names them."""
    data = make_data(20, 12, seed=0)
    train(fresh(), data, None, replace(FULL, updates=4), tmp_path, quiet=True)
    with pytest.raises(TrainingError, match="updates"):
        train(fresh(), data, None, replace(FULL, updates=5), tmp_path, resume=True, quiet=True)


def test_a_diverged_run_says_so():
    """A loss that is no number ends the run with advice instead of saving it."""
    predictor = fresh()
    predictor.residual.token_normaliser.count.fill_(1)
    predictor.change_normaliser.count.fill_(1)
    predictor.change_normaliser.std.fill_(1e-42)
    with pytest.raises(TrainingError, match="smaller learning rate"):
        train(predictor, make_data(20, 12, seed=0), None, replace(FULL, updates=60), quiet=True)


def test_missing_compiler_is_no_obstacle(monkeypatch, caplog):
    """Where compiling fails training goes on uncompiled, with a warning and the same result."""

    def refuse(function, **_):
        def fail(*_):
            raise RuntimeError("no C++ compiler")

        return fail

    monkeypatch.setattr(torch, "compile", refuse)
    data, plain, other = make_data(20, 12, seed=0), fresh(), fresh()
    cfg = replace(FULL, updates=5)
    train(plain, data, None, cfg, quiet=True)
    with caplog.at_level(logging.WARNING):
        train(other, data, None, replace(cfg, compile=True), quiet=True)
    assert torch.equal(weights(plain), weights(other))
    assert "uncompiled" in caplog.text


def test_training_again_keeps_the_normalisers():
    """A predictor that was trained before learns on in its own units."""
    predictor = fresh()
    train(predictor, make_data(20, 12, seed=0), None, replace(FULL, updates=2), quiet=True)
    mean = predictor.residual.token_normaliser.mean.clone()
    train(predictor, make_data(20, 12, seed=5), None, replace(FULL, updates=2), quiet=True)
    assert torch.equal(mean, predictor.residual.token_normaliser.mean)


def test_rollouts_grow():
    """Roll-outs begin after their start, grow from two steps and stop at their longest."""
    cfg = RolloutCfg(weight=0.5, start=0.5, steps=10, ramp=0.25)
    assert [cfg.length(progress) for progress in (0.0, 0.49, 0.5, 0.625, 0.75, 1.0)] == [0, 0, 2, 6, 10, 10]
    assert replace(cfg, weight=0.0).length(1.0) == 0


@pytest.mark.slow
def test_five_minutes_are_enough_for_the_test_bed():
    """Five minutes on two idle cores reach .0015 m, .0015 rad over 100 passive steps and .03, .04 over 500."""
    torch.manual_seed(0)
    cfg = PredictorCfg(
        network=ResidualMlpCfg(width=64, hidden=86, layers=3), token=TokenCfg(ignored_joint_pos=("rail",))
    )
    predictor = Predictor(SPEC, cfg)
    valid = make_data(64, 500, seed=2, passive=True)
    train(predictor, make_data(10_000, 100, seed=1), valid, TrainCfg(minutes=5.0, validations=5), quiet=True)
    errors = open_loop(predictor, make_data(256, 500, seed=3, passive=True), 500)
    assert errors.at(100)["joint_m"] <= 0.0015
    assert errors.at(100)["joint_rad"] <= 0.0015
    assert errors.at(500)["joint_m"] <= 0.03
    assert errors.at(500)["joint_rad"] <= 0.04


def test_validations_do_not_eat_the_time(monkeypatch):
    """Where a validation takes long a run of minutes skips most of them; one of updates makes them all."""
    from nerd_core.training import validation as training

    usual, data, valid = training.open_loop, make_data(20, 12, seed=0), make_data(6, 12, seed=1, passive=True)

    def slow(*words, **more):
        time.sleep(delay)
        return usual(*words, **more)

    monkeypatch.setattr(training, "open_loop", slow)
    delay = 0.3
    cfg = replace(FULL, validations=10, validation_steps=0)
    hurried = train(fresh(), data, valid, replace(cfg, updates=None, minutes=0.03), quiet=True)
    assert 1 <= len(hurried.history) <= 4
    delay = 0.03
    assert len(train(fresh(), data, valid, replace(cfg, updates=20), quiet=True).history) == 10
