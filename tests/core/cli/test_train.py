# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd train`` trains, protects what is there, goes on, and repeats a run from its checkpoint."""

import dataclasses
import math
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from nerd_core import checkpoint
from nerd_core.cli import main
from nerd_core.cli.train import DEFAULT_MINUTES, TrainCfg, parse, preset_settings
from nerd_core.data import ShardMeta, ShardWriter
from nerd_core.models import ResidualMlpCfg, TransformerCfg
from nerd_core.spec import ContactSlot
from support.checkpoints import crawler, pendulum
from support.robots import cartpole

QUICK = ["--batch", "64", "--statistics", "2000", "--validations", "2", "--horizons", "5", "20", "--trajectories", "8"]
TINY = ["--model.width", "8", "--model.hidden", "8", "--model.layers", "1"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """120 trajectories of a frictionless pendulum with random torques, integrated in small steps."""
    path = tmp_path_factory.mktemp("data") / "pendulum"
    torch.manual_seed(3)
    count, steps, substeps = 120, 25, 8
    position, velocity = 3.0 * torch.randn(count), torch.randn(count)
    control = torch.empty(count, steps, 1).uniform_(-1.0, 1.0)
    states = [torch.stack((position, velocity), -1)]
    dt = pendulum().control_dt / substeps
    for step in range(steps):
        for _ in range(substeps):
            velocity = velocity + dt * (control[:, step, 0] - 9.81 * position.sin())
            position = torch.remainder(position + dt * velocity + math.pi, 2.0 * math.pi) - math.pi
        states.append(torch.stack((position, velocity), -1))
    with ShardWriter(path, pendulum(), ShardMeta(task="pendulum", seed=3)) as writer:
        writer.append(torch.stack(states, 1).numpy(), control.numpy())
    return path


def run(*words) -> int:
    """Runs ``nerd train`` with these words."""
    return main(["train", *map(str, words)])


def weights(path) -> dict[str, torch.Tensor]:
    """Tensors of a checkpoint."""
    return checkpoint.read(path).tensors


def same(first, second) -> bool:
    """Whether two checkpoints hold the same numbers."""
    a, b = weights(first), weights(second)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    """A short finished run."""
    out = tmp_path_factory.mktemp("runs") / "first"
    assert run(data, "--updates", 40, "--seed", 5, *QUICK, *TINY, "--out", out) == 0
    return out


def test_a_run_leaves_a_best_and_a_last_checkpoint(trained, capsys):
    """Both load; the settings, the seed and the command stand in them; one can go on."""
    for name in ("best", "last"):
        found = checkpoint.read(trained / name)
        assert found.spec == pendulum()
        assert found.config.training is not None and found.config.training["updates"] == 40
        assert found.config.provenance["seeds"]["training"] == 5
        assert len(found.config.provenance["data"]["trajectories"]) == 64
        assert found.config.results
    assert checkpoint.read(trained / "last").has_training_state


def test_the_checkpoint_holds_all_that_repeats_the_run(trained, data, tmp_path):
    """The config.json of a checkpoint, passed back, gives the same weights to the last bit; another seed does not."""
    assert run(data, "--config", trained / "best" / "config.json", "--out", tmp_path / "again") == 0
    assert same(trained / "last", tmp_path / "again" / "last")
    assert run(data, "--config", trained / "best", "--seed", 6, "--out", tmp_path / "other") == 0
    assert not same(trained / "last", tmp_path / "other" / "last")


def test_an_earlier_run_is_protected(trained, data, capsys, monkeypatch):
    """Without --resume or --overwrite nothing is touched, and the message says what to do."""
    monkeypatch.delenv("NERD_DEBUG", raising=False)
    before = {name: tensor.clone() for name, tensor in weights(trained / "last").items()}
    assert run(data, "--updates", 1, "--out", trained) == 2
    assert "--resume goes on with it, --overwrite replaces it" in capsys.readouterr().err
    assert run(data, "--out", trained, "--resume", "--overwrite") == 2
    assert all(torch.equal(weights(trained / "last")[name], tensor) for name, tensor in before.items())


def test_overwriting_replaces_the_run_and_nothing_else(trained, data, tmp_path):
    """The checkpoints are new; a file of the user's beside them stays."""
    out = tmp_path / "run"
    assert run(data, "--updates", 4, *QUICK, *TINY, "--out", out) == 0
    (out / "notes.txt").write_text("mine")
    assert run(data, "--updates", 6, *QUICK, *TINY, "--out", out, "--overwrite") == 0
    assert checkpoint.read(out / "last").config.training["updates"] == 6  # type: ignore[index]
    assert (out / "notes.txt").read_text() == "mine"


def test_an_interrupted_run_goes_on_to_the_same_weights(trained, data, tmp_path, monkeypatch):
    """Ctrl-C in the middle saves; --resume alone, without the other options, ends as the undisturbed run did."""
    from nerd_core import training

    out, loss, calls = tmp_path / "run", training.Run.loss, []

    def interrupted(self, progress):
        calls.append(progress)
        if len(calls) == 23:
            raise KeyboardInterrupt
        return loss(self, progress)

    monkeypatch.setattr(training.Run, "loss", interrupted)
    assert run(data, "--updates", 40, "--seed", 5, *QUICK, *TINY, "--out", out) == 130
    monkeypatch.undo()
    assert run(data, "--out", out, "--resume") == 0
    assert same(trained / "last", out / "last")


def test_there_must_be_something_to_resume(data, tmp_path, capsys, monkeypatch):
    """--resume in an empty place is an error, not a new run."""
    monkeypatch.delenv("NERD_DEBUG", raising=False)
    assert run(data, "--out", tmp_path / "none", "--resume") == 2
    assert "there is no run to resume" in capsys.readouterr().err


def test_a_trained_model_can_be_the_start(trained, data, tmp_path):
    """Fine-tuning keeps network and normalisers; the weights move on from the given ones."""
    out = tmp_path / "tuned"
    words = ["--start", trained / "best", "--updates", 1, "--optimiser.kind", "adamw", "--optimiser.lr", "1e-9"]
    assert run(data, *words, *QUICK, "--out", out) == 0
    before, after = weights(trained / "best"), weights(out / "last")
    assert all(torch.allclose(before[name], after[name], atol=1e-6) for name in before)


def test_a_model_of_another_robot_cannot_be_the_start(data, tmp_path, capsys, monkeypatch):
    """The difference of the robots is the message."""
    from nerd_core.predictor import Predictor, PredictorCfg

    monkeypatch.delenv("NERD_DEBUG", raising=False)
    other = checkpoint.save(tmp_path / "other", Predictor(crawler(), PredictorCfg(model=ResidualMlpCfg())))
    assert run(data, "--start", other, "--updates", 1, "--out", tmp_path / "run") == 2
    assert "made for another robot specification" in capsys.readouterr().err


def test_presets_set_the_defaults_and_options_change_them():
    """A preset chooses the network and settings that suit it; single options override single values."""
    command = parse(["data", "--out", "run", "--preset", "small", "--model.layers", "3", "--rollout.weight", "0.5"])
    assert command.predictor.model == replace(preset_settings("small")[0].model, layers=3)  # type: ignore[arg-type]
    assert isinstance(command.predictor.model, TransformerCfg) and command.predictor.model.width == 128
    assert command.training.rollout.weight == 0.5 and command.training.minutes == DEFAULT_MINUTES


@pytest.mark.parametrize(
    ("words", "updates", "minutes"),
    [
        ([], None, DEFAULT_MINUTES),
        (["--updates", "7"], 7, None),
        (["--minutes", "2"], None, 2.0),
        (["--minutes", "2", "--updates", "7"], 7, 2.0),
    ],
)
def test_a_budget_in_updates_has_no_hidden_limit_of_time(words, updates, minutes):
    """Only what was asked for bounds a run; without any budget it is the default time."""
    training = parse(["data", "--out", "run", *words]).training
    assert (training.updates, training.minutes) == (updates, minutes)


def test_hostile_settings_are_refused(trained, tmp_path, data, capsys, monkeypatch):
    """A config file with an unknown key or another structure is one clear message."""
    monkeypatch.delenv("NERD_DEBUG", raising=False)
    text = (trained / "best" / "config.json").read_text()
    for damaged, words in [
        (text.replace('"updates"', '"updatez"'), "updatez"),
        (text[:100], "not sound JSON"),
        (text.replace('"layers": 1', '"layers": 100000'), "at most"),
    ]:
        (tmp_path / "config.json").write_text(damaged)
        assert run(data, "--config", tmp_path / "config.json", "--out", tmp_path / "run") == 2
        assert words in capsys.readouterr().err


def test_help_shows_the_settings_of_the_preset(capsys):
    """The help of a preset lists the network's own settings; wrong words end with 2."""
    for words, code in [(["--preset", "small", "--help"], 0), (["--preset", "smal", "x", "--out", "y"], 2), ([], 2)]:
        with pytest.raises(SystemExit) as ended:
            main(["train", *words])
        assert ended.value.code == code
    assert "--model.heads" in capsys.readouterr().out


def test_the_default_training_is_valid():
    """Every preset gives a model and a training that can be built."""
    for name in ("residual", "tiny", "small", "paper-192", "paper-384", "mlp", "gru", "lstm"):
        predictor, training = preset_settings(name)
        assert isinstance(training, TrainCfg)
        assert checkpoint.expected_tensors(pendulum(), predictor)


def test_several_datasets_are_mixed(data, tmp_path, capsys):
    """Two folders give twice the transitions, and a run on them can be resumed like any other."""
    words = ("--out", tmp_path / "run", "--updates", 2, "--validations", 1, *TINY)
    assert run(data, data, *words) == 0
    assert re.search(r"5,[0-9]{3} transitions to learn from", capsys.readouterr().out)
    assert run(data, data, *words, "--resume") == 0


def test_slots_that_never_come_near_the_ground_are_left_out(tmp_path, capsys):
    """The token of a cart high above the ground has no contacts, and the run says so; on the ground it has them."""
    spec = dataclasses.replace(cartpole(), slots=(ContactSlot("cart", (0.0, 0.0, 0.0), 0.1, "sphere"),))
    for height, seen in ((-50.0, False), (0.0, True)):
        path = tmp_path / str(seen)
        state = 0.1 * torch.randn(60, 6, 4)
        ground = np.tile(np.array([0.0, 0.0, 1.0, height], np.float32), (60, 1))
        with ShardWriter(path, spec, ShardMeta(task="cart", seed=0)) as writer:
            writer.append(state.numpy(), torch.zeros(60, 5, 2).numpy(), ground=ground)
        assert run(path, "--out", tmp_path / f"run-{seen}", "--updates", 1, "--validations", 1, *TINY) == 0
        assert checkpoint.read_config(tmp_path / f"run-{seen}" / "best").predictor.token.contacts == seen
        assert ("leaves them out" in capsys.readouterr().out) != seen
