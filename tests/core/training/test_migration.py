# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Settings of training runs of earlier versions."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from nerd_core import checkpoint
from nerd_core.files.serialization import StructureError, from_plain, to_plain
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.training import saving
from nerd_core.training.config import TrainCfg
from nerd_core.training.migration import RENAMED, migrate_settings
from nerd_core.training.run import train
from support.testbed_cartpole import SPEC, make_data


def as_before(settings: dict) -> dict:
    """Settings under the names of earlier versions."""
    old = {now: then for then, now in RENAMED.items()}
    plain = {old.get(name, name): value for name, value in settings.items()}
    for group in ("rollout", "optimiser"):
        plain[group] = {old.get(f"{group}.{n}", n).removeprefix(f"{group}."): v for n, v in plain[group].items()}
    return plain


def test_settings_come_back():
    """Settings that are written under all the old names give the same training, and are not changed themselves."""
    cfg = TrainCfg(updates=3, batch_size=5, train_parts="prior", validation_horizons=(4,), ema_decay=0.5)
    plain = as_before(to_plain(cfg)) | {"parts": "solver"}
    assert {"batch", "remember", "pace"} <= plain.keys() and "max_side" in plain["optimiser"]
    assert from_plain(TrainCfg, migrate_settings(plain)) == cfg
    assert plain["parts"] == "solver" and "batch" in plain
    assert migrate_settings(to_plain(cfg)) == to_plain(cfg)


def test_what_is_not_understood_is_refused_by_name():
    """A setting that never was, or stands under both names, is named in the error."""
    plain = to_plain(TrainCfg(updates=3))
    for wrong in ("updatez", "batch"):
        with pytest.raises(StructureError, match=wrong):
            from_plain(TrainCfg, migrate_settings(plain | {wrong: 1}))
    for hostile in (None, [], "settings", {"optimiser": 3}):
        with pytest.raises(StructureError):
            from_plain(TrainCfg, migrate_settings(hostile))


def test_a_run_of_an_earlier_version_goes_on(tmp_path, monkeypatch):
    """A run that was saved under the old names of settings is resumed, and ends with the weights of a whole run."""
    data, cfg = make_data(20, 12, seed=0), TrainCfg(updates=12, batch_size=32, validations=3)

    def fresh() -> Predictor:
        torch.manual_seed(0)
        return Predictor(SPEC, PredictorCfg(network=ResidualMlpCfg(width=8, hidden=8, layers=1)))

    whole, stopped = fresh(), fresh()
    train(whole, data, None, cfg, quiet=True)

    class Stop(Exception):
        pass

    def stop_in_the_middle(run):
        run.identities = None  # an earlier version did not say what it was started on
        usual(run)
        if run.update:
            raise Stop

    usual, plainly = saving.save_run, saving.to_plain
    monkeypatch.setattr("nerd_core.training.run.save_run", stop_in_the_middle)
    monkeypatch.setattr(saving, "to_plain", lambda value: as_before(plainly(value)))
    with pytest.raises(Stop):
        train(stopped, data, None, cfg, tmp_path, quiet=True)
    monkeypatch.undo()
    saved = checkpoint.load_training_state(tmp_path / "last")
    assert "batch" in saved["settings"] and 0 < saved["update"] < 12
    resumed = fresh()
    train(resumed, data, None, cfg, tmp_path, resume=True, quiet=True)
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), resumed.parameters(), strict=True))
    with pytest.raises(ValueError, match="batch_size"):
        train(fresh(), data, None, replace(cfg, batch_size=16), tmp_path, resume=True, quiet=True)


def test_a_run_from_before_mechanics_remembered_goes_on_without(tmp_path, monkeypatch):
    """Settings that do not say how many transitions are remembered are those of a training on all data, without: such a
    run goes on as that, with the same weights to the last bit, and not as one that remembers.
    """
    data, cfg = make_data(20, 12, seed=0), TrainCfg(updates=3, batch_size=32, remembered=0)
    plain = {name: value for name, value in to_plain(cfg).items() if name != "remembered"}
    assert from_plain(TrainCfg, migrate_settings(plain)) == cfg

    def fresh() -> Predictor:
        torch.manual_seed(0)
        return Predictor(SPEC, PredictorCfg(network=ResidualMlpCfg(width=8, hidden=8, layers=1)))

    monkeypatch.setattr(saving, "to_plain", lambda value: plain)
    trained, resumed = fresh(), fresh()
    train(trained, data, None, cfg, tmp_path, quiet=True)
    monkeypatch.undo()
    assert "remembered" not in checkpoint.load_training_state(tmp_path / "last")["settings"]
    train(resumed, data, None, cfg, tmp_path, resume=True, quiet=True)
    assert all(torch.equal(a, b) for a, b in zip(trained.parameters(), resumed.parameters(), strict=True))
    with pytest.raises(ValueError, match="remembered"):
        train(fresh(), data, None, replace(cfg, remembered=100), tmp_path, resume=True, quiet=True)
