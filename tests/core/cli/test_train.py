# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd train`` trains, protects what is there, goes on, and repeats a run from its checkpoint."""

import contextlib
import dataclasses
import json
import math
import os
import re
import shlex
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from nerd_core import checkpoint
from nerd_core.cli import main
from nerd_core.cli.train import may_choose, parse
from nerd_core.data.layout import ShardMeta
from nerd_core.data.shards import ShardWriter
from nerd_core.files.serialization import to_plain
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.network.architectures.transformer import TransformerCfg
from nerd_core.robot.spec import ContactSlot
from nerd_core.training.presets import DEFAULT_MINUTES, PRESETS
from support.checkpoints import crawler, pendulum
from support.robots import cartpole

QUICK = ["--batch-size", "64", "--normaliser-transitions", "2000", "--validations", "2"]
QUICK += ["--validation-horizons", "5", "20", "--validation-trajectories", "8"]
TINY = ["--network.width", "8", "--network.hidden", "8", "--network.layers", "1"]


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
    assert "--resume goes on with it, --overwrite puts it aside and starts anew" in capsys.readouterr().err
    assert run(data, "--out", trained, "--resume", "--overwrite") == 2
    assert all(torch.equal(weights(trained / "last")[name], tensor) for name, tensor in before.items())


def test_overwriting_puts_the_run_aside_and_nothing_else(data, tmp_path, caplog):
    """The checkpoints are new, the old ones have a new name that is told; a file of the user's beside them stays."""
    out = tmp_path / "run"
    assert run(data, "--updates", 4, *QUICK, *TINY, "--out", out) == 0
    (out / "notes.txt").write_text("mine")
    assert run(data, "--updates", 6, *QUICK, *TINY, "--out", out, "--overwrite") == 0
    assert checkpoint.read(out / "last").config.training["updates"] == 6  # type: ignore[index]
    assert (out / "notes.txt").read_text() == "mine"
    (old,) = out.glob("previous-*")
    assert checkpoint.read(old / "last").config.training["updates"] == 4  # type: ignore[index]
    assert f"is now '{old}'" in caplog.text


MISTAKES = {
    "no data": ["{place}/none"],
    "an empty folder as data": ["{place}"],
    "a model of another robot": ["{data}", "--start", "{place}/other"],
    "a device that is not there": ["{data}", "--device", "cuda:77"],
    "windows that are too long": ["{data}", "--window-length", "999"],
    "a start that is not there": ["{data}", "--start", "{place}/none"],
    "a setting that cannot be": ["{data}", "--validations", "0"],
}


@pytest.mark.parametrize("words", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_with_overwrite_destroys_nothing(words, trained, data, tmp_path):
    """A new run that cannot begin leaves the earlier one as it was, file by file."""
    from nerd_core.predictor.config import PredictorCfg
    from nerd_core.predictor.predictor import Predictor

    checkpoint.save(tmp_path / "other", Predictor(crawler(), PredictorCfg(network=ResidualMlpCfg())))
    out = tmp_path / "run"
    shutil.copytree(trained, out)
    before = {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    filled = [word.format(place=tmp_path, data=data) for word in words]
    with contextlib.suppress(RuntimeError, AssertionError, SystemExit):
        assert run(*filled, "--updates", 5, "--out", out, "--overwrite") == 2
    after = {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert {name: content for name, content in after.items() if name.name != ".lock"} == {
        name: content for name, content in before.items() if name.name != ".lock"
    }


def test_a_run_can_start_from_the_one_that_it_overwrites(trained, data, tmp_path):
    """--start with the best model of the same folder reads it before it is put aside."""
    out = tmp_path / "run"
    shutil.copytree(trained, out)
    assert run(data, "--start", out / "best", "--updates", 1, *QUICK, "--out", out, "--overwrite") == 0
    assert len(list(out.glob("previous-*/best"))) == 1


def test_a_run_that_was_killed_between_two_renames_is_resumed(trained, data, tmp_path):
    """--resume alone finds 'last' under its waiting name, and the settings in it."""
    out = tmp_path / "run"
    shutil.copytree(trained, out)
    (out / "last").rename(out / ".last.previous")
    assert run(data, "--out", out, "--resume") == 0
    assert same(trained / "last", out / "last")


def test_resuming_on_other_data_is_refused(trained, data, tmp_path, capsys, monkeypatch):
    """Data that are mixed otherwise than before are not gone on with; the message names the difference."""
    monkeypatch.delenv("NERD_DEBUG", raising=False)
    out = tmp_path / "run"
    shutil.copytree(trained, out)
    assert run(data, data, "--out", out, "--resume") == 2
    assert "was started on other data (training data: content: got" in capsys.readouterr().err


def test_an_interrupted_run_goes_on_to_the_same_weights(trained, data, tmp_path, monkeypatch):
    """Ctrl-C in the middle saves; --resume alone, without the other options, ends as the undisturbed run did."""
    from nerd_core.training import run as training

    out, loss, calls = tmp_path / "run", training.Run.loss, []

    def interrupted(self, progress):
        calls.append(progress)
        if len(calls) == 23:
            os.kill(os.getpid(), signal.SIGINT)
        return loss(self, progress)

    monkeypatch.setattr(training.Run, "loss", interrupted)
    assert run(data, "--updates", 40, "--seed", 5, *QUICK, *TINY, "--out", out) == 130
    monkeypatch.undo()
    assert checkpoint.load_training_state(out / "last")["update"] == 23
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
    from nerd_core.predictor.config import PredictorCfg
    from nerd_core.predictor.predictor import Predictor

    monkeypatch.delenv("NERD_DEBUG", raising=False)
    other = checkpoint.save(tmp_path / "other", Predictor(crawler(), PredictorCfg(network=ResidualMlpCfg())))
    assert run(data, "--start", other, "--updates", 1, "--out", tmp_path / "run") == 2
    assert "made for another robot specification" in capsys.readouterr().err


def test_presets_set_the_defaults_and_options_change_them():
    """A preset chooses the network and settings that suit it; single options override single values."""
    command = parse(["data", "--out", "run", "--preset", "small", "--network.layers", "3", "--rollout.weight", "0.5"])
    assert command.predictor.network == replace(PRESETS["small"].predictor.network, layers=3)  # type: ignore[arg-type]
    assert isinstance(command.predictor.network, TransformerCfg) and command.predictor.network.width == 128
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
    assert "--network.heads" in capsys.readouterr().out


def test_several_datasets_are_mixed(data, tmp_path, capsys):
    """Two folders give twice the transitions, and a run on them can be resumed like any other."""
    words = ("--out", tmp_path / "run", "--updates", 2, "--validations", 1, *TINY)
    assert run(data, data, *words) == 0
    assert re.search(r"5,[0-9]{3} transitions to learn from", capsys.readouterr().out)
    assert run(data, data, *words, "--resume") == 0


def test_slots_that_never_come_near_the_ground_are_left_out(tmp_path, capsys):
    """The token of a cart high above the ground has no contacts, and the run says so; on the ground it has them. A
    fixed base whose data tell of no ground, as those of an arm on a table, is trained without.
    """
    spec = dataclasses.replace(cartpole(), slots=(ContactSlot("cart", (0.0, 0.0, 0.0), 0.1, "sphere"),))
    for height, seen in ((-50.0, False), (0.0, True), (None, False)):
        path = tmp_path / str(height)
        state = 0.1 * torch.randn(60, 6, 4)
        ground = None if height is None else np.tile(np.array([0.0, 0.0, 1.0, height], np.float32), (60, 1))
        with ShardWriter(path, spec, ShardMeta(task="cart", seed=0)) as writer:
            writer.append(state.numpy(), torch.zeros(60, 5, 2).numpy(), ground=ground)
        assert run(path, "--out", tmp_path / f"run-{height}", "--updates", 1, "--validations", 1, *TINY) == 0
        assert checkpoint.read_config(tmp_path / f"run-{height}" / "best").predictor.token.contacts == seen
        assert ("leaves them out" in capsys.readouterr().out) != seen


ROOT = Path(__file__).parents[3]
SHIPPED = [
    path
    for path in sorted(ROOT.glob("exts/nerd_isaaclab/nerd_isaaclab/checkpoints/*/config.json"))
    if "updates" in (json.loads(path.read_text())["training"] or {})  # others were identified, not trained
]


def commands_of_cards() -> list[str]:
    """Every command line of ``nerd train`` in shipped model cards; other pages have today's words (tests/repo)."""
    found = []
    for card in sorted(ROOT.glob("exts/**/card.md")):
        found += re.findall(r"^ *(?:OMP_NUM_THREADS=1 )?nerd train (.*--out.*)", card.read_text(encoding="utf-8"), re.M)
    return found


@pytest.mark.parametrize("command", commands_of_cards())
def test_commands_of_cards_are_understood(command, monkeypatch):
    """Every command line in a model card can be read, of whichever version."""
    monkeypatch.setattr("nerd_core.cli.train.find_checkpoint", Path)
    monkeypatch.setattr("nerd_core.checkpoint.read_config", lambda path: checkpoint.CheckpointConfig(*_settings()))
    assert parse(shlex.split(command)).out


def _settings():
    return PRESETS["residual"].predictor, {}, to_plain(PRESETS["residual"].training)


def test_there_are_commands_of_cards():
    """The test above finds command lines to read."""
    assert len(commands_of_cards()) > 5


def test_words_of_earlier_versions_are_understood(capsys):
    """Options and values of earlier versions do what they did, and a note names those of today."""
    old = "--model.width 32 --parts solver --remember 7 --pace=0.5 --clip 1 --length 3 --batch 64 --average .9"
    old += " --horizons 5 6 --trajectories 3 --rollout.batch 9 --optimiser.max_side 99 --noise .1 --statistics 50"
    new = parse(["data", "--out", "run", *old.split(), "--solver.soft", "0.01"])
    expected = replace(
        PRESETS["residual"].training,
        train_parts="prior",
        precompute=7,
        speed_weighting=0.5,
        max_grad_norm=1.0,
        window_length=3,
        batch_size=64,
        ema_decay=0.9,
        validation_horizons=(5, 6),
        validation_trajectories=3,
        state_noise=0.1,
        normaliser_transitions=50,
    )
    assert replace(new.training, rollout=expected.rollout, optimiser=expected.optimiser) == expected
    assert new.training.rollout.batch_size == 9 and new.training.optimiser.max_precondition_dim == 99
    assert new.predictor.network.width == 32 and new.predictor.prior.compliance == 0.01  # type: ignore[union-attr]
    said = capsys.readouterr().err
    assert "--remember is now --precompute\n" in said and "--parts solver is now --train-parts prior" not in said
    assert "--train-parts solver is now --train-parts prior\n" in said and said.count("note: ") == 16
    parse(["data", "--out", "run", "--train-parts", "all", "--batch-size", "8"])
    assert not capsys.readouterr().err


@pytest.mark.parametrize("config", SHIPPED, ids=lambda path: path.parent.name)
def test_runs_of_shipped_models_can_be_repeated(config):
    """The settings in a shipped model, of whichever version, are those of a training of today."""
    assert SHIPPED
    words = ["data", "--out", "run", "--config", str(config)]
    command, plain = parse(words), json.loads(config.read_text())["training"]
    assert command.training.updates == plain["updates"]
    assert command.training.batch_size == plain.get("batch", plain.get("batch_size"))
    assert command.training.optimiser.lr == plain["optimiser"]["lr"]


@pytest.fixture
def quick_trials(monkeypatch):
    """Trials of a few updates, of two presets that suit the pendulum."""
    from nerd_core.training import auto_preset

    monkeypatch.setattr(auto_preset, "LEAST_UPDATES", 1)
    monkeypatch.setattr(auto_preset.choose_preset, "__defaults__", (("bounded", "bounded-mlp"), print))


def test_without_a_preset_the_best_of_some_is_taken(data, tmp_path, capsys, quick_trials):
    """Presets are tried, the choice is told with its reason and stored, its trials count in the budget; the same
    command with --resume goes on with the same preset, and a second run ends with the same weights to the last bit.
    """
    words = (data, "--updates", 40, *QUICK)
    assert run(*words, "--out", tmp_path / "run") == 0
    said = capsys.readouterr().out
    assert "trial of bounded:" in said and "trial of bounded-mlp:" in said and "it did best" in said
    told = json.loads((tmp_path / "run" / "trials.json").read_text())
    assert told["preset"] in said and told["asked"]["updates"] == 40 and told["left"]["updates"] == 36
    config = checkpoint.read_config(tmp_path / "run" / "best")
    assert config.predictor.within_data and config.training is not None and config.training["updates"] == 36
    assert run(*words, "--out", tmp_path / "run", "--resume") == 0
    assert "trial of" not in capsys.readouterr().out
    assert run(*words, "--out", tmp_path / "again") == 0
    assert same(tmp_path / "run" / "last", tmp_path / "again" / "last")


@pytest.mark.parametrize("words", [("--preset", "mlp"), TINY, ("--prior", "none"), ("--network", "residual")])
def test_nothing_is_tried_where_the_model_is_given(words):
    """A preset or any option of the model leaves no choice: it is as before."""
    command = parse(["data", "--out", "run", *words])
    assert not may_choose(command) and not command.predictor.within_data
    assert may_choose(parse(["data", "--out", "run", "--batch-size", "64", "--seed", "3"]))


def test_a_force_head_leaves_the_choice_of_the_model():
    """What else a network predicts is no choice of a model: it is added to whichever preset is chosen, and one without
    a network is refused in a few words.
    """
    words = ["data", "--out", "run", "--force-head", "--variance-head"]
    assert may_choose(parse(words))
    chosen = parse(words, "bounded").predictor
    assert chosen.within_data and chosen.force_head and chosen.variance_head
    with pytest.raises(ValueError, match="^got --force-head --variance-head without a network"):
        parse(words, "mechanics")


def test_a_failed_training_says_why_and_announces_no_model(data, tmp_path, capsys, monkeypatch):
    """Weights that are no numbers end with an error, three likely causes, and no word of a model that is not there."""
    monkeypatch.delenv("NERD_DEBUG", raising=False)
    out = tmp_path / "run"
    assert run(data, "--updates", 60, *QUICK, *TINY, "--optimiser.lr", "1e30", "--out", out) == 2
    said = capsys.readouterr()
    assert "smaller learning rate" in said.err and said.err.count("\n  - ") == 3
    assert "the model:" not in said.out and not (out / "best").exists()


def test_a_training_that_runs_away_ends_with_an_error_and_keeps_its_model(data, tmp_path, capsys, monkeypatch):
    """Where most roll-outs leave the guard the command does not end with zero, and says how many and why; where a
    training had hardly begun it only says so.
    """
    from nerd_core.training import validation as training

    def all_lost(*_, **__):
        found = open_loop(*_, **__)
        return dataclasses.replace(found, left_guard=(7,) * found.trajectories)

    open_loop = training.open_loop
    monkeypatch.setattr(training, "open_loop", all_lost)
    assert run(data, "--updates", 4, *QUICK, *TINY, "--out", tmp_path / "begun") == 0
    assert "training failed" not in capsys.readouterr().err
    assert run(data, "--updates", 200, *QUICK, *TINY, "--out", tmp_path / "run") == 1
    said = capsys.readouterr()
    assert re.search(r"(\d+) of \1 roll-outs", said.out) and said.out.count("\n  - ") == 3
    assert "training failed" in said.err and (tmp_path / "run" / "best").is_dir()
