# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a person may get wrong is told in one sentence with code 2, before anything is changed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from nerd_core import checkpoint
from nerd_core.cli import main
from nerd_core.data.layout import ShardMeta
from nerd_core.data.shards import ShardWriter
from nerd_core.network.architectures.mlp import MlpCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.training.config import TrainCfg, TrainingError
from nerd_core.training.feasibility import choose_device, require_memory
from support.checkpoints import pendulum


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """A few trajectories of a pendulum that moves at random."""
    path = tmp_path_factory.mktemp("data") / "pendulum"
    torch.manual_seed(0)
    with ShardWriter(path, pendulum(), ShardMeta(task="pendulum", seed=0)) as writer:
        writer.append(torch.randn(40, 11, 2).numpy(), torch.randn(40, 10, 1).numpy())
    return path


def small_predictor() -> Predictor:
    """A model of the pendulum with fresh weights."""
    return Predictor(pendulum(), PredictorCfg(network=MlpCfg(hidden=(4,), head_hidden=0)))


def said_by(words: list[object], capsys) -> str:
    """What a command says that ends with code 2, without the frames that tyro draws."""
    try:
        code = main([str(word) for word in words])
    except SystemExit as ended:
        code = ended.code
    error = capsys.readouterr().err
    assert code == 2 and "Traceback" not in error
    return " ".join(error.replace("│", " ").split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--updates", "0"], "got updates=0, expected at least 1"),
        (["--updates", "-3"], "got updates=-3, expected at least 1"),
        (["--minutes", "0"], "got minutes=0.0, expected more than 0"),
        (["--minutes", "-1"], "got minutes=-1.0, expected more than 0"),
        (["--minutes", "inf"], "got minutes=inf, expected a finite number, more than 0"),
        (["--average", "2"], "got ema_decay=2.0, expected at least 0 and less than 1"),
        (["--clip", "-1"], "got max_grad_norm=-1.0, expected at least 0"),
        (["--noise", "-1"], "got state_noise=-1.0, expected at least 0"),
        (["--statistics", "0"], "got normaliser_transitions=0, expected at least 1"),
        (["--optimiser.betas", "2", "2"], "got betas=(2.0, 2.0), expected at least 0 and less than 1"),
        (["--optimiser.lr", "1e300"], "got lr=1e+300, expected a number within single precision, more than 0"),
        (["--updates", "9" * 30], f"got updates={'9' * 30}, expected a number of at most 64 bits, at least 1"),
        (["--optimiser.lr", "inf"], "got lr=inf, expected a finite number, more than 0"),
        (["--rollout.weight", "5"], "got weight=5.0, expected at least 0 and at most 1"),
        (["--network.layers", "0"], "got layers=0, expected at least 1"),
        (["--prior.substeps", "0"], "got substeps=0, expected at least 1"),
        (["--device", "tpu"], "got --device tpu, expected one that is there: auto, cpu"),
        (["--device", "meta"], "got --device meta, expected one that is there: auto, cpu"),
        (["--device", "cuda:77"], "got --device cuda:77, expected one that is there: auto, cpu"),
        (["--batch", "100000000000"], "got batch_size=100,000,000,000 of 1 steps each, for which this machine's"),
        (["--batch", "1e11"], "invalid literal for int() with base 10: '1e11'"),
    ],
)
def test_a_training_with_wrong_options_does_not_begin(words, said, data, tmp_path, capsys):
    """No run is begun with a number out of its range, a device that is not there, or batches beyond the memory."""
    budget = [] if {"--minutes", "--updates"} & set(words) else ["--updates", "1"]
    assert said in said_by(["train", data, "--out", tmp_path / "run", *budget, *words], capsys)
    assert not (tmp_path / "run").exists()


def test_a_place_that_cannot_be_written_is_told_before_the_work(data, tmp_path, capsys):
    """Folders of runs and exports and files of pictures: the file in their way stays as it is."""
    (tmp_path / "file").write_text("mine")
    assert "is no folder" in said_by(["train", data, "--out", tmp_path / "file/run", "--updates", "1"], capsys)
    checkpoint.save(tmp_path / "model", small_predictor())
    export = ["checkpoint", "export", tmp_path / "model", "--out", tmp_path / "file/x"]
    assert "is no folder" in said_by(export, capsys)
    assert "is no folder" in said_by(["data", "plot", data, "--out", tmp_path / "file/x.png"], capsys)
    assert "ends with .png" in said_by(["data", "plot", data, "--out", tmp_path / "x.txt"], capsys)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["checkpoint", "verify"], "got no checkpoint to verify, expected one directory or more"),
        (["checkpoint", "export", "x", "--out", "y", "--check-steps", "-1"], "got check_steps=-1, expected at least 1"),
        (["data", "stats", "x", "--sample", "0"], "got sample=0, expected at least 1"),
        (["data", "plot", "x", "--sample", "-5"], "got sample=-5, expected at least 1"),
    ],
)
def test_other_commands_refuse_what_makes_no_sense(words, said, capsys):
    """Numbers out of their ranges, and a command with nothing to do."""
    assert said in said_by(words, capsys)


def test_what_is_there_is_taken():
    """The processor is always there; batches of common sizes fit, roll-outs that are switched off take nothing."""
    assert choose_device("cpu") == torch.device("cpu")
    require_memory(small_predictor(), TrainCfg(updates=1, batch_size=65536))
    with pytest.raises(TrainingError, match="got batch_size=1,000,000,000,000 of 1 steps"):
        require_memory(small_predictor(), TrainCfg(updates=1, batch_size=10**12))


def test_windows_that_are_too_long_are_told_as_such():
    """What is too long for any batch is the length that is named, not the number of windows."""
    with pytest.raises(TrainingError, match="got window_length=1,000,000,000, of which"):
        require_memory(small_predictor(), TrainCfg(updates=1, batch_size=64, window_length=10**9))


@pytest.mark.parametrize("words", [["--out", ""], ["--out="]])
def test_empty_options_are_refused(words: list[str], capsys):
    """An empty text, as of a variable of the shell that is not set, is no path to the current folder."""
    assert "got nothing for --out, expected a value" in said_by(["train", "data", *words], capsys)


def test_a_force_head_has_no_place_in_mechanics_alone(tmp_path, capsys):
    """The options that do not go together are named, and the ones that do."""
    words = ["train", str(tmp_path), "--out", str(tmp_path / "run"), "--preset", "mechanics", "--force-head"]
    said = said_by(words, capsys)
    assert "got --force-head without a network" in said and "--network residual --prior mechanics" in said


def test_running_out_of_memory_is_told(data, capsys, monkeypatch):
    """NumPy's error, and PyTorch's on a processor and on a GPU; any other error of theirs is still a bug."""
    from nerd_core.cli import data as command

    def fail(error: Exception) -> None:
        def broken(path: Path) -> None:
            raise error

        monkeypatch.setattr(command, "find_segments", broken)

    monkeypatch.delenv("NERD_DEBUG", raising=False)
    errors = [MemoryError("no room"), torch.OutOfMemoryError("no room"), RuntimeError("alloc_cpu.cpp: no room")]
    for error in errors:
        fail(error)
        assert "no room): choose smaller sizes" in said_by(["data", "info", data], capsys)
    fail(RuntimeError("shapes differ"))
    with pytest.raises(RuntimeError, match="shapes differ"):
        main(["data", "info", str(data)])
