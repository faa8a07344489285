# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Ctrl-C and SIGTERM take effect between two updates, a second one at once."""

from __future__ import annotations

import os
import signal
import threading

import pytest
import torch

from nerd_core import checkpoint
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.training.config import TrainCfg
from nerd_core.training.ema import ExponentialMovingAverage
from nerd_core.training.interrupts import Interrupts
from nerd_core.training.run import train
from support.testbed_cartpole import SPEC, make_data

CFG = TrainCfg(updates=12, batch_size=32, ema_decay=0.9, validations=2)


def fresh() -> Predictor:
    """A predictor with the same weights at every call."""
    torch.manual_seed(0)
    return Predictor(SPEC, PredictorCfg(network=ResidualMlpCfg(width=16, hidden=16, layers=1)))


def send_in_update(monkeypatch, update: int, *signals: int) -> None:
    """Sends signals to this process within an update, when weights have changed and their average has not."""
    usual, calls = ExponentialMovingAverage.update, []

    def interrupted(self):
        calls.append(self)
        if len(calls) == update:
            for number in signals:
                os.kill(os.getpid(), number)
        usual(self)

    monkeypatch.setattr(ExponentialMovingAverage, "update", interrupted)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_within_an_update_saves_whole_updates(number, tmp_path, monkeypatch, capfd):
    """What is saved is the state after that update, and the resumed run ends as an undisturbed one does."""
    data, whole, resumed = make_data(20, 12, seed=0), fresh(), fresh()
    train(whole, data, None, CFG, quiet=True)
    send_in_update(monkeypatch, 5, number)
    with pytest.raises(KeyboardInterrupt):
        train(fresh(), data, None, CFG, tmp_path, quiet=True)
    assert "once more to end at once" in capfd.readouterr().err
    assert checkpoint.load_training_state(tmp_path / "last")["update"] == 5
    train(resumed, data, None, CFG, tmp_path, resume=True, quiet=True)
    expected, got = whole.state_dict(), resumed.state_dict()
    assert all(torch.equal(expected[name], got[name]) for name in expected)


def test_a_second_interrupt_ends_at_once_without_saving(tmp_path, monkeypatch):
    """After two interrupts in one update the last save is the one before."""
    send_in_update(monkeypatch, 5, signal.SIGINT, signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        train(fresh(), make_data(20, 12, seed=0), None, CFG, tmp_path, quiet=True)
    assert checkpoint.load_training_state(tmp_path / "last")["update"] == 0


def test_an_interrupt_in_the_last_update_is_not_swallowed(tmp_path, monkeypatch):
    """Who calls one training after the other gets the interrupt, even if this one was done."""
    send_in_update(monkeypatch, CFG.updates or 0, signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        train(fresh(), make_data(20, 12, seed=0), None, CFG, tmp_path, quiet=True)
    assert checkpoint.load_training_state(tmp_path / "last")["update"] == CFG.updates


def test_signals_are_left_as_they_were(monkeypatch):
    """Handlers come back, a signal that is ignored stays ignored, and other threads do not touch any."""
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        interrupts = Interrupts()
        interrupts.hold_back()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGINT) == interrupts._note
        interrupts.give_back()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        thread = threading.Thread(target=Interrupts().hold_back)
        thread.start()
        thread.join()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGTERM, before)
