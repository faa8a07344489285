# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The folder of a run has one user at a time, and loses no model. Kills at exact points: test_killed.py."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
from dataclasses import replace

import numpy as np
import pytest
import torch

from nerd_core import checkpoint
from nerd_core.files.atomic import previous
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.training.config import TrainCfg, TrainingError
from nerd_core.training.data_identity import data_identity, differences
from nerd_core.training.run import train
from nerd_core.training.run_folder import RunFolder, can_go_on
from support.testbed_cartpole import SPEC, make_data

CFG = TrainCfg(updates=3, batch_size=32, validations=1)
DATA = make_data(20, 12, seed=0)


def fresh() -> Predictor:
    """A predictor with the same weights at every call."""
    torch.manual_seed(0)
    return Predictor(SPEC, PredictorCfg(network=ResidualMlpCfg(width=16, hidden=16, layers=1)))


def updates(path) -> int:
    """Number of updates of a run."""
    return checkpoint.load_training_state(path / "last")["update"]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_two_trainings_do_not_share_a_folder(tmp_path):
    """The second is refused and told who works there; when the first is killed the folder is free."""
    ready, told = os.pipe()
    child = os.fork()
    if child == 0:
        RunFolder(tmp_path)
        os.write(told, b".")
        signal.pause()
    os.read(ready, 1)
    try:
        with pytest.raises(TrainingError, match=f"another training works in .*process {child} on "):
            train(fresh(), DATA, None, CFG, tmp_path, quiet=True)
        assert os.listdir(tmp_path) == [".lock"]
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    train(fresh(), DATA, None, CFG, tmp_path, quiet=True)


def test_a_training_gives_its_folder_free(tmp_path):
    """After a training that ended well, and after one that could not begin, the same process can have the folder."""
    with pytest.raises(ValueError, match="windows of 99"):
        train(fresh(), DATA, None, replace(CFG, window_length=99), tmp_path, quiet=True)
    with pytest.raises(TrainingError, match="precompute"):
        train(fresh(), DATA, None, replace(CFG, precompute=5, state_noise=0.1), tmp_path, quiet=True)
    train(fresh(), DATA, None, CFG, tmp_path, quiet=True)
    with RunFolder(tmp_path) as folder:
        assert folder.can_go_on


def test_an_earlier_run_stays_unless_it_is_to_be_overwritten(tmp_path, caplog):
    """From Python as from the command line; overwriting moves it, whole, and its new name is told."""
    train(fresh(), DATA, None, CFG, tmp_path, quiet=True)
    with pytest.raises(TrainingError, match="holds an earlier run"):
        train(fresh(), DATA, None, replace(CFG, updates=5), tmp_path, quiet=True)
    assert updates(tmp_path) == 3
    with caplog.at_level(logging.WARNING):
        train(fresh(), DATA, None, replace(CFG, updates=5), tmp_path, quiet=True, overwrite=True)
    (old,) = tmp_path.glob("previous-*")
    assert (updates(tmp_path), updates(old)) == (5, 3)
    assert sorted(os.listdir(old)) == ["best", "last", "logs"]
    assert f"the earlier run in '{tmp_path}' is now '{old}'" in caplog.text
    train(fresh(), DATA, None, CFG, tmp_path, quiet=True, overwrite=True)
    assert len(list(tmp_path.glob("previous-*"))) == 2


def test_a_run_that_cannot_begin_leaves_the_earlier_one_in_its_place(tmp_path, monkeypatch):
    """A failure of the first save brings the earlier run back."""
    train(fresh(), DATA, None, CFG, tmp_path, quiet=True)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(checkpoint, "save", full)
        with pytest.raises(TrainingError, match="No space left on device.*--resume"):
            train(fresh(), DATA, None, CFG, tmp_path, quiet=True, overwrite=True)
    assert sorted(os.listdir(tmp_path)) == [".lock", "best", "last", "logs"]
    assert updates(tmp_path) == 3


def test_logs_that_cannot_be_written_do_not_end_a_training(tmp_path, monkeypatch, caplog):
    """A full disk under the logs is a warning, when they are written and when they are closed."""
    from torch.utils.tensorboard import SummaryWriter

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    for name in ("add_scalar", "close"):
        with monkeypatch.context() as patched:
            patched.setattr(SummaryWriter, name, full)
            result = train(fresh(), DATA, make_data(6, 12, seed=1), CFG, tmp_path / name, quiet=True)
        assert result.updates == updates(tmp_path / name) == 3
    assert "goes on without logs" in caplog.text and "cut short" in caplog.text


def test_a_run_is_found_between_two_renames(tmp_path):
    """If 'last' stands under its waiting name alone, the run goes on."""
    train(fresh(), DATA, None, CFG, tmp_path, quiet=True)
    (tmp_path / "last").rename(previous(tmp_path / "last"))
    assert can_go_on(tmp_path)
    assert train(fresh(), DATA, None, CFG, tmp_path, resume=True, quiet=True).updates == 3
    assert not previous(tmp_path / "last").exists()


def test_the_best_model_is_there_if_the_kill_came_before_it_was_written(tmp_path):
    """'last' has what the validation of its update found best: 'best' is written again, and never a newer one lost."""
    train(fresh(), DATA, make_data(6, 12, seed=1), CFG, tmp_path, quiet=True)
    expected = checkpoint.read(tmp_path / "best").tensors
    shutil.rmtree(tmp_path / "best")
    train(fresh(), DATA, make_data(6, 12, seed=1), CFG, tmp_path, resume=True, quiet=True)
    got = checkpoint.read(tmp_path / "best").tensors
    assert all(torch.equal(got[name], tensor) for name, tensor in expected.items())


def test_logs_alone_are_no_run(tmp_path):
    """A training that an earlier version left without a save is no obstacle; its logs are put aside."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "old").touch()
    assert not can_go_on(tmp_path)
    train(fresh(), DATA, None, CFG, tmp_path, quiet=True)
    assert len(list(tmp_path.glob("previous-*/logs/old"))) == 1


def test_a_model_alone_is_not_for_resuming(tmp_path):
    """Where there is a 'best' without a 'last', advice is what can work: to put it aside, or another place."""
    (tmp_path / "best").mkdir()
    with pytest.raises(TrainingError, match="no 'last' to go on from: --overwrite puts it aside") as refused:
        train(fresh(), DATA, None, CFG, tmp_path, quiet=True)
    assert "--resume" not in str(refused.value)


def test_a_run_goes_on_with_the_same_data_only(tmp_path):
    """Other data with as many windows are refused with the difference, for training and for validation."""
    other, valid = make_data(20, 12, seed=5), make_data(6, 12, seed=1)
    train(fresh(), DATA, valid, CFG, tmp_path, quiet=True)
    for words, data, held_out in (
        (r"training data: content: got \w{12}\.\.\., expected", other, valid),
        ("validation data: content: got", DATA, make_data(6, 12, seed=2)),
        ("validation data: got none, expected some", DATA, None),
    ):
        with pytest.raises(TrainingError, match=words):
            train(fresh(), data, held_out, CFG, tmp_path, resume=True, quiet=True)
    train(fresh(), make_data(20, 12, seed=0), make_data(6, 12, seed=1), CFG, tmp_path, resume=True, quiet=True)


def test_the_identity_of_data_says_what_was_chosen():
    """Other trajectories of the same dataset, and other fields, are told apart; the same choice is the same."""
    first, second = (DATA.select(np.arange(start, start + 10)) for start in (0, 10))
    assert "choice of trajectories: got" in differences(data_identity(first), data_identity(second))
    assert not differences(data_identity(first), data_identity(DATA.select(np.arange(10))))
    more = make_data(20, 12, seed=0)
    more.arrays["contact_active"] = torch.zeros(1)
    assert "fields: got ['contact_active', " in differences(data_identity(more), data_identity(DATA))


def test_trials_belong_to_the_run_that_they_were_made_for(tmp_path, monkeypatch):
    """What a run keeps of its trials goes aside with it, and those of a run that cannot begin leave nothing."""
    read = lambda folder: json.loads((folder / "trials.json").read_text())["preset"]  # noqa: E731
    train(fresh(), DATA, None, CFG, tmp_path, quiet=True, trials={"preset": "first"})
    train(fresh(), DATA, None, CFG, tmp_path, quiet=True, overwrite=True, trials={"preset": "second"})
    (old,) = tmp_path.glob("previous-*")
    assert (read(tmp_path), read(old)) == ("second", "first")
    train(fresh(), DATA, None, CFG, tmp_path, quiet=True, overwrite=True)
    assert not (tmp_path / "trials.json").exists()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(checkpoint, "save", full)
        with pytest.raises(TrainingError, match="No space left"):
            train(fresh(), DATA, None, CFG, tmp_path, quiet=True, overwrite=True, trials={"preset": "fourth"})
        with pytest.raises(TrainingError, match="No space left"):
            train(fresh(), DATA, None, CFG, tmp_path / "new", quiet=True, trials={"preset": "fourth"})
    assert not (tmp_path / "trials.json").exists() and updates(tmp_path) == 3
    train(fresh(), DATA, None, CFG, tmp_path / "new", quiet=True)
    assert sorted(os.listdir(tmp_path / "new")) == [".lock", "best", "last", "logs"]
